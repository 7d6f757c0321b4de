package scan

import (
	"context"
	"slices"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// plain reads n values.
func (v *values) plain(ctx context.Context, runs []read.Values, n int) (*array.Column, error) {
	c := &array.Column{Type: v.typ, N: n}
	row := 0
	for i := range runs {
		s := &runs[i]
		if s.Missing() {
			c.Null = slices.Grow(c.Null, n)[:n]
			for k := range s.N {
				c.Null[row+int(k)] = true
			}
		} else if got := s.DType(); got != v.f.column.DType() {
			return nil, errs.New(errs.Corrupt, "chunk %q has values of dtype %s, want %s", s.Segment.Chunk.Key, got, v.f.column.DType())
		}
		row += int(s.N)
	}
	if v.typ.DType == 0 {
		return c, nil
	}
	defer v.prefetch(ctx, runs)()
	if !v.typ.DType.Fixed() {
		return c, v.text(ctx, c, runs)
	}
	return c, v.arrays(ctx, c, runs)
}

// text reads text, JSON and opaque values.
func (v *values) text(ctx context.Context, c *array.Column, runs []read.Values) error {
	total := int64(0)
	for i := range runs {
		if s := &runs[i]; !s.Missing() {
			total += s.Stored()
		}
	}
	mem := make([]byte, total)
	data := make([]string, c.N)
	row := 0
	for i := range runs {
		s := &runs[i]
		if s.Missing() {
			row += int(s.N)
			continue
		}
		n := s.Stored()
		if err := v.r.io.Read(ctx, s, mem[:n:n], v.f.column.Channels()); err != nil {
			return err
		}
		for k := range s.N {
			size := s.ItemBytes(k)
			if size > 0 {
				data[row] = unsafe.String(&mem[0], size) // mem is not written any more
			}
			mem = mem[size:]
			row++
		}
	}
	v.r.decoded += total
	c.Same, c.Data = tensor.Shape{}, data
	return nil
}

// layout is where values go: of one shape, or each of its own.
type layout struct {
	same   tensor.Shape
	each   int64          // elements of a value of that shape
	shapes []tensor.Shape // nil: all have one
	starts []int
	total  int64 // elements
}

// lay finds the shapes of values.
func lay(typ *array.Type, runs []read.Values, n int) (layout, error) {
	var l layout
	uniform := true
	for i := range runs {
		s := &runs[i]
		if s.Missing() {
			continue
		}
		if s.Uniform() {
			uniform = l.takes(s.Shape(0))
		} else {
			for k := range s.N {
				if uniform = l.takes(s.Shape(k)); !uniform {
					break
				}
			}
		}
		if !uniform {
			break
		}
	}
	if l.same == nil && uniform { // no value at all
		l.same = tensor.Shape{}
		if typ.Dims >= 0 && typ.Shape != nil && !slices.Contains(typ.Shape, -1) {
			l.same = typ.Shape
		} else if typ.Dims != 0 {
			uniform = false
		}
	}
	var err error
	if uniform {
		if l.each, err = l.same.Elements(); err == nil && l.each > 0 && int64(n) > tensor.MaxSampleBytes/l.each {
			err = errs.New(errs.Invalid, "%d values of shape %s do not fit into memory", n, l.same)
		}
		l.total = l.each * int64(n)
		return l, err
	}
	l.same, l.shapes, l.starts = nil, make([]tensor.Shape, n), make([]int, 1, n+1)
	row := 0
	for i := range runs {
		s := &runs[i]
		for k := range s.N {
			if !s.Missing() {
				l.shapes[row] = s.Shape(k)
				elements, err := l.shapes[row].Elements()
				if err != nil {
					return l, err
				}
				if l.total += elements; l.total > tensor.MaxSampleBytes {
					return l, errs.New(errs.Invalid, "%d values do not fit into memory", n)
				}
			}
			l.starts = append(l.starts, int(l.total))
			row++
		}
	}
	return l, nil
}

// takes reports whether all shapes so remote are equal.
func (l *layout) takes(s tensor.Shape) bool {
	if l.same == nil {
		if l.same = s; s == nil {
			l.same = tensor.Shape{}
		}
		return true
	}
	return l.same.Equal(s)
}

// span is where the elements of values row to row+n lie.
func (l *layout) span(row int, n int64) (from, to int64) {
	if l.shapes == nil {
		return int64(row) * l.each, (int64(row) + n) * l.each
	}
	return int64(l.starts[row]), int64(l.starts[row+int(n)])
}

// arrays reads values of fixed size.
func (v *values) arrays(ctx context.Context, c *array.Column, runs []read.Values) error {
	l, err := lay(&v.typ, runs, c.N)
	if err != nil {
		return err
	}
	stored := v.f.column.DType()
	data, mem, err := v.r.newData(stored, l.total)
	if err != nil {
		return err
	}
	size := int64(stored.Size())
	row := 0
	for i := range runs {
		s := &runs[i]
		if !s.Missing() {
			from, to := l.span(row, s.N)
			if err := v.r.io.Read(ctx, s, mem[from*size:to*size:to*size], v.f.column.Channels()); err != nil {
				return err
			}
		} else {
			from, to := l.span(row, s.N)
			clear(mem[from*size : to*size])
		}
		row += int(s.N)
	}
	settle(stored, data, mem)
	v.r.decoded += int64(len(mem))
	c.Same, c.Shapes, c.Starts, c.Data = l.same, l.shapes, l.starts, data
	return nil
}
