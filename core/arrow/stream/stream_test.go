package stream

import (
	"fmt"
	"math"
	"testing"

	"deeplake/core/array"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/scan"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/tensor"
)

// rowsOf makes a committed dataset of numbers, texts, labels and bools on a disk.
func rowsOf(t *testing.T, n int64) *dataset.View {
	t.Helper()
	ctx := t.Context()
	env := &dataset.Env{Stores: storage.Registry{"file": local.Open}, Codecs: all.All(), Writer: "test"}
	d, err := dataset.Create(ctx, env, "file://"+t.TempDir()+"/ds", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	for _, spec := range []dataset.TensorSpec{
		{Name: "x", DType: "int64"}, {Name: "t", HType: "text"}, {Name: "flag", DType: "bool"},
		{Name: "label", HType: "class_label", ClassNames: []string{"cat", "dog"}},
	} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	x, label, flags, texts := make([]int64, n), make([]int64, n), make([]bool, n), make([]tensor.Sample, n)
	for i := range x {
		x[i], label[i], flags[i] = int64(i), int64(i%2), i%3 == 0
		texts[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "row %d", i)}
	}
	arrays := func(name string, d tensor.DType, data []byte) tensor.Rows {
		return tensor.Rows{Tensor: name, Array: &tensor.Array{DType: d, Shape: tensor.Shape{}, Data: data}}
	}
	if err := d.Append(ctx, []tensor.Rows{
		arrays("x", tensor.Int64, array.Bytes(x)), arrays("label", tensor.Int64, array.Bytes(label)), arrays("flag", tensor.Bool, array.Bytes(flags)),
		{Tensor: "t", Samples: texts},
	}, n); err != nil {
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
	s.Close()
	if again, err := s.Next(t.Context()); again != nil || err != nil {
		t.Errorf("after the last batch came %v, %v", again, err)
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
