package dataset

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestManyTensors makes, fills and reopens more tensors than one commit record holds columns of.
func TestManyTensors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const n = 8000
	env := testEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://many", CreateOptions{}))
	defer func() { _ = d.Close() }()
	rows := make([]tensor.Rows, n)
	for i := range rows {
		name := fmt.Sprintf("g%d/t%d", i%100, i)
		if err := d.CreateTensor(ctx, TensorSpec{Name: name, DType: "int64"}); err != nil {
			t.Fatal(err)
		}
		rows[i] = tensor.Rows{Tensor: name, Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: []byte{byte(i), byte(i >> 8), 0, 0, 0, 0, 0, 0}}}
	}
	for _, name := range []string{"g1", "g1/t1", "g1/t1/x"} {
		if err := d.CreateTensor(ctx, TensorSpec{Name: name, DType: "int64"}); !errs.Is(err, errs.Exists) {
			t.Errorf("tensor %q beside \"g1/t1\": %v", name, err)
		}
	}
	if err := d.Append(ctx, rows, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, "many"); err != nil {
		t.Fatal(err)
	}
	again := must[*Dataset](t)(Open(ctx, env, "mem://many", OpenOptions{}))
	defer func() { _ = again.Close() }()
	v := must[*View](t)(again.View(ctx))
	if len(v.Names()) != n || v.Len() != 1 {
		t.Fatalf("%d tensors of %d rows", len(v.Names()), v.Len())
	}
	if got := readAll(t, v, "g99/t7999"); len(got) != 1 || !bytes.Equal(got[0], rows[7999].Array.Data) {
		t.Fatalf("the last tensor holds %v", got)
	}
}
