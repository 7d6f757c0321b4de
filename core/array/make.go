package array

import (
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// FromBools returns a column of bools; null is nil where every row has a value. It keeps the
// slices, as all makers do.
func FromBools(v []bool, null []bool) *Column { return From(Of(tensor.Bool), v, null) }

// FromInts returns a column of int64.
func FromInts(v []int64, null []bool) *Column { return From(Of(tensor.Int64), v, null) }

// FromFloats returns a column of float64.
func FromFloats(v []float64, null []bool) *Column { return From(Of(tensor.Float64), v, null) }

// FromStrings returns a column of text.
func FromStrings(v []string, null []bool) *Column { return From(Of(tensor.String), v, null) }

// From returns a column of scalars of type t. Data must fit the dtype.
func From(t Type, data any, null []bool) *Column {
	return &Column{Type: t.WithAxes(tensor.Shape{}), N: vectorOf(data).Len(), Data: data, Same: tensor.Shape{}, Null: null}
}

// Flat returns the elements of all rows as a column of scalars. The column is no list, and has no
// NULL.
func Flat(c *Column) *Column {
	c = c.Expand()
	lo, n := 0, c.Elements()
	if c.Shapes != nil {
		lo = c.Starts[0]
	}
	return From(c.Type, c.Vector().Cut(lo, lo+n).Data(), nil)
}

// FromArrays returns rows of one shape, one behind the other in data.
func FromArrays(t Type, shape tensor.Shape, data any, null []bool) *Column {
	n := len(null)
	if k := SizeOf(shape); k > 0 {
		n = vectorOf(data).Len() / k
	}
	return &Column{Type: t.WithAxes(shape), N: n, Data: data, Same: shape, Null: null}
}

// FromRows returns rows of any shapes, nil for NULL, one behind the other in data.
func FromRows(t Type, shapes []tensor.Shape, data any) *Column {
	c := &Column{Type: t, N: len(shapes), Data: data, Shapes: shapes, Starts: make([]int, len(shapes)+1)}
	for i, s := range shapes {
		n := 0
		if s != nil {
			n = SizeOf(s)
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
	v := NewVector(c.DType, c.N)
	for i, null := range c.Null {
		if !null {
			v.Move(i, c.Vector(), c.Starts[i], c.Starts[i]+1)
		}
	}
	out.Data = v.Data()
	return out
}

// FromLists returns lists of items: row i is the rows ends[i-1] to ends[i] of items.
func FromLists(items *Column, ends []int, null []bool) *Column {
	t := items.Type
	t.List = true
	return &Column{Type: t, N: len(ends), Items: items.Expand(), Ends: ends, Null: null}
}

// Constant returns n rows of one value: nil for NULL, bool, int, int64, uint64, float64, string, or
// a column of one row. A slice like Data is an array of one axis. A value that the type cannot hold
// becomes NULL.
func Constant(t Type, value any, n int) *Column {
	if c, ok := value.(*Column); ok {
		out := c.OnlyRow().Repeat(n)
		out.Type = t
		return out
	}
	if v := vectorOf(value); v != nil {
		return &Column{Type: t, N: n, Const: true, Data: value, Same: tensor.Shape{int64(v.Len())}}
	}
	if value != nil && t.DType != 0 && t.Scalar() {
		if data := single(t.DType, value); data != nil {
			return &Column{Type: t, N: n, Const: true, Same: tensor.Shape{}, Data: data}
		}
	}
	return Nothing(t, n)
}

// Nothing returns n rows without a value.
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
		out.Data = NewVector(t.DType, out.RowSize()).Data()
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
		out.Ends, out.Items = []int{}, Empty(ItemType(t))
		return out
	}
	s := t.Axes()
	known := s != nil
	for _, d := range s {
		known = known && d >= 0
	}
	out.Data = NewVector(t.DType, 0).Data()
	if known && SizeOf(s) <= Block {
		out.Same = s
	} else {
		out.Shapes, out.Starts = []tensor.Shape{}, []int{0}
	}
	return out
}

// single is Data of one value, nil if the dtype cannot hold it.
func single(d tensor.DType, value any) any {
	v := NewVector(d, 1)
	switch x := value.(type) {
	case int:
		return single(d, int64(x))
	case string:
		if s, ok := v.(vec[string]); ok {
			s[0] = x
			return s.Data()
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

func castData(one any, to Vector) any {
	out, bad := Convert(one, DTypeOf(to.Data()))
	if bad >= 0 {
		return nil
	}
	return out
}

// Concat is columns one behind the other as one of type t, which all of them have or can become. It
// fails where Become does.
func Concat(w *Work, t Type, parts []*Column) (*Column, error) {
	n := 0
	ready := make([]*Column, 0, len(parts))
	for _, p := range parts {
		n += p.N
		if p.N == 0 {
			continue
		}
		p, err := Become(w, p, t)
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
		ready[i] = ready[i].ExpandIn(w)
	}
	if !w.Reserve(int64(n)) {
		return nil, w.Err()
	}
	out := &Column{Type: t, N: n, Null: joinNulls(ready, n)}
	if t.List {
		return out, joinLists(w, out, ready)
	}
	same := true
	total := 0
	for _, p := range ready {
		same = same && p.Uniform() && p.Same.Equal(ready[0].Same)
		total += p.Elements()
	}
	v, ok := RoomOf(w, t.DType, total)
	if !ok || !same && !w.Reserve(int64(n)*(shapeBytes+8)) {
		return nil, w.Err()
	}
	at := 0
	if same {
		out.Same = ready[0].Same
	} else {
		out.Shapes, out.Starts = make([]tensor.Shape, 0, n), make([]int, 1, n+1)
	}
	for _, p := range ready {
		if same || p.Shapes == nil {
			v.copy(at, p.Vector())
		}
		if same {
			at += p.Vector().Len()
			continue
		}
		at = out.append(p, v, at)
	}
	out.Data = v.Cut(0, at).Data()
	return out, nil
}

// Elements returns the number of elements of all rows in memory.
func (c *Column) Elements() int {
	if c.Shapes != nil {
		return c.Starts[c.Stored()] - c.Starts[0]
	}
	return c.Stored() * c.RowSize()
}

// append adds the rows of p to a ragged column that is being made.
func (c *Column) append(p *Column, v Vector, at int) int {
	from := p.Vector()
	for i := range p.N {
		s := p.ShapeAt(i)
		if s != nil {
			lo, hi := p.Span(i)
			v.Move(at, from, lo, hi)
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
		if nulls := p.Nulls(); nulls != nil {
			if out == nil {
				out = make([]bool, n)
			}
			copy(out[at:], nulls)
		}
		at += p.N
	}
	return out
}

func joinLists(w *Work, out *Column, parts []*Column) error {
	items := make([]*Column, 0, len(parts))
	if !w.Reserve(int64(out.N) * 8) {
		return w.Err()
	}
	out.Ends = make([]int, 0, out.N)
	base := 0
	for _, p := range parts {
		for i := range p.N {
			_, hi := p.ItemSpan(i)
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
	if out.Items, err = Concat(w, t, items); err != nil {
		return err
	}
	out.Items = out.Items.Expand()
	return nil
}

// MaxRow bounds the bytes of a single row.
const MaxRow = 1 << 30

// CheckRow refuses rows that need more memory than any row should.
func CheckRow(what string, row int, s tensor.Shape, d tensor.DType) error {
	n, err := s.Bytes(d)
	if d == tensor.String {
		n, err = s.Bytes(tensor.Int64)
	}
	if err == nil && n <= MaxRow {
		return nil
	}
	return InRow(errs.Invalid, row, "%s: row %d would have shape %s of %s, more than 1 GiB", what, Here, s, d)
}

// MaxBatch bounds the bytes that one call of a function makes for a batch of rows. Results no
// larger than the largest argument are not bounded: the batch was cut for the size of its inputs.
const MaxBatch = 1 << 30

// TextBytes is the memory of a text beside its bytes.
const TextBytes = 16

// WithinBatch reserves the memory of a result. It refuses results of more than MaxBatch bytes: rows
// that are small each may be large together, and nested queries could double them at each step.
func WithinBatch(w *Work, what string, elements int, d tensor.DType, args ...*Column) error {
	size := elementSize(d)
	grows := true
	for _, c := range args {
		grows = grows && c.Elements() < elements
	}
	if grows && int64(elements) > MaxBatch/size {
		return TooLarge(what)
	}
	if !grows {
		w.Allow(int64(elements) * size)
	}
	w.Reserve(int64(elements) * size)
	return w.Err()
}

// TooLarge returns the error of a batch that would have more than MaxBatch bytes.
func TooLarge(what string) error {
	return errs.New(errs.Invalid, "%w", &SizeError{what})
}

// SizeError says that a batch would have more than maxBatch bytes.
type SizeError struct{ what string }

// Error names the operation and the limit.
func (e *SizeError) Error() string {
	return e.what + ": a batch of rows would have more than 1 GiB; shorten the values, or LIMIT the rows"
}

// Regular makes rows uniform that are.
func Regular(c *Column) *Column {
	if c.Shapes == nil || c.N == 0 || c.Null != nil {
		return c
	}
	for _, s := range c.Shapes {
		if !s.Equal(c.Shapes[0]) {
			return c
		}
	}
	v := c.Vector().Cut(c.Starts[0], c.Starts[c.N])
	return &Column{Type: c.Type, N: c.N, Same: c.Shapes[0], Data: v.Data()}
}
