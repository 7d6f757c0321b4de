package v3

import (
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// segment is consecutive items of one shape and one size, one after the other.
type segment struct {
	n     int64
	shape tensor.Shape
	size  int64 // of each, as stored, before a compression of the whole chunk
	start int64 // of the first
}

// segments returns the items of a chunk of n items. Items in front of the table of shapes have no
// sample: their axes are 0.
func (o *object) segments(n int64, k *kind) ([]segment, error) {
	h := o.header
	if have := h.items(); have != n {
		return nil, errs.New(errs.Corrupt, "it has %d samples, the index says %d: a failed write has left samples that no row has, and the rows behind them cannot be told apart", have, n)
	}
	var out []segment
	si, pi := 0, 0
	for at := int64(0); at < n; {
		s := segment{shape: k.empty()}
		end := n
		if si < len(h.shapes) {
			s.shape, end = k.threeAxes(h.shapes[si].shape), min(end, h.shapes[si].last+1)
		}
		if pi == len(h.places) {
			if len(h.places) > 0 {
				return nil, errs.New(errs.Corrupt, "its table of places ends at item %d of %d", at, n)
			}
		} else {
			p := h.places[pi]
			first := int64(0)
			if pi > 0 {
				first = h.places[pi-1].last + 1
			}
			if end = min(end, p.last+1); p.size > 0 { // where nothing lies may be anywhere
				s.size, s.start = p.size, p.start+(at-first)*p.size
			}
		}
		s.n = end - at
		out = append(out, s)
		at = end
		for si < len(h.shapes) && h.shapes[si].last < at {
			si++
		}
		for pi < len(h.places) && h.places[pi].last < at {
			pi++
		}
	}
	return out, nil
}

// empty is the shape of no sample.
func (k *kind) empty() tensor.Shape {
	n := max(1, k.axes)
	if k.image {
		n = 3
	}
	return make(tensor.Shape, min(n, tensor.MaxDims))
}

// inOrder checks that items lie one after the other in total bytes.
func inOrder(items []segment, total int64) error {
	at := int64(0)
	for _, s := range items {
		if s.size == 0 {
			continue
		}
		if s.start != at || s.n > (total-at)/s.size {
			return errs.New(errs.Corrupt, "%d items of %d bytes lie at %d, want them at %d of %d", s.n, s.size, s.start, at, total)
		}
		at += s.n * s.size
	}
	if at != total {
		return errs.New(errs.Corrupt, "its items have %d bytes, it has %d", at, total)
	}
	return nil
}

// maxSpread bounds the items of a chunk that are listed one by one, above one a byte.
const maxSpread = 1 << 20

// spread lists items one by one.
func spread(items []segment, total int64) ([]segment, error) {
	n := int64(0)
	for _, s := range items {
		n += s.n
	}
	if n > total+maxSpread {
		return nil, errs.New(errs.Corrupt, "it has %d items in %d bytes", n, total)
	}
	out := make([]segment, 0, n)
	for _, s := range items {
		for i := range s.n {
			out = append(out, segment{n: 1, shape: s.shape, size: s.size, start: s.start + i*s.size})
		}
	}
	return out, nil
}

// shapesOf returns the runs of shapes.
func shapesOf(items []segment) (out []format.ShapeRun) {
	for _, s := range items {
		if n := len(out); n > 0 && out[n-1].Shape.Equal(s.shape) {
			out[n-1].Count += s.n
			continue
		}
		out = append(out, format.ShapeRun{Count: s.n, Shape: s.shape})
	}
	return out
}

// checkArrays holds the sizes of arrays against their shapes.
func checkArrays(items []segment, d tensor.DType) error {
	for _, s := range items {
		if want, err := s.shape.Bytes(d); err != nil {
			return err
		} else if want != s.size {
			return errs.New(errs.Corrupt, "an item of shape %s has %d bytes, want %d", s.shape, s.size, want)
		}
	}
	return nil
}
