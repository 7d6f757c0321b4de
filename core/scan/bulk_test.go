package scan

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/loader"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// oneByOne hides that columns can be read in bulk.
type oneByOne struct{ *Result }

func (o oneByOne) Column(name string) (read.Column, error) {
	c, err := o.Result.Column(name)
	return aloneColumn{c}, err
}

type aloneColumn struct{ read.Column }

// Access leaves out bulk reads.
func (c aloneColumn) Access() read.Access {
	a := c.Column.Access()
	return read.Access{Prefetch: a.Prefetch, StoredBytes: a.StoredBytes}
}

// TestRemoteBulk holds that a read in bulk asks a store for no more than one by one does, no more
// often, and waits no longer.
func TestRemoteBulk(t *testing.T) {
	const rows = 600_000
	ctx := context.Background()
	space := &mem.Space{}
	env := testEnv()
	env.Stores = storage.Registry{"mem": space.Open}
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, "mem://d", dataset.CreateOptions{}))
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "x", DType: "int64", ChunkBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 9))
	x := make([]int64, rows)
	for i := range x {
		x[i] = r.Int64()
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(x)}}}, rows); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, ""))
	_ = d.Close()
	var store *remoteStore
	env.Stores = storage.Registry{"mem": func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		p, err := space.Open(ctx, name, o)
		store = &remoteStore{Provider: p, bytes: map[string]int64{}}
		return store, err
	}}
	for name, list := range map[string][]int64{"here and there": someRows(r, rows, 100), "many": someRows(r, rows, 30_000), "few together": nil} {
		if list == nil {
			for i := range int64(100) {
				list = append(list, 300_000-i)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			read := func(bulk bool) (data []byte, asked int, size int64, took time.Duration) {
				d := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://d", dataset.OpenOptions{ReadOnly: true}))
				defer func() { _ = d.Close() }()
				a := Plain(must[*dataset.View](t)(d.View(ctx)))
				src := loader.Source(a)
				if !bulk {
					src = oneByOne{a}
				}
				reader := loader.NewReader(src)
				defer reader.Close()
				store.asked, store.bytes = 0, map[string]int64{}
				began := time.Now()
				b := must[*loader.Batch](t)(reader.Read(ctx, list, loader.ReadOptions{Workers: 2}))
				defer b.Release()
				return bytes.Clone(b.Data(&b.Columns[0])), store.asked, store.bytes["data"], time.Since(began)
			}
			got, asked, size, took := read(true)
			want, askedOne, sizeOne, tookOne := read(false)
			if !bytes.Equal(got, want) {
				t.Errorf("%s: other values than one by one", name)
			}
			if asked > askedOne || size > sizeOne || took > tookOne*11/10 {
				t.Errorf("%s: %d requests, %d bytes, %s; one by one %d, %d, %s", name, asked, size, took, askedOne, sizeOne, tookOne)
			}
			t.Logf("%s: %d requests, %d bytes, %s; one by one %d, %d, %s", name, asked, size, took, askedOne, sizeOne, tookOne)
		})
	}
}

func someRows(r *rand.Rand, n int64, count int) []int64 {
	out := make([]int64, count)
	for i := range out {
		out[i] = r.Int64N(n)
	}
	return out
}
