package array

import (
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// StackType returns the type of ARRAY[...] of values of these types: arrays of one more axis.
func StackType(types []Type) (Type, error) {
	if len(types) == 0 {
		return Type{DType: tensor.Float64, Dims: 1, Shape: tensor.Shape{0}, Weak: true}, nil
	}
	t := types[0]
	for _, u := range types[1:] {
		var err error
		if t, err = Unify(t, u); err != nil {
			return Type{}, err
		}
	}
	switch {
	case t.List || !t.Number() || t.Label():
		return Type{}, errs.New(errs.Type, "ARRAY of %s, want numbers or arrays of numbers", t)
	case t.Dims == Unranked:
		return Type{}, errs.New(errs.Type, "ARRAY of arrays whose number of axes is not known")
	}
	out := t.Bare()
	return out.WithAxes(append(tensor.Shape{int64(len(types))}, t.Axes()...)), nil
}

// Stack puts the values of each row one after the other. A row in which one is missing is NULL.
func Stack(w *Work, args []*Column) (*Column, error) {
	types := make([]Type, len(args))
	for i, a := range args {
		types[i] = a.Type
	}
	t, err := StackType(types)
	if err != nil {
		return nil, err
	}
	n, k := args[0].N, len(args)
	if allConst(args) && n > 0 {
		one := make([]*Column, k)
		for i, a := range args {
			one[i] = a.Slice(0, 1).Expand()
		}
		c, err := stack(w, t, one, 1)
		if err == nil {
			c.Const, c.N = true, n
		}
		return c, err
	}
	return stack(w, t, args, n)
}

func allConst(args []*Column) bool {
	for _, a := range args {
		if !a.Const {
			return false
		}
	}
	return true
}

func stack(w *Work, t Type, args []*Column, n int) (*Column, error) {
	item := t.WithAxes(t.Axes()[1:])
	parts := make([]*Column, len(args))
	for i, a := range args {
		var err error
		if parts[i], err = Become(w, a, item); err != nil {
			return nil, err
		}
	}
	total := 0
	for _, p := range parts {
		total += n * p.Elements() / max(1, p.Stored())
	}
	if err := WithinBatch(w, "ARRAY", total, t.DType, parts...); err != nil {
		return nil, err
	}
	all, err := Concat(w, item, parts)
	if err != nil {
		return nil, err
	}
	k := len(args)
	order, ok := Room[int](w, n*k)
	if !ok {
		return nil, w.Err()
	}
	null := make([]bool, n)
	for i := range order {
		row := i / k
		order[i] = i%k*n + row
		null[row] = null[row] || all.IsNull(order[i])
	}
	for i := range order {
		if null[i/k] {
			order[i] = -1
		}
	}
	if all = all.TakeIn(w, order); w.Err() != nil {
		return nil, w.Err()
	}
	if all.Uniform() {
		return FromArrays(t, append(tensor.Shape{int64(k)}, all.Same...), all.Data, null), nil
	}
	shapes := make([]tensor.Shape, n)
	for row := range shapes {
		if null[row] {
			continue
		}
		first := all.ShapeAt(row * k)
		for i := 1; i < k; i++ {
			if s := all.ShapeAt(row*k + i); !s.Equal(first) {
				return nil, InRow(errs.Type, row, "ARRAY of shapes %s and %s in row %d, want equal ones", first, s, Here)
			}
		}
		shapes[row] = append(tensor.Shape{int64(k)}, first...)
	}
	return FromRows(t, shapes, all.Data), nil
}

// JoinItems joins the items of each list along their first axis; scalars become arrays of one axis.
// Items that are NULL are left out.
func JoinItems(w *Work, c *Column) (*Column, error) {
	c = c.Expand()
	if !c.List || !c.DType.Fixed() {
		return nil, errs.New(errs.Type, "join the items of %s, want a list of arrays", c.Type)
	}
	t := c.Type
	t.List = false
	var rows, counts []int
	for i := range c.N {
		lo, hi := c.ItemSpan(i)
		n := 0
		for at := lo; at < hi; at++ {
			if !c.Items.IsNull(at) {
				rows = append(rows, at)
				n++
			}
		}
		counts = append(counts, n)
	}
	items := c.Items.TakeIn(w, rows)
	if w.Err() != nil {
		return nil, w.Err()
	}
	shapes := make([]tensor.Shape, c.N)
	at := 0
	for i, n := range counts {
		var shape tensor.Shape
		for k := range n {
			s := items.ShapeAt(at + k)
			one := int64(1)
			rest := s
			if len(s) > 0 {
				one, rest = s[0], s[1:]
			}
			if k == 0 {
				shape = append(tensor.Shape{0}, rest...)
			} else if !rest.Equal(shape[1:]) {
				return nil, InRow(errs.Type, i, "join items of shapes %s and %s in row %d, want arrays that are equal but for their first axis", items.ShapeAt(at), s, Here)
			}
			shape[0] += one
		}
		if n == 0 {
			shape = tensor.Shape{0}
			for range max(t.Dims, 1) - 1 {
				shape = append(shape, 0)
			}
		}
		shapes[i] = shape
		at += n
	}
	axes := t.Axes().Clone()
	if len(axes) == 0 {
		axes = tensor.Shape{-1}
	}
	axes[0] = -1
	return FromRows(t.WithAxes(axes), shapes, items.Data), nil
}

// Count is the number of items that a list has, or an array along its first axis.
func Count(c *Column, row int) int {
	if c.IsNull(row) {
		return 0
	}
	if c.List {
		lo, hi := c.ItemSpan(row)
		return hi - lo
	}
	if s := c.ShapeAt(row); len(s) > 0 {
		return int(s[0])
	}
	return 1
}

// Items makes rows of items. Row i has the items from[i] to to[i] of row of[i], or with single the
// item from[i] itself.
func Items(w *Work, c *Column, of, from, to []int, single bool) (*Column, error) {
	if !c.List {
		low := make([]int64, len(from))
		high := make([]int64, len(to))
		for i := range from {
			low[i], high[i] = int64(from[i]), int64(to[i])
		}
		it := Item{At: FromInts(low, nil)}
		if !single {
			it = Item{Slice: true, Low: FromInts(low, nil), High: FromInts(high, nil)}
		}
		t, err := IndexType(c.Type, []Item{it})
		if err != nil {
			return nil, err
		}
		return partsOf(w, t, c, of, from, to, single)
	}
	var rows, ends []int
	for i, row := range of {
		lo, _ := c.ItemSpan(row)
		for at := from[i]; at < to[i]; at++ {
			rows = append(rows, lo+at)
		}
		ends = append(ends, len(rows))
	}
	items := c.Items.TakeIn(w, rows)
	if single || w.Err() != nil {
		return items, w.Err()
	}
	out := FromLists(items, ends, nil)
	out.HType, out.Names, out.Boxes, out.BoxUnit = c.HType, c.Names, c.Boxes, c.BoxUnit
	return out, nil
}

// partsOf copies the parts of arrays along their first axis, each of which is contiguous.
func partsOf(w *Work, t Type, c *Column, of, from, to []int, single bool) (*Column, error) {
	shapes := make([]tensor.Shape, len(of))
	total := 0
	for i, row := range of {
		s := c.ShapeAt(row)
		inner := s[1:]
		if shapes[i] = inner; !single {
			shapes[i] = append(tensor.Shape{int64(to[i] - from[i])}, inner...)
		}
		total += SizeOf(shapes[i])
	}
	v, ok := RoomOf(w, t.DType, total)
	if !ok {
		return nil, w.Err()
	}
	src, at := c.Vector(), 0
	for i, row := range of {
		lo, _ := c.Span(row)
		lo += from[i] * SizeOf(c.ShapeAt(row)[1:])
		n := SizeOf(shapes[i])
		v.Move(at, src, lo, lo+n)
		at += n
	}
	return Regular(FromRows(t, shapes, v.Data())), nil
}

// Whole reports whether Ints can say all that rows of a type are.
func Whole(t Type) bool {
	return t.Scalar() && t.DType >= tensor.Uint8 && t.DType <= tensor.Int64 && t.DType != tensor.Uint64
}

// Ints returns the values of a column of a Whole type, and marks NULL. null is nil without one.
func Ints(c *Column) (values []int64, null []bool) {
	c = c.Expand()
	if c.DType == 0 {
		return make([]int64, c.N), c.Nulls()
	}
	return As[int64](c.Data), c.Null
}

// ItemType returns the type of the items of a list.
func ItemType(t Type) Type {
	t.List = false
	return t
}

// ItemsOf returns the items of all lists; a column without lists has no rows.
func ItemsOf(c *Column) *Column {
	if c.Items == nil {
		return Empty(ItemType(c.Type))
	}
	return c.Items
}
