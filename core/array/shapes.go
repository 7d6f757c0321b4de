package array

import (
	"encoding/json"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func shapeFunctions() []Function {
	return []Function{
		{Name: "SHAPE", Least: 1, Most: 1, Doc: "SHAPE(x): the size along each axis; of a list the number of items", Check: shapeType, Call: shapeOf,
			Facts: Facts{Infallible: always}},
		{Name: "NDIM", Least: 1, Most: 1, Doc: "NDIM(x): the number of axes", Check: fixed(Of(tensor.Int64), accept), Call: func(args []*Column) (*Column, error) {
			return shapeValue(args[0], func(s tensor.Shape) int64 { return int64(len(s)) }), nil
		}, Facts: Facts{Infallible: always}},
		{Name: "SIZE", Least: 1, Most: 1, Doc: "SIZE(x): the number of elements", Check: fixed(Of(tensor.Int64), accept), Call: func(args []*Column) (*Column, error) {
			return shapeValue(args[0], func(s tensor.Shape) int64 { return int64(elements(s)) }), nil
		}, Facts: Facts{Infallible: always}},
		{Name: "LENGTH", Least: 1, Most: 1, Doc: "LENGTH(x): characters of text, bytes, items of a list or of JSON, size of the first axis", Check: func(args []Type) (Type, error) {
			x := args[0]
			if x.Scalar() && x.DType != 0 && !x.Label() && !dtypeHasLength(x.DType) {
				return Type{}, wrong("LENGTH", 0, x, "text, a list or an array")
			}
			return Of(tensor.Int64), nil
		}, Call: length, Facts: Facts{Infallible: always}},
		{Name: "FLATTEN", Least: 1, Most: 1, Doc: "FLATTEN(x): all elements along one axis", Check: flattenType, Call: flatten},
		{Name: "TRANSPOSE", Least: 1, Most: 1, Doc: "TRANSPOSE(x): the axes in reverse order", Check: transposeType, Call: transpose},
		{Name: "NONZERO", Least: 1, Most: 1, Doc: "NONZERO(x): where elements are not zero: (k,) of one axis, (k, axes) of several", Check: nonzeroType, Call: nonzero},
		{Name: "CLIP", Least: 3, Most: 3, Doc: "CLIP(x, low, high): elements below low become low, above high high", Check: clipType, Call: clip},
	}
}

func accept([]Type) error { return nil }

func dtypeHasLength(d tensor.DType) bool {
	return d == tensor.String || d == tensor.JSON || d == tensor.Bytes
}

func reversed(s tensor.Shape) tensor.Shape {
	if s == nil {
		return nil
	}
	out := make(tensor.Shape, len(s))
	for i, d := range s {
		out[len(s)-1-i] = d
	}
	return out
}

func shapeValue(x *Column, f func(s tensor.Shape) int64) *Column {
	out := &Column{Type: Of(tensor.Int64), N: x.N, Const: x.Const, Same: tensor.Shape{}, Null: x.nulls()}
	dst := make([]int64, x.held())
	for i := range dst {
		if !x.IsNull(i) {
			dst[i] = f(x.ShapeAt(i))
		}
	}
	out.Data = dst
	return out
}

func shapeOf(args []*Column) (*Column, error) {
	x := args[0]
	t, err := shapeType([]Type{x.Type})
	if err != nil || x.DType == 0 {
		return Nothing(t, x.N), err
	}
	return forAll(func(c []*Column, n int) (*Column, error) {
		x := c[0]
		var data []int64
		var last tensor.Shape
		shapes := make([]tensor.Shape, n)
		for i := range n {
			if s := x.ShapeAt(i); s != nil {
				if last == nil || last[0] != int64(len(s)) {
					last = tensor.Shape{int64(len(s))}
				}
				shapes[i] = last
				data = append(data, s...)
			}
		}
		return dense(FromRows(t, shapes, data)), nil
	}, x)
}

// dense makes rows uniform that are.
func dense(c *Column) *Column {
	if c.Shapes == nil || c.N == 0 || c.Null != nil {
		return c
	}
	for _, s := range c.Shapes {
		if !s.Equal(c.Shapes[0]) {
			return c
		}
	}
	v := c.vector().cut(c.Starts[0], c.Starts[c.N])
	return &Column{Type: c.Type, N: c.N, Same: c.Shapes[0], Data: v.data()}
}

func length(args []*Column) (*Column, error) {
	x := args[0]
	if x.DType != 0 && x.Scalar() {
		if x.Label() {
			x = labelText(x)
		}
		d := elems[string](x)
		return scalars(Of(tensor.Int64), []*Column{x}, func(i int) (int64, bool) {
			switch x.DType {
			case tensor.Bytes:
				return int64(len(d[i])), true
			case tensor.JSON:
				return jsonLength(d[i])
			}
			return int64(utf8.RuneCountInString(d[i])), true
		})
	}
	out := shapeValue(x, func(s tensor.Shape) int64 {
		if len(s) == 0 {
			return 1
		}
		return s[0]
	})
	return out, nil
}

func jsonLength(s string) (int64, bool) {
	v, _ := parseJSON(s)
	switch x := v.(type) {
	case string:
		return int64(utf8.RuneCountInString(x)), true
	case opaque:
		var list []json.RawMessage
		if json.Unmarshal([]byte(x.text), &list) == nil {
			return int64(len(list)), true
		}
		var object map[string]json.RawMessage
		ok := json.Unmarshal([]byte(x.text), &object) == nil
		return int64(len(object)), ok
	}
	return 0, false
}

func flatten(args []*Column) (*Column, error) {
	x := args[0]
	t, err := flattenType([]Type{x.Type})
	if err != nil || x.DType == 0 {
		return Nothing(t, x.N), err
	}
	out := retyped(x, t)
	if x.Shapes == nil {
		out.Same = tensor.Shape{int64(x.each())}
		return out, nil
	}
	out.Shapes = make([]tensor.Shape, len(x.Shapes))
	for i, s := range x.Shapes {
		if s != nil {
			out.Shapes[i] = tensor.Shape{int64(elements(s))}
		}
	}
	return out, nil
}

func transpose(args []*Column) (*Column, error) {
	x := args[0]
	t, err := transposeType([]Type{x.Type})
	if err != nil || x.DType == 0 {
		return Nothing(t, x.N), err
	}
	out := retyped(x, t)
	src := x.vector()
	dst := src.fresh(src.len())
	var last tensor.Shape
	var order []int
	for i := range x.held() {
		if s := x.ShapeAt(i); s != nil {
			lo, hi := x.span(i)
			if last == nil || !s.Equal(last) {
				last, order = s, turned(s)
			}
			dst.gather(lo, src.cut(lo, hi), order, 1)
		}
	}
	out.Data = dst.data()
	out.Same = reversed(x.Same)
	if x.Shapes != nil {
		out.Shapes = make([]tensor.Shape, len(x.Shapes))
		for i, s := range x.Shapes {
			out.Shapes[i] = reversed(s)
		}
	}
	return out, nil
}

// turned is where the elements of the transpose of an array come from.
func turned(s tensor.Shape) []int {
	n := elements(s)
	out := make([]int, n)
	steps := make([]int, len(s))
	step := 1
	for i := len(s) - 1; i >= 0; i-- {
		steps[i] = step
		step *= int(s[i])
	}
	at := make([]int64, len(s))
	src := 0
	for i := range out {
		out[i] = src
		for d := 0; d < len(s); d++ { // the first axis of s is the last of the result
			at[d]++
			src += steps[d]
			if at[d] < s[d] {
				break
			}
			src -= steps[d] * int(at[d])
			at[d] = 0
		}
	}
	return out
}

func nonzero(args []*Column) (*Column, error) {
	x := args[0]
	t, err := nonzeroType([]Type{x.Type})
	if err != nil || x.DType == 0 {
		return Nothing(t, x.N), err
	}
	return forAll(func(c []*Column, n int) (*Column, error) {
		x := truths(c[0])
		d := elems[bool](x)
		var data []int64
		shapes := make([]tensor.Shape, n)
		for i := range n {
			s := x.ShapeAt(i)
			if s == nil {
				continue
			}
			lo, hi := x.span(i)
			k := int64(0)
			for j, v := range d[lo:hi] {
				if v {
					k++
					data = appendPlace(data, s, j)
				}
			}
			if shapes[i] = (tensor.Shape{k}); len(s) > 1 {
				shapes[i] = tensor.Shape{k, int64(len(s))}
			}
		}
		return FromRows(t, shapes, data), nil
	}, x)
}

func appendPlace(dst []int64, s tensor.Shape, at int) []int64 {
	from := len(dst)
	for range max(len(s), 1) {
		dst = append(dst, 0)
	}
	for i := len(s) - 1; i >= 0; i-- {
		dst[from+i] = int64(at) % s[i]
		at /= int(s[i])
	}
	return dst
}

func clipType(args []Type) (Type, error) {
	if err := wantNumbers("CLIP", args); err != nil {
		return Type{}, err
	}
	t, err := Unify(args[0].bare(), args[1].bare())
	if err == nil {
		t, err = Unify(t, args[2].bare())
	}
	if err != nil {
		return t, err
	}
	d := t.DType
	if args[0].DType != 0 && !args[1].Float() && !args[2].Float() && args[1].Weak && args[2].Weak {
		d = args[0].DType // bounds written in the query do not widen
	}
	if d == 0 {
		d = tensor.Int64
	}
	if t, err = together("CLIP", d, args[0], args[1]); err != nil {
		return t, err
	}
	t, err = together("CLIP", d, t, args[2])
	t.Weak = false
	return t, err
}

func clip(args []*Column) (*Column, error) {
	t, err := clipType([]Type{args[0].Type, args[1].Type, args[2].Type})
	if err != nil {
		return nil, err
	}
	n, _ := rowsOf(args...)
	for _, a := range args {
		if a.DType == 0 {
			return Nothing(t, n), nil
		}
	}
	mid := Of(tensor.Float64)
	if !args[0].Float() && !args[1].Float() && !args[2].Float() {
		mid = Of(tensor.Int64)
		if err := fits64("CLIP", args...); err != nil {
			return nil, err
		}
		out, err := clipAs[int64](mid, args)
		if err != nil {
			return nil, err
		}
		return clipped(out, t)
	}
	out, err := clipAs[float64](mid, args)
	if err != nil {
		return nil, err
	}
	return clipped(out, t)
}

func clipped(out *Column, t Type) (*Column, error) {
	out, err := Cast(out, Of(t.DType))
	if err != nil {
		return nil, errs.Wrap(errs.Range, "CLIP", "", err)
	}
	out.Type = t
	return out, nil
}

func clipAs[T int64 | float64](t Type, args []*Column) (*Column, error) {
	low, err := zip("CLIP", t.withAxes(nil), args[0], args[1], lanes[T](args[0].Data), lanes[T](args[1].Data), func(dst, a, b []T) {
		for i := range dst {
			dst[i] = max(at(a, i), at(b, i))
		}
	})
	if err != nil {
		return nil, err
	}
	return zip("CLIP", t.withAxes(nil), low, args[2], lanes[T](low.Data), lanes[T](args[2].Data), func(dst, a, b []T) {
		for i := range dst {
			dst[i] = min(at(a, i), at(b, i))
		}
	})
}

func shapeType(args []Type) (Type, error) {
	t := Type{DType: tensor.Int64}
	switch x := args[0]; {
	case x.List:
		return t.withAxes(tensor.Shape{1}), nil
	case x.Dims == Unranked || x.DType == 0:
		return t.withAxes(tensor.Shape{-1}), nil
	default:
		return t.withAxes(tensor.Shape{int64(x.Dims)}), nil
	}
}

func flattenType(args []Type) (Type, error) {
	x := args[0]
	if err := noList("FLATTEN", x); err != nil {
		return Type{}, err
	}
	n := int64(1)
	for _, d := range x.axes() {
		if d < 0 || n < 0 {
			n = -1
			break
		}
		n *= d
	}
	if x.Dims == Unranked || x.DType == 0 {
		n = -1
	}
	t := x.bare()
	t.Names = x.Names
	return t.withAxes(tensor.Shape{n}), nil
}

func transposeType(args []Type) (Type, error) {
	if err := noList("TRANSPOSE", args[0]); err != nil {
		return Type{}, err
	}
	t := args[0].bare()
	t.Names = args[0].Names
	return t.withAxes(reversed(args[0].axes())), nil
}

func nonzeroType(args []Type) (Type, error) {
	if err := wantNumbers("NONZERO", args); err != nil {
		return Type{}, err
	}
	t := Type{DType: tensor.Int64}
	switch d := args[0].Dims; {
	case d == Unranked || args[0].DType == 0:
		return t.withAxes(nil), nil
	case d <= 1:
		return t.withAxes(tensor.Shape{-1}), nil
	default:
		return t.withAxes(tensor.Shape{-1, int64(d)}), nil
	}
}
