package aggregate

import (
	"cmp"
	"sort"
	"strings"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/tensor"
)

func newExtreme(t array.Type, most bool) Aggregator {
	switch t.DType {
	case 0:
		return &gathering{name: "FIRST", x: t, t: t}
	case tensor.Bool:
		return &extreme[uint8]{t: t, most: most}
	case tensor.Uint8:
		return &extreme[uint8]{t: t, most: most}
	case tensor.Uint16:
		return &extreme[uint16]{t: t, most: most}
	case tensor.Uint32:
		return &extreme[uint32]{t: t, most: most}
	case tensor.Uint64:
		return &extreme[uint64]{t: t, most: most}
	case tensor.Int8:
		return &extreme[int8]{t: t, most: most}
	case tensor.Int16:
		return &extreme[int16]{t: t, most: most}
	case tensor.Int32:
		return &extreme[int32]{t: t, most: most}
	case tensor.Float32:
		return &extreme[float32]{t: t, most: most}
	case tensor.Float64:
		return &extreme[float64]{t: t, most: most}
	case tensor.String:
		return &extreme[string]{t: t, most: most}
	}
	return &extreme[int64]{t: t, most: most}
}

// extreme is MIN or MAX, NaN above all numbers.
type extreme[T cmp.Ordered] struct {
	t    array.Type
	most bool
	n    []int64
	best []T
}

func (a *extreme[T]) take(g int, v T) {
	if a.n[g] == 0 || a.most && compute.Before(a.best[g], v) || !a.most && compute.Before(v, a.best[g]) {
		a.best[g] = v
	}
	a.n[g]++
}

func (a *extreme[T]) Add(c *array.Column, group []int32, groups int) error {
	a.n, a.best = grown(a.n, max(groups, 1)), grown(a.best, max(groups, 1))
	if c.DType == 0 || c.N == 0 {
		return nil
	}
	if !c.Const || group != nil {
		c = c.Expand()
	} else {
		c = c.OnlyRow()
	}
	var d []T
	if b, ok := c.Data.([]bool); ok {
		d = any(array.As[uint8](b)).([]T)
	} else {
		d = c.Data.([]T)
	}
	switch {
	case group == nil && c.Null == nil:
		best, ok := compute.ExtremeNative(array.DTypeOf(d), a.most, d)
		if !ok {
			best = compute.ExtremePlain(d, a.most)
		}
		a.take(0, best)
	case group == nil:
		for i, v := range d {
			if !c.Null[i] {
				a.take(0, v)
			}
		}
	default:
		a.takeAll(d, group, c.Null)
	}
	return nil
}

// takeAll takes the rows of groups. Nearly all change nothing: for them one comparison is enough.
// NaN fails it, and take decides.
func (a *extreme[T]) takeAll(d []T, group []int32, null []bool) {
	n, best := a.n, a.best
	for i, g := range group {
		if null != nil && null[i] {
			continue
		}
		v := d[i]
		if n[g] > 0 && (a.most && v <= best[g] || !a.most && v >= best[g]) {
			n[g]++
			continue
		}
		a.take(int(g), v)
	}
}

func (a *extreme[T]) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*extreme[T])
	if !ok {
		return otherKind()
	}
	n := groupsOf(len(b.n), to)
	a.n, a.best = grown(a.n, n), grown(a.best, n)
	for i, k := range b.n {
		if k > 0 {
			a.take(target(to, i), b.best[i])
		}
	}
	return nil
}

func (a *extreme[T]) Result(w *array.Work) (*array.Column, error) {
	a.n, a.best = grown(a.n, 1), grown(a.best, 1)
	var data any = append([]T{}, a.best...)
	if a.t.DType == tensor.Bool {
		small := data.([]uint8)
		bools := make([]bool, len(small))
		for i, v := range small {
			bools[i] = v != 0
		}
		data = bools
	}
	return array.From(a.t, data, empties(a.n)), nil
}

// gathering keeps the needed rows, and computes the result from all of them at the end.
type gathering struct {
	name     string
	x, t     array.Type
	distinct bool

	separator string // of STRING_AGG
	parts     []*array.Column
	group     []int32
	groups    int
	done      []bool // of FIRST: the group has its row
	held      int64
}

// Held is part of Keeper.
func (a *gathering) Held() int64 { return a.held }

func (a *gathering) one() bool { return a.name == "FIRST" || a.name == "ANY_VALUE" }

func (a *gathering) Add(c *array.Column, group []int32, groups int) error {
	a.groups = max(a.groups, groups, 1)
	if a.one() {
		a.done = grown(a.done, a.groups)
		var rows []int
		for i := range c.N {
			g := int32(0)
			if group != nil {
				g = group[i]
			}
			if !a.done[g] && (a.name == "FIRST" || !c.IsNull(i)) {
				a.done[g] = true
				rows, a.group = append(rows, i), append(a.group, g)
			} else if group == nil && a.done[0] {
				break
			}
		}
		if len(rows) > 0 {
			part := c.Take(rows)
			a.parts = append(a.parts, part)
			a.held += part.Bytes() + int64(len(rows))*4
		}
		return nil
	}
	a.parts = append(a.parts, c)
	a.held += c.Bytes() + int64(c.N)*4
	if group == nil {
		group = make([]int32, c.N)
	}
	a.group = append(a.group, group...)
	return nil
}

func (a *gathering) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*gathering)
	if !ok {
		return otherKind()
	}
	at := 0
	for _, p := range b.parts {
		of := make([]int32, p.N)
		n := 1
		for i := range of {
			of[i] = int32(target(to, int(b.group[at+i])))
			n = max(n, int(of[i])+1)
		}
		at += p.N
		if err := a.Add(p, of, n); err != nil {
			return err
		}
	}
	a.groups = max(a.groups, groupsOf(b.groups, to))
	return nil
}

// byGroup returns the rows of each group, one group behind the other, and where each ends.
func (a *gathering) byGroup() (rows []int, ends []int) {
	ends = make([]int, a.groups+1)
	for _, g := range a.group {
		ends[g+1]++
	}
	for g := range a.groups {
		ends[g+1] += ends[g]
	}
	rows = make([]int, len(a.group))
	next := append([]int{}, ends...)
	for i, g := range a.group {
		rows[next[g]] = i
		next[g]++
	}
	return rows, ends[1:]
}

func (a *gathering) Result(w *array.Work) (*array.Column, error) {
	a.groups = max(a.groups, 1)
	all, err := array.Concat(w, a.x, a.parts)
	if err != nil {
		return nil, err
	}
	if !w.Reserve(8 * int64(len(a.group)+2*a.groups)) {
		return nil, w.Err()
	}
	rows, ends := a.byGroup()
	if a.distinct {
		rows, ends = distinctRows(w, all, rows, ends)
	}
	switch a.name {
	case "LIST":
		items := all.TakeIn(w, rows)
		items.Type.Weak = false
		return array.FromLists(items, ends, nil), nil
	case "MEDIAN":
		return median(w, all, rows, ends), nil
	case "STRING_AGG":
		return joined(w, all, rows, ends, a.separator), nil
	}
	pick := make([]int, a.groups)
	from := 0
	for g, end := range ends {
		pick[g] = -1
		if end > from {
			pick[g] = rows[from]
			if a.name == "LAST" {
				pick[g] = rows[end-1]
			}
		}
		from = end
	}
	return array.Retyped(all.TakeIn(w, pick), a.t), nil
}

func distinctRows(w *array.Work, c *array.Column, rows, ends []int) (kept, keptEnds []int) {
	from := 0
	var key []byte
	for _, end := range ends {
		seen := map[string]struct{}{}
		for _, r := range rows[from:end] {
			key = array.AppendKey(key[:0], c, r)
			if !w.Step(keySteps + len(key)) {
				return nil, make([]int, len(ends))
			}
			if _, known := seen[string(key)]; !known {
				if !w.Reserve(keptRow + int64(len(key))) {
					return nil, make([]int, len(ends))
				}
				seen[string(key)] = struct{}{}
				kept = append(kept, r)
			}
		}
		keptEnds = append(keptEnds, len(kept))
		from = end
	}
	return kept, keptEnds
}

func median(w *array.Work, c *array.Column, rows, ends []int) *array.Column {
	if c = c.ExpandIn(w); !w.Reserve(8*int64(c.Elements()+len(rows)) + 9*int64(len(ends))) {
		return array.Nothing(array.Of(tensor.Float64), len(ends))
	}
	d := array.As[float64](c.Data)
	out, null := make([]float64, len(ends)), make([]bool, len(ends))
	from := 0
	for g, end := range ends {
		var v []float64
		if !w.Step(keySteps + 16*(end-from)) {
			break
		}
		for _, r := range rows[from:end] {
			if !c.IsNull(r) {
				v = append(v, d[r])
			}
		}
		sort.Slice(v, func(i, j int) bool { return compute.Before(v[i], v[j]) })
		if null[g] = len(v) == 0; len(v) > 0 {
			out[g] = v[(len(v)-1)/2]
			if high := v[len(v)/2]; high != out[g] {
				out[g] += (high - out[g]) / 2
			}
		}
		from = end
	}
	return array.FromFloats(out, null)
}

// keySteps is the number of steps that a row costs at least.
const keySteps = 8

// joined returns the texts of each group with a separator between them.
func joined(w *array.Work, c *array.Column, rows, ends []int, separator string) *array.Column {
	nothing := array.Nothing(array.Of(tensor.String), len(ends))
	if c = c.ExpandIn(w); c.Label() {
		c = array.LabelText(w, c)
	}
	d, _ := c.Data.([]string)
	if !w.Reserve((array.TextBytes + 1) * int64(len(ends))) {
		return nothing
	}
	out, null := make([]string, len(ends)), make([]bool, len(ends))
	from := 0
	for g, end := range ends {
		size, n := 0, 0
		for _, r := range rows[from:end] {
			if !w.Step(keySteps) {
				return nothing
			}
			if !c.IsNull(r) {
				size += len(d[r])
				n++
			}
		}
		if null[g] = n == 0; n > 0 {
			if size += (n - 1) * len(separator); size < 0 || !w.Reserve(int64(size)) {
				return nothing
			}
			var b strings.Builder
			b.Grow(size)
			for _, r := range rows[from:end] {
				if c.IsNull(r) {
					continue
				}
				if n--; !w.Step(keySteps + (len(d[r])+len(separator))/16) {
					return nothing
				}
				b.WriteString(d[r])
				if n > 0 {
					b.WriteString(separator)
				}
			}
			out[g] = b.String()
		}
		from = end
	}
	return array.FromStrings(out, null)
}
