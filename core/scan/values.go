package scan

import (
	"context"
	"slices"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// plain reads n values.
func (v *values) plain(ctx context.Context, runs []segmentRun, n int) (*array.Column, error) {
	c := &array.Column{Type: v.typ, N: n}
	row := 0
	for i := range runs {
		s := &runs[i]
		if s.hole() {
			c.Null = slices.Grow(c.Null, n)[:n]
			for k := range s.n {
				c.Null[row+int(k)] = true
			}
		} else if got := s.segment.Chunk.Index.DType(); got != v.f.column.DType() {
			return nil, errs.New(errs.Corrupt, "chunk %q has values of dtype %s, want %s", s.segment.Chunk.Key, got, v.f.column.DType())
		}
		row += int(s.n)
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
func (v *values) text(ctx context.Context, c *array.Column, runs []segmentRun) error {
	total := int64(0)
	for i := range runs {
		if s := &runs[i]; !s.hole() {
			total += s.stored()
		}
	}
	mem := make([]byte, total)
	data := make([]string, c.N)
	row := 0
	for i := range runs {
		s := &runs[i]
		if s.hole() {
			row += int(s.n)
			continue
		}
		n := s.stored()
		if err := v.r.worker.Items(ctx, s.segment.Chunk, s.item, s.n, mem[:n]); err != nil {
			return v.named(s, 0, err)
		}
		v.r.count(s)
		for k := range s.n {
			size := s.segment.Chunk.Index.ItemBytes(s.item + k)
			if size > 0 {
				data[row] = unsafe.String(&mem[0], size) // nobody writes to mem any more
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
func lay(typ *array.Type, runs []segmentRun, n int) (layout, error) {
	var l layout
	uniform := true
	for i := range runs {
		s := &runs[i]
		if s.hole() {
			continue
		}
		x := s.segment.Chunk.Index
		if s.tiled() || x.Uniform() {
			uniform = l.takes(s.shape(0))
		} else {
			for k := range s.n {
				if uniform = l.takes(x.Shape(s.item + k)); !uniform {
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
		for k := range s.n {
			if !s.hole() {
				l.shapes[row] = s.shape(k)
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

// shape is that of value i, which is no hole.
func (s *segmentRun) shape(i int64) tensor.Shape {
	if s.tiled() {
		return s.segment.Chunk.Index.Tile().Sample
	}
	return s.segment.Chunk.Index.Shape(s.item + i)
}

// span is where the elements of values row to row+n lie.
func (l *layout) span(row int, n int64) (from, to int64) {
	if l.shapes == nil {
		return int64(row) * l.each, (int64(row) + n) * l.each
	}
	return int64(l.starts[row]), int64(l.starts[row+int(n)])
}

// arrays reads values of fixed size.
func (v *values) arrays(ctx context.Context, c *array.Column, runs []segmentRun) error {
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
		if !s.hole() {
			from, to := l.span(row, s.n)
			if err := v.fill(ctx, s, mem[from*size:to*size:to*size]); err != nil {
				return err
			}
			v.r.count(s)
		} else {
			from, to := l.span(row, s.n)
			clear(mem[from*size : to*size])
		}
		row += int(s.n)
	}
	settle(stored, data, mem)
	v.r.decoded += int64(len(mem))
	c.Same, c.Shapes, c.Starts, c.Data = l.same, l.shapes, l.starts, data
	return nil
}

// fill reads a run into dst.
func (v *values) fill(ctx context.Context, s *segmentRun, dst []byte) error {
	var ref chunk.Ref
	w := v.r.worker
	if s.tiled() {
		if err := s.ref(0, &ref); err != nil {
			return err
		}
		return v.named(s, 0, w.Decode(ctx, &ref, dst, v.f.column.Channels()))
	}
	if s.segment.Chunk.Index.SampleCodec() == codec.None {
		if int64(len(dst)) != s.stored() {
			return errs.New(errs.Corrupt, "chunk %q: %d values have %d bytes, want %d", s.segment.Chunk.Key, s.n, s.stored(), len(dst))
		}
		return v.named(s, 0, w.Items(ctx, s.segment.Chunk, s.item, s.n, dst))
	}
	refs, places := make([]*chunk.Ref, s.n), make([][]byte, s.n)
	for k := range refs {
		refs[k] = &chunk.Ref{}
		if err := s.ref(int64(k), refs[k]); err != nil {
			return err
		}
		n := refs[k].Size
		places[k], dst = dst[:n:n], dst[n:]
	}
	bad, err := inRuns(ctx, refs, func(from, to int, failed func(i int, err error)) {
		w.DecodeRun(ctx, refs[from:to], places[from:to], v.f.column.Channels(), failed)
	})
	return v.named(s, int64(bad), err)
}

// runBytes bounds the files that are read before they are decoded together.
const runBytes = 8 << 20

// inRuns decodes files in runs, until some of them fail: the first of those is bad.
func inRuns(ctx context.Context, refs []*chunk.Ref, decode func(from, to int, failed func(i int, err error))) (bad int, err error) {
	for from := 0; from < len(refs); {
		to, sum := from, int64(0)
		for to < len(refs) && (to == from || sum+refs[to].Stored <= runBytes) {
			sum += refs[to].Stored
			to++
		}
		if ctx.Err() != nil {
			return from, errs.Cause(ctx, "decode files")
		}
		decode(from, to, func(i int, e error) {
			if err == nil || from+i < bad {
				bad, err = from+i, e
			}
		})
		if err != nil {
			return bad, err
		}
		from = to
	}
	return 0, nil
}

// named says which row an error is about: the one of value i of a run, or its first.
func (v *values) named(s *segmentRun, i int64, err error) error {
	if err == nil {
		return nil
	}
	row := s.rowOf(i)
	if s.n > 1 && s.segment.Chunk.Index.SampleCodec() == codec.None {
		return errs.New(errs.KindOf(err), "rows %d to %d: %w", row, s.rowOf(s.n-1), err)
	}
	return errs.New(errs.KindOf(err), "row %d: %w", row, err)
}
