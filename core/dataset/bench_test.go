package dataset

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// millions is a dataset of n million rows, one tensor of single numbers, in many chunks.
func millions(t testing.TB, env *Env, uri string, n int) {
	t.Helper()
	ctx := context.Background()
	d, err := Create(ctx, env, uri, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CreateTensor(ctx, TensorSpec{Name: "x", DType: "int64", ChunkBytes: 16 << 10}); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 8<<20)
	for range n {
		if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: data[:8_000_000]}}}, 1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(ctx, "millions"); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func oneRow() []tensor.Rows {
	return []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: make([]byte, 8)}}}
}

// cost counts the calls of a store.
func cost(calls []faultstore.Call) (n, written int) {
	for _, c := range calls {
		switch c.Op {
		case faultstore.Put, faultstore.PutIfAbsent, faultstore.Write:
			written += c.Bytes
		}
	}
	return len(calls), written
}

// TestCostOfCommit: a commit of one row, and an open, cost the same for datasets of any size.
func TestCostOfCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, size := range []int{1, 10} {
		space := &mem.Space{}
		env, store := faulty(t, space.Open)
		millions(t, env, "x://d", size)
		d := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{}))
		defer func() { _ = d.Close() }()
		if calls, _ := cost(store().Calls()); calls > 3 {
			t.Errorf("%d million rows: an open makes %d calls: %v", size, calls, store().Calls())
		}
		for range 3 { // the first reads the path to the end of the axis
			from := len(store().Calls())
			if err := d.Append(ctx, oneRow(), 1); err != nil {
				t.Fatal(err)
			}
			must[version.Committed](t)(d.Commit(ctx, ""))
			calls, written := cost(store().Calls()[from:])
			if calls > 20 || written > 64<<10 {
				t.Errorf("%d million rows: a commit of one row makes %d calls and writes %d bytes: %v", size, calls, written, store().Calls()[from:])
			}
		}
	}
}

func localEnv(b *testing.B) (*Env, string) {
	env := testEnv()
	env.Stores = storage.Registry{"file": local.Open}
	return env, b.TempDir() + "/d"
}

func BenchmarkAppendOneRow(b *testing.B) {
	d := fresh(b, TensorSpec{DType: "int64"})
	cols := oneRow()
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Append(context.Background(), cols, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendOneText(b *testing.B) {
	d := fresh(b, TensorSpec{HType: "text"})
	cols := []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{text("a text of some words, as they come")}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Append(context.Background(), cols, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendArray is the way of large columns, without the disk.
func BenchmarkAppendArray(b *testing.B) {
	d := fresh(b, TensorSpec{DType: "uint8"})
	data := bytes.Repeat([]byte{1, 2, 3, 4}, 3<<18)
	cols := []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{1024, 1024, 3}, Data: data}}}
	b.SetBytes(int64(len(data)))
	n := 0
	for b.Loop() {
		if err := d.Append(context.Background(), cols, 1); err != nil {
			b.Fatal(err)
		}
		if n++; n%100 == 0 { // memory is the store here
			if err := d.Discard(context.Background()); err != nil {
				b.Fatal(err)
			}
			if err := d.CreateTensor(context.Background(), TensorSpec{Name: "x", DType: "uint8"}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkResolve256(b *testing.B) {
	ctx := context.Background()
	env := testEnv()
	millions(b, env, "mem://d", 10)
	d, err := Open(ctx, env, "mem://d", OpenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(ctx)
	if err != nil {
		b.Fatal(err)
	}
	col, err := v.Column("x")
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rows, refs := make([]int64, 256), make([]chunk.Ref, 256)
	b.ReportAllocs()
	for b.Loop() {
		for i := range rows {
			rows[i] = rng.Int64N(v.Len())
		}
		if err := col.Resolve(ctx, rows, refs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommitOneRowOf10Million(b *testing.B) {
	ctx := context.Background()
	env, uri := localEnv(b)
	millions(b, env, uri, 10)
	d, err := Open(ctx, env, uri, OpenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for b.Loop() {
		if err := d.Append(ctx, oneRow(), 1); err != nil {
			b.Fatal(err)
		}
		if _, err := d.Commit(ctx, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen10Million(b *testing.B) {
	ctx := context.Background()
	env, uri := localEnv(b)
	millions(b, env, uri, 10)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := uint64(0)
	for b.Loop() {
		d, err := Open(ctx, env, uri, OpenOptions{})
		if err != nil {
			b.Fatal(err)
		}
		v, err := d.View(ctx)
		if err != nil || v.Len() != 10_000_000 {
			b.Fatal(err)
		}
		col, err := v.Column("x")
		if err != nil {
			b.Fatal(err)
		}
		if err := col.Resolve(ctx, []int64{7_654_321}, make([]chunk.Ref, 1)); err != nil {
			b.Fatal(err)
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n)/1e6, "MB/op")
}

// BenchmarkAppendTexts is the way of text columns of other programs, without the disk.
func BenchmarkAppendTexts(b *testing.B) {
	d := fresh(b, TensorSpec{HType: "text"})
	words := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}
	t := &tensor.Texts{DType: tensor.String}
	const rows = 1 << 20
	random := rand.New(rand.NewPCG(1, 2))
	for range rows {
		t.Starts = append(t.Starts, int64(len(t.Data)))
		t.Data = fmt.Appendf(t.Data, "%s %s", words[random.IntN(8)], words[random.IntN(8)])
		t.Ends = append(t.Ends, int64(len(t.Data)))
	}
	cols := []tensor.Rows{{Tensor: "x", Texts: t}}
	b.SetBytes(int64(len(t.Data)))
	for b.Loop() {
		if err := d.Append(context.Background(), cols, rows); err != nil {
			b.Fatal(err)
		}
		if err := d.Discard(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := d.CreateTensor(context.Background(), TensorSpec{Name: "x", HType: "text"}); err != nil {
			b.Fatal(err)
		}
	}
}
