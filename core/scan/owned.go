package scan

import (
	"context"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/slab"
)

// Owned reads columns into memory that outlives it: slabs, or mapped chunks. Times keep the unit in
// which the tensor counts them. One goroutine at a time may use it.
type Owned struct{ r *reader }

// Owned returns a reader that takes its memory from a ring.
func (t *Table) Owned(ring *slab.Ring) *Owned {
	return &Owned{r: &reader{table: t, counts: true, ring: ring}}
}

// Borrow returns the first rows of a range in place, as many as lie together, and what keeps their
// memory valid. Nil: they must be read.
func (o *Owned) Borrow(ctx context.Context, column int, from, n int64) (c *array.Column, keep any, err error) {
	before := len(o.r.borrowed)
	c, err = o.r.Borrow(ctx, column, query.Rows{From: from, N: n})
	if c != nil && len(o.r.borrowed) > before {
		keep = o.r.borrowed[before]
	}
	o.r.Return()
	return c, keep, err
}

// Read reads rows of a column. Their elements lie in the slab, of which the caller gets a
// reference, or in Go's heap: then it is nil.
func (o *Owned) Read(ctx context.Context, column int, from, n int64) (*array.Column, *slab.Slab, error) {
	defer func() {
		for _, s := range o.r.slabs {
			s.Release()
		}
		clear(o.r.slabs)
		o.r.slabs = o.r.slabs[:0]
		o.r.Return()
	}()
	c, err := o.r.Read(ctx, column, query.Rows{From: from, N: n}, query.Values, nil)
	if err != nil {
		return nil, nil, err
	}
	if data := storedBytes(c); len(data) > 0 {
		for _, s := range o.r.slabs {
			if unsafe.SliceData(data) == unsafe.SliceData(s.Bytes()) {
				s.Retain()
				return c, s, nil
			}
		}
	}
	return c, nil, nil
}

// Lengths returns the bytes of texts and opaque values, of index pages alone.
func (o *Owned) Lengths(ctx context.Context, column int, from, n int64) ([]int64, error) {
	c, err := o.r.Read(ctx, column, query.Rows{From: from, N: n}, query.Length, nil)
	if err != nil {
		return nil, err
	}
	return array.Elems[int64](c.Expand()), nil
}

// Close frees the decoders.
func (o *Owned) Close() { o.r.Close() }

// slabWords returns n words of a slab, which Owned releases; nil if there is no memory.
func (r *reader) slabWords(n int64) buffer {
	s, err := r.ring.Get(n * 8)
	if err != nil {
		return nil // Go's heap has the same limits, and says so
	}
	r.slabs = append(r.slabs, s)
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(s.Bytes()))), n)
}
