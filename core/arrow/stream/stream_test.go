package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/array"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/scan"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// rowsOf makes a committed dataset of numbers, texts, labels and bools on a disk.
func rowsOf(t *testing.T, n int64) *dataset.View {
	t.Helper()
	return rowsIn(t, storage.Registry{"file": local.Open}, "file://"+t.TempDir()+"/ds", n)
}

// rowsIn makes them in a store.
func rowsIn(t *testing.T, stores storage.Registry, uri string, n int64) *dataset.View {
	t.Helper()
	x, label, flags, texts := make([]int64, n), make([]int64, n), make([]bool, n), make([]tensor.Sample, n)
	for i := range x {
		x[i], label[i], flags[i] = int64(i), int64(i%2), i%3 == 0
		texts[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "row %d", i)}
	}
	arrays := func(name string, d tensor.DType, data []byte) tensor.Rows {
		return tensor.Rows{Tensor: name, Array: &tensor.Array{DType: d, Shape: tensor.Shape{}, Data: data}}
	}
	return committed(t, stores, uri, n, []dataset.TensorSpec{
		{Name: "x", DType: "int64"}, {Name: "t", HType: "text"}, {Name: "flag", DType: "bool"},
		{Name: "label", HType: "class_label", ClassNames: []string{"cat", "dog"}},
	}, []tensor.Rows{
		arrays("x", tensor.Int64, array.Bytes(x)), arrays("label", tensor.Int64, array.Bytes(label)), arrays("flag", tensor.Bool, array.Bytes(flags)),
		{Tensor: "t", Samples: texts},
	})
}

// committed makes a dataset of n rows.
func committed(t *testing.T, stores storage.Registry, uri string, n int64, specs []dataset.TensorSpec, rows []tensor.Rows) *dataset.View {
	t.Helper()
	ctx := t.Context()
	env := &dataset.Env{Stores: stores, Codecs: all.All(), Writer: "test"}
	d, err := dataset.Create(ctx, env, uri, dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	for _, spec := range specs {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Append(ctx, rows, n); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sourceOf(v *dataset.View) Source {
	return Source{Table: scan.Of(v), Tensors: v.Describe().Tensors, Stored: func(name string) (*loader.StoredReader, error) {
		return loader.NewStoredReader(loader.SourceOf(v), name)
	}}
}

// TestMemoryComesBack takes batches that are released in another order, some after the stream.
func TestMemoryComesBack(t *testing.T) {
	t.Parallel()
	const n = 3000
	s, err := Open(t.Context(), sourceOf(rowsOf(t, n)), Options{Images: Encoded, BatchRows: 700})
	if err != nil {
		t.Fatal(err)
	}
	var batches []*Batch
	rows := int64(0)
	for {
		b, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		if b.Data.Rows > 700 || len(b.Data.Children) != 4 {
			t.Errorf("a batch has %d rows and %d columns", b.Data.Rows, len(b.Data.Children))
		}
		for i, c := range b.Data.Children {
			if c.Rows != b.Data.Rows || c.Valid != nil {
				t.Errorf("column %d has %d rows of %d, and bits %v", i, c.Rows, b.Data.Rows, c.Valid)
			}
		}
		texts := b.Data.Children[1]
		for i := range texts.Rows {
			if got, want := string(texts.Values[texts.Ends[i]:texts.Ends[i+1]]), fmt.Sprintf("row %d", rows+i); got != want {
				t.Fatalf("text %d is %q, want %q", i, got, want)
			}
		}
		rows += b.Data.Rows
		batches = append(batches, b)
	}
	if rows != n {
		t.Fatalf("%d rows came, want %d", rows, n)
	}
	batches[2].Release()
	batches[0].Release()
	batches[0].Release() // does nothing
	for _, b := range batches[3:] {
		b.Release()
	}
	before := s.ring.Stats()
	batches[1].Release()
	after := s.ring.Stats()
	if in := before.Slabs - before.FreeSlabs; in < 2 {
		t.Errorf("%d slabs were in use by the last batch and the class names", in)
	}
	if in := after.Slabs - after.FreeSlabs; in != 1 {
		t.Errorf("%d slabs are in use at the end, want that of the class names", in)
	}
	if again, err := s.Next(t.Context()); again != nil || err != nil {
		t.Errorf("after the last batch came %v, %v", again, err)
	}
	s.Close()
	if again, err := s.Next(t.Context()); again != nil || !errs.Is(err, errs.Closed) {
		t.Errorf("after Close came %v, %v", again, err)
	}
}

// TestCallsThatEnd ends a call of a local stream; the next one gives the rows.
func TestCallsThatEnd(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), sourceOf(rowsOf(t, 1000)), Options{Images: Encoded, BatchRows: 600})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := int64(0)
	for range 3 {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if b, err := s.Next(ended); err == nil && b != nil {
			rows += b.Data.Rows // it had ended before it looked
			b.Release()
		}
		b, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b != nil {
			rows += b.Data.Rows
			b.Release()
		}
	}
	if rows != 1000 {
		t.Errorf("%d rows came, want 1000", rows)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	source := sourceOf(rowsOf(t, 3))
	for _, c := range []struct {
		o    Options
		want errs.Kind
	}{
		{Options{}, errs.Invalid},
		{Options{Images: "files"}, errs.Invalid},
		{Options{Images: Pixels, BatchRows: -1}, errs.Invalid},
		{Options{Images: Pixels, Tensors: []string{"y"}}, errs.NotFound},
	} {
		if _, err := Open(t.Context(), source, c.o); !errs.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.o, err, c.want)
		}
	}
}

// slowStore is a store with requests of 25 ms. Under testing/synctest they take no real time.
type slowStore struct {
	storage.Provider
	mu      sync.Mutex
	running int
	most    int    // requests at a time
	lost    string // the beginning of keys that cannot be read
}

var _ storage.Ranger = (*slowStore)(nil)

func (f *slowStore) request(ctx context.Context, key string) error {
	f.mu.Lock()
	f.running++
	f.most = max(f.most, f.running)
	lost := f.lost != "" && strings.HasPrefix(key, f.lost)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	timer := time.NewTimer(25 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return errs.Cause(ctx, "get")
	}
	if lost {
		return errs.Op("get", key).New(errs.Denied, "no access")
	}
	return nil
}

func (f *slowStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := f.request(ctx, key); err != nil {
		return nil, err
	}
	return f.Provider.Get(ctx, key)
}

func (f *slowStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	if err := f.request(ctx, key); err != nil {
		return err
	}
	return f.Provider.ReadAt(ctx, key, dst, off)
}

func (f *slowStore) Range(ctx context.Context, key string, off, n int64, _ string) (storage.Body, error) {
	data := make([]byte, n)
	if err := f.ReadAt(ctx, key, data, off); err != nil {
		return nil, err
	}
	return &body{Reader: bytes.NewReader(data), n: n}, nil
}

type body struct {
	io.Reader
	n int64
}

func (b *body) Len() int64   { return b.n }
func (b *body) Size() int64  { return -1 }
func (b *body) Tag() string  { return "" }
func (b *body) Close() error { return nil }

// TestStores reads batches of a store: several at a time, in order, until one fails or the caller
// gives up.
func TestStores(t *testing.T) {
	const n = 60_000
	space := &mem.Space{}
	slow := &slowStore{}
	stores := storage.Registry{"mem": func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		p, err := space.Open(ctx, name, o)
		slow.Provider = p
		return slow, err
	}}
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(rowsIn(t, stores, "mem://d", n))
		open := func() *Stream {
			s, err := Open(t.Context(), source, Options{Images: Encoded, BatchRows: 3000})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s, began, rows := open(), time.Now(), int64(0)
		slow.most = 0
		for {
			b, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			for i := range b.Data.Rows {
				if got := binary.LittleEndian.Uint64(b.Data.Children[0].Values[8*i:]); got != uint64(rows+i) {
					t.Fatalf("row %d has %d", rows+i, got)
				}
			}
			rows += b.Data.Rows
			b.Release()
		}
		s.Close()
		if took := time.Since(began); rows != n || took > 20*25*time.Millisecond || slow.most < lanes {
			t.Errorf("%d rows took %v, %d requests at a time", rows, took, slow.most)
		}

		s = open()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if b, err := s.Next(ctx); b != nil || !errs.Is(err, errs.Canceled) {
			t.Errorf("a call that ends early: %v, %v", b, err)
		}
		cancel()
		if b, err := s.Next(t.Context()); err != nil || b == nil {
			t.Errorf("the call after it: %v, %v", b, err)
		} else {
			b.Release()
		}
		s.Close() // with batches on their way
		if stats := s.ring.Stats(); stats.Slabs != stats.FreeSlabs {
			t.Errorf("closed with %+v", stats)
		}

		s = open()
		defer s.Close()
		slow.mu.Lock()
		slow.lost = "data/"
		slow.mu.Unlock()
		if b, err := s.Next(t.Context()); b != nil || !errs.Is(err, errs.Denied) {
			t.Errorf("a store that refuses: %v, %v", b, err)
		}
		if b, err := s.Next(t.Context()); b != nil || !errs.Is(err, errs.Denied) {
			t.Errorf("after an error: %v, %v", b, err)
		}
	})
}

// TestLongTexts cuts batches by the bytes of texts.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	texts := make([]tensor.Sample, 2000)
	for i := range texts {
		texts[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte{'a'}}
		if i >= 1000 && i < 1010 {
			texts[i].Data = bytes.Repeat([]byte{'b'}, 20<<20)
		}
	}
	v := committed(t, storage.Registry{"mem": (&mem.Space{}).Open}, "mem://d", int64(len(texts)),
		[]dataset.TensorSpec{{Name: "t", HType: "text", Compression: "none"}}, []tensor.Rows{{Tensor: "t", Samples: texts}})
	s, err := Open(ctx, sourceOf(v), Options{Images: Encoded})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := int64(0)
	for {
		b, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		if n := len(b.Data.Children[0].Values); n > batchBytes {
			t.Errorf("a batch of %d rows has %d bytes", b.Data.Rows, n)
		}
		rows += b.Data.Rows
		b.Release()
	}
	if rows != int64(len(texts)) {
		t.Errorf("%d rows came", rows)
	}
}

// TestHalves converts every number of half precision there and back.
func TestHalves(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 16 {
		wide := scan.Half(uint16(bits))
		got := toHalf(wide)
		if math.IsNaN(float64(wide)) {
			if !math.IsNaN(float64(scan.Half(got))) {
				t.Fatalf("NaN %#04x became %#04x", bits, got)
			}
		} else if got != uint16(bits) {
			t.Fatalf("%#04x (%g) became %#04x", bits, wide, got)
		}
	}
}
