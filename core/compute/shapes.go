package compute

import (
	"bytes"
	"unicode/utf8"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func shapeFunctions() []Function {
	return []Function{
		{Name: "SHAPE", Least: 1, Most: 1, Doc: "SHAPE(x): the size along each axis; of a list the number of items", Check: shapeType, Call: shapeOf,
			Facts: Facts{Infallible: always}},
		{Name: "NDIM", Least: 1, Most: 1, Doc: "NDIM(x): the number of axes", Check: fixed(array.Of(tensor.Int64), accept), Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			return shapeValue(w, args[0], func(s tensor.Shape) int64 { return int64(len(s)) }), nil
		}, Facts: Facts{Infallible: always}},
		{Name: "SIZE", Least: 1, Most: 1, Doc: "SIZE(x): the number of elements", Check: fixed(array.Of(tensor.Int64), accept), Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			return shapeValue(w, args[0], func(s tensor.Shape) int64 { return int64(array.SizeOf(s)) }), nil
		}, Facts: Facts{Infallible: always}},
		{Name: "LENGTH", Least: 1, Most: 1, Doc: "LENGTH(x): characters of text, bytes, items of a list or of JSON, size of the first axis", Check: func(args []array.Type) (array.Type, error) {
			x := args[0]
			if x.Scalar() && x.DType != 0 && !x.Label() && !dtypeHasLength(x.DType) {
				return array.Type{}, wrong("LENGTH", 0, x, "text, a list or an array")
			}
			return array.Of(tensor.Int64), nil
		}, Call: length, Facts: Facts{Infallible: always}},
		{Name: "FLATTEN", Least: 1, Most: 1, Doc: "FLATTEN(x): all elements along one axis", Check: flattenType, Call: flatten},
		{Name: "TRANSPOSE", Least: 1, Most: 1, Doc: "TRANSPOSE(x): the axes in reverse order", Check: transposeType, Call: transpose},
		{Name: "NONZERO", Least: 1, Most: 1, Doc: "NONZERO(x): where elements are not zero: (k,) of one axis, (k, axes) of several", Check: nonzeroType, Call: nonzero},
		{Name: "CLIP", Least: 3, Most: 3, Doc: "CLIP(x, low, high): elements below low become low, above high high", Check: clipType, Call: clip},
	}
}

func accept([]array.Type) error { return nil }

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

func shapeValue(w *array.Work, x *array.Column, f func(s tensor.Shape) int64) *array.Column {
	out := &array.Column{Type: array.Of(tensor.Int64), N: x.N, Const: x.Const, Same: tensor.Shape{}, Null: x.Nulls()}
	dst, ok := array.Room[int64](w, x.Stored())
	if !ok {
		return array.Nothing(out.Type, x.N)
	}
	for i := range dst {
		if !x.IsNull(i) {
			dst[i] = f(x.ShapeAt(i))
		}
	}
	out.Data = dst
	return out
}

func shapeOf(w *array.Work, args []*array.Column) (*array.Column, error) {
	x := args[0]
	t, err := shapeType([]array.Type{x.Type})
	if err != nil || x.DType == 0 {
		return array.Nothing(t, x.N), err
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		x := c[0]
		var data []int64
		var last tensor.Shape
		shapes, ok := array.Room[tensor.Shape](w, n)
		if !ok {
			return nil, w.Err()
		}
		for i := range n {
			if s := x.ShapeAt(i); !w.Step(rowSteps) || !w.Reserve(16*int64(len(s)+1)) {
				return nil, w.Err()
			}
			if s := x.ShapeAt(i); s != nil {
				if last == nil || last[0] != int64(len(s)) {
					last = tensor.Shape{int64(len(s))}
				}
				shapes[i] = last
				data = append(data, s...)
			}
		}
		return array.Regular(array.FromRows(t, shapes, data)), nil
	}, x)
}

func length(w *array.Work, args []*array.Column) (*array.Column, error) {
	x := args[0]
	if x.DType != 0 && x.Scalar() {
		if x.Label() {
			x = array.LabelText(w, x)
		}
		d := array.Elems[string](x)
		return scalars(w, array.Of(tensor.Int64), []*array.Column{x}, func(i int) (int64, bool) {
			switch x.DType {
			case tensor.Bytes:
				return int64(len(d[i])), true
			case tensor.JSON:
				return jsonLength(w, d[i])
			}
			return int64(countRunes(w, d[i])), true
		})
	}
	out := shapeValue(w, x, func(s tensor.Shape) int64 {
		if len(s) == 0 {
			return 1
		}
		return s[0]
	})
	return out, nil
}

func jsonLength(w *array.Work, s string) (int64, bool) {
	if !array.StepJSON(w, s) {
		return 0, false
	}
	v, _ := array.ParseJSON(s)
	switch x := v.(type) {
	case string:
		return int64(utf8.RuneCountInString(x)), true
	case array.Compound:
		if list, is := array.JSONList(w, x.Text); is {
			return int64(len(list)), true
		}
		object, is := array.JSONObject(w, x.Text)
		return int64(len(object)), is
	}
	return 0, false
}

func flatten(w *array.Work, args []*array.Column) (*array.Column, error) {
	x := args[0]
	t, err := flattenType([]array.Type{x.Type})
	if err != nil || x.DType == 0 {
		return array.Nothing(t, x.N), err
	}
	out := array.Retyped(x, t)
	if x.Shapes == nil {
		out.Same = tensor.Shape{int64(x.RowSize())}
		return out, nil
	}
	if !w.Reserve(32 * int64(len(x.Shapes))) {
		return nil, w.Err()
	}
	out.Shapes = make([]tensor.Shape, len(x.Shapes))
	for i, s := range x.Shapes {
		if s != nil {
			out.Shapes[i] = tensor.Shape{int64(array.SizeOf(s))}
		}
	}
	return out, nil
}

func transpose(w *array.Work, args []*array.Column) (*array.Column, error) {
	x := args[0]
	t, err := transposeType([]array.Type{x.Type})
	if err != nil || x.DType == 0 {
		return array.Nothing(t, x.N), err
	}
	out := array.Retyped(x, t)
	src := x.Vector()
	dst, ok := array.RoomOf(w, x.DType, src.Len())
	if !ok {
		return nil, w.Err()
	}
	var last tensor.Shape
	var order []int
	for i := range x.Stored() {
		if s := x.ShapeAt(i); s != nil {
			lo, hi := x.Span(i)
			if last == nil || !s.Equal(last) {
				w.Return(8 * int64(len(order)))
				if last, order = s, turned(w, s); w.Err() != nil {
					return nil, w.Err()
				}
			}
			row := src.Cut(lo, hi)
			for at := 0; at < len(order); at += array.Block {
				end := min(len(order), at+array.Block)
				if !w.Step(2 * array.Block) {
					return nil, w.Err()
				}
				dst.Gather(lo+at, row, order[at:end], 1)
			}
		}
	}
	out.Data = dst.Data()
	out.Same = reversed(x.Same)
	if x.Shapes != nil {
		out.Shapes = make([]tensor.Shape, len(x.Shapes))
		for i, s := range x.Shapes {
			out.Shapes[i] = reversed(s)
		}
	}
	return out, nil
}

// turned returns the source index of each element of the transpose.
func turned(w *array.Work, s tensor.Shape) []int {
	n := array.SizeOf(s)
	out, ok := array.Room[int](w, n)
	if !ok {
		return nil
	}
	steps := make([]int, len(s))
	step := 1
	for i := len(s) - 1; i >= 0; i-- {
		steps[i] = step
		step *= int(s[i])
	}
	at := make([]int64, len(s))
	src := 0
	for i := range out {
		if i%array.Block == 0 && !w.Step(4*array.Block) {
			return nil
		}
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

func nonzero(w *array.Work, args []*array.Column) (*array.Column, error) {
	x := args[0]
	t, err := nonzeroType([]array.Type{x.Type})
	if err != nil || x.DType == 0 {
		return array.Nothing(t, x.N), err
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		x := truths(w, c[0])
		d := array.Elems[bool](x)
		total := 0
		for i := range n {
			if s := x.ShapeAt(i); s != nil {
				lo, hi := x.Span(i)
				total += max(1, len(s)) * bytes.Count(bytesOf(d[lo:hi]), []byte{1})
				if !w.Step(rowSteps + (hi-lo)/8) {
					return nil, w.Err()
				}
			}
		}
		if !w.Reserve(8*int64(total) + (24+8+16)*int64(n)) {
			return nil, w.Err()
		}
		data := make([]int64, 0, total)
		shapes := make([]tensor.Shape, n)
		for i := range n {
			s := x.ShapeAt(i)
			if s == nil {
				continue
			}
			lo, hi := x.Span(i)
			k := int64(0)
			for j, v := range d[lo:hi] {
				if j%array.Block == 0 && !w.Step(4*array.Block) {
					return nil, w.Err()
				}
				if v {
					k++
					data = appendPlace(data, s, j)
				}
			}
			if shapes[i] = (tensor.Shape{k}); len(s) > 1 {
				shapes[i] = tensor.Shape{k, int64(len(s))}
			}
		}
		return array.FromRows(t, shapes, data), nil
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

func clipType(args []array.Type) (array.Type, error) {
	if err := wantNumbers("CLIP", args); err != nil {
		return array.Type{}, err
	}
	t, err := array.Unify(args[0].Bare(), args[1].Bare())
	if err == nil {
		t, err = array.Unify(t, args[2].Bare())
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
	if t, err = array.BroadcastTypes("CLIP", d, args[0], args[1]); err != nil {
		return t, err
	}
	t, err = array.BroadcastTypes("CLIP", d, t, args[2])
	t.Weak = false
	return t, err
}

func clip(w *array.Work, args []*array.Column) (*array.Column, error) {
	t, err := clipType([]array.Type{args[0].Type, args[1].Type, args[2].Type})
	if err != nil {
		return nil, err
	}
	n, _ := array.RowsOf(args...)
	for _, a := range args {
		if a.DType == 0 {
			return array.Nothing(t, n), nil
		}
	}
	mid := array.Of(tensor.Float64)
	if !args[0].Float() && !args[1].Float() && !args[2].Float() {
		mid = array.Of(tensor.Int64)
		if err := fits64("CLIP", args...); err != nil {
			return nil, err
		}
		out, err := clipAs[int64](w, mid, args)
		if err != nil {
			return nil, err
		}
		return clipped(w, out, t)
	}
	out, err := clipAs[float64](w, mid, args)
	if err != nil {
		return nil, err
	}
	return clipped(w, out, t)
}

func clipped(w *array.Work, out *array.Column, t array.Type) (*array.Column, error) {
	out, err := array.Cast(w, out, array.Of(t.DType))
	if err != nil {
		return nil, errs.Wrap(errs.Range, "CLIP", "", err)
	}
	out.Type = t
	return out, nil
}

func clipAs[T int64 | float64](w *array.Work, t array.Type, args []*array.Column) (*array.Column, error) {
	low, err := zip(w, "CLIP", t.WithAxes(nil), args[0], args[1], array.Lanes[T](args[0].Data), array.Lanes[T](args[1].Data), func(dst, a, b []T) {
		for i := range dst {
			dst[i] = max(at(a, i), at(b, i))
		}
	})
	if err != nil {
		return nil, err
	}
	return zip(w, "CLIP", t.WithAxes(nil), low, args[2], array.Lanes[T](low.Data), array.Lanes[T](args[2].Data), func(dst, a, b []T) {
		for i := range dst {
			dst[i] = min(at(a, i), at(b, i))
		}
	})
}

func shapeType(args []array.Type) (array.Type, error) {
	t := array.Type{DType: tensor.Int64}
	switch x := args[0]; {
	case x.List:
		return t.WithAxes(tensor.Shape{1}), nil
	case x.Dims == array.Unranked || x.DType == 0:
		return t.WithAxes(tensor.Shape{-1}), nil
	default:
		return t.WithAxes(tensor.Shape{int64(x.Dims)}), nil
	}
}

func flattenType(args []array.Type) (array.Type, error) {
	x := args[0]
	if err := array.RefuseLists("FLATTEN", x); err != nil {
		return array.Type{}, err
	}
	n := int64(1)
	for _, d := range x.Axes() {
		if d < 0 || n < 0 {
			n = -1
			break
		}
		n *= d
	}
	if x.Dims == array.Unranked || x.DType == 0 {
		n = -1
	}
	t := x.Bare()
	t.Names = x.Names
	return t.WithAxes(tensor.Shape{n}), nil
}

func transposeType(args []array.Type) (array.Type, error) {
	if err := array.RefuseLists("TRANSPOSE", args[0]); err != nil {
		return array.Type{}, err
	}
	t := args[0].Bare()
	t.Names = args[0].Names
	return t.WithAxes(reversed(args[0].Axes())), nil
}

func nonzeroType(args []array.Type) (array.Type, error) {
	if err := wantNumbers("NONZERO", args); err != nil {
		return array.Type{}, err
	}
	t := array.Type{DType: tensor.Int64}
	switch d := args[0].Dims; {
	case d == array.Unranked || args[0].DType == 0:
		return t.WithAxes(nil), nil
	case d <= 1:
		return t.WithAxes(tensor.Shape{-1}), nil
	default:
		return t.WithAxes(tensor.Shape{-1, int64(d)}), nil
	}
}
