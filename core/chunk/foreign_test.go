package chunk

import (
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// foreign is a directory of six numbers of float32 in an object of another format.
func foreign(base int64) *format.Directory {
	return &format.Directory{
		DType: tensor.Float32, FixedSize: -1, Items: 2, Shapes: []format.ShapeRun{{Count: 2, Shape: tensor.Shape{3}}}, PerBlock: 2,
		Foreign: &format.Foreign{Base: base},
	}
}

func TestForeignChunks(t *testing.T) {
	t.Parallel()
	p, err := (&mem.Space{}).Open(t.Context(), "x", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	const header = "0123456"
	if err := p.Put(t.Context(), "object", []byte(header+"abcdefghijklmnopqrstuvwx")); err != nil {
		t.Fatal(err)
	}
	c, err := OpenForeign(p, "origin", "object", []byte(header), foreign(int64(len(header))))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := KeepForeign(p, "origin", "object", nil, foreign(0), []byte("abcdefghijklmnopqrstuvwx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Chunk{c, whole, kept} {
		w := NewWorker(nil)
		got := make([]byte, 12)
		err := w.Stored(t.Context(), &Ref{Chunk: c, Item: 1, Items: 1, Shape: tensor.Shape{3}, Size: 12, Stored: 12}, got)
		if err != nil || string(got) != "mnopqrstuvwx" {
			t.Errorf("item 1 is %q, %v", got, err)
		}
		w.Close()
	}
	if n := len(c.Spans(0, 2, nil)); n != 1 {
		t.Errorf("the blocks are %d spans, want 1", n)
	}
	if n := len(whole.Spans(0, 2, nil)); n != 0 {
		t.Errorf("a chunk in memory has %d spans to request", n)
	}
	if _, err := KeepForeign(p, "origin", "object", nil, foreign(0), []byte("short")); !errs.Is(err, errs.Internal) {
		t.Errorf("blocks beyond the memory give %v", err)
	}
	for base, want := range map[int64]bool{7: false, 8: true, 64: true} {
		x, err := foreign(base).CheckedIndex()
		if err != nil || aligned(x) != want {
			t.Errorf("numbers at %d: aligned %v, %v", base, aligned(x), err)
		}
	}
}
