package compute

import (
	"slices"
	"sync"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Set is the values of an IN, made once and used in parallel.
type Set struct {
	Type array.Type
	col  *array.Column // the values, as scalars
	null bool          // NULL is among them

	// Stop, unless nil, is called now and then while a table of the values is built. If it returns
	// true, building ends, and the result of IsIn is undefined.
	Stop func() bool

	mu      sync.Mutex
	finders map[comparing]any // of values as they are, each made when it is first needed
}

// finder returns the table that make builds. It builds one table if the values need no conversion.
func finder[F any](s *Set, h comparing, values *array.Column, make func() F) F {
	if values != s.col {
		return make()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.finders[h].(F); ok {
		return f
	}
	f := make()
	if s.finders == nil {
		s.finders = map[comparing]any{}
	}
	s.finders[h] = f
	return f
}

// NewSet makes a set of the elements of a column.
func NewSet(c *array.Column) (*Set, error) {
	if c.List {
		return nil, errs.New(errs.Type, "IN of a %s: want single values", c.Type)
	}
	c = c.Expand()
	s := &Set{Type: c.Type.WithAxes(tensor.Shape{})}
	s.Type.Shape = tensor.Shape{}
	if c.DType == 0 {
		s.null = c.N > 0
		s.col = array.Empty(c.Type)
		return s, nil
	}
	keep := c
	if c.Null != nil {
		var rows []int
		for i := range c.N {
			if !c.IsNull(i) {
				rows = append(rows, i)
			} else {
				s.null = true
			}
		}
		keep = c.Take(rows)
	}
	s.col = array.Flat(keep)
	return s, nil
}

// Len returns the number of values.
func (s *Set) Len() int { return s.col.N }

// IsInType returns the type of x IN set: bools.
func IsInType(x, set array.Type) (array.Type, error) {
	if _, err := comparison("IN", x, set.WithAxes(tensor.Shape{})); err != nil {
		return array.Type{}, err
	}
	return x.WithDType(tensor.Bool), nil
}

// IsIn returns whether each element is in the set. Elements that are not found are NULL if the set
// has NULL.
func IsIn(w *array.Work, x *array.Column, s *Set) (*array.Column, error) {
	t, err := IsInType(x.Type, s.Type)
	if err != nil {
		return nil, err
	}
	if x.DType == 0 {
		return array.Nothing(t, x.N), nil
	}
	out, err := s.find(w, t, x)
	if err != nil || !s.null {
		return out, err
	}
	if !out.Uniform() || len(out.Same) > 0 {
		return out, nil
	}
	null := make([]bool, out.Stored())
	copy(null, out.Null)
	for i, v := range array.Elems[bool](out) {
		null[i] = null[i] || !v
	}
	out.Null = null
	return out, nil
}

func (s *Set) find(w *array.Work, t array.Type, x *array.Column) (*array.Column, error) {
	h, err := comparison("IN", x.Type, s.Type)
	if err != nil {
		return nil, err
	}
	values := s.col
	switch h {
	case asNull:
		return array.Map(w, t, x, array.Direct(make([]int64, x.Vector().Len())), func(dst []bool, _ []int64) { clear(dst) }), nil
	case asLabels:
		if x.Label() && s.Type.Text() {
			if values, err = array.LabelNumbers(w, values, x.Names); err != nil {
				return nil, err
			}
			h = asInts
			break
		}
		if x.Label() {
			x = array.LabelText(w, x)
		}
		if values.Label() {
			values = array.LabelText(nil, values) // the set outlives the call
		}
		h = asText
	case asTime:
		if x, values, err = sameTime(w, x, values); err != nil {
			return nil, err
		}
		h = asInts
	case asJSON:
		return s.findJSON(w, t, x)
	case asMixed:
		return s.findMixed(w, t, x), nil
	}
	switch h {
	case asText:
		f := finder(s, h, values, func() func(dst []bool, a []string) { return member(array.Elems[string](values), s.Stop) })
		return array.Map(w, t, x, array.Direct(array.Elems[string](x)), f), nil
	case asInts:
		f := finder(s, h, values, func() func(dst []bool, a []int64) { return memberInts(array.As[int64](values.Data), s.Stop) })
		return array.Map(w, t, x, array.Lanes[int64](x.Data), f), nil
	case asUints:
		f := finder(s, h, values, func() func(dst []bool, a []uint64) { return member(array.As[uint64](values.Data), s.Stop) })
		return array.Map(w, t, x, array.Lanes[uint64](x.Data), f), nil
	case asFloat32:
		f := finder(s, h, values, func() func(dst []bool, a []float32) { return memberFloats(array.As[float32](values.Data), s.Stop) })
		return array.Map(w, t, x, array.Lanes[float32](x.Data), f), nil
	}
	f := finder(s, h, values, func() func(dst []bool, a []float64) { return memberFloats(array.As[float64](values.Data), s.Stop) })
	return array.Map(w, t, x, array.Lanes[float64](x.Data), f), nil
}

// findMixed looks signed numbers up among unsigned ones, or vice versa. Both have the values from
// zero on in common.
func (s *Set) findMixed(w *array.Work, t array.Type, x *array.Column) *array.Column {
	f := finder(s, asMixed, s.col, func() func(dst []bool, a []uint64) {
		values, ok := s.col.Data.([]uint64)
		if !ok {
			for _, v := range array.As[int64](s.col.Data) {
				if v >= 0 {
					values = append(values, uint64(v))
				}
			}
		}
		return member(values, s.Stop)
	})
	if x.DType == tensor.Uint64 {
		return array.Map(w, t, x, array.Lanes[uint64](x.Data), f)
	}
	wide := make([]uint64, array.Block)
	return array.Map(w, t, x, array.Lanes[int64](x.Data), func(dst []bool, a []int64) {
		for i, v := range a {
			wide[i] = uint64(v)
		}
		f(dst, wide[:len(a)])
		for i, v := range a {
			dst[i] = dst[i] && v >= 0
		}
	})
}

// kinds counts the values of JSON by kind, and indexes them by their coarse text.
type kinds struct {
	values map[string][]any
	counts map[int]int
}

// findJSON looks values up as = compares them. A value that is not found, and cannot be compared
// with all others, gives NULL.
func (s *Set) findJSON(w *array.Work, t array.Type, x *array.Column) (*array.Column, error) {
	k := finder(s, asJSON, s.col, func() *kinds {
		k := &kinds{map[string][]any{}, map[int]int{}}
		values := s.col
		if values.Label() {
			values = array.LabelText(w, values)
		}
		for i := range values.N {
			if i%(1<<12) == 0 && s.Stop != nil && s.Stop() {
				break
			}
			v := array.JSONValue(values, i)
			if v == nil {
				continue
			}
			k.counts[array.JSONRank(v)]++
			if f, ok := v.(float64); ok && f != f { // NaN, which no JSON is
				continue
			}
			if key := coarse(v); !slices.Contains(k.values[key], v) {
				k.values[key] = append(k.values[key], v)
			}
		}
		return k
	})
	if x.Label() {
		x = array.LabelText(w, x)
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		dst, null, ok := flags(w, n)
		if !ok {
			return nil, w.Err()
		}
		for i := range dst {
			if !w.Step(rowSteps) {
				break
			}
			v := array.JSONValue(c[0], i)
			if v == nil {
				null[i] = s.col.N > 0 || c[0].IsNull(i)
				continue
			}
			for _, w := range k.values[coarse(v)] {
				order, ok := compareValues(v, w)
				dst[i] = dst[i] || ok && order == 0
			}
			null[i] = !dst[i] && k.counts[array.JSONRank(v)] < s.col.N
		}
		return &array.Column{Type: t, N: n, Same: tensor.Shape{}, Null: null, Data: dst}, nil
	}, x)
}

const few = 4 // so many are compared one by one

func member[T comparable](values []T, stop func() bool) func(dst []bool, a []T) {
	if len(values) <= few {
		return func(dst []bool, a []T) {
			for i, v := range a {
				is := false
				for _, w := range values {
					is = is || v == w
				}
				dst[i] = is
			}
		}
	}
	m := make(map[T]struct{}, len(values))
	for i, v := range values {
		if i%(1<<16) == 0 && stop != nil && stop() {
			break
		}
		m[v] = struct{}{}
	}
	return func(dst []bool, a []T) {
		for i, v := range a {
			_, dst[i] = m[v]
		}
	}
}

// memberInts looks small numbers up in a table.
func memberInts(values []int64, stop func() bool) func(dst []bool, a []int64) {
	if len(values) <= few {
		return member(values, stop)
	}
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	if uint64(most)-uint64(least) >= 1<<16 {
		return member(values, stop)
	}
	table := make([]bool, most-least+1)
	for _, v := range values {
		table[v-least] = true
	}
	return func(dst []bool, a []int64) {
		for i, v := range a {
			at := uint64(v) - uint64(least)
			dst[i] = at < uint64(len(table)) && table[at]
		}
	}
}

func memberFloats[T float32 | float64](values []T, stop func() bool) func(dst []bool, a []T) {
	nan := false
	for _, v := range values {
		nan = nan || v != v
	}
	f := member(values, stop)
	if !nan {
		return f
	}
	return func(dst []bool, a []T) {
		f(dst, a)
		for i, v := range a {
			dst[i] = dst[i] || v != v
		}
	}
}
