package version

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/local"
)

func bitmap() *roaring64.Bitmap { return roaring64.New() }

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// fixture is a dataset of the two tensors x and label and ten rows, without any chunk object: this
// room reads none.
type fixture struct {
	store    storage.Provider
	x, label format.UUID
}

const baseRows = 10

func newFixture(t testing.TB, store storage.Provider) *fixture {
	t.Helper()
	repo, head, err := Create(context.Background(), store, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return fillFixture(t, store, repo, head)
}

func fillFixture(t testing.TB, store storage.Provider, repo *Repo, head *Snapshot) *fixture {
	t.Helper()
	f := &fixture{store: store, x: format.NewUUID(), label: format.NewUUID()}
	txn := repo.Begin(head)
	txn.Schema().Tensors = append(txn.Schema().Tensors,
		format.TensorSchema{ID: f.x, Name: "x", HType: "generic", Compression: "none", ChunkBytes: 1 << 20},
		format.TensorSchema{ID: f.label, Name: "label", HType: "class_label", DType: "int64", Compression: "none", ChunkBytes: 1 << 20, ClassNames: []string{"a"}})
	f.add(txn, baseRows, 1)
	f.commit(t, txn, "base")
	return f
}

// add appends n rows as chunks of a session.
func (f *fixture) add(txn *Txn, n int64, session byte) {
	at := txn.Rows()
	for _, id := range []format.UUID{f.x, f.label} {
		txn.AddChunk(id, format.Entry{Session: numbered(session), Bytes: 100}, []format.RowRange{{Start: at, Count: n}}, false, []byte{session})
	}
	txn.Extend(n)
}

// update replaces rows of x.
func (f *fixture) update(txn *Txn, session byte, rows ...int64) {
	var runs []format.RowRange
	for _, row := range rows {
		runs = append(runs, format.RowRange{Start: row, Count: 1})
	}
	txn.AddChunk(f.x, format.Entry{Session: numbered(session), Ordinal: 7, Bytes: 100}, runs, true, []byte{session})
}

// rewrite gives rows of x other chunks, which say the same.
func (f *fixture) rewrite(txn *Txn, session byte, first, rows int64) {
	txn.RewriteChunk(f.x, format.Entry{Session: numbered(session), Ordinal: 9, Bytes: 100}, []format.RowRange{{Start: first, Count: rows}}, []byte{session})
}

func (f *fixture) repo(t testing.TB) *Repo {
	t.Helper()
	repo, err := Open(context.Background(), f.store, "test")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// begin is a transaction of a writer of its own.
func (f *fixture) begin(t testing.TB) *Txn {
	t.Helper()
	repo := f.repo(t)
	head, err := repo.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return repo.Begin(head)
}

func (f *fixture) commit(t testing.TB, txn *Txn, message string) *Snapshot {
	t.Helper()
	s, err := txn.Commit(context.Background(), message, "tester")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// state is all that a commit says, apart from uuids that differ from run to run: one word for each
// live row, with the session of x and of label and the item in it, then the names.
func state(t testing.TB, s *Snapshot) []string {
	t.Helper()
	ctx := context.Background()
	var out []string
	for i := range s.Rows() {
		row := s.Live.Physical(i)
		word := ""
		for _, ts := range s.Schema.Tensors {
			e, ok, err := s.Tree(ts.ID).Find(ctx, row)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				word += ts.Name + "- "
				continue
			}
			dirs, err := s.Tree(ts.ID).Side(ctx, e.Side)
			if err != nil || e.Slot >= int64(len(dirs)) || dirs[e.Slot][0] != e.Session[0] {
				t.Fatalf("row %d of %q: side page with %d slots has not the directory of slot %d: %v", row, ts.Name, len(dirs), e.Slot, err)
			}
			word += fmt.Sprintf("%s%d.%d ", ts.Name, e.Session[0], e.First+row-e.Row)
		}
		if _, ok, err := s.RowIDs().Find(ctx, row); err != nil || !ok {
			t.Fatalf("row %d has no identity: %v", row, err)
		}
		out = append(out, word)
	}
	for _, ts := range s.Schema.Tensors {
		out = append(out, fmt.Sprintf("%s %v", ts.Name, ts.ClassNames))
	}
	return append(out, fmt.Sprint(s.Schema.Info))
}

// mixed is a transaction that does a bit of everything.
func (f *fixture) mixed(txn *Txn) {
	f.add(txn, 3, 2)
	f.update(txn, 3, 2, baseRows-1, baseRows) // across the end of the stored rows
	txn.Delete([]int64{4, baseRows + 1})
	txn.Schema().ByID(f.label).ClassNames = []string{"a", "b"}
	txn.SetInfo(map[string]any{"k": "v"})
}

func TestCommitThenRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memStore(t))
	txn := f.begin(t)
	f.mixed(txn)
	preview, err := txn.Preview(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"x1.0 label1.0 ", "x1.1 label1.1 ", "x3.0 label1.2 ", "x1.3 label1.3 ", "x1.5 label1.5 ", "x1.6 label1.6 ", "x1.7 label1.7 ",
		"x1.8 label1.8 ", "x3.1 label1.9 ", "x3.2 label2.0 ", "x2.2 label2.2 ", "x []", "label [a b]", "map[k:v]",
	}
	if got := state(t, preview); !slices.Equal(got, want) {
		t.Fatalf("preview = %q\nwant %q", got, want)
	}
	if got := state(t, f.commit(t, txn, "mixed")); !slices.Equal(got, want) {
		t.Fatalf("commit = %q\nwant %q", got, want)
	}
	if got := state(t, f.begin(t).Base()); !slices.Equal(got, want) {
		t.Fatalf("reopened = %q\nwant %q", got, want)
	}
}

// TestPreviewAfterFailedCommit: what the failed commit stored is not added to.
func TestPreviewAfterFailedCommit(t *testing.T) {
	t.Parallel()
	store := faultstore.New(memStore(t), nil)
	f := newFixture(t, store)
	txn := f.begin(t)
	f.add(txn, 2, 2)
	store.SetPlan(faultstore.Plan{{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Times: faultstore.Always, Do: faultstore.Fail(errs.Storage)}})
	if _, err := txn.Commit(context.Background(), "fails", ""); !errs.Is(err, errs.Storage) {
		t.Fatalf("commit = %v", err)
	}
	store.SetPlan(nil)
	f.add(txn, 2, 3)
	s, err := txn.Preview(context.Background())
	if err != nil || s.Rows() != baseRows+4 {
		t.Fatal(s.Rows(), err)
	}
	want := state(t, s)
	if got := state(t, f.commit(t, txn, "again")); !slices.Equal(got, want) {
		t.Fatalf("commit = %q\nwant %q", got, want)
	}
	if got := state(t, f.begin(t).Base()); !slices.Equal(got, want) {
		t.Fatalf("reopened = %q\nwant %q", got, want)
	}
}

// TestCommitFaults lets each storage call of a commit go wrong in each way, of one that finds its
// base to be the head and of one that has lost a race. The dataset is then the old or the new
// version, and the same commit done again succeeds and is there once.
func TestCommitFaults(t *testing.T) {
	t.Parallel()
	actions := map[string]faultstore.Action{
		"fail": faultstore.Fail(errs.Storage), "exists": faultstore.Fail(errs.Exists), "lost answer": faultstore.LostAnswer(),
		"crash": faultstore.Crash(), "crash after": faultstore.CrashAfter(),
	}
	for _, race := range []bool{false, true} {
		after, calls := commitWithFaults(t, nil, race, nil)
		if calls < 6 {
			t.Fatalf("a commit makes %d calls; the test is too small", calls)
		}
		for name, do := range actions {
			for n := range calls {
				t.Run(fmt.Sprintf("%s %d %t", name, n, race), func(t *testing.T) {
					t.Parallel()
					commitWithFaults(t, faultstore.Plan{{Skip: n, Do: do}}, race, after)
				})
			}
		}
	}
}

// faultyFixture is a dataset as seen without faults, and by a writer behind a store that can have
// some.
func faultyFixture(t *testing.T) (f, mine *fixture, broken *faultstore.Store) {
	t.Helper()
	inner := memStore(t)
	f = newFixture(t, inner)
	broken = faultstore.New(inner, nil)
	return f, &fixture{store: broken, x: f.x, label: f.label}, broken
}

// commitWithFaults commits once as plan says and once more without faults, and checks the dataset
// after either; want is the outcome. It returns the outcome and the calls of the first commit.
func commitWithFaults(t *testing.T, plan faultstore.Plan, race bool, want []string) (after []string, calls int) {
	t.Helper()
	f, mine, broken := faultyFixture(t)
	txn := mine.begin(t)
	mine.mixed(txn)
	if race {
		other := f.begin(t)
		f.add(other, 2, 9)
		f.commit(t, other, "other")
	}
	old := f.begin(t).Base()
	before, version := state(t, old), old.Record.Version
	from := len(broken.Calls())
	broken.SetPlan(plan)
	_, failed := txn.Commit(context.Background(), "mixed", "")
	calls = len(broken.Calls()) - from

	head := f.begin(t).Base()
	got := state(t, head)
	isNew := head.Record.Version == version+1 && (want == nil || slices.Equal(got, want))
	if isOld := slices.Equal(got, before) && head.Record.Version == version; !isOld && !isNew || failed == nil && !isNew {
		t.Fatalf("after %v the head is version %d: %q", failed, head.Record.Version, got)
	}
	broken.SetPlan(nil)
	if failed != nil {
		if _, err := txn.Commit(context.Background(), "mixed", ""); err != nil {
			t.Fatalf("the second try, after %v: %v", failed, err)
		}
	}
	head = f.begin(t).Base()
	after = state(t, head)
	if head.Record.Version != version+1 || want != nil && !slices.Equal(after, want) {
		t.Fatalf("after %v and a second try the head is version %d: %q, want %q", failed, head.Record.Version, after, want)
	}
	return after, calls
}

// TestLostCommit: the answer is lost and cannot be looked up, and then others commit too.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	lose := faultstore.Plan{{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Do: faultstore.CrashAfter()}}
	setup := func(t *testing.T) (*fixture, *faultstore.Store, *Txn) {
		f, mine, broken := faultyFixture(t)
		txn := mine.begin(t)
		mine.add(txn, 3, 2)
		broken.SetPlan(lose)
		if _, err := txn.Commit(context.Background(), "lost", ""); !errs.Is(err, errs.Storage) {
			t.Fatalf("commit = %v", err)
		}
		broken.SetPlan(nil)
		other := f.begin(t)
		f.add(other, 1, 3)
		f.commit(t, other, "other")
		return f, broken, txn
	}
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		f, _, txn := setup(t)
		s, err := txn.Commit(context.Background(), "lost", "")
		if err != nil || s.Record.Version != 2 || s.Record.Message != "lost" {
			t.Fatalf("commit = %+v, %v", s, err)
		}
		if head := f.begin(t).Base(); head.Record.Rows != baseRows+4 || head.Record.Version != 3 {
			t.Fatalf("%d rows in version %d", head.Record.Rows, head.Record.Version)
		}
	})
	t.Run("with more", func(t *testing.T) {
		t.Parallel()
		f, _, txn := setup(t)
		f.add(txn, 1, 4)
		if _, err := txn.Commit(context.Background(), "more", ""); !errs.Is(err, errs.Conflict) || !contains(err, "became version 2") {
			t.Fatalf("commit = %v", err)
		}
	})
	t.Run("with a schema change", func(t *testing.T) {
		t.Parallel()
		f, _, txn := setup(t)
		txn.Schema().ByID(f.label).ClassNames = []string{"a", "z"}
		if _, err := txn.Commit(context.Background(), "more", ""); !errs.Is(err, errs.Conflict) {
			t.Fatalf("commit = %v", err)
		}
	})
}

// TestUnclearCommit: the store says again and again that the record exists, and that it does not.
// That is a fault of the store, which a commit may be tried again after, and not a thing that the
// caller has named wrongly.
func TestUnclearCommit(t *testing.T) {
	t.Parallel()
	_, mine, broken := faultyFixture(t)
	txn := mine.begin(t)
	mine.add(txn, 3, 2)
	exists := faultstore.Fault{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Do: faultstore.Fail(errs.Exists)}

	exists.Times = unclearTries
	broken.SetPlan(faultstore.Plan{exists})
	if _, err := txn.Commit(context.Background(), "unclear", ""); !errs.Is(err, errs.Storage) || !contains(err, "commit again") {
		t.Fatalf("commit = %v (%v)", err, errs.KindOf(err))
	}
	exists.Times = unclearTries - 1 // the last try is not hit
	broken.SetPlan(faultstore.Plan{exists})
	s, err := txn.Commit(context.Background(), "clear", "")
	if err != nil || s.Record.Rows != baseRows+3 {
		t.Fatalf("commit = %+v, %v", s, err)
	}
}

func TestRace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writers, rounds int
		disk            bool
	}{{2, 12, false}, {8, 12, false}, {24, 5, false}, {24, 3, true}} {
		t.Run(fmt.Sprint(c.writers, " ", c.disk), func(t *testing.T) {
			t.Parallel()
			writers, rounds := c.writers, c.rounds
			store := memStore(t)
			if c.disk {
				var err error
				if store, err = local.Open(context.Background(), t.TempDir(), storage.Options{Create: true}); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = store.Close() }()
			}
			f := newFixture(t, store)
			began := time.Now()
			g := task.New(context.Background(), 0)
			for w := range writers {
				g.Go(func(ctx context.Context) error {
					repo, err := Open(ctx, f.store, "test")
					if err != nil {
						return err
					}
					head, err := repo.Head(ctx)
					if err != nil {
						return err
					}
					for round := range rounds {
						txn := repo.Begin(head)
						f.add(txn, int64(1+round%3), byte(10+w))
						if w < baseRows {
							f.update(txn, byte(100+w), int64(w)) // a row of one's own
						}
						if head, err = txn.Commit(ctx, fmt.Sprintf("writer %d round %d", w, round), ""); err != nil {
							return err
						}
						if head.Record.Rows != txn.Rows()+head.Record.Rows-txn.Base().Record.Rows-int64(1+round%3) {
							return errs.New(errs.Internal, "rows do not add up")
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d commits by %d writers in %v", writers*rounds, writers, time.Since(began))
			head := f.begin(t).Base()
			if want := uint64(1 + writers*rounds); head.Record.Version != want {
				t.Fatalf("head is version %d, want %d", head.Record.Version, want)
			}
			got := map[string]int{}
			for _, word := range state(t, head)[:head.Rows()] {
				got[word]++
			}
			want := map[string]int{}
			for row := range baseRows {
				word := fmt.Sprintf("x1.%d label1.%d ", row, row)
				if int(row) < writers {
					word = fmt.Sprintf("x%d.0 label1.%d ", 100+row, row)
				}
				want[word]++
			}
			for w := range writers {
				for round := range rounds {
					for i := range 1 + round%3 {
						want[fmt.Sprintf("x%d.%d label%d.%d ", 10+w, i, 10+w, i)]++
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("rows = %v\nwant %v", got, want)
			}
		})
	}
}

// TestAt names commits in every way.
func TestAt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFixture(t, memStore(t))
	repo := f.repo(t)
	clock := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var commits []*Snapshot
	for i := range 9 {
		at := clock.Add(time.Duration(i) * time.Hour)
		if i == 5 {
			at = clock // a clock that went back: times still rise
		}
		repo.Now = func() time.Time { return at }
		head, err := repo.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		txn := repo.Begin(head)
		f.add(txn, 1, byte(i+2))
		commits = append(commits, f.commit(t, txn, fmt.Sprint("commit ", i)))
	}
	last := commits[len(commits)-1].Record
	cases := []struct {
		ref  string
		want uint64
		kind errs.Kind
	}{
		{ref: "0", want: 0}, {ref: "1", want: 1}, {ref: "10", want: 10},
		{ref: "11", kind: errs.NotFound}, {ref: "99999999999999999999999", kind: errs.NotFound},
		{ref: commits[3].Record.UUID.String(), want: 5},
		{ref: commits[3].Record.UUID.String()[:12], want: 5},
		{ref: "2031-01-01T00:00:00Z", want: last.Version},
		{ref: clock.Add(time.Hour).Format(time.RFC3339Nano), want: 3},
		{ref: clock.Add(time.Hour - 1).Format(time.RFC3339Nano), want: 2},
		{ref: clock.Add(4 * time.Hour).Format(time.RFC3339Nano), want: 7},
		{ref: "2030-01-01T09:30:00+08:00", want: 3},
		{ref: "2001-01-01T00:00:00Z", kind: errs.NotFound},
		{ref: strings.Repeat("f", 32), kind: errs.NotFound},
		{ref: "abc", kind: errs.NotFound}, {ref: "yesterday", kind: errs.NotFound}, {ref: "-1", kind: errs.Invalid}, {ref: "", kind: errs.Invalid},
	}
	for _, c := range cases {
		s, err := repo.At(ctx, c.ref)
		switch {
		case c.kind != 0:
			if !errs.Is(err, c.kind) || !contains(err, "at ") {
				t.Errorf("At(%q) = %v, want an error that is %s", c.ref, err, c.kind)
			}
		case err != nil || s.Record.Version != c.want:
			t.Errorf("At(%q) = %+v, %v, want version %d", c.ref, s, err, c.want)
		}
	}
	log, err := repo.Log(ctx, 0)
	if err != nil || len(log) != 11 || log[0].UUID != last.UUID || log[10].Version != 0 {
		t.Fatalf("log has %d commits: %v", len(log), err)
	}
	for i, rec := range log[:10] {
		if rec.Time.Before(log[i+1].Time) || *rec.Parent != log[i+1].UUID {
			t.Errorf("commit %d is before its parent, or not its child", rec.Version)
		}
	}
	if log, err = repo.Log(ctx, 3); err != nil || len(log) != 3 {
		t.Fatalf("log of 3 has %d: %v", len(log), err)
	}
}

func TestAtAmbiguous(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFixture(t, memStore(t))
	repo := f.repo(t)
	for i := range 2 {
		head, err := repo.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rec := *head.Record
		rec.Version++
		rec.Parent = &head.Record.UUID
		rec.UUID = format.UUID{0: 0xab, 1: 0xcd, 2: 0xef, 3: byte(i), 15: 1}
		rec.Ops = nil
		data, err := format.EncodeRecord(&rec)
		if err != nil {
			t.Fatal(err)
		}
		if winner, err := repo.put(ctx, &rec, data); err != nil || winner != &rec {
			t.Fatal(winner, err)
		}
	}
	if _, err := repo.At(ctx, "abcdef"); !errs.Is(err, errs.Invalid) || !contains(err, "more digits") {
		t.Fatalf("At = %v", err)
	}
	if s, err := repo.At(ctx, "abcdef01"); err != nil || s.Record.Version != 3 {
		t.Fatalf("At = %v, %v", s, err)
	}
}

// TestCreateFaults: a creation that goes wrong leaves no dataset, or a whole one.
func TestCreateFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, do := range []faultstore.Action{faultstore.Fail(errs.Storage), faultstore.LostAnswer(), faultstore.Crash(), faultstore.CrashAfter()} {
		for n := range 11 {
			inner := memStore(t)
			store := faultstore.New(inner, faultstore.Plan{{Skip: n, Do: do}})
			_, _, failed := Create(ctx, store, "test", nil)
			found, err := Exists(ctx, inner)
			if err != nil || failed == nil && !found {
				t.Fatal(failed, found, err)
			}
			if !found {
				if _, _, err := Create(ctx, inner, "test", nil); err != nil {
					t.Fatalf("call %d: create again, after %v: %v", n, failed, err)
				}
			}
			repo, err := Open(ctx, inner, "test")
			if err != nil {
				t.Fatal(err)
			}
			if head, err := repo.Head(ctx); err != nil || head.Rows() != 0 {
				t.Fatal(head, err)
			}
		}
	}
	store := faultstore.New(memStore(t), faultstore.Plan{{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Times: 2, Do: faultstore.LostAnswer()}})
	if _, _, err := Create(ctx, store, "test", nil); err != nil {
		t.Fatalf("answers were lost, the writes done: %v", err)
	}
	if _, _, err := Create(ctx, store, "test", nil); !errs.Is(err, errs.Exists) {
		t.Fatalf("create again = %v", err)
	}
}
