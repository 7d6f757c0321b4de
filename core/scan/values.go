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

// groups reads runs of values, those of a chunk that lie close together at once. put receives the
// bytes of each item as stored; row is its place among all values. memory is that of one group;
// gaps says that most of it is no value.
func (v *values) groups(ctx context.Context, runs []read.Values, memory func(n int64) []byte, put func(row int, item []byte, gaps bool)) error {
	rows, at := make([]int, len(runs)), 0
	for i := range runs {
		rows[i], at = at, at+int(runs[i].N)
	}
	for _, g := range read.Groups(runs) {
		mem := memory(g.Stored())
		if err := v.r.io.Read(ctx, &g.Values, mem, v.f.column.Channels()); err != nil {
			return v.culprit(ctx, runs, g.Runs, mem, err)
		}
		wanted := int64(0)
		for _, i := range g.Runs {
			wanted += runs[i].Stored()
		}
		gaps := mostlyGaps(wanted, g.Stored())
		for _, i := range g.Runs {
			s := &runs[i]
			data := mem[g.Segment.Chunk.Index.ItemsBytes(g.Item, s.Item-g.Item):]
			for k := range s.N {
				size := s.ItemBytes(k)
				put(rows[i]+int(k), data[:size:size], gaps)
				data = data[size:]
			}
		}
	}
	return nil
}

// mostlyGaps reports whether less than half of the bytes that were read are values. A text that
// stayed in them would keep them all, which the account of the query does not count.
func mostlyGaps(wanted, all int64) bool { return 2*wanted < all }

// culprit reads the runs of a group that failed one by one, for an error that names the row.
func (v *values) culprit(ctx context.Context, runs []read.Values, group []int32, mem []byte, err error) error {
	for _, i := range group {
		if one := v.r.io.Read(ctx, &runs[i], mem[:runs[i].Stored()], v.f.column.Channels()); one != nil {
			return one
		}
	}
	return err
}

// text reads text, JSON and opaque values.
func (v *values) text(ctx context.Context, c *array.Column, runs []read.Values) error {
	data := make([]string, c.N)
	memory := func(n int64) []byte { return make([]byte, n) }
	err := v.groups(ctx, runs, memory, func(row int, item []byte, gaps bool) {
		if gaps {
			data[row] = string(item)
		} else if len(item) > 0 {
			data[row] = unsafe.String(&item[0], len(item)) // the memory is not written any more
		}
		v.r.decoded += int64(len(item))
	})
	c.Same, c.Data = tensor.Shape{}, data
	return err
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
	if err := v.fill(ctx, runs, &l, mem, int64(stored.Size())); err != nil {
		return err
	}
	settle(stored, data, mem)
	v.r.decoded += int64(len(mem))
	c.Same, c.Shapes, c.Starts, c.Data = l.same, l.shapes, l.starts, data
	return nil
}

// scatteredRuns is the number of runs from which they are read in groups.
const scatteredRuns = 16

// fill reads values of size bytes an element into their places in mem.
func (v *values) fill(ctx context.Context, runs []read.Values, l *layout, mem []byte, size int64) error {
	alone := len(runs) < scatteredRuns || slices.ContainsFunc(runs, func(s read.Values) bool {
		return !s.Missing() && (s.Tiled() || s.Coded())
	})
	row := 0
	for i := range runs {
		s := &runs[i]
		from, to := l.span(row, s.N)
		row += int(s.N)
		if s.Missing() {
			clear(mem[from*size : to*size])
		} else if alone {
			if err := v.r.io.Read(ctx, s, mem[from*size:to*size:to*size], v.f.column.Channels()); err != nil {
				return err
			}
		}
	}
	if alone {
		return nil
	}
	var scratch []byte
	memory := func(n int64) []byte {
		scratch = slices.Grow(scratch[:0], int(n))[:n]
		return scratch
	}
	return v.groups(ctx, runs, memory, func(row int, item []byte, _ bool) {
		from, _ := l.span(row, 1)
		copy(mem[from*size:], item)
	})
}
