package version_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

type do = func(*versiontest.Fixture, *version.Txn)

// commitOf commits what some functions do; nil if they do nothing.
func commitOf(t *testing.T, f *versiontest.Fixture, message string, list ...do) *version.Snapshot {
	t.Helper()
	txn := f.Begin(t)
	for _, do := range list {
		do(f, txn)
	}
	if txn.Empty() {
		return nil
	}
	return f.Commit(t, txn, message)
}

func updated(session byte, rows ...int64) do {
	return func(f *versiontest.Fixture, txn *version.Txn) { f.Update(txn, session, rows...) }
}

func deleted(rows ...int64) do {
	return func(_ *versiontest.Fixture, txn *version.Txn) { txn.Delete(rows) }
}

func appended(session byte) do {
	return func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 2, session) }
}

func classed(names ...string) do {
	return func(f *versiontest.Fixture, txn *version.Txn) { txn.Schema().ByID(f.Label).ClassNames = names }
}

func renamed(old, name string) do {
	return func(_ *versiontest.Fixture, txn *version.Txn) { mustDo(txn.RenameTensor(old, name)) }
}

func dropped(name string) do {
	return func(_ *versiontest.Fixture, txn *version.Txn) { mustDo(txn.DropTensor(name)) }
}

func informed(v string) do {
	return func(_ *versiontest.Fixture, txn *version.Txn) { txn.SetInfo(map[string]any{"k": v}) }
}

var lateTensor = versiontest.Numbered(99)

// created makes tensor n, with a value in row 2.
func created(_ *versiontest.Fixture, txn *version.Txn) {
	txn.Schema().Tensors = append(txn.Schema().Tensors, format.TensorSchema{ID: lateTensor, Name: "n", HType: "generic", Compression: "none", ChunkBytes: 1 << 20})
	valued(7, 2)(nil, txn)
}

// valued updates a row of tensor n.
func valued(session byte, row int64) do {
	return func(_ *versiontest.Fixture, txn *version.Txn) {
		txn.AddChunk(lateTensor, format.Entry{Session: versiontest.Numbered(session), Bytes: 100}, []format.RowRange{{Start: row, Count: 1}}, true, []byte{session})
	}
}

func nothing(*versiontest.Fixture, *version.Txn) {}

// TestRevert undoes a commit after a later one.
func TestRevert(t *testing.T) {
	t.Parallel()
	const always, base = "always", "base" // cannot be decided; the state of the fixture
	for _, c := range []struct {
		name          string
		undone, later do
		conflict      string   // "" for none
		words         []string // of the outcome, with "ours" where there is a conflict
		theirs        []string
		not           string
	}{
		{"append", appended(2), nothing, "", []string{base}, nil, "x2.0 label2.0 "},
		{"update", updated(2, 1, 3), nothing, "", []string{base}, nil, "x2.0 label1.1 "},
		{"delete", deleted(1, 2), nothing, "", []string{base}, nil, ""},
		{"all of it", func(f *versiontest.Fixture, txn *version.Txn) { f.Mixed(txn) }, nothing, "", []string{"x1.2 label1.2 ", "x1.4 label1.4 ", "x1.9 label1.9 ", "label [a b]", "map[]"}, nil, "x2.0 label2.0 "},
		{"append, later rows", appended(2), appended(3), "", []string{"x1.9 label1.9 ", "x3.0 label3.0 ", "x3.1 label3.1 "}, nil, "x2.1 label2.1 "},
		{"update of other rows", updated(2, 1, 3), updated(3, 4), "", []string{"x1.1 label1.1 ", "x1.3 label1.3 ", "x3.0 label1.4 "}, nil, "x2.0 label1.1 "},
		{"update again", updated(2, 1, 3), updated(3, 3, 4), `conflict with version 3 (commit {later}, "later" by "tester"): it updated tensor "x" again at row 3;`,
			[]string{"x1.1 label1.1 ", "x3.0 label1.3 ", "x3.1 label1.4 "}, []string{"x1.1 label1.1 ", "x1.3 label1.3 ", "x3.1 label1.4 "}, "x2.0 label1.1 "},
		{"append, then update", appended(2), updated(3, 10), `it updated tensor "x" at row 10, which the commit to be reverted appended`,
			[]string{"x3.0 label2.0 "}, []string{base}, "x2.1 label2.1 "},
		{"update, then delete", updated(2, 1, 3), deleted(0, 3), `it deleted row 3 of version 2, whose old values in tensor "x" would return`,
			[]string{"x1.1 label1.1 "}, []string{"x1.1 label1.1 ", "x1.3 label1.3 "}, "x1.0 label1.0 "},
		{"append, then delete", appended(2), deleted(10), "", []string{base}, nil, "x2.1 label2.1 "},
		{"delete, then rows before it", deleted(1, 2), deleted(0), "", []string{"x1.1 label1.1 ", "x1.2 label1.2 "}, nil, "x1.0 label1.0 "},
		{"delete, then a rewrite", deleted(1, 2), func(f *versiontest.Fixture, txn *version.Txn) {
			f.Rewrite(txn, 6, 0, 5)
			txn.AddHoles(f.Label, []format.RowRange{{Start: 1, Count: 2}}, false)
		}, "", []string{"x6.0 label1.0 ", "x1.1 label1.1 ", "x1.2 label1.2 "}, nil, ""},
		{"names stay", classed("a", "b"), nothing, "", []string{"label [a b]"}, nil, ""},
		{"create", created, nothing, "", []string{base}, nil, "n []"},
		{"create, then a value", created, valued(8, 4), `conflict with version 3 (commit {later}, "later" by "tester"): tensor "n", which the commit to be reverted created, has later values at row 4`,
			[]string{"x1.2 label1.2 n7.0 ", "x1.4 label1.4 n8.0 "}, []string{base}, ""},
		{"create, then a name", created, renamed("n", "m"), `it changed tensor "m", which`, []string{"x1.2 label1.2 m7.0 "}, []string{base}, ""},
		{"rename", renamed("x", "y"), updated(2, 1), "", []string{"x2.0 label1.1 "}, nil, "y []"},
		{"rename again", renamed("x", "y"), renamed("y", "z"), `it renamed tensor "y", "x" before the commit to be reverted, to "z"`, []string{"z1.1 label1.1 "}, []string{base}, ""},
		{"rename to a name in use", renamed("x", "y"), func(f *versiontest.Fixture, txn *version.Txn) {
			created(f, txn)
			mustDo(txn.RenameTensor("n", "x"))
		}, `a later commit created tensor "x", before the commit to be reverted another tensor has this name`, nil, []string{always}, ""},
		{"drop", dropped("x"), appended(2), "", []string{"label1.1 x1.1 ", "label2.0 x- "}, nil, ""},
		{"update of a tensor that goes", updated(2, 1), dropped("x"), `it deleted tensor "x", which the commit to be reverted changed`, []string{"label1.1 "}, []string{"label1.1 x1.1 "}, ""},
		{"info", informed("u"), nothing, "", []string{"map[]"}, nil, "map[k:u]"},
		{"info again", informed("u"), informed("l"), "it has set the info of the dataset again", []string{"map[k:l]"}, []string{"map[]"}, ""},
		{"layout", func(f *versiontest.Fixture, txn *version.Txn) { f.Rewrite(txn, 6, 0, 5) }, nothing, "", []string{"x6.0 label1.0 "}, nil, ""},
	} {
		for _, on := range []version.Strategy{version.OnConflictError, version.OnConflictOurs, version.OnConflictTheirs} {
			t.Run(c.name+" "+string(on), func(t *testing.T) {
				t.Parallel()
				f := versiontest.New(t, versiontest.MemStore(t))
				first := versiontest.State(t, f.Begin(t).Base())
				undone := commitOf(t, f, "undone", c.undone)
				later := commitOf(t, f, "later", c.later)
				before := f.Begin(t).Base()
				s, done, err := f.Repo(t).Revert(t.Context(), undone, on, "back", "tester")
				if c.conflict != "" && (on == version.OnConflictError || slices.Contains(c.theirs, always)) {
					var conflict *version.ConflictError
					want := c.conflict
					if later != nil {
						want = strings.ReplaceAll(want, "{later}", later.Record.UUID.String())
					}
					if !errors.As(err, &conflict) || !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), want) || conflict.Winner.Message != "later" {
						t.Fatalf("revert = %v, want a conflict %q", err, want)
					}
					if now := f.Begin(t).Base(); now.Record.UUID != before.Record.UUID {
						t.Fatalf("a revert that failed left version %d", now.Record.Version)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				words := c.words
				if on == version.OnConflictTheirs && c.conflict != "" {
					words = c.theirs
				}
				got := versiontest.State(t, s)
				for _, word := range words {
					if word == base {
						if !slices.Equal(got, first) {
							t.Errorf("state %q, want %q", got, first)
						}
					} else if !slices.Contains(got, word) {
						t.Errorf("%q is missing in %q", word, got)
					}
				}
				if c.not != "" && slices.Contains(got, c.not) {
					t.Errorf("%q is in %q", c.not, got)
				}
				if again := versiontest.State(t, f.Begin(t).Base()); !slices.Equal(again, got) {
					t.Errorf("reopened = %q\nwant %q", again, got)
				}
				if done != (s.Record.UUID != before.Record.UUID) || done && s.Record.Version != before.Record.Version+1 {
					t.Errorf("done is %t, version %d became %d", done, before.Record.Version, s.Record.Version)
				}
				// A revert is a commit like others, and can be reverted.
				if done {
					if _, done, err := f.Repo(t).Revert(t.Context(), undone, version.OnConflictOurs, "again", "tester"); err != nil || done {
						t.Errorf("revert again: %t, %v", done, err)
					}
					if s, _, err = f.Repo(t).Revert(t.Context(), s, version.OnConflictError, "and back", "tester"); err != nil {
						t.Fatal(err)
					}
					if got, want := versiontest.State(t, s), versiontest.State(t, before); !slices.Equal(sortedWords(got), sortedWords(want)) {
						t.Errorf("after the revert of the revert %q, want %q", got, want)
					}
				}
				versiontest.FakeChunks(t, f.Store, f.Repo(t))
				versiontest.Whole(t, f.Repo(t))
			})
		}
	}
}

// TestRevertOfMerge undoes a merge as a whole, and one of the commits that it took in.
func TestRevertOfMerge(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		f := versiontest.New(t, versiontest.MemStore(t))
		main, side := sidesOf(t, f, func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 1, 2); txn.Delete([]int64{0}) },
			func(f *versiontest.Fixture, txn *version.Txn) {
				f.Add(txn, 2, 3)
				f.Update(txn, 4, 5)
				txn.Delete([]int64{7})
			})
		want := versiontest.State(t, f.Begin(t).Base())
		merged, _, err := main.Merge(t.Context(), side, version.OnConflictError, "merge", "tester")
		if err != nil {
			t.Fatal(err)
		}
		commitOf(t, f, "on", appended(5))
		undone := merged
		if !whole {
			undone = side
		}
		s, done, err := main.Revert(t.Context(), undone, version.OnConflictError, "revert", "tester")
		if err != nil || !done {
			t.Fatal(done, err)
		}
		at := len(want) - 3 // in front of the names
		want = slices.Insert(slices.Clone(want), at, "x5.0 label5.0 ", "x5.1 label5.1 ")
		if got := versiontest.State(t, s); !slices.Equal(got, want) {
			t.Errorf("whole %t: %q\nwant %q", whole, got, want)
		}
		if _, done, err := main.Merge(t.Context(), side, version.OnConflictError, "merge", "tester"); err != nil || done {
			t.Errorf("the merge again: %t, %v", done, err)
		}
	}
}

func TestRevertRefused(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	main, side := sidesOf(t, f, appended(2), appended(3))
	zero, err := main.At(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	txn := f.Begin(t)
	f.Add(txn, 1, 2)
	preview, err := txn.Preview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what *version.Snapshot
		on   version.Strategy
		want string
	}{
		{zero, version.OnConflictError, "it is version 0, which begins its branch"},
		{side, version.OnConflictError, `branch "main" does not come from this commit`},
		{preview, version.OnConflictError, "uncommitted changes"},
		{txn.Base(), "union", "on_conflict"},
	} {
		if _, _, err := main.Revert(t.Context(), c.what, c.on, "", ""); !errs.Is(err, errs.Invalid) || !versiontest.Contains(err, c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, _, err := main.Restore(t.Context(), preview, "", ""); !errs.Is(err, errs.Invalid) {
		t.Errorf("restore of a preview: %v", err)
	}
}

// TestRestore takes each version of a history back, on its branch and on another one.
func TestRestore(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	repo := f.Repo(t)
	var all []*version.Snapshot
	for _, list := range [][]do{
		{appended(2), updated(3, 1, 11)}, {deleted(0, 3, 10)}, {created, informed("i")}, {renamed("x", "g/x"), classed("a", "b", "c")},
		{dropped("n"), updated(4, 1, 5)}, {deleted(1, 2, 5), appended(5)}, {dropped("label")}, {renamed("g/x", "x")},
	} {
		all = append(all, commitOf(t, f, "work", list...))
	}
	zero, err := repo.At(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	side, first, err := repo.CreateBranch(t.Context(), "side", all[2], "tester")
	if err != nil {
		t.Fatal(err)
	}
	txn := side.Begin(first)
	f.Add(txn, 3, 20)
	f.Update(txn, 21, 2, 6)
	txn.Delete([]int64{1})
	all = append(all, f.Commit(t, txn, "on the side"), zero)
	for i, at := range slices.Concat(all, []*version.Snapshot{all[3], all[8], all[0]}) {
		before := f.Begin(t).Base()
		s, done, err := repo.Restore(t.Context(), at, "restore", "tester")
		if err != nil {
			t.Fatal(i, err)
		}
		want := versiontest.State(t, at)
		if got := versiontest.State(t, s); !slices.Equal(got, want) || done != (s.Record.UUID != before.Record.UUID) {
			t.Fatalf("%d: %q, want %q", i, got, want)
		}
		if d, err := repo.Diff(t.Context(), at, s); err != nil || !d.Empty() {
			t.Fatalf("%d: the diff to the restored commit is %+v, %v", i, d, err)
		}
		if d, err := repo.Diff(t.Context(), before, s); err != nil || d.Empty() == done {
			t.Fatalf("%d: the diff from the commit before is %+v, %v", i, d, err)
		}
		for _, ts := range at.Schema.Tensors {
			if at != all[8] && fmt.Sprint(s.Record.Columns[ts.ID]) != fmt.Sprint(at.Record.Columns[ts.ID]) {
				t.Fatalf("%d: column %q is %+v, want %+v", i, ts.Name, s.Record.Columns[ts.ID], at.Record.Columns[ts.ID])
			}
		}
		if _, done, err := repo.Restore(t.Context(), at, "again", "tester"); err != nil || done {
			t.Fatalf("%d: restore again: %t, %v", i, done, err)
		}
		versiontest.FakeChunks(t, f.Store, repo)
		versiontest.Whole(t, repo)
		// Work goes on, and the restore can be undone.
		if i%3 == 0 {
			txn := f.Begin(t)
			f.Add(txn, 1, 30)
			f.Commit(t, txn, "on")
		} else if done {
			s, _, err := repo.Revert(t.Context(), s, version.OnConflictError, "undo", "tester")
			if err != nil {
				t.Fatal(i, err)
			}
			if got, want := versiontest.State(t, s), versiontest.State(t, before); !slices.Equal(sortedWords(got), sortedWords(want)) {
				t.Fatalf("%d: undone %q, want %q", i, got, want)
			}
		}
	}
}

// TestRestoreOrder refuses a version whose rows another branch has in another order.
func TestRestoreOrder(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	main, side := sidesOf(t, f, appended(2), appended(3))
	ours := f.Begin(t).Base()
	if _, _, err := main.Merge(t.Context(), side, version.OnConflictError, "merge", ""); err != nil {
		t.Fatal(err)
	}
	on, err := main.On(t.Context(), "side")
	if err != nil {
		t.Fatal(err)
	}
	there, _, err := on.Merge(t.Context(), ours, version.OnConflictError, "merge", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := main.Restore(t.Context(), there, "", ""); !errs.Is(err, errs.Unsupported) || !versiontest.Contains(err, "in another order") {
		t.Errorf("restore of rows in another order: %v", err)
	}
	if s, _, err := main.Restore(t.Context(), side, "", ""); err != nil || !slices.Equal(versiontest.State(t, s), versiontest.State(t, side)) {
		t.Errorf("restore of the side before its merge: %v", err)
	}
}

// TestRestoreUnderWriter: samples that were written meanwhile keep the class names, dtypes and
// shapes that they rely on.
func TestRestoreUnderWriter(t *testing.T) {
	t.Parallel()
	decided := func(f *versiontest.Fixture, txn *version.Txn) {
		txn.Schema().ByID(f.Label).ClassNames = []string{"a", "b"}
		x := txn.Schema().ByID(f.X)
		x.DType, x.Shape = "uint8", []int64{3}
	}
	for _, merge := range []bool{false, true} {
		f := versiontest.New(t, versiontest.MemStore(t))
		old := f.Begin(t).Base()
		commitOf(t, f, "decided", decided, appended(2))
		repo, idle, writer := f.Repo(t), f.Begin(t), f.Begin(t)
		idle.Delete([]int64{0})
		f.Add(writer, 2, 4)
		var side *version.Snapshot
		if merge {
			on, first, err := repo.CreateBranch(t.Context(), "side", writer.Base(), "")
			if err != nil {
				t.Fatal(err)
			}
			txn := on.Begin(first)
			f.Add(txn, 2, 4)
			side = f.Commit(t, txn, "on the side")
		}
		if _, _, err := repo.Restore(t.Context(), old, "restore", ""); err != nil {
			t.Fatal(err)
		}
		s := f.Commit(t, idle, "no sample")
		if got := s.Schema.ByID(f.Label).ClassNames; !slices.Equal(got, []string{"a"}) || s.Schema.ByID(f.X).DType != "" {
			t.Errorf("merge %t: class names %q are back without a sample", merge, got)
		}
		if merge {
			var err error
			if s, _, err = repo.Merge(t.Context(), side, version.OnConflictError, "merge", ""); err != nil {
				t.Fatal(err)
			}
		} else {
			s = f.Commit(t, writer, "samples")
		}
		x, label := s.Schema.ByID(f.X), s.Schema.ByID(f.Label)
		if x.DType != "uint8" || len(x.Shape) != 1 || !slices.Equal(label.ClassNames, []string{"a", "b"}) {
			t.Errorf("merge %t: samples of classes [a b] and dtype uint8 have %q, %q of shape %v", merge, label.ClassNames, x.DType, x.Shape)
		}
		if got := versiontest.State(t, s); !slices.Contains(got, "x4.1 label4.1 ") || slices.Contains(got, "x2.0 label2.0 ") {
			t.Errorf("merge %t: %q", merge, got)
		}
	}
	// Other names have taken the numbers of these.
	f := versiontest.New(t, versiontest.MemStore(t))
	old := f.Begin(t).Base()
	commitOf(t, f, "names", classed("a", "b"))
	txn := f.Begin(t)
	f.Add(txn, 1, 4)
	if _, _, err := f.Repo(t).Restore(t.Context(), old, "restore", ""); err != nil {
		t.Fatal(err)
	}
	commitOf(t, f, "other names", classed("a", "c"))
	if _, err := txn.Commit(t.Context(), "", ""); !errs.Is(err, errs.Conflict) || !versiontest.Contains(err, `numbered the classes otherwise`) {
		t.Errorf("labels whose class has another name: %v", err)
	}
}

// TestRevertThenMerge: an update that its branch has undone contradicts none of the other side.
func TestRevertThenMerge(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{true, false} {
		f := versiontest.New(t, versiontest.MemStore(t))
		main, side := sidesOf(t, f, updated(2, 1), updated(3, 1))
		repo, undone := main, f.Begin(t).Base()
		if !ours {
			var err error
			if repo, err = main.On(t.Context(), "side"); err != nil {
				t.Fatal(err)
			}
			undone = side
		}
		s, _, err := repo.Revert(t.Context(), undone, version.OnConflictError, "", "")
		if err != nil {
			t.Fatal(err)
		}
		want := "x3.0 label1.1 "
		if !ours {
			side, want = s, "x2.0 label1.1 "
		}
		s, _, err = main.Merge(t.Context(), side, version.OnConflictError, "", "")
		if err != nil || !slices.Contains(versiontest.State(t, s), want) {
			t.Errorf("ours %t: %v", ours, err)
		}
	}
}

// TestReplaceFaults lets each storage call of a restore and of a revert go wrong in each way. The
// branch then has the old or the new version, and doing it again makes the new one once.
func TestReplaceFaults(t *testing.T) {
	t.Parallel()
	restore := func(r *version.Repo, at *version.Snapshot) (*version.Snapshot, bool, error) {
		return r.Restore(t.Context(), at, "restore", "")
	}
	revert := func(r *version.Repo, at *version.Snapshot) (*version.Snapshot, bool, error) {
		return r.Revert(t.Context(), at, version.OnConflictError, "revert", "")
	}
	actions := map[string]faultstore.Action{
		"fail": faultstore.Fail(errs.Storage), "exists": faultstore.Fail(errs.Exists), "lost answer": faultstore.LostAnswer(),
		"crash": faultstore.Crash(), "crash after": faultstore.CrashAfter(),
	}
	for op, run := range map[string]func(*version.Repo, *version.Snapshot) (*version.Snapshot, bool, error){"restore": restore, "revert": revert} {
		try := func(plan faultstore.Plan, want []string) ([]string, int) {
			f, mine, broken := faultyFixture(t)
			at := commitOf(t, f, "rows", appended(2), updated(3, 1), deleted(4))
			commitOf(t, f, "more", appended(5), deleted(0))
			repo := mine.Repo(t)
			old := f.Begin(t).Base()
			before, from := versiontest.State(t, old), len(broken.Calls())
			broken.SetPlan(plan)
			_, _, failed := run(repo, at)
			calls := len(broken.Calls()) - from
			broken.SetPlan(nil)
			got := versiontest.State(t, f.Begin(t).Base())
			if want != nil && !slices.Equal(got, before) && !slices.Equal(got, want) || failed == nil && want != nil && !slices.Equal(got, want) {
				t.Fatalf("%s, %v: %q", op, failed, got)
			}
			if _, _, err := run(repo, at); err != nil {
				t.Fatalf("%s, the second try after %v: %v", op, failed, err)
			}
			head := f.Begin(t).Base()
			if got = versiontest.State(t, head); head.Record.Version != old.Record.Version+1 || want != nil && !slices.Equal(got, want) {
				t.Fatalf("%s, after %v and a second try: version %d, %q", op, failed, head.Record.Version, got)
			}
			return got, calls
		}
		want, calls := try(nil, nil)
		if calls < 6 {
			t.Fatalf("%s makes %d calls", op, calls)
		}
		for _, do := range actions {
			for n := range calls {
				try(faultstore.Plan{{Skip: n, Do: do}}, want)
			}
		}
	}
}

// TestReplaceRace: another writer commits while a restore or a revert is worked out.
func TestReplaceRace(t *testing.T) {
	t.Parallel()
	for _, revert := range []bool{true, false} {
		f := versiontest.New(t, versiontest.MemStore(t))
		at := commitOf(t, f, "rows", appended(2))
		commitOf(t, f, "more", appended(3))
		hooked := &hookStore{Provider: f.Store}
		other := f.Begin(t)
		f.Add(other, 1, 4)
		hooked.before = func(string) {
			hooked.before = nil
			f.Commit(t, other, "in between")
		}
		repo, err := version.Open(t.Context(), hooked, "test")
		if err != nil {
			t.Fatal(err)
		}
		s, want := (*version.Snapshot)(nil), int64(versiontest.BaseRows+2)
		if revert {
			s, _, err = repo.Revert(t.Context(), at, version.OnConflictError, "", "")
			want++
		} else {
			s, _, err = repo.Restore(t.Context(), at, "", "")
		}
		if err != nil || s.Rows() != want || s.Record.Version != 5 {
			t.Errorf("revert %t: %v; version %d has %d rows, want %d", revert, err, s.Record.Version, s.Rows(), want)
		}
	}
}
