package compute

import (
	"slices"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func boxFunctions() []Function {
	return []Function{
		{Name: "IOU", Least: 2, Most: 3, Doc: "IOU(a, b[, 'pairwise']): the best intersection over union of a box of a and one of b, 0 where there are none; " +
			"pairwise: (n, m), of each with each", Check: iouType, Call: iou, Facts: Facts{NoAlias: true}},
		{Name: "BOX_MATCHES", Least: 3, Most: 6, Doc: boxMatchesDoc, Check: boxMatchesType, Call: boxMatches, Facts: Facts{NoAlias: true}},
		{Name: "AREA", Least: 1, Most: 1, Doc: "AREA(boxes): the area of each box", Check: areaType, Call: area, Facts: Facts{NoAlias: true}},
		{Name: "NORMALIZE", Least: 2, Most: 2, Doc: "NORMALIZE(boxes, [x0, y0, x1, y1]): the boxes as shares of that region, in the same mode, float32",
			Check: normalizeType, Call: normalize},
	}
}

// checkBoxes refuses types that cannot be boxes. Boxes have the shape (4,) or (boxes, 4).
func checkBoxes(name string, arg int, t array.Type) error {
	if t.DType == 0 {
		return nil
	}
	s := t.Axes()
	if !t.Number() || t.List || s != nil && (len(s) < 1 || len(s) > 2 || s[len(s)-1] != 4 && s[len(s)-1] >= 0) {
		return wrong(name, arg, t, "boxes: (4,) or (boxes, 4) numbers")
	}
	return nil
}

func iouType(args []array.Type) (array.Type, error) {
	for i := range 2 {
		if err := checkBoxes("IOU", i, args[i]); err != nil {
			return array.Type{}, err
		}
	}
	if len(args) == 2 {
		return array.Of(tensor.Float64), nil
	}
	if err := wantText("IOU", args, 2, 3); err != nil {
		return array.Type{}, err
	}
	count := func(t array.Type) int64 {
		switch s := t.Axes(); {
		case t.DType == 0 || s == nil:
			return -1
		case len(s) == 1:
			return 1
		default:
			return s[0]
		}
	}
	return array.Type{DType: tensor.Float64}.WithAxes(tensor.Shape{count(args[0]), count(args[1])}), nil
}

// box is left, top, right, bottom.
type box [4]float64

// boxReader returns a function that reads the boxes of a row.
func boxReader(w *array.Work, name string, c *array.Column) func(row int, into []box) ([]box, error) {
	l := array.Lanes[float64](c.Data)
	var scratch []float64
	mode := c.Boxes
	return func(row int, into []box) ([]box, error) {
		s := c.ShapeAt(row)
		if len(s) < 1 || len(s) > 2 || s[len(s)-1] != 4 {
			if !(len(s) > 0 && array.SizeOf(s) == 0) { // no boxes at all, however that is written
				return nil, array.InRow(errs.Type, row, "%s: row %d has shape %s, want (4,) or (boxes, 4)", name, array.Here, s)
			}
		}
		lo, hi := c.Span(row)
		var ok bool
		if scratch, ok = array.Scratch(w, scratch, hi-lo); !ok || !w.Step(rowSteps+2*(hi-lo)) {
			return nil, w.Err()
		}
		v := l(lo, hi, scratch)
		if into, ok = array.Scratch(w, into[:cap(into)], len(v)/4); !ok {
			return nil, w.Err()
		}
		into = into[:0]
		for ; len(v) >= 4; v = v[4:] {
			into = append(into, corners(mode, box(v[:4])))
		}
		return into, nil
	}
}

func corners(mode string, b box) box {
	switch mode {
	case "LTWH":
		return box{b[0], b[1], b[0] + b[2], b[1] + b[3]}
	case "CCWH":
		return box{b[0] - b[2]/2, b[1] - b[3]/2, b[0] + b[2]/2, b[1] + b[3]/2}
	}
	return b
}

func (b box) area() float64 { return max(b[2]-b[0], 0) * max(b[3]-b[1], 0) }

func overlap(a, b box) float64 {
	w := min(a[2], b[2]) - max(a[0], b[0])
	h := min(a[3], b[3]) - max(a[1], b[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	both := w * h
	return both / (a.area() + b.area() - both)
}

func iou(w *array.Work, args []*array.Column) (*array.Column, error) {
	t, err := iouType(typesOf(args))
	if err != nil {
		return nil, err
	}
	n, _ := array.RowsOf(args...)
	if anyUntyped(args) {
		return array.Nothing(t, n), nil
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		a, b := boxReader(w, "IOU", c[0]), boxReader(w, "IOU", c[1])
		null := array.AnyNull(n, c...)
		var dst []float64
		var shapes []tensor.Shape
		if !w.Reserve(40 * int64(n)) {
			return nil, w.Err()
		}
		if len(c) == 2 {
			dst = make([]float64, n)
		} else {
			shapes = make([]tensor.Shape, n)
		}
		var p, q []box
		for i := range n {
			if null != nil && null[i] {
				continue
			}
			if p, err = a(i, p); err != nil {
				return nil, err
			}
			if q, err = b(i, q); err != nil {
				return nil, err
			}
			if len(c) == 2 {
				for _, u := range p {
					if !w.Step(4 * len(q)) {
						return nil, w.Err()
					}
					for _, v := range q {
						dst[i] = max(dst[i], overlap(u, v))
					}
				}
				continue
			}
			if mode, _ := c[2].Value(i).(string); mode != "pairwise" {
				return nil, errs.New(errs.Invalid, "IOU: argument 3 is %q, want 'pairwise'", mode)
			}
			shapes[i] = tensor.Shape{int64(len(p)), int64(len(q))}
			if err := array.CheckRow("IOU", i, shapes[i], tensor.Float64); err != nil {
				return nil, err
			}
			if !w.Reserve(8 * int64(len(p)) * int64(len(q))) {
				return nil, w.Err()
			}
			dst = slices.Grow(dst, len(p)*len(q))
			for _, u := range p {
				if !w.Step(4 * len(q)) {
					return nil, w.Err()
				}
				for _, v := range q {
					dst = append(dst, overlap(u, v))
				}
			}
		}
		if shapes != nil {
			return array.FromRows(t, shapes, dst), nil
		}
		return array.FromFloats(dst, null), nil
	}, args...)
}

func anyUntyped(args []*array.Column) bool {
	for _, a := range args {
		if a.DType == 0 {
			return true
		}
	}
	return false
}

func areaType(args []array.Type) (array.Type, error) {
	x := args[0]
	if err := checkBoxes("AREA", 0, x); err != nil {
		return array.Type{}, err
	}
	t := array.Type{DType: tensor.Float64}
	if x.DType == 0 || x.Dims == array.Unranked {
		return t.WithAxes(nil), nil
	}
	return t.WithAxes(x.Axes()[:x.Dims-1]), nil
}

func area(w *array.Work, args []*array.Column) (*array.Column, error) {
	t, err := areaType(typesOf(args))
	if err != nil || args[0].DType == 0 {
		return array.Nothing(t, args[0].N), err
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		read := boxReader(w, "AREA", c[0])
		if !w.Reserve(2*int64(c[0].Elements()) + 40*int64(n)) {
			return nil, w.Err()
		}
		shapes := make([]tensor.Shape, n)
		dst := make([]float64, 0, c[0].Elements()/4)
		var p []box
		for i := range n {
			s := c[0].ShapeAt(i)
			if s == nil {
				continue
			}
			if p, err = read(i, p); err != nil {
				return nil, err
			}
			if len(p) != 1 && c[0].Dims == 1 {
				return nil, array.InRow(errs.Type, i, "AREA: row %d has shape %s, want (4,)", array.Here, s)
			}
			if shapes[i] = (tensor.Shape{int64(len(p))}); len(s) == 1 && len(p) == 1 {
				shapes[i] = tensor.Shape{}
			}
			for _, b := range p {
				dst = append(dst, b.area())
			}
		}
		return array.Regular(array.FromRows(t, shapes, dst)), nil
	}, args...)
}

func normalizeType(args []array.Type) (array.Type, error) {
	if err := checkBoxes("NORMALIZE", 0, args[0]); err != nil {
		return array.Type{}, err
	}
	r := args[1]
	if r.DType != 0 && (!r.Number() || r.List || r.Dims != 1 && r.Dims != array.Unranked || r.Shape != nil && r.Dims == 1 && r.Shape[0] >= 0 && r.Shape[0] != 4) {
		return array.Type{}, wrong("NORMALIZE", 1, r, "a region: [x0, y0, x1, y1]")
	}
	t := args[0]
	if t.DType == 0 {
		t = t.WithAxes(nil)
	}
	t.DType, t.Weak, t.Names, t.BoxUnit = tensor.Float32, false, nil, array.Fractional
	return t, nil
}

func normalize(work *array.Work, args []*array.Column) (*array.Column, error) {
	t, err := normalizeType(typesOf(args))
	if err != nil {
		return nil, err
	}
	n, _ := array.RowsOf(args...)
	if anyUntyped(args) {
		return array.Nothing(t, n), nil
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		x, r := c[0], c[1]
		null := array.AnyNull(n, c...)
		if x = x.ExpandIn(work); !work.Reserve(4*int64(x.Elements()) + 40*int64(n)) {
			return nil, work.Err()
		}
		a, b := array.Lanes[float64](x.Data), hold(r, array.Lanes[float64](r.Data))
		shapes := make([]tensor.Shape, n)
		dst := make([]float32, 0, x.Elements())
		var scratch []float64
		region := make([]float64, 4)
		for i := range n {
			if null != nil && null[i] {
				continue
			}
			lo, hi := r.Span(i)
			if hi-lo != 4 {
				return nil, array.InRow(errs.Type, i, "NORMALIZE: the region of row %d has shape %s, want (4,)", array.Here, r.ShapeAt(i))
			}
			v := b(lo, hi, region)
			w, h := v[2]-v[0], v[3]-v[1]
			if w == 0 || h == 0 {
				return nil, array.InRow(errs.Invalid, i, "NORMALIZE: the region %v of row %d is empty; it is [x0, y0, x1, y1]", v, array.Here)
			}
			x0, y0 := v[0], v[1]
			var ok bool
			lo, hi = x.Span(i)
			if scratch, ok = array.Scratch(work, scratch, hi-lo); !ok || !work.Step(rowSteps+4*(hi-lo)) {
				return nil, work.Err()
			}
			p := a(lo, hi, scratch)
			shapes[i] = x.ShapeAt(i)
			if len(p)%4 != 0 {
				return nil, array.InRow(errs.Type, i, "NORMALIZE: row %d has shape %s, want (4,) or (boxes, 4)", array.Here, shapes[i])
			}
			for ; len(p) >= 4; p = p[4:] {
				if x.Boxes == "LTWH" || x.Boxes == "CCWH" {
					dst = append(dst, float32((p[0]-x0)/w), float32((p[1]-y0)/h), float32(p[2]/w), float32(p[3]/h))
				} else {
					dst = append(dst, float32((p[0]-x0)/w), float32((p[1]-y0)/h), float32((p[2]-x0)/w), float32((p[3]-y0)/h))
				}
			}
		}
		return array.Regular(array.FromRows(t, shapes, dst)), nil
	}, args...)
}
