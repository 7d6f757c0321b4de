package compute

import (
	"cmp"
	"math"
	"slices"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const boxMatchesDoc = "BOX_MATCHES(a, b, iou[, classes_a, classes_b][, scores]): how many boxes of b match a box of a, as in COCO's evaluation: " +
	"from the best score on, each takes the free box of a of its class with the greatest intersection over union, at least iou"

// matchRoles returns where classes and scores begin, by the number of arguments; 0: there are none.
func matchRoles(args int) (classes, scores int) {
	switch args {
	case 4:
		return 0, 3
	case 5:
		return 3, 0
	case 6:
		return 3, 5
	}
	return 0, 0
}

func boxMatchesType(args []array.Type) (array.Type, error) {
	for i := range 2 {
		if err := checkBoxes("BOX_MATCHES", i, args[i]); err != nil {
			return array.Type{}, err
		}
	}
	if t := args[2]; t.DType != 0 && (!t.Number() || !t.Scalar()) {
		return array.Type{}, wrong("BOX_MATCHES", 2, t, "a number")
	}
	for i := 3; i < len(args); i++ {
		if t := args[i]; t.DType != 0 && (!t.Number() && !t.Label() || t.List || t.Dims > 1) {
			return array.Type{}, wrong("BOX_MATCHES", i, t, "a number for each box")
		}
	}
	return array.Of(tensor.Int64), nil
}

// perBox reads a number for each of the boxes of a row. A single number stands for all boxes.
// Returns nil if the row has no number, or another number of them.
func perBox(c *array.Column) func(row, boxes int) []float64 {
	if c.DType == 0 {
		return func(int, int) []float64 { return nil }
	}
	l := array.Lanes[float64](c.Data)
	var scratch []float64
	return func(row, boxes int) []float64 {
		lo, hi := c.Span(row)
		if n := hi - lo; n == 0 || n != 1 && n != boxes || c.IsNull(row) {
			return nil
		}
		scratch = slices.Grow(scratch[:0], max(hi-lo, boxes))[:hi-lo]
		v := l(lo, hi, scratch)
		if len(v) == boxes {
			return v
		}
		one := v[0]
		scratch = scratch[:boxes]
		for i := range scratch {
			scratch[i] = one
		}
		return scratch
	}
}

// translated returns classes of one list of names as classes of another list. NaN stands for a name
// that the other list lacks: it equals no class.
func translated(from, to []string) func(class float64) float64 {
	if from == nil || to == nil || array.SameNames(from, to) {
		return func(class float64) float64 { return class }
	}
	index := make(map[string]float64, len(to))
	for i, name := range to {
		index[name] = float64(i)
	}
	return func(class float64) float64 {
		if class >= 0 && class < float64(len(from)) {
			if found, ok := index[from[int(class)]]; ok {
				return found
			}
			return math.NaN()
		}
		if class >= 0 && class < float64(len(to)) {
			return math.NaN()
		}
		return class
	}
}

func boxMatches(w *array.Work, args []*array.Column) (*array.Column, error) {
	t, err := boxMatchesType(typesOf(args))
	if err != nil {
		return nil, err
	}
	n, _ := array.RowsOf(args...)
	if anyUntyped(args[:3]) {
		return array.Nothing(t, n), nil
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		a, b := boxReader(w, "BOX_MATCHES", c[0]), boxReader(w, "BOX_MATCHES", c[1])
		null := array.AnyNull(n, c[:3]...)
		least := array.Lanes[float64](c[2].Data)
		none := func(int, int) []float64 { return nil }
		classesOfA, classesOfB, scores := none, none, none
		translate := translated(nil, nil)
		classes, scored := matchRoles(len(c))
		if classes > 0 {
			classesOfA, classesOfB = perBox(c[classes]), perBox(c[classes+1])
			translate = translated(c[classes+1].Names, c[classes].Names)
		}
		if scored > 0 {
			scores = perBox(c[scored])
		}
		dst, ok := array.Room[int64](w, n)
		if !ok {
			return nil, w.Err()
		}
		var m boxMatcher
		for i := range n {
			if null != nil && null[i] {
				continue
			}
			if m.a, err = a(i, m.a); err != nil {
				return nil, err
			}
			if m.b, err = b(i, m.b); err != nil {
				return nil, err
			}
			m.classesOfA, m.classesOfB = classesOfA(i, len(m.a)), classesOfB(i, len(m.b))
			lo, hi := c[2].Span(i)
			if hi-lo != 1 {
				return nil, array.InRow(errs.Type, i, "BOX_MATCHES: row %d has no threshold", array.Here)
			}
			dst[i] = m.count(w, least(lo, hi, make([]float64, 1))[0], scores(i, len(m.b)), translate)
		}
		return array.FromInts(dst, null), nil
	}, args...)
}

// boxMatcher matches the boxes of a row. Classes are nil if boxes match boxes of any class.
type boxMatcher struct {
	a, b                   []box
	classesOfA, classesOfB []float64
	taken                  []bool
	order                  []int
}

// count returns how many boxes of b have a box of a to themselves. The order follows pycocotools
// (cocoeval.py, evaluateImg): boxes of b by descending score, ties as stored; among equal overlaps
// the last box of a.
func (m *boxMatcher) count(w *array.Work, least float64, scores []float64, translate func(float64) float64) int64 {
	if !w.Reserve(int64(len(m.a) + 8*len(m.b))) {
		return 0
	}
	defer w.Return(int64(len(m.a) + 8*len(m.b)))
	m.taken = slices.Grow(m.taken[:0], len(m.a))[:len(m.a)]
	clear(m.taken)
	m.order = m.order[:0]
	for i := range m.b {
		m.order = append(m.order, i)
	}
	if scores != nil {
		slices.SortStableFunc(m.order, func(i, k int) int { return cmp.Compare(scores[k], scores[i]) })
	}
	classwise := m.classesOfA != nil && m.classesOfB != nil
	found := int64(0)
	for _, k := range m.order {
		class := 0.0
		if classwise {
			class = translate(m.classesOfB[k])
		}
		best, at := least, -1
		if !w.Step(rowSteps + 4*len(m.a)) {
			return 0
		}
		for i, one := range m.a {
			if m.taken[i] || classwise && m.classesOfA[i] != class {
				continue
			}
			if o := overlap(one, m.b[k]); o >= best {
				best, at = o, i
			}
		}
		if at >= 0 {
			m.taken[at] = true
			found++
		}
	}
	return found
}
