package dataset

import (
	"context"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// TestHiddenTensor: a hidden tensor is found by its name alone, and rows may do without it.
func TestHiddenTensor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://hidden", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "_from", DType: "bytes"}); !errs.Is(err, errs.Invalid) {
		t.Fatalf("a user's tensor: %v", err)
	}
	for _, spec := range []TensorSpec{{Name: "x", DType: "int64"}, {Name: "_from", DType: "bytes", Hidden: true}} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	x := func(v int64) tensor.Rows {
		return tensor.Rows{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(v)}}
	}
	from := tensor.Rows{Tensor: "_from", Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.Bytes, Data: []byte("a")}}}
	if err := d.Append(ctx, []tensor.Rows{x(1), from}, 1); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, []tensor.Rows{x(2)}, 1); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, []tensor.Rows{from}, 1); !errs.Is(err, errs.Invalid) {
		t.Fatalf("rows without x: %v", err)
	}
	for what, err := range map[string]error{"rename": d.RenameTensor(ctx, "_from", "y"), "delete": d.DeleteTensor(ctx, "_from")} {
		if !errs.Is(err, errs.NotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	v := must[*View](t)(d.View(ctx))
	if !slices.Equal(v.Names(), []string{"x"}) || len(v.Describe().Tensors) != 1 {
		t.Errorf("names = %v, %d tensors described", v.Names(), len(v.Describe().Tensors))
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if diff := must[*version.Diff](t)(d.Versions().Diff(ctx, "0", "")); len(diff.Tensors) != 1 || diff.Tensors[0].Name != "x" || diff.Added.Count != 2 {
		t.Errorf("the difference is %+v", diff)
	}
	if got := readAll(t, v, "_from"); string(got[0]) != "a" || got[1] != nil {
		t.Errorf("hidden column = %q", got)
	}
}
