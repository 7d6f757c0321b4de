package scan

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/loader"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// remote is a store with requests of 25 ms and 90 MB/s. Under testing/synctest they take no real
// time.
type remoteStore struct {
	storage.Provider
	mu    sync.Mutex
	bytes map[string]int64 // requested, by the first part of the key
	asked int
}

var _ storage.Ranger = (*remoteStore)(nil)

func (f *remoteStore) request(ctx context.Context, key string, n int64) {
	kind, _, _ := strings.Cut(key, "/")
	f.mu.Lock()
	f.bytes[kind] += n
	f.asked++
	f.mu.Unlock()
	timer := time.NewTimer(25*time.Millisecond + time.Duration(float64(n)/90e6*float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (f *remoteStore) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	f.request(ctx, prefix, 0)
	return f.Provider.List(ctx, prefix, after, fn)
}

func (f *remoteStore) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := f.Provider.Get(ctx, key)
	f.request(ctx, key, int64(len(data)))
	return data, err
}

func (f *remoteStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	f.request(ctx, key, int64(len(dst)))
	return f.Provider.ReadAt(ctx, key, dst, off)
}

func (f *remoteStore) Range(ctx context.Context, key string, off, n int64, _ string) (storage.Body, error) {
	f.request(ctx, key, n)
	data := make([]byte, n)
	if err := f.Provider.ReadAt(ctx, key, data, off); err != nil {
		return nil, err
	}
	return &body{Reader: strings.NewReader(string(data)), n: n}, nil
}

type body struct {
	io.Reader
	n int64
}

func (b *body) Len() int64   { return b.n }
func (b *body) Size() int64  { return -1 }
func (b *body) Tag() string  { return "" }
func (b *body) Close() error { return nil }

// remoteSet returns rows of a number from 0 to 999 and 40 kB, behind a network. The first open of
// it is remote.
func remoteSet(t *testing.T, rows int) (env *dataset.Env, store func() *remoteStore) {
	t.Helper()
	ctx := context.Background()
	space := &mem.Space{}
	env = testEnv()
	env.Stores = storage.Registry{"mem": space.Open}
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, "mem://d", dataset.CreateOptions{}))
	for _, s := range []dataset.TensorSpec{{Name: "x", DType: "int64"}, {Name: "data", DType: "uint8"}} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for at := 0; at < rows; at += 500 {
		x := make([]int64, 500)
		data := make([]byte, 500*40_000)
		for i := range x {
			x[i] = r.Int64N(1000)
			data[i*40_000] = byte(x[i])
		}
		if err := d.Append(ctx, []tensor.Rows{
			{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(x)}},
			{Tensor: "data", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{40_000}, Data: data}},
		}, 500); err != nil {
			t.Fatal(err)
		}
	}
	_ = must[version.Committed](t)(d.Commit(ctx, ""))
	_ = d.Close()
	var last *remoteStore
	env.Stores = storage.Registry{"mem": func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		p, err := space.Open(ctx, name, o)
		last = &remoteStore{Provider: p, bytes: map[string]int64{}}
		return last, err
	}}
	return env, func() *remoteStore { return last }
}

// TestRemoteResult: a selective filter over a network costs little more than the bytes of its rows.
func TestRemoteResult(t *testing.T) {
	env, store := remoteSet(t, 2500)
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		began := time.Now()
		d := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://d", dataset.OpenOptions{ReadOnly: true}))
		defer func() { _ = d.Close() }()
		a := ask(t, env, must[*dataset.View](t)(d.View(ctx)), "SELECT data WHERE x < 10")
		if a.Len() < 10 || a.Len() > 50 {
			t.Fatalf("%d rows", a.Len())
		}
		scanned := store().bytes["data"]
		reader := loader.NewReader(a)
		defer reader.Close()
		first := must[*loader.Batch](t)(reader.Read(ctx, []int64{0}, loader.ReadOptions{}))
		first.Release()
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("the first row came after %s", took)
		}
		before, rows := store().bytes["data"], make([]int64, a.Len())
		for i := range rows {
			rows[i] = int64(i)
		}
		began = time.Now()
		b := must[*loader.Batch](t)(reader.Read(ctx, rows, loader.ReadOptions{}))
		b.Release()
		if needed := 40_000 * a.Len(); store().bytes["data"]-before > needed*13/10 || scanned > 2500*8*13/10 {
			t.Errorf("%d bytes read, want about %d; %d to find them", store().bytes["data"]-before, needed, scanned)
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("all rows came after %s", took)
		}
	})
}

// TestRemoteRead: scattered rows are requested at once.
func TestRemoteRead(t *testing.T) {
	env, store := remoteSet(t, 2500)
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://d", dataset.OpenOptions{ReadOnly: true}))
		defer func() { _ = d.Close() }()
		reader := Of(must[*dataset.View](t)(d.View(ctx))).Reader()
		defer reader.Close()
		list := []int64{}
		for i := range int64(25) {
			list = append(list, i*97)
		}
		began := time.Now()
		c := must[*array.Column](t)(reader.Read(ctx, 1, query.Rows{List: list, N: 25}, query.Values, nil))
		x := must[*array.Column](t)(reader.Read(ctx, 0, query.Rows{List: list, N: 25}, query.Values, nil))
		for i := range list {
			if valueBytes(c, i)[0] != byte(x.Data.([]int64)[i]) {
				t.Errorf("row %d is of another one", i)
			}
		}
		if took := time.Since(began); took > 400*time.Millisecond {
			t.Errorf("25 rows came after %s", took)
		}
		if n := store().bytes["data"]; n > 25*40_000*13/10+2500*8*13/10 {
			t.Errorf("%d bytes for 25 rows of 40,000", n)
		}
	})
}
