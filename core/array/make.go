package array

import (
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// FromBools is a column of bools; null is nil where every row has a value. It keeps the slices, as
// all makers do.
func FromBools(v []bool, null []bool) *Column { return From(Of(tensor.Bool), v, null) }

// FromInts is a column of int64.
func FromInts(v []int64, null []bool) *Column { return From(Of(tensor.Int64), v, null) }

// FromFloats is a column of float64.
func FromFloats(v []float64, null []bool) *Column { return From(Of(tensor.Float64), v, null) }

// FromStrings is a column of text.
func FromStrings(v []string, null []bool) *Column { return From(Of(tensor.String), v, null) }

// From is a column of scalars of type t, whose Data fits the dtype.
func From(t Type, data any, null []bool) *Column {
	return &Column{Type: t.withAxes(tensor.Shape{}), N: vectorOf(data).len(), Data: data, Same: tensor.Shape{}, Null: null}
}

// FromArrays is rows of one shape, one behind the other in data.
func FromArrays(t Type, shape tensor.Shape, data any, null []bool) *Column {
	n := len(null)
	if k := elements(shape); k > 0 {
		n = vectorOf(data).len() / k
	}
	return &Column{Type: t.withAxes(shape), N: n, Data: data, Same: shape, Null: null}
}

// FromRows is rows of any shapes, nil for NULL, one behind the other in data.
func FromRows(t Type, shapes []tensor.Shape, data any) *Column {
	c := &Column{Type: t, N: len(shapes), Data: data, Shapes: shapes, Starts: make([]int, len(shapes)+1)}
	for i, s := range shapes {
		n := 0
		if s != nil {
			n = elements(s)
		} else {
			if c.Null == nil {
				c.Null = make([]bool, len(shapes))
			}
			c.Null[i] = true
		}
		c.Starts[i+1] = c.Starts[i] + n
	}
	if t.Scalar() {
		return onePerRow(c)
	}
	return c
}

// onePerRow has one element for each row, so that scalars are never anything but uniform.
func onePerRow(c *Column) *Column {
	out := &Column{Type: c.Type, N: c.N, Same: tensor.Shape{}, Null: c.Null, Data: c.Data}
	if c.Null == nil {
		return out
	}
	v := allocate(c.DType, c.N)
	for i, null := range c.Null {
		if !null {
			v.move(i, c.vector(), c.Starts[i], c.Starts[i]+1)
		}
	}
	out.Data = v.data()
	return out
}

// FromLists is lists of items: row i is the rows ends[i-1] to ends[i] of items.
func FromLists(items *Column, ends []int, null []bool) *Column {
	t := items.Type
	t.List = true
	return &Column{Type: t, N: len(ends), Items: items.Expand(), Ends: ends, Null: null}
}

// Constant is n rows of one value: nil for NULL, bool, int, int64, uint64, float64, string, a
// column of one row, or a slice as Data is, for an array of one axis. A value that the type cannot
// hold becomes NULL.
func Constant(t Type, value any, n int) *Column {
	if c, ok := value.(*Column); ok {
		out := c.once().repeated(n)
		out.Type = t
		return out
	}
	if v := vectorOf(value); v != nil {
		return &Column{Type: t, N: n, Const: true, Data: value, Same: tensor.Shape{int64(v.len())}}
	}
	if value != nil && t.DType != 0 && t.Scalar() {
		if data := single(t.DType, value); data != nil {
			return &Column{Type: t, N: n, Const: true, Same: tensor.Shape{}, Data: data}
		}
	}
	return Nothing(t, n)
}

// Nothing is n rows without a value.
func Nothing(t Type, n int) *Column {
	out := Empty(t)
	out.N, out.Const, out.Null = n, true, []bool{true}
	switch {
	case t.DType == 0:
	case t.List:
		out.Ends = []int{0}
	case out.Shapes != nil:
		out.Shapes, out.Starts = []tensor.Shape{nil}, []int{0, 0}
	default:
		out.Data = allocate(t.DType, out.each()).data()
	}
	return out
}

// Empty is no rows.
func Empty(t Type) *Column {
	out := &Column{Type: t}
	if t.DType == 0 {
		return out
	}
	if t.List {
		out.Ends, out.Items = []int{}, Empty(itemType(t))
		return out
	}
	s := t.axes()
	known := s != nil
	for _, d := range s {
		known = known && d >= 0
	}
	out.Data = allocate(t.DType, 0).data()
	if known && elements(s) <= block {
		out.Same = s
	} else {
		out.Shapes, out.Starts = []tensor.Shape{}, []int{0}
	}
	return out
}

// single is Data of one value, nil where the dtype cannot hold it.
func single(d tensor.DType, value any) any {
	v := allocate(d, 1)
	switch x := value.(type) {
	case int:
		return single(d, int64(x))
	case string:
		if s, ok := v.(vec[string]); ok {
			s[0] = x
			return s.data()
		}
		return nil
	case bool:
		if d == tensor.Bool {
			return []bool{x}
		}
		return castData([]bool{x}, v)
	case int64:
		return castData([]int64{x}, v)
	case uint64:
		return castData([]uint64{x}, v)
	case float64:
		return castData([]float64{x}, v)
	}
	return nil
}

func castData(one any, to vector) any {
	out, bad := convert(one, dtypeOf(to.data()))
	if bad >= 0 {
		return nil
	}
	return out
}

// Concat is columns one behind the other as one of type t, which all of them have or can become. It
// fails where Become does.
func Concat(t Type, parts []*Column) (*Column, error) {
	n := 0
	ready := make([]*Column, 0, len(parts))
	for _, p := range parts {
		n += p.N
		if p.N == 0 {
			continue
		}
		p, err := Become(p, t)
		if err != nil {
			return nil, err
		}
		ready = append(ready, p)
	}
	switch {
	case n == 0:
		return Empty(t), nil
	case len(ready) == 1:
		return ready[0], nil
	case t.DType == 0:
		return Nothing(t, n), nil
	}
	for i := range ready {
		ready[i] = ready[i].Expand()
	}
	out := &Column{Type: t, N: n, Null: joinNulls(ready, n)}
	if t.List {
		return out, joinLists(out, ready)
	}
	same := true
	total := 0
	for _, p := range ready {
		same = same && p.uniform() && p.Same.Equal(ready[0].Same)
		total += p.total()
	}
	v := allocate(t.DType, total)
	at := 0
	if same {
		out.Same = ready[0].Same
	} else {
		out.Shapes, out.Starts = make([]tensor.Shape, 0, n), make([]int, 1, n+1)
	}
	for _, p := range ready {
		if same || p.Shapes == nil {
			v.copy(at, p.vector())
		}
		if same {
			at += p.vector().len()
			continue
		}
		at = out.append(p, v, at)
	}
	out.Data = v.cut(0, at).data()
	return out, nil
}

// total is the number of elements of all rows in memory.
func (c *Column) total() int {
	if c.Shapes != nil {
		return c.Starts[c.held()] - c.Starts[0]
	}
	return c.held() * c.each()
}

// append adds the rows of p to a ragged column that is being made.
func (c *Column) append(p *Column, v vector, at int) int {
	from := p.vector()
	for i := range p.N {
		s := p.ShapeAt(i)
		if s != nil {
			lo, hi := p.span(i)
			v.move(at, from, lo, hi)
			at += hi - lo
		}
		c.Shapes, c.Starts = append(c.Shapes, s), append(c.Starts, at)
	}
	return at
}

func joinNulls(parts []*Column, n int) []bool {
	var out []bool
	at := 0
	for _, p := range parts {
		if nulls := p.nulls(); nulls != nil {
			if out == nil {
				out = make([]bool, n)
			}
			copy(out[at:], nulls)
		}
		at += p.N
	}
	return out
}

func joinLists(out *Column, parts []*Column) error {
	items := make([]*Column, 0, len(parts))
	out.Ends = make([]int, 0, out.N)
	base := 0
	for _, p := range parts {
		for i := range p.N {
			_, hi := p.items(i)
			out.Ends = append(out.Ends, base+hi)
		}
		if p.Items != nil {
			items = append(items, p.Items)
			base += p.Items.N
		}
	}
	t := out.Type
	t.List = false
	var err error
	if out.Items, err = Concat(t, items); err != nil {
		return err
	}
	out.Items = out.Items.Expand()
	return nil
}

// maxRow bounds what a single row may become.
const maxRow = 1 << 30

// room refuses rows that need more memory than any row should.
func room(what string, row int, s tensor.Shape, d tensor.DType) error {
	n, err := s.Bytes(d)
	if d == tensor.String {
		n, err = s.Bytes(tensor.Int64)
	}
	if err == nil && n <= maxRow {
		return nil
	}
	return inRow(errs.Invalid, row, "%s: row %d would have shape %s of %s, more than 1 GiB", what, here, s, d)
}

// maxBatch bounds the bytes that one call of a function makes for a batch of rows. Results no
// larger than the largest argument are not bounded: the batch was cut for the size of what was
// read.
const maxBatch = 1 << 30

// textBytes is the memory of a text beside its bytes.
const textBytes = 16

// withinBatch refuses results of more than maxBatch bytes: rows that are small each may be large
// together, and nested queries could double them at each step.
func withinBatch(what string, elements int, d tensor.DType, args ...*Column) error {
	for _, c := range args {
		if c.total() >= elements {
			return nil
		}
	}
	size := int64(textBytes)
	if d.Fixed() {
		size = int64(d.Size())
	}
	if int64(elements) > maxBatch/size {
		return tooLarge(what)
	}
	return nil
}

func tooLarge(what string) error {
	return errs.New(errs.Invalid, "%w", &sizeError{what})
}

// sizeError says that a batch would have more than maxBatch bytes.
type sizeError struct{ what string }

func (e *sizeError) Error() string {
	return e.what + ": a batch of rows would have more than 1 GiB; shorten the values, or LIMIT the rows"
}
