package array

import (
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Unify returns the type that values of both types can become: of the arms of a CASE, of columns of
// a UNION, of lists.
func Unify(a, b Type) (Type, error) {
	if a.DType == 0 {
		return b, nil
	}
	if b.DType == 0 {
		return a, nil
	}
	bad := errs.New(errs.Type, "%s and %s have no type in common; CAST makes one the other", a, b)
	if a.List != b.List {
		return Type{}, bad
	}
	out := Type{List: a.List, Weak: a.Weak && b.Weak}
	if a.HType == b.HType && a.DType == b.DType {
		out.HType = a.HType
		if a.Boxes == b.Boxes && a.BoxUnit == b.BoxUnit {
			out.Boxes, out.BoxUnit = a.Boxes, a.BoxUnit
		} else {
			out.HType = "" // four numbers mean one thing in some rows and another in others
		}
	}
	switch {
	case a.Label() && b.Label() && SameNames(a.Names, b.Names):
		out.DType, out.Names = a.DType, a.Names
		if a.DType != b.DType {
			out.DType = tensor.Int64
		}
	case a.Label() && (b.Text() || b.Label()), b.Label() && a.Text():
		// numbers of other classes mean nothing
		out.DType, out.HType = tensor.String, ""
	case a.Unit != b.Unit:
		if a.Unit+b.Unit != Date+Timestamp || a.Unit == None || b.Unit == None {
			return Type{}, bad
		}
		out.DType, out.Unit = tensor.Int64, Timestamp
	case a.DType == b.DType:
		out.DType, out.Unit = a.DType, a.Unit
	case a.Number() && b.Number():
		out.DType = unifyNumbers(a, b)
	default:
		return Type{}, bad
	}
	return out.WithAxes(unifyAxes(a, b)), nil
}

func unifyNumbers(a, b Type) tensor.DType {
	switch {
	case Narrow(a) && Narrow(b) && (a.DType == tensor.Float32 || b.DType == tensor.Float32):
		return tensor.Float32
	case a.Float() || b.Float():
		return tensor.Float64
	case a.DType == tensor.Uint64 && Unsigned(b.DType) || b.DType == tensor.Uint64 && Unsigned(a.DType):
		return tensor.Uint64
	}
	return tensor.Int64
}

func unifyAxes(a, b Type) tensor.Shape {
	x, y := a.Axes(), b.Axes()
	if x == nil || y == nil || len(x) != len(y) {
		return nil
	}
	out := x.Clone()
	for i := range out {
		if x[i] != y[i] {
			out[i] = -1
		}
	}
	return out
}

// Become converts values to a type that Unify returned. Shapes do not change.
func Become(w *Work, c *Column, t Type) (*Column, error) {
	switch {
	case c.DType == 0:
		return Nothing(t, c.N), nil
	case c.List:
		item := t
		item.List = false
		out := *c
		out.Type = t
		if c.Items != nil && c.Items.DType != t.DType {
			items, err := Become(w, c.Items, item)
			if err != nil {
				return nil, err
			}
			out.Items = items
		}
		return &out, nil
	case c.DType == t.DType && c.Unit == t.Unit:
		return Retyped(c, t), nil
	case t.Text() && c.Label():
		return Retyped(LabelText(w, c), t), nil
	case c.Unit != None || t.Unit != None || t.Text() || !t.Number() || !c.Number():
		out, err := Cast(w, c, t)
		if err != nil {
			return nil, err
		}
		return Retyped(out, t), nil
	}
	out, err := Cast(w, Retyped(c, c.Type.WithDType(c.DType)), t.WithDType(t.DType))
	if err != nil {
		return nil, err
	}
	return Retyped(out, t), nil
}

// SameNames reports whether two columns have the same class names.
func SameNames(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Unsigned reports whether a dtype has no negative values.
func Unsigned(d tensor.DType) bool { return d >= tensor.Bool && d <= tensor.Uint64 }

// Narrow reports whether arithmetic with float32 stays float32.
func Narrow(t Type) bool { return t.DType == tensor.Float32 || t.Weak }
