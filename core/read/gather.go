package read

import (
	"cmp"
	"context"
	"math"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// PlanGather plans a bulk read of samples of one shape. It finds rows of the dataset in any order,
// repeats allowed, and inspects each chunk once. -1 is no row. It takes over rows. The samples of
// one chunk become one run, however they mix with those of others: deletions and updates leave such
// rows behind.
//
// Returns nil if the samples differ in shape, are not stored as arrays of dtype d, or if there are
// none. Then, and after an error, the caller must locate rows one by one.
func PlanGather(ctx context.Context, m Map, d tensor.DType, rows []int64) (*chunk.GatherPlan, error) {
	g := gatherer{dtype: d, plan: &chunk.GatherPlan{}}
	if ok, err := g.find(ctx, m, rows); !ok || err != nil {
		return nil, err
	}
	if ok, err := g.fit(); !ok || err != nil {
		return nil, err
	}
	return g.plan, g.runs()
}

// PlanItems is PlanGather for samples of any shape and size, which Worker.Gather cannot copy. The
// plan has no shape. Returns nil if some sample is in tiles.
func PlanItems(ctx context.Context, m Map, rows []int64) (*chunk.GatherPlan, error) {
	g := gatherer{plan: &chunk.GatherPlan{}}
	if ok, err := g.find(ctx, m, rows); !ok || err != nil {
		return nil, err
	}
	return g.plan, g.runs()
}

// find finds rows, unless some sample is in tiles.
func (g *gatherer) find(ctx context.Context, m Map, rows []int64) (bool, error) {
	g.sort(ctx, rows)
	if ctx.Err() != nil {
		return false, errs.Cause(ctx, "find samples")
	}
	if err := m.Find(ctx, g.rows, &g.found); err != nil || g.found.Tiled {
		return false, err
	}
	g.dropHoles()
	return true, nil
}

// gatherer converts rows to runs.
type gatherer struct {
	dtype tensor.DType
	plan  *chunk.GatherPlan
	rows  []int64 // in order, without missing ones; once found, places in chunks
	found Found
}

// sort brings rows into order and notes the missing ones as holes.
func (g *gatherer) sort(ctx context.Context, rows []int64) {
	l := g.plan
	found := rows[:0]
	rising, last := true, int64(0)
	for i, row := range rows {
		if row < 0 {
			if l.Positions == nil {
				l.Positions = positions(i, len(rows))
			}
			l.Holes = append(l.Holes, int32(i))
			continue
		}
		rising = rising && row >= last
		found, last = append(found, row), row
		if l.Positions != nil {
			l.Positions = append(l.Positions, int32(i))
		}
	}
	g.rows = found
	if rising {
		return
	}
	var s Sorter
	order := s.Sort(ctx, found)
	if l.Positions != nil {
		for k, i := range order {
			order[k] = l.Positions[i]
		}
	}
	l.Positions = order
}

// positions returns the positions before n, in a slice of capacity most.
func positions(n, most int) []int32 {
	out := make([]int32, n, most)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// fit reports whether the samples of all chunks have one shape, which becomes that of the plan.
func (g *gatherer) fit() (bool, error) {
	l := g.plan
	for i, ch := range g.found.Chunks {
		x := ch.Index
		if !ch.Even() || x.DType() != g.dtype {
			return false, nil
		}
		if x.Rows() == 0 {
			return false, Beyond(ch, 0, 0)
		}
		shape := x.Shape(0)
		if i > 0 {
			if !shape.Equal(l.Shape) {
				return false, nil
			}
			continue
		}
		size, err := shape.Bytes(x.DType())
		if err != nil || size <= 0 || size != x.ItemBytes(0) {
			return false, err
		}
		l.Shape, l.Size = shape, size
	}
	return len(g.rows) > 0, nil
}

// dropHoles moves rows without a sample to the holes of the plan. From then on the positions of
// samples are not their indices.
func (g *gatherer) dropHoles() {
	first := slices.Index(g.found.Of, -1)
	if first < 0 {
		return
	}
	l, n := g.plan, first
	if l.Positions == nil {
		l.Positions = positions(len(g.rows), len(g.rows))
	}
	for i := first; i < len(g.rows); i++ {
		if of := g.found.Of[i]; of < 0 {
			l.Holes = append(l.Holes, l.Positions[i])
		} else {
			g.rows[n], g.found.Of[n], l.Positions[n] = g.rows[i], of, l.Positions[i]
			n++
		}
	}
	g.rows, g.found.Of, l.Positions = g.rows[:n], g.found.Of[:n], l.Positions[:n]
}

// runs makes one run of the samples of each chunk.
func (g *gatherer) runs() error {
	l, of := g.plan, g.found.Of
	l.Items = g.rows
	ends := make([]int, len(g.found.Chunks))
	mixed := false
	for i, k := range of {
		ends[k]++
		mixed = mixed || i > 0 && k < of[i-1]
	}
	end := 0
	for k, n := range ends {
		from := end
		end += n
		ends[k] = from // moves to the end as samples come
		l.Runs = append(l.Runs, chunk.Run{Chunk: g.found.Chunks[k], From: from, To: end})
	}
	if mixed {
		items, places := make([]int64, len(of)), make([]int32, len(of))
		for i, k := range of {
			at := ends[k]
			ends[k]++
			items[at], places[at] = l.Items[i], int32(i)
			if l.Positions != nil {
				places[at] = l.Positions[i]
			}
		}
		l.Items, l.Positions = items, places
	}
	for k := range l.Runs {
		if err := g.order(&l.Runs[k]); err != nil {
			return err
		}
	}
	return nil
}

// order brings the samples of a run into the order of its chunk.
func (g *gatherer) order(run *chunk.Run) error {
	items := g.plan.Items[run.From:run.To]
	rising := true
	for i := 1; i < len(items); i++ {
		run.Repeats = run.Repeats || items[i] == items[i-1]
		rising = rising && items[i] >= items[i-1]
	}
	if !rising {
		g.reorder(run)
	}
	if last, n := items[len(items)-1], run.Chunk.Index.Rows(); items[0] < 0 || last >= n {
		return Beyond(run.Chunk, last, n)
	}
	return nil
}

// reorder sorts the samples of a run, of which rows were written in another order.
func (g *gatherer) reorder(run *chunk.Run) {
	l := g.plan
	if l.Positions == nil {
		l.Positions = positions(len(l.Items), len(l.Items))
	}
	items, places := l.Items[run.From:run.To], l.Positions[run.From:run.To]
	by := positions(len(items), len(items))
	slices.SortStableFunc(by, func(a, b int32) int { return cmp.Compare(items[a], items[b]) })
	sorted, moved := make([]int64, len(items)), make([]int32, len(items))
	for i, k := range by {
		sorted[i], moved[i] = items[k], places[k]
		run.Repeats = run.Repeats || i > 0 && sorted[i] == sorted[i-1]
	}
	copy(items, sorted)
	copy(places, moved)
}

const (
	digitBits = 11
	digits    = 1 << digitBits
)

// fewRows are sorted by comparisons, which cost less than counting their digits.
const fewRows = 64

// Sorter is memory to sort rows in. It is for one goroutine.
type Sorter struct {
	former   []int32
	from, to []uint64 // row and former index in one word
}

// Sort sorts rows, which are not negative, and returns the former index of each, valid until the
// next call. Equal rows stay in their order. It sorts many rows by 11 bits at a time, which takes a
// fraction of the time of comparisons. If ctx ends, rows are in no order.
func (s *Sorter) Sort(ctx context.Context, rows []int64) []int32 {
	n := len(rows)
	s.former = slices.Grow(s.former[:0], n)[:n]
	former := s.former
	if slices.IsSorted(rows) {
		for i := range former {
			former[i] = int32(i)
		}
		return former
	}
	most := slices.Max(rows)
	if n < fewRows || most > math.MaxUint32 {
		for i := range former {
			former[i] = int32(i)
		}
		slices.SortFunc(former, func(a, b int32) int { return cmp.Or(cmp.Compare(rows[a], rows[b]), cmp.Compare(a, b)) })
		slices.Sort(rows)
		return former
	}
	s.from, s.to = slices.Grow(s.from[:0], n)[:n], slices.Grow(s.to[:0], n)[:n]
	from, to := s.from, s.to
	for i, row := range rows {
		from[i] = uint64(row)<<32 | uint64(i)
	}
	for bits := 32; uint64(most)<<32>>bits > 0 && ctx.Err() == nil; bits += digitBits {
		var counts [digits]int32
		for _, v := range from {
			counts[v>>bits&(digits-1)]++
		}
		sum := int32(0)
		for i, c := range counts {
			counts[i] = sum
			sum += c
		}
		for _, v := range from {
			k := &counts[v>>bits&(digits-1)]
			to[*k] = v
			*k++
		}
		from, to = to, from
	}
	for i, v := range from {
		rows[i], former[i] = int64(v>>32), int32(uint32(v))
	}
	return former
}
