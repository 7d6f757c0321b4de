package query

import (
	"math"
	"slices"
	"sort"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
)

// mostTop bounds the rows of a heap; more rows are sorted.
const mostTop = 1 << 17

// ordered returns rows sorted by keys. Rows of equal keys keep their order. The caller needs at
// most the first most rows; -1: all.
func ordered(r *run, rows *rel, order []key, most int64) (*rel, error) {
	cols := make([]*array.Column, len(order))
	for i, k := range order {
		v, err := computed(r, rows, k.x)
		if err != nil {
			return nil, err
		}
		cols[i] = v
	}
	if most < 0 {
		most = int64(rows.n)
	}
	picked, err := first(r, order, cols, int(most))
	if err != nil {
		return nil, err
	}
	return rows.taken(r, picked)
}

// best holds the first rows so far in an order, at most most of them, with their sort keys.
type best struct {
	order []key
	most  int
	rows  *rel
	cols  []*array.Column
	full  bool // there are most of them, in order
	held  int64
	cut   *cutoff
}

// look takes the rows of a frame in.
func (b *best) look(f *frame) error {
	more := best{cols: make([]*array.Column, len(b.order))}
	within, key, found := b.within(f)
	if found {
		if len(within) == 0 {
			return nil
		}
		if len(within) < f.n {
			f = f.only(within)
		}
	}
	for i, k := range b.order {
		if i == 0 && found {
			more.cols[0] = key
			continue
		}
		v, err := f.eval(k.x)
		if err != nil {
			return err
		}
		more.cols[i] = v
	}
	picked, some, err := b.better(more.cols[0])
	if err != nil {
		return placed(f.run.text, b.order[0].x.at, err)
	}
	if some {
		if len(picked) == 0 {
			return nil
		}
		f = f.only(picked)
		for i, c := range more.cols {
			more.cols[i] = c.Take(picked)
		}
	}
	if more.rows, err = f.rel(); err != nil {
		return err
	}
	return b.add(f.run, &more)
}

// better returns the rows that may precede the last row of the heap, by the first key. Most rows of
// a large table do not. some is false if there is no cheap way to tell.
func (b *best) better(c *array.Column) (picked []int, some bool, err error) {
	k := b.order[0]
	last := b.last()
	if last == nil || c.N < few || k.nullsFirst || !c.Scalar() || !c.DType.Fixed() {
		return nil, false, nil
	}
	op := "<="
	if len(b.order) == 1 { // else the other keys decide between equal ones
		op = "<"
	}
	if k.desc {
		op = map[string]string{"<": ">", "<=": ">="}[op]
	}
	t := c.Type
	t.Names, t.Weak = nil, false
	plain := *c
	plain.Type = t
	holds, err := compute.Compare(nil, op, &plain, array.Constant(t, last, c.N))
	if err != nil {
		return nil, false, err
	}
	return compute.Pick(holds), true, nil
}

// last returns the first key of the last row; nil if it has none, or if the heap is not full.
func (b *best) last() any {
	if !b.full || !b.cols[0].Scalar() || !b.cols[0].DType.Fixed() {
		return nil
	}
	return b.cols[0].Value(b.cols[0].N - 1)
}

// add takes in rows that come after all rows so far.
func (b *best) add(r *run, more *best) error {
	if more.rows == nil {
		return nil
	}
	if b.rows == nil {
		b.rows, b.cols = more.rows, more.cols
	} else {
		b.rows = joined(b.rows, more.rows)
		for i := range b.cols {
			v, err := array.Concat(nil, b.order[i].x.t, []*array.Column{b.cols[i], more.cols[i]})
			if err != nil {
				return err
			}
			b.cols[i] = v
		}
	}
	if b.rows.n <= b.most {
		return nil
	}
	picked, err := first(r, b.order, b.cols, b.most)
	if err != nil {
		return err
	}
	b.rows = b.rows.take(picked)
	for i := range b.cols {
		b.cols[i] = b.cols[i].Take(picked)
	}
	b.full = true
	if last, ok := b.last().(float64); ok && b.cut != nil {
		b.cut.move(last)
	}
	return nil
}

// hold accounts for the memory in use.
func (b *best) hold(r *run) error {
	before := b.held
	b.held = 0
	if b.rows != nil {
		b.held = int64(b.rows.n) * 8 * int64(len(b.rows.rows))
	}
	for _, c := range b.cols {
		b.held += c.Bytes()
	}
	return r.hold(b.held - before)
}

// sorted returns the rows in order.
func (b *best) sorted(r *run, tables []Table) (*rel, error) {
	if b.rows == nil {
		out := &rel{tables: tables, rows: make([][]int64, len(tables))}
		for k := range out.rows {
			out.rows[k] = []int64{}
		}
		return out, nil
	}
	picked, err := first(r, b.order, b.cols, b.most)
	if err != nil {
		return nil, err
	}
	return b.rows.take(picked), nil
}

// top returns the first most rows of a flow, in each of several orders. It reads the flow once, and
// keeps a bounded number of rows in memory.
func top(r *run, src flow, tables []Table, orders [][]key, most int) ([]*rel, error) {
	if most == 0 {
		src = &rel{tables: tables, rows: make([][]int64, len(tables))}
	}
	weight := 0.0
	for _, order := range orders {
		sum := 0.0
		for _, k := range order {
			sum += k.x.weight()
		}
		weight = max(weight, sum)
	}
	cuts := make([]*cutoff, len(orders))
	for i, order := range orders {
		cuts[i] = newCutoff(order)
	}
	// each is changed by the goroutine of its unit alone
	units := make([][]best, src.units(r, weight))
	step := r.batch(weight)
	err := src.each(r, weight, nil, func(unit int, f *frame) error {
		if units[unit] == nil {
			units[unit] = make([]best, len(orders))
			for i, order := range orders {
				units[unit][i] = best{order: order, most: most, cut: cuts[i]}
			}
		}
		var kept []*array.Column
		for from := 0; from < f.n; from += step {
			g := f
			if f.n > step {
				g = f.only(listed(from, min(f.n, from+step)))
			}
			for i := range orders {
				if err := units[unit][i].look(g); err != nil {
					return err
				}
			}
		}
		for i := range orders {
			if b := &units[unit][i]; b.rows != nil {
				if err := b.hold(r); err != nil {
					return err
				}
				kept = append(append(kept, b.cols...), b.rows.extra...)
			}
		}
		f.recycle(kept...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]*rel, len(orders))
	for i, order := range orders {
		all := best{order: order, most: most}
		for _, unit := range units {
			if unit == nil {
				continue
			}
			if err := all.add(r, &unit[i]); err != nil {
				return nil, err
			}
			r.used.Add(-unit[i].held)
			if err := all.hold(r); err != nil {
				return nil, err
			}
		}
		if out[i], err = all.sorted(r, tables); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sortRun is the number of rows that are sorted without looking whether the caller has given up.
const sortRun = 1 << 17

// first is which rows come first, at most most, in order.
func first(r *run, order []key, cols []*array.Column, most int) ([]int, error) {
	keys := make([]array.Key, len(order))
	for i, k := range order {
		keys[i] = array.Key{Column: cols[i], Desc: k.desc, NullsFirst: k.nullsFirst}
	}
	o, err := array.Order(keys, array.NewWork("ORDER BY", r.alive, nil))
	if err != nil {
		return nil, placed(r.text, order[0].x.at, err)
	}
	n := cols[0].N
	if most < n && most <= mostTop {
		return o.Top(n, most), r.alive()
	}
	rows, spare := listed(0, n), make([]int, n)
	runs := (n + sortRun - 1) / sortRun
	err = parallel(r, runs, nil, func(_ *worker, k int) error {
		o.Sort(rows[k*sortRun : min(n, (k+1)*sortRun)])
		return nil
	})
	for size := sortRun; err == nil && size < n; size *= 2 {
		pairs := (n + 2*size - 1) / (2 * size)
		err = parallel(r, pairs, nil, func(_ *worker, k int) error {
			from, middle, to := k*2*size, min(n, k*2*size+size), min(n, (k+1)*2*size)
			return mergeRuns(r, o, rows[from:middle], rows[middle:to], spare[from:to])
		})
		rows, spare = spare, rows
	}
	return rows[:min(n, most)], err
}

// mergeRuns merges two sorted runs. Among equal rows, the rows of a come first.
func mergeRuns(r *run, o *array.Ordering, a, b, out []int) error {
	for i := range out {
		if i%sortRun == 0 {
			if err := r.alive(); err != nil {
				return err
			}
		}
		if len(a) > 0 && (len(b) == 0 || o.Compare(b[0], a[0]) >= 0) {
			out[i], a = a[0], a[1:]
		} else {
			out[i], b = b[0], b[1:]
		}
	}
	return nil
}

// listed lists the numbers from from to to.
func listed(from, to int) []int {
	rows := make([]int, to-from)
	for i := range rows {
		rows[i] = from + i
	}
	return rows
}

// rel returns the rows of a frame.
func (f *frame) rel() (*rel, error) {
	out := &rel{n: f.n, tables: f.tables, rows: make([][]int64, len(f.rows))}
	for k, rows := range f.rows {
		if rows.N == 0 && f.n > 0 {
			continue
		}
		list := make([]int64, f.n)
		for i := range list {
			list[i] = rows.At(i)
		}
		out.rows[k] = list
	}
	for i := range f.extra {
		v, err := f.taken(i)
		if err != nil {
			return nil, err
		}
		out.extra = append(out.extra, v)
	}
	if len(f.rows) != 1 {
		out.places = f.standing()
	}
	return out, nil
}

// joined appends the rows of b to the rows of a. Both are of the same tables, without extra
// columns.
func joined(a, b *rel) *rel {
	out := &rel{n: a.n + b.n, tables: a.tables, rows: make([][]int64, len(a.rows))}
	if a.places != nil {
		out.places = append(slices.Clip(a.places), b.places...)
	}
	for k := range a.rows {
		if a.rows[k] != nil {
			out.rows[k] = append(slices.Clip(a.rows[k]), b.rows[k]...)
		}
	}
	return out
}

// arranged spreads rows with equal keys evenly: the k-th of n rows with a key goes to (k + 1/2) / n
// of the whole. Rows with equal positions keep their order.
func arranged(r *run, rows *rel, by []*node) (*rel, error) {
	groups := map[string]int{}
	ids := make([]int, 0, rows.n)
	var counts []int
	err := inOrder(r, rows, by, false, func(_ int, keys [][]byte) error {
		for _, k := range keys {
			id, ok := groups[string(k)]
			if !ok {
				id = len(counts)
				groups[string(k)] = id
				counts = append(counts, 0)
			}
			counts[id]++
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	seen := make([]int, len(counts))
	places := make([]float64, len(ids))
	for i, id := range ids {
		places[i] = (float64(seen[id]) + 0.5) / float64(counts[id])
		seen[id]++
	}
	picked, err := first(r, []key{{x: by[0]}}, []*array.Column{array.FromFloats(places, nil)}, len(places))
	if err != nil {
		return nil, err
	}
	return rows.taken(r, picked)
}

// run draws rows by their weights: with replacement one by one, without by the keys of Efraimidis
// and Spirakis (2006), in the order of the draws.
func (s *sampling) run(r *run, rows *rel) (*rel, error) {
	v, err := computed(r, rows, s.weight)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, rows.n)
	total := 0.0
	positive := 0
	for i := range weights {
		if i%mostRows == 0 && r.alive() != nil {
			return nil, r.alive()
		}
		if v.IsNull(i) {
			continue
		}
		w := toFloat(v.Value(i))
		if w < 0 || math.IsInf(w, 0) || w != w {
			return nil, placed(r.text, s.weight.at, errs.New(errs.Invalid, "SAMPLE BY: the weight of row %d is %g, want a number of at least 0", i, w))
		}
		weights[i] = w
		if total += w; w > 0 {
			positive++
		}
	}
	count := s.count
	switch {
	case s.percent >= 0:
		count = int64(min(math.Round(s.percent/100*float64(rows.n)), maxSources))
	case count < 0:
		count = int64(rows.n)
	}
	if !s.replace {
		count = min(count, int64(positive))
	}
	if count > 0 && positive == 0 {
		return nil, placed(r.text, s.at, errs.New(errs.Invalid, "SAMPLE BY: no row has a weight above 0, of %d rows", rows.n))
	}
	if count > maxSources {
		return nil, placed(r.text, s.at, errs.New(errs.Invalid, "SAMPLE BY: %d rows are to be drawn, want %d at most", count, int64(maxSources)))
	}
	if err := r.hold(count * 8 * int64(len(rows.rows)+1)); err != nil {
		return nil, err
	}
	if s.replace {
		picked, err := drawWith(r, weights, int(count))
		if err != nil {
			return nil, err
		}
		return rows.taken(r, picked)
	}
	picked, err := s.drawWithout(r, weights, int(count))
	if err != nil {
		return nil, err
	}
	return rows.taken(r, picked)
}

// maxSources bounds the drawn rows, far beyond the size of memory.
const maxSources = 1 << 40

// sampleDraws separates the draws of SAMPLE BY from the draws of RANDOM.
const sampleDraws = 1 << 40

func drawWith(r *run, weights []float64, count int) ([]int, error) {
	sums := make([]float64, len(weights))
	total := 0.0
	for i, w := range weights {
		total += w
		sums[i] = total
	}
	picked := make([]int, count)
	for k := range picked {
		if k%mostRows == 0 && r.alive() != nil {
			return nil, r.alive()
		}
		at := draw(r.o.Seed, sampleDraws, uint64(k)) * total
		i := sort.Search(len(sums), func(i int) bool { return sums[i] > at })
		for i >= len(sums) || weights[i] == 0 { // rounding may lead behind the last
			i--
		}
		picked[k] = i
	}
	return picked, nil
}

func (s *sampling) drawWithout(r *run, weights []float64, count int) ([]int, error) {
	keys, never := make([]float64, len(weights)), make([]bool, len(weights)) // the latter come last
	for i, w := range weights {
		if never[i] = w == 0; w > 0 {
			keys[i] = -math.Log1p(-draw(r.o.Seed, sampleDraws, uint64(i))) / w
		}
	}
	return first(r, []key{{x: s.weight}}, []*array.Column{array.FromFloats(keys, never)}, count)
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case bool:
		if v {
			return 1
		}
	}
	return 0
}
