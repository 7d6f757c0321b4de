package stream

import (
	"math"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/slab"
	"deeplake/core/tensor"
)

// convert returns values as an array of the type of column i. placed says that their elements lie
// in memory of the batch.
func (s *Stream) convert(m *memory, i int, values *array.Column, placed bool) (*arrow.Data, error) {
	c := s.columns[i]
	out, err := s.rows(m, i, values, placed)
	if err != nil {
		return nil, errs.Wrap(errs.Type, "convert tensor", c.name, err)
	}
	return out, nil
}

func (s *Stream) rows(m *memory, i int, values *array.Column, placed bool) (*arrow.Data, error) {
	if !s.columns[i].list {
		return s.arrays(m, i, values, placed)
	}
	n := int64(values.N)
	out := &arrow.Data{Rows: n}
	var err error
	start := 0
	if out.Ends, err = m.offsets(n, func(k int64) int64 {
		size := values.Ends[k] - start
		start = values.Ends[k]
		return int64(size)
	}); err != nil {
		return nil, err
	}
	if out.Valid, err = m.nulls(values); err != nil {
		return nil, err
	}
	items := values.Items
	if items == nil {
		items = array.Empty(array.ItemType(values.Type))
	}
	child, err := s.arrays(m, i, items.Expand(), false)
	out.Children = []*arrow.Data{child}
	return out, err
}

// nulls returns the bits of rows that are not NULL.
func (m *memory) nulls(values *array.Column) ([]byte, error) {
	null := values.Nulls()
	if null == nil {
		return nil, nil
	}
	return m.valid(int64(values.N), func(k int64) bool { return null[k] })
}

// arrays returns arrays, texts or numbers, one a row.
func (s *Stream) arrays(m *memory, i int, values *array.Column, placed bool) (*arrow.Data, error) {
	c := s.columns[i]
	switch {
	case c.form == formTexts:
		return texts(m, values)
	case c.axes == 0:
		if values.Shapes != nil && values.Null != nil {
			values = values.Take(sequence(values.N)) // a missing row has no element
		}
		if err := sameAxes(values, 0); err != nil {
			return nil, err
		}
		return s.leaf(m, i, values, int64(values.N), values.Nulls(), placed)
	case c.fixed != nil:
		return s.fixed(m, i, values, placed)
	}
	return s.nested(m, i, values, placed)
}

func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// sameAxes refuses arrays of another number of axes. A row whose first axis is empty is an empty
// list, whatever further axes it has.
func sameAxes(values *array.Column, axes int) error {
	if values.Shapes == nil {
		if values.Data == nil || values.N == 0 || len(values.Same) == axes {
			return nil
		}
		return differ(len(values.Same), axes)
	}
	for _, shape := range values.Shapes {
		isEmpty := axes > 0 && len(shape) > 0 && shape[0] == 0
		if shape != nil && len(shape) != axes && !isEmpty {
			return differ(len(shape), axes)
		}
	}
	return nil
}

func differ(a, b int) error {
	return errs.New(errs.Type, "samples have %d and %d axes, and a column of Arrow has one type; leave it out by tensors=", min(a, b), max(a, b))
}

// texts returns texts, documents or opaque values.
func texts(m *memory, values *array.Column) (*arrow.Data, error) {
	n := int64(values.N)
	from := array.Elems[string](values)
	if from == nil {
		from = make([]string, n)
	}
	out := &arrow.Data{Rows: n}
	var err error
	if out.Ends, err = m.offsets(n, func(k int64) int64 { return int64(len(from[k])) }); err != nil {
		return nil, err
	}
	if out.Valid, err = m.nulls(values); err != nil {
		return nil, err
	}
	if out.Values, err = m.bytes(out.Ends[n]); err != nil {
		return nil, err
	}
	for k, text := range from {
		copy(out.Values[out.Ends[k]:], text)
	}
	return out, nil
}

// fixed returns arrays of one shape. A missing one has a place there, too.
func (s *Stream) fixed(m *memory, i int, values *array.Column, placed bool) (*arrow.Data, error) {
	c := s.columns[i]
	each, err := c.fixed.Elements()
	if err != nil {
		return nil, err
	}
	if values.Shapes != nil {
		if values, err = even(values, c.fixed, int(each)); err != nil {
			return nil, err
		}
		placed = false
	} else if values.Data != nil && values.N > 0 && !values.Same.Equal(c.fixed) {
		return nil, errs.New(errs.Type, "a sample has shape %s, want %s", values.Same, c.fixed)
	}
	n := int64(values.N)
	out, err := s.leaf(m, i, values, n*each, nil, placed)
	if err != nil {
		return nil, err
	}
	rows := n * each
	for axis := len(c.fixed) - 1; axis >= 0; axis-- {
		rows /= c.fixed[axis]
		out = &arrow.Data{Rows: rows, Children: []*arrow.Data{out}}
	}
	out.Valid, err = m.nulls(values)
	return out, err
}

// even returns arrays that all have one shape, some of them missing, one behind the other.
func even(values *array.Column, shape tensor.Shape, each int) (*array.Column, error) {
	v := values.Vector()
	data := array.NewVector(array.DTypeOf(values.Data), values.N*each)
	for k := range values.N {
		s := values.Shapes[k]
		if s == nil {
			continue
		}
		if !s.Equal(shape) {
			return nil, errs.New(errs.Type, "a sample has shape %s, want %s", s, shape)
		}
		lo, hi := values.Span(k)
		data.Move(k*each, v, lo, hi)
	}
	return &array.Column{Type: values.Type, N: values.N, Null: values.Null, Same: shape, Data: data.Data()}, nil
}

// nested returns arrays as lists of lists.
func (s *Stream) nested(m *memory, i int, values *array.Column, placed bool) (*arrow.Data, error) {
	axes := s.columns[i].axes
	if err := sameAxes(values, axes); err != nil {
		return nil, err
	}
	n := int64(values.N)
	length := func(row int64, axis int) int64 {
		shape := values.Same
		if values.Shapes != nil {
			shape = values.Shapes[row]
		}
		if len(shape) <= axis {
			return 0 // missing
		}
		return shape[axis]
	}
	levels := make([]*arrow.Data, axes)
	rows := n
	for axis := range levels {
		row, left := int64(-1), int64(0) // lists of this axis that belong to the row
		size := func(int64) int64 {
			for left == 0 {
				row++
				if left = 1; axis > 0 {
					for outer := range axis {
						left *= length(row, outer)
					}
				}
			}
			left--
			return length(row, axis)
		}
		ends, err := m.offsets(rows, size)
		if err != nil {
			return nil, err
		}
		levels[axis] = &arrow.Data{Rows: rows, Ends: ends}
		rows = ends[rows]
	}
	out, err := s.leaf(m, i, values, rows, nil, placed && values.Shapes == nil)
	if err != nil {
		return nil, err
	}
	for axis := axes - 1; axis >= 0; axis-- {
		levels[axis].Children = []*arrow.Data{out}
		out = levels[axis]
	}
	out.Valid, err = m.nulls(values)
	return out, err
}

// leaf returns n elements, which are those of values.
func (s *Stream) leaf(m *memory, i int, values *array.Column, n int64, null []bool, placed bool) (*arrow.Data, error) {
	c := s.columns[i]
	out := &arrow.Data{Rows: n, Dictionary: s.names[i]}
	var err error
	if null != nil {
		if out.Valid, err = m.valid(n, func(k int64) bool { return null[k] }); err != nil {
			return nil, err
		}
	}
	if values.Data == nil || n == 0 {
		out.Values, err = m.zeros(n * 8) // of the widest numbers
		return out, err
	}
	values = array.Flat(values)
	if int64(values.N) != n {
		return nil, errs.New(errs.Internal, "arrays have %d elements, want %d", values.N, n)
	}
	switch {
	case c.time.Kind != tensor.NoTime:
		return out, s.times(m, c, out, array.Elems[int64](values), null)
	case c.labels != nil:
		return out, codes(m, out, values, null, len(c.labels))
	case c.dtype == tensor.Bool:
		flags := array.Elems[bool](values)
		if int64(len(flags)) != n {
			break
		}
		out.Values, err = m.bits(n, func(k int64) bool { return flags[k] })
		return out, err
	case c.dtype == tensor.Float16:
		wide := array.Elems[float32](values)
		if int64(len(wide)) != n {
			break
		}
		var half []uint16
		if half, err = elements[uint16](m, n); err != nil {
			return nil, err
		}
		for k, v := range wide {
			half[k] = toHalf(v)
		}
		out.Values = array.Bytes(half)
		return out, nil
	}
	data := array.Bytes(values.Data)
	size := int64(c.dtype.Size())
	if c.dtype == tensor.BFloat16 {
		size = 4
	}
	if int64(len(data)) != n*size {
		return nil, errs.New(errs.Internal, "values of dtype %s came as %s", c.dtype, array.DTypeOf(values.Data))
	}
	if placed {
		out.Values = data
		return out, nil
	}
	if out.Values, err = m.bytes(n * size); err == nil {
		copy(out.Values, data)
	}
	return out, err
}

// zeros returns n bytes that are zero.
func (m *memory) zeros(n int64) ([]byte, error) {
	out, err := m.bytes(n)
	clear(out)
	return out, err
}

// times fills the array of times. A time that is none is null.
func (s *Stream) times(m *memory, c *column, out *arrow.Data, counts []int64, null []bool) error {
	n := out.Rows
	if int64(len(counts)) != n {
		return errs.New(errs.Internal, "times are no int64")
	}
	var err error
	if out.Valid, err = m.valid(n, func(k int64) bool {
		return counts[k] == tensor.NotATime || null != nil && null[k]
	}); err != nil {
		return err
	}
	if c.time.Kind != tensor.Date {
		if out.Values, err = m.bytes(n * 8); err == nil {
			copy(out.Values, array.Bytes(counts))
		}
		return err
	}
	days, err := elements[int32](m, n)
	if err != nil {
		return err
	}
	for k, v := range counts {
		if days[k] = int32(v); int64(days[k]) != v && v != tensor.NotATime {
			return errs.New(errs.Range, "day %d lies beyond the dates of Arrow; leave it out by tensors=", v)
		}
	}
	out.Values = array.Bytes(days)
	return nil
}

// codes fills the array of numbers of labels.
func codes(m *memory, out *arrow.Data, values *array.Column, null []bool, names int) error {
	to, err := elements[int32](m, out.Rows)
	if err != nil {
		return err
	}
	wide, bad := array.Convert(values.Data, tensor.Int64)
	from, _ := wide.([]int64)
	if bad >= 0 || len(from) != len(to) {
		return errs.New(errs.Internal, "labels are no integers")
	}
	for k, v := range from {
		if (v < 0 || v >= int64(names)) && (null == nil || !null[k]) {
			return errs.New(errs.Range, "a label is %d, and there are %d class names: name it by class_names, or leave the tensor out by tensors=", v, names)
		}
		to[k] = int32(v)
	}
	out.Values = array.Bytes(to)
	return nil
}

// dictionary returns the names of labels, and the slab that they lie in.
func dictionary(names []string, ring *slab.Ring) (*arrow.Data, *slab.Slab, error) {
	size := 4 * (int64(len(names)) + 1)
	for _, name := range names {
		size += int64(len(name))
	}
	if size > math.MaxInt32 {
		return nil, nil, errs.New(errs.Invalid, "class names of %d bytes do not fit into a dictionary of Arrow", size)
	}
	s, err := ring.Get(size)
	if err != nil {
		return nil, nil, err
	}
	out := &arrow.Data{Rows: int64(len(names)), Ends32: unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(s.Bytes()))), len(names)+1)}
	out.Values = s.Bytes()[4*len(out.Ends32) : size]
	at := 0
	for i, name := range names {
		out.Ends32[i] = int32(at)
		at += copy(out.Values[at:], name)
	}
	out.Ends32[len(names)] = int32(at)
	return out, s, nil
}

// toHalf returns a number of half precision, which v holds exactly.
func toHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, exponent, rest := uint16(bits>>16&0x8000), int(bits>>23&0xff), bits&0x7fffff
	switch {
	case exponent == 0xff: // infinite, or none
		return sign | 0x7c00 | uint16(rest>>13) | uint16(min(rest, 1))
	case exponent > 127-15:
		return sign | uint16(exponent-(127-15))<<10 | uint16(rest>>13)
	case exponent == 0:
		return sign
	}
	return sign | uint16((rest|0x800000)>>(127-1-exponent))
}
