package tests

import (
	"context"
	"encoding/binary"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// TestSmallSamplesAreReadOnce: a shuffled pass over samples that are far smaller than the blocks in
// which they are stored and checked asks the store for no more than a pass in order does, and not
// for a block with each sample.
func TestSmallSamplesAreReadOnce(t *testing.T) {
	t.Parallel()
	const (
		rows    = 40_000
		numbers = 32 // of a sample: 128 bytes
	)
	space := &mem.Space{}
	var store *faultstore.Store
	env := &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{"mem": func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		inner, err := space.Open(ctx, name, o)
		store = faultstore.New(inner, nil)
		return store, err
	}}}
	ctx := t.Context()
	d, err := dataset.Create(ctx, env, "mem://small", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	a := &tensor.Array{DType: tensor.Int32, Shape: tensor.Shape{numbers}}
	for i := range uint32(rows * numbers) {
		a.Data = binary.LittleEndian.AppendUint32(a.Data, i/numbers) // the row
	}
	for _, compression := range []string{"", "lz4"} {
		if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "x" + compression, DType: "int32", Compression: compression}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Array: a}, {Tensor: "xlz4", Array: a}}, rows); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "xlz4"} {
		inOrder := 0
		for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
			l, err := loader.Open(ctx, loader.SourceOf[*dataset.Column](v), loader.Options{BatchSize: 256, Workers: 1, Tensors: []string{name}, Shuffle: shuffle})
			if err != nil {
				t.Fatal(err)
			}
			before := len(store.Calls())
			if got := sumOfEpoch(t, l, 4*numbers); got != rows*(rows-1)/2 {
				t.Errorf("%s %s: the rows sum up to %d: not each came once", name, shuffle, got)
			}
			l.Close()
			asked := 0
			for _, c := range store.Calls()[before:] {
				asked += c.Bytes
			}
			if shuffle == order.Sequential {
				inOrder = asked
			}
			if asked == 0 || asked > inOrder*3/2 {
				t.Errorf("%s %s: %d bytes were read, and %d in order", name, shuffle, asked, inOrder)
			}
		}
	}
}

// sumOfEpoch is the sum of the first numbers of all samples, each of size bytes.
func sumOfEpoch(t *testing.T, l *loader.Loader, size int) (sum int) {
	t.Helper()
	e, err := l.Start(t.Context(), order.Pass{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for {
		b, err := e.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return sum
		}
		c := &b.Columns[0]
		data := b.Slab.Bytes()[c.Offset : c.Offset+c.Size]
		for at := 0; at < len(data); at += size {
			sum += int(binary.LittleEndian.Uint32(data[at:]))
		}
		b.Release()
	}
}
