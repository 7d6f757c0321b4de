package version_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// TestMatrix is FORMAT.md, section 11: a transaction after another commit came first.
func TestMatrix(t *testing.T) {
	t.Parallel()
	newTensor := func(name string) func(*versiontest.Fixture, *version.Txn) {
		return func(_ *versiontest.Fixture, txn *version.Txn) {
			txn.Schema().Tensors = append(txn.Schema().Tensors, format.TensorSchema{ID: format.NewUUID(), Name: name, HType: "generic", Compression: "none", ChunkBytes: 1 << 20})
		}
	}
	classes := func(names ...string) func(*versiontest.Fixture, *version.Txn) {
		return func(f *versiontest.Fixture, txn *version.Txn) { txn.Schema().ByID(f.Label).ClassNames = names }
	}
	appendRows := func(session byte) func(*versiontest.Fixture, *version.Txn) {
		return func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 2, session) }
	}
	update := func(session byte, rows ...int64) func(*versiontest.Fixture, *version.Txn) {
		return func(f *versiontest.Fixture, txn *version.Txn) { f.Update(txn, session, rows...) }
	}
	remove := func(rows ...int64) func(*versiontest.Fixture, *version.Txn) {
		return func(_ *versiontest.Fixture, txn *version.Txn) { txn.Delete(rows) }
	}
	info := func(v string) func(*versiontest.Fixture, *version.Txn) {
		return func(_ *versiontest.Fixture, txn *version.Txn) { txn.SetInfo(map[string]any{"k": v}) }
	}
	dtype := func(d string) func(*versiontest.Fixture, *version.Txn) {
		return func(f *versiontest.Fixture, txn *version.Txn) { txn.Schema().ByID(f.X).DType = d }
	}
	shape := func(axes ...int64) func(*versiontest.Fixture, *version.Txn) {
		return func(f *versiontest.Fixture, txn *version.Txn) { txn.Schema().ByID(f.X).Shape = axes }
	}
	both := func(list ...func(*versiontest.Fixture, *version.Txn)) func(*versiontest.Fixture, *version.Txn) {
		return func(f *versiontest.Fixture, txn *version.Txn) {
			for _, do := range list {
				do(f, txn)
			}
		}
	}
	drop := func(name string) func(*versiontest.Fixture, *version.Txn) {
		return func(_ *versiontest.Fixture, txn *version.Txn) { mustDo(txn.DropTensor(name)) }
	}
	rename := func(old, name string) func(*versiontest.Fixture, *version.Txn) {
		return func(_ *versiontest.Fixture, txn *version.Txn) { mustDo(txn.RenameTensor(old, name)) }
	}
	rewrite := func(session byte, first, rows int64) func(*versiontest.Fixture, *version.Txn) {
		return func(f *versiontest.Fixture, txn *version.Txn) { f.Rewrite(txn, session, first, rows) }
	}
	restore := func(_ *versiontest.Fixture, _ *version.Txn) {}
	cases := []struct {
		name         string
		ours, theirs func(*versiontest.Fixture, *version.Txn)
		conflict     string // "": rebase
		changed      []string
	}{
		{"append x append", appendRows(2), appendRows(3), "", []string{"x3.0 label3.0 ", "x3.1 label3.1 ", "x2.0 label2.0 ", "x2.1 label2.1 "}},
		{"append x add_tensor", appendRows(2), newTensor("n"), "", nil},
		{"append x class_names", appendRows(2), classes("a", "b"), "", []string{"label [a b]"}},
		{"append x set_info", appendRows(2), info("t"), "", []string{"map[k:t]"}},
		{"append x update", appendRows(2), update(3, 1), "", []string{"x3.0 label1.1 "}},
		{"append x delete", appendRows(2), remove(1), "", nil},
		{"add_tensor x append", newTensor("n"), appendRows(3), "", nil},
		{"add_tensor x add_tensor, other name", newTensor("n"), newTensor("m"), "", nil},
		{"add_tensor x add_tensor, same name", newTensor("n"), newTensor("n"), `another commit created tensor "n"`, nil},
		{"add_tensor x add_tensor, in a tensor", newTensor("n/a"), newTensor("n"), `created tensor "n"`, nil},
		{"add_tensor x add_tensor, a group", newTensor("n"), newTensor("n/a"), `created tensor "n/a"`, nil},
		{"class_names x class_names, same", classes("a", "b"), classes("a", "b"), "", []string{"label [a b]"}},
		{"class_names x class_names, ours longer", classes("a", "b", "c"), classes("a", "b"), "", []string{"label [a b c]"}},
		{"class_names x class_names, theirs longer", classes("a", "b"), classes("a", "b", "c"), "", []string{"label [a b c]"}},
		{"class_names x class_names, others", classes("a", "b"), classes("a", "c"), `numbered the classes otherwise`, nil},
		{"class_names x class_names, renamed", classes("z"), classes("a", "b"), `numbered the classes otherwise`, nil},
		{"class_names x class_names, renamed there", classes("a", "b"), classes("z"), `numbered the classes otherwise`, nil},
		{"class_names x class_names, renamed twice", classes("y"), classes("z"), `numbered the classes otherwise`, nil},
		{"class_names x class_names, renamed alike", classes("z", "b"), classes("z"), "", []string{"label [z b]"}},
		{"set_info x append", info("o"), appendRows(3), "", []string{"map[k:o]"}},
		{"set_info x set_info", info("o"), info("t"), "both set the info", nil},
		{"update x append", update(2, 1), appendRows(3), "", []string{"x2.0 label1.1 "}},
		{"update x update, other rows", update(2, 1), update(3, 2), "", []string{"x2.0 label1.1 ", "x3.0 label1.2 "}},
		{"update x update, same rows", update(2, 1, 3, 5), update(3, 3, 4, 5), `both update tensor "x" at rows 3, 5`, nil},
		{"update x delete, other rows", update(2, 1), remove(2), "", []string{"x2.0 label1.1 "}},
		{"update x delete, same row", update(2, 1), remove(1, 2), `it deleted row 1, where this commit updates tensor "x"`, nil},
		{"delete x update, other rows", remove(1), update(3, 2), "", []string{"x3.0 label1.2 "}},
		{"delete x update, same row", remove(1), update(3, 1), `it updated tensor "x" at row 1, which this commit deletes`, nil},
		{"delete x delete, same rows", remove(1, 2), remove(2, 3), "", nil},
		{"delete x append", remove(1), appendRows(3), "", []string{"x3.0 label3.0 "}},
		{"own row x update of another own row", both(appendRows(2), update(4, versiontest.BaseRows)), both(appendRows(3), update(5, versiontest.BaseRows)), "",
			[]string{"x5.0 label3.0 ", "x4.0 label2.0 "}},
		{"deleted own row x update of another own row", both(appendRows(2), remove(versiontest.BaseRows)), both(appendRows(3), update(5, versiontest.BaseRows)), "",
			[]string{"x5.0 label3.0 ", "x2.1 label2.1 "}},
		{"own row x deleted own row", both(appendRows(2), update(4, versiontest.BaseRows)), both(appendRows(3), remove(versiontest.BaseRows)), "",
			[]string{"x3.1 label3.1 ", "x4.0 label2.0 "}},
		{"dtype x dtype, same", dtype("uint8"), dtype("uint8"), "", nil},
		{"dtype x dtype, others", dtype("uint8"), dtype("int8"), `gave tensor "x" dtype int8, here it is uint8`, nil},
		{"shape x shape, others", shape(3), shape(4), `gave tensor "x" shape (4,), here it is (3,)`, nil},
		{"append x drop_tensor", appendRows(2), drop("x"), "", []string{"label2.0 ", "label1.1 "}},
		{"append x rename_tensor", appendRows(2), rename("x", "y/z"), "", []string{"y/z2.0 label2.0 ", "y/z1.1 label1.1 "}},
		{"append x rewrite", appendRows(2), rewrite(6, 0, 5), "", []string{"x2.0 label2.0 ", "x6.4 label1.4 ", "x1.5 label1.5 "}},
		{"add_tensor x class_names", newTensor("n"), classes("a", "b"), "", []string{"n []", "label [a b]"}},
		{"add_tensor x set_info", newTensor("n"), info("t"), "", []string{"n []", "map[k:t]"}},
		{"add_tensor x update", newTensor("n"), update(3, 1), "", []string{"x3.0 label1.1 n- "}},
		{"add_tensor x delete", newTensor("n"), remove(1), "", []string{"n []"}},
		{"add_tensor x drop_tensor", newTensor("n"), drop("x"), "", []string{"label1.1 n- "}},
		{"add_tensor x rename_tensor", newTensor("n"), rename("x", "m"), "", []string{"m1.1 label1.1 n- "}},
		{"add_tensor x rename_tensor, same name", newTensor("n"), rename("x", "n"), `another commit has a tensor named "n"`, nil},
		{"add_tensor x rename_tensor, a group", newTensor("n"), rename("x", "n/x"), `cannot be both`, nil},
		{"add_tensor x rewrite", newTensor("n"), rewrite(6, 0, 2), "", []string{"x6.1 label1.1 n- "}},
		{"class_names x append", classes("a", "b"), appendRows(3), "", []string{"label [a b]", "x3.0 label3.0 "}},
		{"class_names x add_tensor", classes("a", "b"), newTensor("n"), "", []string{"label [a b]", "n []"}},
		{"class_names x set_info", classes("a", "b"), info("t"), "", []string{"label [a b]", "map[k:t]"}},
		{"class_names x update", classes("a", "b"), update(3, 1), "", []string{"label [a b]", "x3.0 label1.1 "}},
		{"class_names x delete", classes("a", "b"), remove(1), "", []string{"label [a b]"}},
		{"class_names x drop_tensor", classes("a", "b"), drop("x"), "", []string{"label [a b]"}},
		{"class_names x drop_tensor, same tensor", classes("a", "b"), drop("label"), `deleted tensor "label", to which this commit adds class names`, nil},
		{"class_names x rename_tensor", classes("a", "b"), rename("label", "l"), "", []string{"l [a b]"}},
		{"class_names x rewrite", classes("a", "b"), rewrite(6, 0, 2), "", []string{"label [a b]", "x6.1 label1.1 "}},
		{"set_info x add_tensor", info("o"), newTensor("n"), "", []string{"map[k:o]", "n []"}},
		{"set_info x class_names", info("o"), classes("a", "b"), "", []string{"map[k:o]", "label [a b]"}},
		{"set_info x update", info("o"), update(3, 1), "", []string{"map[k:o]", "x3.0 label1.1 "}},
		{"set_info x delete", info("o"), remove(1), "", []string{"map[k:o]"}},
		{"set_info x drop_tensor", info("o"), drop("x"), "", []string{"map[k:o]", "label1.1 "}},
		{"set_info x rename_tensor", info("o"), rename("x", "y"), "", []string{"map[k:o]", "y1.1 label1.1 "}},
		{"set_info x rewrite", info("o"), rewrite(6, 0, 2), "", []string{"map[k:o]", "x6.1 label1.1 "}},
		{"update x add_tensor", update(2, 1), newTensor("n"), "", []string{"x2.0 label1.1 n- "}},
		{"update x class_names", update(2, 1), classes("a", "b"), "", []string{"x2.0 label1.1 ", "label [a b]"}},
		{"update x set_info", update(2, 1), info("t"), "", []string{"x2.0 label1.1 ", "map[k:t]"}},
		{"update x drop_tensor", update(2, 1), drop("label"), "", []string{"x2.0 "}},
		{"update x drop_tensor, same tensor", update(2, 1, 3), drop("x"), `deleted tensor "x", which this commit updates at rows 1, 3`, nil},
		{"update x rename_tensor", update(2, 1), rename("x", "y"), "", []string{"y2.0 label1.1 "}},
		{"update x rewrite", update(2, 1), rewrite(6, 0, 5), "", []string{"x2.0 label1.1 ", "x6.0 label1.0 ", "x6.2 label1.2 "}},
		{"delete x add_tensor", remove(1), newTensor("n"), "", []string{"x1.2 label1.2 n- "}},
		{"delete x class_names", remove(1), classes("a", "b"), "", []string{"label [a b]"}},
		{"delete x set_info", remove(1), info("t"), "", []string{"map[k:t]"}},
		{"delete x drop_tensor", remove(1), drop("x"), "", []string{"label1.2 "}},
		{"delete x rename_tensor", remove(1), rename("x", "y"), "", []string{"y1.2 label1.2 "}},
		{"delete x rewrite", remove(1), rewrite(6, 0, 5), "", []string{"x6.2 label1.2 "}},
		{"drop_tensor x append", drop("x"), appendRows(3), "", []string{"label3.0 "}},
		{"drop_tensor x add_tensor", drop("x"), newTensor("n"), "", []string{"label1.1 n- "}},
		{"drop_tensor x class_names", drop("x"), classes("a", "b"), "", []string{"label [a b]"}},
		{"drop_tensor x class_names, same tensor", drop("label"), classes("a", "b"), `added class names to tensor "label", which this commit deletes`, nil},
		{"drop_tensor x set_info", drop("x"), info("t"), "", []string{"map[k:t]"}},
		{"drop_tensor x update", drop("label"), update(3, 1), "", []string{"x3.0 "}},
		{"drop_tensor x update, same tensor", drop("x"), update(3, 1), `updated rows of tensor "x", which this commit deletes`, nil},
		{"drop_tensor x delete", drop("x"), remove(1), "", []string{"label1.2 "}},
		{"drop_tensor x drop_tensor", drop("x"), drop("label"), "", nil},
		{"drop_tensor x drop_tensor, same tensor", drop("x"), drop("x"), "", []string{"label1.1 "}},
		{"drop_tensor x rename_tensor", drop("x"), rename("label", "l"), "", []string{"l1.1 "}},
		{"drop_tensor x rename_tensor, same tensor", drop("x"), rename("x", "y"), `renamed tensor "x", which this commit deletes`, nil},
		{"drop_tensor x rewrite", drop("x"), rewrite(6, 0, 5), "", []string{"label1.1 "}},
		{"rename_tensor x append", rename("x", "y"), appendRows(3), "", []string{"y3.0 label3.0 "}},
		{"rename_tensor x add_tensor", rename("x", "y"), newTensor("n"), "", []string{"y1.1 label1.1 n- "}},
		{"rename_tensor x add_tensor, same name", rename("x", "n"), newTensor("n"), `another commit created tensor "n"`, nil},
		{"rename_tensor x add_tensor, a group", rename("x", "n/x"), newTensor("n"), `cannot be both`, nil},
		{"rename_tensor x class_names", rename("label", "l"), classes("a", "b"), "", []string{"l [a b]"}},
		{"rename_tensor x set_info", rename("x", "y"), info("t"), "", []string{"y1.1 label1.1 ", "map[k:t]"}},
		{"rename_tensor x update", rename("x", "y"), update(3, 1), "", []string{"y3.0 label1.1 "}},
		{"rename_tensor x delete", rename("x", "y"), remove(1), "", []string{"y1.2 label1.2 "}},
		{"rename_tensor x drop_tensor", rename("x", "y"), drop("label"), "", []string{"y1.1 "}},
		{"rename_tensor x drop_tensor, same tensor", rename("x", "y"), drop("x"), `deleted tensor "x", which this commit renames to "y"`, nil},
		{"rename_tensor x rename_tensor", rename("x", "y"), rename("label", "l"), "", []string{"y1.1 l1.1 "}},
		{"rename_tensor x rename_tensor, same tensor, same name", rename("x", "y"), rename("x", "y"), "", []string{"y1.1 label1.1 "}},
		{"rename_tensor x rename_tensor, same tensor", rename("x", "y"), rename("x", "z"), `another commit renamed tensor "x" to "z", here it is "y"`, nil},
		{"rename_tensor x rename_tensor, same name", rename("x", "y"), rename("label", "y"), `another commit has a tensor named "y"`, nil},
		{"rename_tensor x rewrite", rename("x", "y"), rewrite(6, 0, 5), "", []string{"y6.1 label1.1 "}},
		{"rewrite x append", rewrite(6, 0, 5), appendRows(3), "", []string{"x6.1 label1.1 ", "x3.0 label3.0 "}},
		{"rewrite x add_tensor", rewrite(6, 0, 5), newTensor("n"), "", []string{"x6.1 label1.1 n- "}},
		{"rewrite x class_names", rewrite(6, 0, 5), classes("a", "b"), "", []string{"x6.1 label1.1 ", "label [a b]"}},
		{"rewrite x set_info", rewrite(6, 0, 5), info("t"), "", []string{"x6.1 label1.1 ", "map[k:t]"}},
		{"rewrite x update", rewrite(6, 0, 5), update(3, 1, 3, 7), "",
			[]string{"x6.0 label1.0 ", "x3.0 label1.1 ", "x6.2 label1.2 ", "x3.1 label1.3 ", "x6.4 label1.4 ", "x1.5 label1.5 ", "x3.2 label1.7 "}},
		{"rewrite x delete", rewrite(6, 0, 5), remove(1), "", []string{"x6.0 label1.0 ", "x6.2 label1.2 "}},
		{"rewrite x drop_tensor", rewrite(6, 0, 5), drop("label"), "", []string{"x6.1 "}},
		{"rewrite x drop_tensor, same tensor", rewrite(6, 0, 5), drop("x"), "", []string{"label1.1 "}},
		{"rewrite x rename_tensor", rewrite(6, 0, 5), rename("x", "y"), "", []string{"y6.1 label1.1 ", "y1.5 label1.5 "}},
		{"rewrite x rewrite", rewrite(6, 0, 5), rewrite(7, 3, 5), "", []string{"x6.4 label1.4 ", "x7.2 label1.5 ", "x7.4 label1.7 ", "x1.8 label1.8 "}},
		{"rewrite and update x update", both(rewrite(6, 0, 5), update(2, 2)), update(3, 1), "",
			[]string{"x6.0 label1.0 ", "x3.0 label1.1 ", "x2.0 label1.2 ", "x6.3 label1.3 "}},
		{"append x restore", appendRows(2), restore, "", nil},
		{"add_tensor x restore", newTensor("n"), restore, "", nil},
		{"drop_tensor x restore", drop("x"), restore, "", nil},
		{"rename_tensor x restore", rename("x", "y"), restore, "", nil},
		{"set_info x restore", info("o"), restore, "", nil},
		{"class_names x restore", classes("a", "b"), restore, "", nil},
		{"update x restore", update(2, 1), restore, "", nil},
		{"delete x restore", remove(1), restore, "", nil},
		{"rewrite x restore", rewrite(6, 0, 5), restore, "", nil},
	}
	names := map[string]bool{}
	for _, c := range cases {
		cell, _, _ := strings.Cut(c.name, ",")
		names[cell] = true
	}
	ops := []format.OpKind{format.OpAppend, format.OpAddTensor, format.OpDropTensor, format.OpRenameTensor, format.OpSetInfo, format.OpClassNames, format.OpUpdate, format.OpDelete, format.OpRewrite, format.OpRestore}
	for _, ours := range ops[:len(ops)-1] { // a merge, which alone restores, begins again
		for _, theirs := range ops {
			if cell := fmt.Sprintf("%s x %s", ours, theirs); !names[cell] {
				t.Errorf("cell %q has no test", cell)
			}
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := versiontest.New(t, versiontest.MemStore(t))
			ours, theirs := f.Begin(t), f.Begin(t)
			c.ours(f, ours)
			c.theirs(f, theirs)
			var winner *version.Snapshot
			if strings.HasSuffix(c.name, "x restore") {
				var err error
				if winner, err = f.Repo(t).CommitRestore(context.Background(), f.Begin(t).Base(), 3); err != nil {
					t.Fatal(err)
				}
			} else {
				winner = f.Commit(t, theirs, "the winner")
			}
			s, err := ours.Commit(context.Background(), "ours", "")
			if c.conflict != "" {
				if !errs.Is(err, errs.Conflict) || !versiontest.Contains(err, c.conflict) || !versiontest.Contains(err, "discard()") {
					t.Fatalf("commit = %v, want a conflict that says %q", err, c.conflict)
				}
				if head := f.Begin(t).Base(); head.Record.UUID != winner.Record.UUID {
					t.Fatalf("the head is %q after a conflict", head.Record.Message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := versiontest.State(t, s)
			for _, word := range c.changed {
				if !slices.Contains(got, word) {
					t.Errorf("%q is missing in %q", word, got)
				}
			}
			if reread := versiontest.State(t, f.Begin(t).Base()); !slices.Equal(reread, got) {
				t.Errorf("reopened = %q\nwant %q", reread, got)
			}
			gone := bitmap()
			deleted, appended := ours.Changes()
			gone.Or(deleted)
			want := winner.Record.Rows + appended
			if s.Record.Rows != want || s.Rows() != want-s.Record.DeletedRows || s.Record.Version != winner.Record.Version+1 {
				t.Errorf("%d rows of %d in version %d, want %d", s.Rows(), s.Record.Rows, s.Record.Version, want)
			}
		})
	}
}

// mustDo is for the setup of a test that cannot fail.
func mustDo(err error) {
	if err != nil {
		panic(err)
	}
}

// TestConflictError checks the fields that a program can read.
func TestConflictError(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	txn := f.Begin(t)
	txn.Delete([]int64{0, 4})
	f.Commit(t, txn, "rows 0 and 4 are gone")
	ours, theirs := f.Begin(t), f.Begin(t)
	f.Update(ours, 2, 3, 5)
	f.Update(theirs, 3, 3, 5)
	winner := f.Commit(t, theirs, "the winner")
	_, err := ours.Commit(context.Background(), "ours", "")
	var c *version.ConflictError
	if !errors.As(err, &c) {
		t.Fatal(err)
	}
	if c.Kind != "update x update" || c.Tensor != "x" || !slices.Equal(c.Rows, []int64{2, 3}) || c.Count != 2 || c.Winner.Commit != winner.Record.UUID.String() || c.Remedy == "" {
		t.Errorf("conflict is %+v", c)
	}
	if !versiontest.Contains(err, `"x" at rows 2, 3`) {
		t.Errorf("rows are not as the user counts them: %v", err)
	}
	if _, err := ours.Commit(context.Background(), "ours", ""); !errs.Is(err, errs.Conflict) {
		t.Errorf("again: %v", err)
	}
}

// TestConflictText names the winner, and the first rows of many.
func TestConflictText(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	more := f.Begin(t)
	f.Add(more, 100, 2)
	f.Commit(t, more, "more")
	ours, theirs := f.Begin(t), f.Begin(t)
	var rows []int64
	for row := range int64(40) {
		rows = append(rows, 2*row)
	}
	f.Update(ours, 3, rows...)
	f.Update(theirs, 4, rows...)
	winner := f.Commit(t, theirs, "the winner")
	_, err := ours.Commit(context.Background(), "ours", "")
	for _, want := range []string{winner.Record.UUID.String(), "the winner", "tester", "version 3", "rows 0, 2, 4,", "28, 30, ... (40 rows)"} {
		if !versiontest.Contains(err, want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

// TestHugeRanges: the ranges of another commit may be of any length, which must cost no time.
func TestHugeRanges(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	txn := f.Begin(t)
	f.Update(txn, 2, 3)
	txn.Delete([]int64{5})
	rec := &format.Record{UUID: versiontest.Numbered(5)}
	all := []format.RowRange{{Start: 4, Count: format.MaxRows - 4}}
	for _, op := range []format.Op{{Op: format.OpUpdate, Tensor: f.Label, Ranges: all}, {Op: format.OpUpdate, Tensor: f.X, Ranges: all}} {
		if err := txn.Check(rec, []format.Op{op}); !versiontest.Contains(err, "row 5,") {
			t.Errorf("check = %v", err)
		}
	}
	if err := txn.Check(rec, []format.Op{{Op: format.OpDelete, Ranges: all}}); err != nil {
		t.Errorf("check = %v", err)
	}
	if err := txn.Check(rec, []format.Op{{Op: "explode", Tensor: f.X}}); !errs.Is(err, errs.Unsupported) {
		t.Errorf("check = %v", err)
	}
}

// TestManyCommits: transactions that each lie on an old base end up on top of all.
func TestManyCommits(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	var txns []*version.Txn
	for i := range 20 {
		txn := f.Begin(t)
		f.Add(txn, 1, byte(i+10))
		txns = append(txns, txn)
	}
	for i, txn := range txns {
		if s := f.Commit(t, txn, fmt.Sprint(i)); s.Record.Rows != versiontest.BaseRows+int64(i)+1 {
			t.Fatalf("%d rows after commit %d", s.Record.Rows, i)
		}
	}
}
