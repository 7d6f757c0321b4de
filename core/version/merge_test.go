package version_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// person is a row by its identity.
type person struct {
	session format.UUID
	ordinal int64
}

// event is something that a branch did to a row.
type event struct {
	who   person
	value byte // the session of x from then on
	chunk int64
	item  int64
	gone  bool
}

// lane is a branch beside its oracle: the events that it has, by number. Events of a row are all
// made by one lane, its owner, so that no merge has a conflict.
type lane struct {
	repo *version.Repo
	has  map[int]bool
}

// program runs random commits on some branches, and merges between them.
type program struct {
	t      *testing.T
	f      *versiontest.Fixture
	rng    *rand.Rand
	lanes  []*lane
	events []event
	owner  map[person]int
	kept   []kept
	lines  int
}

// kept is a commit with the oracle's state.
type kept struct {
	s   *version.Snapshot
	has map[int]bool
}

func newProgram(t *testing.T, seed uint64, lines int) *program {
	p := &program{t: t, f: versiontest.New(t, versiontest.MemStore(t)), rng: rand.New(rand.NewPCG(seed, 3)), owner: map[person]int{}, lines: lines}
	repo := p.f.Repo(t)
	repo.Pages.MaxEntries = lines
	head, err := repo.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	main := &lane{repo, map[int]bool{}}
	p.lanes = []*lane{main}
	for row := range head.Record.Rows {
		p.owner[p.who(head, row)] = 0
		p.event(main, event{who: p.who(head, row), value: 1, item: row})
	}
	p.keep(main, head)
	return p
}

func (p *program) event(l *lane, e event) {
	l.has[len(p.events)] = true
	p.events = append(p.events, e)
}

func (p *program) who(s *version.Snapshot, row int64) person {
	e, ok, err := s.RowIDs().Find(p.t.Context(), row)
	if err != nil || !ok {
		p.t.Fatalf("row %d has no identity: %v", row, err)
	}
	return person{e.Session, e.First + row - e.Row}
}

func (p *program) keep(l *lane, s *version.Snapshot) {
	p.kept = append(p.kept, kept{s, maps.Clone(l.has)})
}

// want returns the oracle's rows after a set of events: the value of each row that is not deleted.
func (p *program) want(has map[int]bool) map[person]string {
	out := map[person]string{}
	for i, e := range p.events {
		switch {
		case !has[i]:
		case e.gone:
			delete(out, e.who)
		default:
			out[e.who] = fmt.Sprintf("%d.%d.%d", e.value, e.chunk, e.item)
		}
	}
	return out
}

// got returns the rows of a commit.
func (p *program) got(s *version.Snapshot) map[person]string {
	out := map[person]string{}
	for i := range s.Rows() {
		row := s.Live.Physical(i)
		e, ok, err := s.Tree(p.f.X).Find(p.t.Context(), row)
		if err != nil || !ok {
			p.t.Fatalf("row %d has no value: %v", row, err)
		}
		who := p.who(s, row)
		if _, twice := out[who]; twice {
			p.t.Fatalf("row %d is there twice", row)
		}
		out[who] = fmt.Sprintf("%d.%d.%d", e.Session[0], e.Ordinal, e.First+row-e.Row)
	}
	return out
}

func (p *program) check(what string, l *lane, s *version.Snapshot) {
	p.t.Helper()
	if got, want := p.got(s), p.want(l.has); !maps.Equal(got, want) {
		p.t.Fatalf("%s: branch %q has %d rows %v\nwant %d %v", what, l.repo.Branch(), len(got), got, len(want), want)
	}
}

// work commits something on a lane.
func (p *program) work(k int) {
	l := p.lanes[k]
	head, err := l.repo.Head(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	txn := l.repo.Begin(head)
	var mine []int64
	for i := range head.Rows() {
		if row := head.Live.Physical(i); p.owner[p.who(head, row)] == k {
			mine = append(mine, row)
		}
	}
	p.rng.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	n := p.rng.IntN(4)
	if n = min(n, len(mine)); n > 0 {
		rows := slices.Sorted(slices.Values(mine[:n]))
		value := byte(2 + p.rng.IntN(200))
		p.f.Update(txn, value, rows...)
		for i, row := range rows {
			p.event(l, event{who: p.who(head, row), value: value, chunk: 7, item: int64(i)})
		}
		mine = mine[n:]
	}
	if n = min(p.rng.IntN(3), len(mine)); n > 0 {
		txn.Delete(mine[:n])
		for _, row := range mine[:n] {
			p.event(l, event{who: p.who(head, row), gone: true})
		}
	}
	if n = p.rng.IntN(5); n > 0 {
		value := byte(2 + p.rng.IntN(200))
		p.f.Add(txn, int64(n), value)
		for i := range int64(n) {
			who := person{txn.AppendID(), i}
			p.owner[who] = k
			p.event(l, event{who: who, value: value, item: i})
		}
	}
	s := p.f.Commit(p.t, txn, "work")
	p.check("work", l, s)
	p.keep(l, s)
}

func (p *program) branch(k int) {
	from := p.lanes[k]
	head, err := from.repo.Head(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	repo, s, err := from.repo.CreateBranch(p.t.Context(), fmt.Sprintf("b%d", len(p.lanes)), head, "tester")
	if err != nil {
		p.t.Fatal(err)
	}
	l := &lane{repo, maps.Clone(from.has)}
	p.check("branch", l, s)
	p.lanes = append(p.lanes, l)
}

func (p *program) merge(k, from int) {
	l, other := p.lanes[k], p.lanes[from]
	theirs, err := other.repo.Head(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	s, _, err := l.repo.Merge(p.t.Context(), theirs, version.OnConflictError, "merge", "tester")
	if err != nil {
		p.t.Fatalf("merge %q into %q: %v", other.repo.Branch(), l.repo.Branch(), err)
	}
	maps.Copy(l.has, other.has)
	p.check("merge of "+other.repo.Branch(), l, s)
	p.keep(l, s)
	again, done, err := l.repo.Merge(p.t.Context(), theirs, version.OnConflictError, "merge", "tester")
	if err != nil || done || again.Record.UUID != s.Record.UUID {
		p.t.Fatalf("merge again: %v, %v", done, err)
	}
}

// diff holds the difference of two commits against the oracle's.
func (p *program) diff(a, b kept) {
	p.t.Helper()
	d, err := p.lanes[0].repo.Diff(p.t.Context(), a.s, b.s)
	if err != nil {
		p.t.Fatal(err)
	}
	rowsA, rowsB := p.got(a.s), p.got(b.s)
	var want [3]map[person]bool
	for i := range want {
		want[i] = map[person]bool{}
	}
	for who, v := range rowsB {
		if old, ok := rowsA[who]; !ok {
			want[0][who] = true
		} else if old != v {
			want[1][who] = true
		}
	}
	for who := range rowsA {
		if _, ok := rowsB[who]; !ok {
			want[2][who] = true
		}
	}
	same := 0
	for _, s := range d.Same {
		for i := range s.Count {
			same++
			who := p.who(b.s, b.s.Live.Physical(s.B+i))
			if other := p.who(a.s, a.s.Live.Physical(s.A+i)); other != who {
				p.t.Fatalf("row %d of a is said to be row %d of b", s.A+i, s.B+i)
			}
		}
	}
	if same != len(rowsB)-len(want[0]) {
		p.t.Fatalf("%d rows are in both, want %d", same, len(rowsB)-len(want[0]))
	}
	var updated version.RowSet
	for _, td := range d.Tensors {
		if td.Name == "x" {
			updated = td.Updated
			if td.Added.Count != d.Added.Count || td.Deleted.Count != d.Deleted.Count {
				p.t.Fatalf("tensor has %d rows more and %d less, all %d and %d", td.Added.Count, td.Deleted.Count, d.Added.Count, d.Deleted.Count)
			}
		} else if td.Updated.Count > 0 {
			p.t.Fatalf("tensor %q has %d updates", td.Name, td.Updated.Count)
		}
	}
	for i, c := range []struct {
		what string
		set  version.RowSet
		s    *version.Snapshot
	}{{"added", d.Added, b.s}, {"updated", updated, b.s}, {"deleted", d.Deleted, a.s}} {
		got := map[person]bool{}
		for _, r := range c.set.Ranges {
			for row := r.Start; row < r.Start+r.Count; row++ {
				got[p.who(c.s, c.s.Live.Physical(row))] = true
			}
		}
		if !maps.Equal(got, want[i]) || int64(len(got)) != c.set.Count {
			p.t.Fatalf("%s are %d rows %v\nwant %d %v", c.what, c.set.Count, got, len(want[i]), want[i])
		}
	}
}

// TestMergePrograms runs random histories of branches and merges, criss-cross ones too, against an
// oracle of events.
func TestMergePrograms(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, seed, 3+int(seed%5))
			p.branch(0)
			for range 30 {
				k := p.rng.IntN(len(p.lanes))
				switch p.rng.IntN(8) {
				case 0:
					if len(p.lanes) < 5 {
						p.branch(k)
					}
				case 1, 2, 3:
					if from := p.rng.IntN(len(p.lanes)); from != k {
						p.merge(k, from)
					}
				default:
					p.work(k)
				}
			}
			for range 20 {
				p.diff(p.kept[p.rng.IntN(len(p.kept))], p.kept[p.rng.IntN(len(p.kept))])
			}
		})
	}
}

// sidesOf makes a branch "side" of a fresh fixture, and lets both sides do something.
func sidesOf(t *testing.T, f *versiontest.Fixture, ours, theirs func(*versiontest.Fixture, *version.Txn)) (main *version.Repo, side *version.Snapshot) {
	t.Helper()
	main = f.Repo(t)
	head, err := main.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	repo, s, err := main.CreateBranch(t.Context(), "side", head, "tester")
	if err != nil {
		t.Fatal(err)
	}
	txn := repo.Begin(s)
	theirs(f, txn)
	side = f.Commit(t, txn, "theirs")
	txn = main.Begin(head)
	if ours(f, txn); !txn.Empty() {
		f.Commit(t, txn, "ours")
	}
	return main, side
}

// TestMergeConflicts checks merges whose sides contradict each other.
func TestMergeConflicts(t *testing.T) {
	t.Parallel()
	type do = func(*versiontest.Fixture, *version.Txn)
	update := func(session byte, rows ...int64) do {
		return func(f *versiontest.Fixture, txn *version.Txn) { f.Update(txn, session, rows...) }
	}
	remove := func(rows ...int64) do { return func(_ *versiontest.Fixture, txn *version.Txn) { txn.Delete(rows) } }
	classes := func(names ...string) do {
		return func(f *versiontest.Fixture, txn *version.Txn) { txn.Schema().ByID(f.Label).ClassNames = names }
	}
	drop := func(name string) do {
		return func(_ *versiontest.Fixture, txn *version.Txn) { mustDo(txn.DropTensor(name)) }
	}
	rename := func(old, name string) do {
		return func(_ *versiontest.Fixture, txn *version.Txn) { mustDo(txn.RenameTensor(old, name)) }
	}
	info := func(v string) do {
		return func(_ *versiontest.Fixture, txn *version.Txn) { txn.SetInfo(map[string]any{"k": v}) }
	}
	tensor := func(name string) do {
		return func(f *versiontest.Fixture, txn *version.Txn) {
			id := format.NewUUID()
			txn.Schema().Tensors = append(txn.Schema().Tensors, format.TensorSchema{ID: id, Name: name, HType: "generic", Compression: "none", ChunkBytes: 1 << 20})
			txn.AddChunk(id, format.Entry{Session: versiontest.Numbered(7), Bytes: 10}, []format.RowRange{{Start: 2, Count: 1}}, true, []byte{7})
		}
	}
	appendRows := func(session byte) do {
		return func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 2, session) }
	}
	const always = "always"
	cases := []struct {
		name         string
		ours, theirs do
		kind         string // of the conflict, "" for none
		ourWords     []string
		theirWords   []string // always: cannot be decided
		not          string   // a word that no result has
	}{
		{"append", appendRows(2), appendRows(3), "", []string{"x2.1 label2.1 ", "x3.0 label3.0 ", "x3.1 label3.1 "}, nil, ""},
		{"update other rows", update(2, 1), update(3, 2), "", []string{"x2.0 label1.1 ", "x3.0 label1.2 "}, nil, ""},
		{"update x update", update(2, 1, 3), update(3, 1, 4), "update x update",
			[]string{"x2.0 label1.1 ", "x2.1 label1.3 ", "x3.1 label1.4 "}, []string{"x3.0 label1.1 ", "x2.1 label1.3 ", "x3.1 label1.4 "}, ""},
		{"update x delete", update(2, 1), remove(1, 2), "update x delete", []string{"x2.0 label1.1 ", "x1.3 label1.3 "}, []string{"x1.0 label1.0 ", "x1.3 label1.3 "}, "x1.2 label1.2 "},
		{"delete x update", remove(1, 2), update(3, 1), "delete x update", []string{"x1.3 label1.3 "}, []string{"x3.0 label1.1 "}, "x1.2 label1.2 "},
		{"delete x delete", remove(1, 2), remove(2, 3), "", []string{"x1.0 label1.0 ", "x1.4 label1.4 "}, nil, "x1.3 label1.3 "},
		{"class names go on", classes("a"), classes("a", "b"), "", []string{"label [a b]"}, nil, ""},
		{"info", info("o"), info("t"), "set_info x set_info", []string{"map[k:o]"}, []string{"map[k:t]"}, ""},
		{"info of theirs", remove(1), info("t"), "", []string{"map[k:t]"}, nil, ""},
		{"same info", info("o"), info("o"), "", []string{"map[k:o]"}, nil, ""},
		{"rename of theirs", update(2, 1), rename("x", "y"), "", []string{"y2.0 label1.1 "}, nil, ""},
		{"rename x rename", rename("x", "y"), rename("x", "z"), "rename_tensor x rename_tensor", []string{"y1.1 label1.1 "}, []string{"z1.1 label1.1 "}, ""},
		{"add tensors", tensor("n"), tensor("m"), "", []string{"x1.2 label1.2 n7.0 m7.0 ", "x1.3 label1.3 n- m- "}, nil, ""},
		{"add of theirs, rows of ours", appendRows(2), tensor("m"), "", []string{"x1.2 label1.2 m7.0 ", "x2.0 label2.0 m- "}, nil, ""},
		{"same name", tensor("n"), tensor("n"), "add_tensor x add_tensor", nil, []string{always}, ""},
		{"name in a tensor", tensor("n"), tensor("n/m"), "add_tensor x add_tensor", nil, []string{always}, ""},
		{"drop of theirs", remove(1), drop("x"), "", []string{"label1.2 "}, nil, ""},
		{"drop of ours", drop("x"), appendRows(3), "", []string{"label3.0 "}, nil, ""},
		{"update x drop", update(2, 1), drop("x"), "update x drop_tensor", []string{"x2.0 label1.1 "}, []string{"label1.1 "}, ""},
		{"drop x update", drop("x"), update(3, 1), "drop_tensor x update", []string{"label1.1 "}, []string{"label1.1 x3.0 ", "label1.2 x1.2 "}, ""},
		{"drop x drop", drop("x"), drop("x"), "", []string{"label1.1 "}, nil, ""},
		{"nothing of ours", func(*versiontest.Fixture, *version.Txn) {}, appendRows(3), "", []string{"x3.1 label3.1 "}, nil, ""},
	}
	for _, c := range cases {
		for _, on := range []version.Strategy{version.OnConflictError, version.OnConflictOurs, version.OnConflictTheirs} {
			t.Run(c.name+" "+string(on), func(t *testing.T) {
				t.Parallel()
				f := versiontest.New(t, versiontest.MemStore(t))
				main, side := sidesOf(t, f, c.ours, c.theirs)
				before, err := main.Head(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s, done, err := main.Merge(t.Context(), side, on, "merge", "tester")
				if c.kind != "" && (on == version.OnConflictError || slices.Contains(c.theirWords, always)) {
					var conflict *version.ConflictError
					if !errors.As(err, &conflict) || !errs.Is(err, errs.Conflict) || conflict.Kind != c.kind || conflict.Winner.Message != "theirs" {
						t.Fatalf("merge = %v, want a conflict %q", err, c.kind)
					}
					if now, err := main.Head(t.Context()); err != nil || now.Record.UUID != before.Record.UUID {
						t.Fatalf("a merge that failed left version %d, %v", now.Record.Version, err)
					}
					return
				}
				if err != nil || !done {
					t.Fatal(done, err)
				}
				words := c.ourWords
				if on == version.OnConflictTheirs && c.kind != "" {
					words = c.theirWords
				}
				got := versiontest.State(t, s)
				for _, word := range words {
					if !slices.Contains(got, word) {
						t.Errorf("%q is missing in %q", word, got)
					}
				}
				if c.not != "" && slices.Contains(got, c.not) {
					t.Errorf("%q is in %q", c.not, got)
				}
				if again := versiontest.State(t, f.Begin(t).Base()); !slices.Equal(again, got) {
					t.Errorf("reopened = %q\nwant %q", again, got)
				}
				if m := s.Record.Merged; m == nil || m.Branch != side.Record.Branch || m.Version != side.Record.Version || s.Record.Version != before.Record.Version+1 {
					t.Errorf("record %d says that it merged %v", s.Record.Version, m)
				}
				if _, done, err := main.Merge(t.Context(), side, on, "again", "tester"); err != nil || done {
					t.Errorf("merge again: %v, %v", done, err)
				}
				// The other side takes the outcome over, whatever it was.
				repo, err := main.On(t.Context(), "side")
				if err != nil {
					t.Fatal(err)
				}
				back, _, err := repo.Merge(t.Context(), s, version.OnConflictError, "back", "tester")
				if err != nil {
					t.Fatalf("merge back: %v", err)
				}
				if there := versiontest.State(t, back); !slices.Equal(sortedWords(there), sortedWords(got)) {
					t.Errorf("after merging back the side has %q\nwant %q", there, got)
				}
			})
		}
	}
}

// sortedWords makes states comparable whose tensors and rows stand in another order.
func sortedWords(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		parts := strings.Fields(w)
		slices.Sort(parts)
		out[i] = strings.Join(parts, " ")
	}
	slices.Sort(out)
	return out
}

// TestMergeRace: another writer commits while the merge is worked out.
func TestMergeRace(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	main, side := sidesOf(t, f, func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 1, 2) }, func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 2, 3) })
	hooked := &hookStore{Provider: f.Store}
	other := f.Begin(t)
	f.Add(other, 1, 4)
	hooked.before = func(key string) {
		if hooked.before = nil; !strings.HasPrefix(key, "log/") {
			t.Errorf("put-if-absent of %q", key)
		}
		f.Commit(t, other, "in between")
	}
	repo, err := version.Open(t.Context(), hooked, "test")
	if err != nil {
		t.Fatal(err)
	}
	s, done, err := repo.Merge(t.Context(), side, version.OnConflictError, "merge", "")
	if err != nil || !done {
		t.Fatal(done, err)
	}
	if s.Record.Version != 4 || s.Rows() != versiontest.BaseRows+4 {
		t.Fatalf("version %d has %d rows", s.Record.Version, s.Rows())
	}
	log, err := main.Log(t.Context(), 2)
	if err != nil || log[1].Message != "in between" {
		t.Fatal(log, err)
	}
}

func TestMergeRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := versiontest.New(t, versiontest.MemStore(t))
	txn := f.Begin(t)
	f.Add(txn, 1, 2)
	preview, err := txn.Preview(ctx)
	if err != nil {
		t.Fatal(err)
	}
	repo := f.Repo(t)
	if _, _, err := repo.Merge(ctx, preview, version.OnConflictError, "", ""); !errs.Is(err, errs.Invalid) {
		t.Errorf("of uncommitted changes: %v", err)
	}
	if _, _, err := repo.Merge(ctx, txn.Base(), "union", "", ""); !errs.Is(err, errs.Invalid) {
		t.Errorf("with another strategy: %v", err)
	}
	foreign := versiontest.New(t, versiontest.MemStore(t)).Begin(t).Base()
	if _, _, err := repo.Merge(ctx, foreign, version.OnConflictError, "", ""); err == nil {
		t.Errorf("of another dataset: no error")
	}
	// An empty branch brings nothing.
	on, s, err := repo.CreateBranch(ctx, "side", txn.Base(), "")
	if err != nil {
		t.Fatal(err)
	}
	if head, done, err := repo.Merge(ctx, s, version.OnConflictError, "", ""); err != nil || done || head.Record.Version != 1 {
		t.Errorf("of an empty branch: %v, %v", done, err)
	}
	if _, done, err := on.Merge(ctx, txn.Base(), version.OnConflictError, "", ""); err != nil || done {
		t.Errorf("of where the branch comes from: %v, %v", done, err)
	}
}

// TestDiffOfSchemas names what became of tensors, with uncommitted changes too.
func TestDiffOfSchemas(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	txn := f.Begin(t)
	mustDo(txn.RenameTensor("x", "group/x"))
	txn.Schema().ByID(f.Label).ClassNames = []string{"a", "b"}
	txn.Schema().ByID(f.X).DType = "uint8"
	id := format.NewUUID()
	txn.Schema().Tensors = append(txn.Schema().Tensors, format.TensorSchema{ID: id, Name: "n", HType: "generic", Compression: "none", ChunkBytes: 1 << 20})
	txn.AddChunk(id, format.Entry{Session: versiontest.Numbered(7), Bytes: 10}, []format.RowRange{{Start: 2, Count: 3}}, true, []byte{7})
	f.Rewrite(txn, 9, 0, 8)
	txn.SetInfo(map[string]any{"k": "v"})
	b, err := txn.Preview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, repo := txn.Base(), f.Repo(t)
	d, err := repo.Diff(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(start, n int64) version.RowSet {
		return version.RowSet{n, []format.RowRange{{Start: start, Count: n}}}
	}
	want := []version.TensorDiff{
		{Name: "group/x", Change: version.TensorChanged, OldName: "x", Schema: []string{"dtype"}, Added: version.NoRows(), Updated: version.NoRows(), Deleted: version.NoRows()},
		{Name: "label", Change: version.TensorChanged, Schema: []string{"class_names"}, Added: version.NoRows(), Updated: version.NoRows(), Deleted: version.NoRows()},
		{Name: "n", Change: version.TensorCreated, Schema: []string{}, Added: rows(2, 3), Updated: version.NoRows(), Deleted: version.NoRows()},
	}
	if fmt.Sprintf("%+v", d.Tensors) != fmt.Sprintf("%+v", want) || !d.Info || d.Base.Version != a.Record.Version {
		t.Errorf("diff is %+v\nwant %+v", d, want)
	}
	if d, err = repo.Diff(t.Context(), b, a); err != nil || len(d.Tensors) != 3 || d.Tensors[2].Change != version.TensorDropped || d.Tensors[2].Deleted.Count != 3 {
		t.Errorf("diff back is %+v, %v", d, err)
	}
	if d, err = repo.Diff(t.Context(), a, a); err != nil || !d.Empty() {
		t.Errorf("diff of the same is %+v, %v", d, err)
	}
	// The same update on both sides of a preview and of what others committed meanwhile.
	other := f.Begin(t)
	other.Delete([]int64{0})
	f.Update(other, 4, 5)
	s := f.Commit(t, other, "other")
	if d, err = repo.Diff(t.Context(), b, s); err != nil || d.Deleted.Count != 1 || d.Base.Version != a.Record.Version || d.Tensors[0].Updated.Ranges[0].Start != 4 {
		t.Errorf("diff across is %+v, %v", d, err)
	}
}

// TestDivergenceTimes: clocks that stand still do not confuse the search for what two commits
// share.
func TestDivergenceTimes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		p := newProgram(t, 1000+seed, 64)
		p.lanes[0].repo.Now = func() time.Time { return time.Time{}.AddDate(2000, 0, 0) }
		p.branch(0)
		p.branch(0)
		for range 20 {
			k := p.rng.IntN(3)
			if p.rng.IntN(2) == 0 {
				p.work(k)
			} else {
				p.merge(k, (k+1)%3)
			}
		}
	}
}
