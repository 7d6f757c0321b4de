package dataset

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// The same rows in the same order have one name, others another.
func TestSelectionsHaveNames(t *testing.T) {
	t.Parallel()
	all := &View{step: 1, n: 1000}
	pick := func(v *View, rows ...int64) *View {
		t.Helper()
		out, err := v.Select(rows)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	slice := func(v *View, start, stop, step int64) *View {
		t.Helper()
		out, err := v.Slice(start, stop, step)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	views := map[string][]*View{
		"all":      {all, slice(all, 0, 1000, 1)},
		"nothing":  {slice(all, 0, 0, 1), slice(all, 5, 2, 1), pick(all)},
		"row 5":    {slice(all, 5, 6, 1), slice(all, 5, 6, 7), pick(all, 5), slice(pick(all, 1, 5, 2), 1, 2, 1)},
		"regular":  {slice(all, 2, 10, 3), pick(all, 2, 5, 8), slice(slice(all, 2, 1000, 3), 0, 3, 1)},
		"reversed": {slice(all, 8, 1, -3), pick(all, 8, 5, 2)},
		"drawn":    {pick(all, 7, 1, 9), slice(pick(all, 3, 7, 1, 9), 1, 4, 1)},
		"repeated": {pick(all, 7, 7, 7)},
		"another":  {pick(all, 9, 1, 7)},
	}
	names := map[string]string{}
	for what, same := range views {
		for i, v := range same {
			if got, want := v.selection(), same[0].selection(); got != want {
				t.Errorf("%s, made in way %d: %q, want %q", what, i, got, want)
			}
		}
		if other, ok := names[same[0].selection()]; ok {
			t.Errorf("%s and %s are both %q", what, other, same[0].selection())
		}
		names[same[0].selection()] = what
	}
	long := make([]int64, 5000) // more than one block of the digest
	for i := range long {
		long[i] = int64(i*i) % 1000
	}
	a := pick(all, long...).selection()
	long[4999]++
	if b := pick(all, long...).selection(); a == b || len(a) > 64 {
		t.Errorf("5000 rows of which one differs are %q and %q", a, b)
	}
	slices.Reverse(long)
	if b := pick(all, long...).selection(); a == b {
		t.Error("rows in another order have the same name")
	}
}

// Changes through a view reach its rows wherever they lie, and no other.
func TestChangesThroughViews(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), testEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	column := func(values ...int64) []tensor.Rows {
		return []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(values...)}}}
	}
	want := func(values ...int64) {
		t.Helper()
		var got []byte
		for _, sample := range readAll(t, must[*View](t)(d.View(ctx)), "x") {
			got = append(got, sample...)
		}
		if !bytes.Equal(got, int64s(values...)) {
			t.Fatalf("rows are %v, want %v", got, values)
		}
	}
	pick := func(d *Dataset, rows ...int64) *View {
		t.Helper()
		return must[*View](t)(must[*View](t)(d.View(ctx)).Select(rows))
	}
	refused := func(err error, kind errs.Kind) {
		t.Helper()
		if errs.KindOf(err) != kind {
			t.Fatalf("got %v, want %v", err, kind)
		}
	}
	ok(d.CreateTensor(ctx, TensorSpec{Name: "x", DType: "int64"}))
	ok(d.Append(ctx, column(0, 1, 2, 3, 4), 5))
	uncommitted := pick(d, 4, 1)
	_ = must[version.Committed](t)(d.Commit(ctx, ""))
	committed := pick(d, 3, 2)

	// Another writer deletes a row and appends first: rows of this session move at the commit.
	other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	ok(other.DeleteRows(ctx, []int64{0}))
	ok(other.Append(ctx, column(70), 1))
	_ = must[version.Committed](t)(other.Commit(ctx, ""))
	ok(d.Append(ctx, column(5, 6), 2))
	appended := pick(d, 6)
	ok(d.RowsOf(appended).Update(ctx, column(60)))
	_ = must[version.Committed](t)(d.Commit(ctx, ""))
	want(1, 2, 3, 4, 70, 5, 60)
	ok(d.RowsOf(appended).Update(ctx, column(61)))
	ok(d.RowsOf(uncommitted).Update(ctx, column(40, 10)))
	ok(d.RowsOf(committed).Delete(ctx))
	want(10, 40, 70, 5, 61)
	ok(d.RowsOf(committed).Delete(ctx)) // deleted already
	want(10, 40, 70, 5, 61)

	refused(d.RowsOf(committed).Update(ctx, column(0, 0)), errs.Range)
	ok(d.Append(ctx, column(8), 1))
	gone := pick(d, 5)
	ok(d.Discard(ctx))
	refused(d.RowsOf(gone).Delete(ctx), errs.Invalid)
	refused(other.RowsOf(appended).Delete(ctx), errs.Invalid) // not there before its refresh
	foreign := must[*Dataset](t)(Create(ctx, env, "mem://e", CreateOptions{}))
	refused(foreign.RowsOf(committed).Delete(ctx), errs.Invalid)
	missing := must[*View](t)(must[*View](t)(d.View(ctx)).SelectOrMissing(ctx, []int64{0, -1}))
	refused(d.RowsOf(missing).Delete(ctx), errs.Invalid)
	want(1, 2, 3, 4, 70, 5, 60)
}
