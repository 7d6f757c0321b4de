package version

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
)

// TestMatrix is FORMAT.md, section 11: what a transaction does when another commit came first.
func TestMatrix(t *testing.T) {
	t.Parallel()
	newTensor := func(name string) func(*fixture, *Txn) {
		return func(_ *fixture, txn *Txn) {
			txn.Schema().Tensors = append(txn.Schema().Tensors, format.TensorSchema{ID: format.NewUUID(), Name: name, HType: "generic", Compression: "none", ChunkBytes: 1 << 20})
		}
	}
	classes := func(names ...string) func(*fixture, *Txn) {
		return func(f *fixture, txn *Txn) { txn.Schema().ByID(f.label).ClassNames = names }
	}
	appendRows := func(session byte) func(*fixture, *Txn) {
		return func(f *fixture, txn *Txn) { f.add(txn, 2, session) }
	}
	update := func(session byte, rows ...int64) func(*fixture, *Txn) {
		return func(f *fixture, txn *Txn) { f.update(txn, session, rows...) }
	}
	remove := func(rows ...int64) func(*fixture, *Txn) {
		return func(_ *fixture, txn *Txn) { txn.Delete(rows) }
	}
	info := func(v string) func(*fixture, *Txn) {
		return func(_ *fixture, txn *Txn) { txn.SetInfo(map[string]any{"k": v}) }
	}
	dtype := func(d string) func(*fixture, *Txn) {
		return func(f *fixture, txn *Txn) { txn.Schema().ByID(f.x).DType = d }
	}
	shape := func(axes ...int64) func(*fixture, *Txn) {
		return func(f *fixture, txn *Txn) { txn.Schema().ByID(f.x).Shape = axes }
	}
	both := func(list ...func(*fixture, *Txn)) func(*fixture, *Txn) {
		return func(f *fixture, txn *Txn) {
			for _, do := range list {
				do(f, txn)
			}
		}
	}
	cases := []struct {
		name         string
		ours, theirs func(*fixture, *Txn)
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
		{"class_names x class_names, others", classes("a", "b"), classes("a", "c"), `named class 1 of tensor "label" "c", here it is "b"`, nil},
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
		{"own row x update of another own row", both(appendRows(2), update(4, baseRows)), both(appendRows(3), update(5, baseRows)), "",
			[]string{"x5.0 label3.0 ", "x4.0 label2.0 "}},
		{"deleted own row x update of another own row", both(appendRows(2), remove(baseRows)), both(appendRows(3), update(5, baseRows)), "",
			[]string{"x5.0 label3.0 ", "x2.1 label2.1 "}},
		{"own row x deleted own row", both(appendRows(2), update(4, baseRows)), both(appendRows(3), remove(baseRows)), "",
			[]string{"x3.1 label3.1 ", "x4.0 label2.0 "}},
		{"dtype x dtype, same", dtype("uint8"), dtype("uint8"), "", nil},
		{"dtype x dtype, others", dtype("uint8"), dtype("int8"), `gave tensor "x" dtype int8, here it is uint8`, nil},
		{"shape x shape, others", shape(3), shape(4), `gave tensor "x" shape (4,), here it is (3,)`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, memStore(t))
			ours, theirs := f.begin(t), f.begin(t)
			c.ours(f, ours)
			c.theirs(f, theirs)
			winner := f.commit(t, theirs, "the winner")
			s, err := ours.Commit(context.Background(), "ours", "")
			if c.conflict != "" {
				if !errs.Is(err, errs.Conflict) || !contains(err, c.conflict) || !contains(err, "discard()") {
					t.Fatalf("commit = %v, want a conflict that says %q", err, c.conflict)
				}
				if head := f.begin(t).Base(); head.Record.UUID != winner.Record.UUID {
					t.Fatalf("the head is %q after a conflict", head.Record.Message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := state(t, s)
			for _, word := range c.changed {
				if !slices.Contains(got, word) {
					t.Errorf("%q is missing in %q", word, got)
				}
			}
			if reread := state(t, f.begin(t).Base()); !slices.Equal(reread, got) {
				t.Errorf("reopened = %q\nwant %q", reread, got)
			}
			gone := bitmap()
			gone.Or(ours.deleted)
			want := winner.Record.Rows + ours.rows
			if s.Record.Rows != want || s.Rows() != want-s.Record.DeletedRows || s.Record.Version != 3 {
				t.Errorf("%d rows of %d in version %d, want %d", s.Rows(), s.Record.Rows, s.Record.Version, want)
			}
		})
	}
}

// TestConflictText names the winner, and the first rows of many.
func TestConflictText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memStore(t))
	more := f.begin(t)
	f.add(more, 100, 2)
	f.commit(t, more, "more")
	ours, theirs := f.begin(t), f.begin(t)
	var rows []int64
	for row := range int64(40) {
		rows = append(rows, 2*row)
	}
	f.update(ours, 3, rows...)
	f.update(theirs, 4, rows...)
	winner := f.commit(t, theirs, "the winner")
	_, err := ours.Commit(context.Background(), "ours", "")
	for _, want := range []string{winner.Record.UUID.String(), "the winner", "tester", "version 3", "rows 0, 2, 4,", "28, 30, ... (40 rows)"} {
		if !contains(err, want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

// TestHugeRanges: the ranges of another commit may be of any length, which must cost no time.
func TestHugeRanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memStore(t))
	txn := f.begin(t)
	f.update(txn, 2, 3)
	txn.Delete([]int64{5})
	rec := &format.Record{UUID: numbered(5)}
	all := []format.RowRange{{Start: 4, Count: format.MaxRows - 4}}
	for _, op := range []format.Op{{Op: format.OpUpdate, Tensor: f.label, Ranges: all}, {Op: format.OpUpdate, Tensor: f.x, Ranges: all}} {
		if err := txn.check(rec, []format.Op{op}); !contains(err, "row 5,") {
			t.Errorf("check = %v", err)
		}
	}
	if err := txn.check(rec, []format.Op{{Op: format.OpDelete, Ranges: all}}); err != nil {
		t.Errorf("check = %v", err)
	}
	if err := txn.check(rec, []format.Op{{Op: format.OpRewrite, Tensor: f.x}}); !errs.Is(err, errs.Unsupported) {
		t.Errorf("check = %v", err)
	}
}

// TestManyCommits: transactions that each lie on an old base end up on top of all.
func TestManyCommits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memStore(t))
	var txns []*Txn
	for i := range 20 {
		txn := f.begin(t)
		f.add(txn, 1, byte(i+10))
		txns = append(txns, txn)
	}
	for i, txn := range txns {
		if s := f.commit(t, txn, fmt.Sprint(i)); s.Record.Rows != baseRows+int64(i)+1 {
			t.Fatalf("%d rows after commit %d", s.Record.Rows, i)
		}
	}
}
