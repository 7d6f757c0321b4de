package array

import (
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Of returns the type of scalars of a dtype.
func Of(d tensor.DType) Type { return Type{DType: d, Shape: tensor.Shape{}} }

// OfUnit returns the type of dates, timestamps or intervals.
func OfUnit(u Unit) Type { return Type{DType: tensor.Int64, Unit: u, Shape: tensor.Shape{}} }

// Number reports whether elements are numbers or bools and count nothing but themselves.
func (t Type) Number() bool {
	return t.Unit == None && t.DType >= tensor.Bool && t.DType <= tensor.Float64
}

// Integer reports whether elements are whole numbers; bools are none.
func (t Type) Integer() bool {
	return t.Unit == None && t.DType >= tensor.Uint8 && t.DType <= tensor.Int64
}

// Float reports whether elements are floating point numbers.
func (t Type) Float() bool { return t.DType >= tensor.Float16 && t.DType <= tensor.Float64 }

// Text reports whether elements are strings.
func (t Type) Text() bool { return t.DType == tensor.String }

// Label reports whether numbers represent names.
func (t Type) Label() bool { return t.Names != nil }

// Bare drops the meaning: the htype, the class names and the mode of boxes.
func (t Type) Bare() Type {
	return Type{DType: t.DType, Unit: t.Unit, Dims: t.Dims, Shape: t.Shape, List: t.List, Weak: t.Weak}
}

// WithDType returns the type with other elements, of the same shapes.
func (t Type) WithDType(d tensor.DType) Type {
	return Type{DType: d, Dims: t.Dims, Shape: t.Shape, List: t.List}
}

var unitNames = [...]string{None: "", Date: "date", Timestamp: "timestamp", Interval: "interval"}

// String names the unit.
func (u Unit) String() string { return unitNames[u] }

// String names the type, for errors and plans.
func (t Type) String() string {
	var b strings.Builder
	if t.List {
		b.WriteString("list of ")
	}
	switch {
	case t.DType == 0:
		b.WriteString("NULL")
	case t.Unit != None:
		b.WriteString(t.Unit.String())
	case t.Label():
		b.WriteString("class label")
	case t.Text():
		b.WriteString("text")
	default:
		b.WriteString(t.DType.String())
	}
	switch {
	case t.Dims == Unranked:
		b.WriteString(" array")
	case t.Dims > 0:
		b.WriteString(" " + t.Axes().String())
	}
	return b.String()
}

// Axes returns the shape with -1 for unknown sizes; nil if the number of axes is unknown.
func (t Type) Axes() tensor.Shape {
	if t.Dims == Unranked {
		return nil
	}
	if t.Shape != nil && len(t.Shape) == t.Dims {
		return t.Shape
	}
	s := make(tensor.Shape, t.Dims)
	for i := range s {
		s[i] = -1
	}
	return s
}

// WithAxes returns the type with another shape; nil means an unknown shape.
func (t Type) WithAxes(s tensor.Shape) Type {
	t.Shape = s
	t.Dims = len(s)
	if s == nil {
		t.Dims = Unranked
	}
	return t
}

// RefuseLists refuses lists as operands of an operation on arrays.
func RefuseLists(what string, types ...Type) error {
	for _, t := range types {
		if t.List {
			return errs.New(errs.Type, "%s of a %s: want single values; CONTAINS(list, value) looks for an item, [i] picks one, and UNGROUP BY SPLIT makes a row of each", what, t)
		}
	}
	return nil
}

// BroadcastShapes returns the shape of two shapes broadcast by the rules of NumPy. -1 may be any
// size.
func BroadcastShapes(a, b tensor.Shape) (tensor.Shape, bool) {
	if len(b) > len(a) {
		a, b = b, a
	}
	same := true
	off := len(a) - len(b)
	for i, n := range b {
		if m := a[off+i]; n != m && n != 1 {
			same = false
			if m != 1 && m != -1 && n != -1 {
				return nil, false
			}
		}
	}
	if same {
		return a, true
	}
	out := a.Clone()
	for i, n := range b {
		switch m := a[off+i]; {
		case m == 1, m == -1 && n > 1:
			out[off+i] = n
		}
	}
	return out, true
}

// BroadcastTypes returns the shapes of x and y broadcast, with the dtype d.
func BroadcastTypes(what string, d tensor.DType, x, y Type) (Type, error) {
	out := Type{DType: d, Weak: x.Weak && y.Weak}
	if err := RefuseLists(what, x, y); err != nil {
		return out, err
	}
	switch {
	case x.DType == 0:
		return out.WithAxes(y.Axes()), nil
	case y.DType == 0:
		return out.WithAxes(x.Axes()), nil
	case x.Dims == Unranked || y.Dims == Unranked:
		return out.WithAxes(nil), nil
	}
	s, ok := BroadcastShapes(x.Axes(), y.Axes())
	if !ok {
		return out, errs.New(errs.Type, "%s of %s and %s: the shapes do not fit each other", what, x, y)
	}
	return out.WithAxes(s), nil
}

// Known reports whether all rows have one shape that the planner knows.
func (t Type) Known() bool {
	return t.Shape != nil && !slices.ContainsFunc(t.Shape, func(n int64) bool { return n < 0 })
}
