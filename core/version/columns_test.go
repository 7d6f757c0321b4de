package version_test

import (
	"context"
	"fmt"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// manyTensors adds n tensors with one row each.
func manyTensors(t testing.TB, txn *version.Txn, n int) {
	t.Helper()
	at := txn.Rows()
	for i := range n {
		ts := format.TensorSchema{ID: format.NewUUID(), Name: fmt.Sprintf("group %d/tensor %d", i%10, i), HType: "generic", DType: "int64", Compression: "none", ChunkBytes: 1 << 20}
		if err := txn.MayAdd(&ts); err != nil {
			t.Fatal(err)
		}
		txn.Schema().Tensors = append(txn.Schema().Tensors, ts)
		txn.AddChunk(ts.ID, format.Entry{Session: versiontest.Numbered(1), Ordinal: int64(i), Bytes: 100}, []format.RowRange{{Start: at, Count: 1}}, false, []byte{1})
	}
	txn.Extend(1)
}

// TestManyTensors: the columns of many tensors lie in a page of their own, and commits, branches
// and merges take them along.
func TestManyTensors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const n = 10_000
	f := versiontest.New(t, versiontest.MemStore(t))
	txn, other := f.Begin(t), f.Begin(t)
	manyTensors(t, txn, n)
	f.Add(other, 1, 7)
	f.Commit(t, other, "the winner")
	f.Commit(t, txn, "many tensors")
	repo := f.Repo(t)
	head, err := repo.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	last := head.Schema.Tensors[n+1].ID
	if head.Record.ColumnsPage == nil || len(head.Record.Columns) != n+2 || head.Record.Columns[last].Chunks != 1 {
		t.Fatalf("page %v of %d columns, the last is %+v", head.Record.ColumnsPage, len(head.Record.Columns), head.Record.Columns[last])
	}
	on, first, err := repo.CreateBranch(ctx, "try", head, "tester")
	if err != nil {
		t.Fatal(err)
	}
	txn = on.Begin(first)
	txn.AddChunk(last, format.Entry{Session: versiontest.Numbered(3), Bytes: 100}, []format.RowRange{{Start: 0, Count: 1}}, true, []byte{3})
	theirs := f.Commit(t, txn, "one of them")
	if theirs.Record.SchemaPage == nil || *theirs.Record.SchemaPage != *head.Record.SchemaPage {
		t.Error("the schema is stored again, though it is the same")
	}
	merged, done, err := repo.Merge(ctx, theirs, version.OnConflictError, "merge", "tester")
	if err != nil || !done {
		t.Fatal(done, err)
	}
	e, ok, err := merged.Tree(last).Find(ctx, 0)
	if err != nil || !ok || e.Session != versiontest.Numbered(3) {
		t.Fatalf("after the merge row 0 is %+v, %v, %v", e, ok, err)
	}
	if err := repo.Store.Delete(ctx, format.MapKey(*merged.Record.ColumnsPage)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Repo(t).Head(ctx); !errs.Is(err, errs.Corrupt) || !versiontest.Contains(err, merged.Record.ColumnsPage.String()) {
		t.Fatalf("without the page of columns: %v", err)
	}
}

// TestTensorLimits: a tensor that a commit has no room for is refused when it is made.
func TestTensorLimits(t *testing.T) {
	t.Parallel()
	txn := versiontest.New(t, versiontest.MemStore(t)).Begin(t)
	some := txn.Schema().Tensors
	txn.Schema().Tensors = make([]format.TensorSchema, format.MaxTensors) // never touched
	if err := txn.MayAdd(&format.TensorSchema{Name: "one more"}); !errs.Is(err, errs.Invalid) || !versiontest.Contains(err, "one more") || !versiontest.Contains(err, "1048576") {
		t.Fatalf("a tensor too many: %v", err)
	}
	txn.Schema().Tensors = some
	txn.SetSchemaBytes(format.MaxBlobRaw - 100)
	if err := txn.MayAdd(&format.TensorSchema{Name: "large", Info: map[string]any{"x": "y"}}); !errs.Is(err, errs.Invalid) || !versiontest.Contains(err, "large") {
		t.Fatalf("a schema that is too large: %v", err)
	}
}
