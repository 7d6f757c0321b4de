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
// repeats allowed, and inspects each chunk once. -1 is no row. It takes over rows.
//
// Returns nil if the samples differ in shape, are not stored as arrays of dtype d, or if there are
// none. Then, and after an error, the caller must locate rows one by one.
func PlanGather(ctx context.Context, m Map, d tensor.DType, rows []int64) (*chunk.GatherPlan, error) {
	g := gatherer{locator: NewLocator(m), dtype: d, plan: &chunk.GatherPlan{}}
	g.sort(ctx, rows)
	l := g.plan
	l.Items = g.rows[:0]
	for at := 0; at < len(g.rows); {
		var err error
		if at, err = g.next(ctx, at); err != nil || at < 0 {
			return nil, err
		}
	}
	if len(l.Runs) == 0 {
		return nil, nil
	}
	if l.Positions != nil {
		l.Positions = l.Positions[:len(l.Items)]
	}
	return l, nil
}

// gatherer converts rows to runs.
type gatherer struct {
	locator Locator
	dtype   tensor.DType
	plan    *chunk.GatherPlan // its items overwrite rows, as there are never more of them
	rows    []int64           // in order, without missing ones
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

// next makes a run of the row at and all rows that follow it in its segment. It returns the index
// after them; -1: they cannot be in a run.
func (g *gatherer) next(ctx context.Context, at int) (int, error) {
	if ctx.Err() != nil {
		return -1, errs.Cause(ctx, "find samples")
	}
	row := g.rows[at]
	s, err := g.locator.seek(ctx, row, row+1)
	if err != nil || s.Tiles != nil {
		return -1, err
	}
	if s.Chunk == nil {
		g.hole(at)
		return at + 1, nil
	}
	if ok, err := g.fits(s); !ok || err != nil {
		return -1, err
	}
	return g.take(at, s), nil
}

// hole notes that a row has no sample. From now on the samples' positions are not their indices.
func (g *gatherer) hole(at int) {
	l := g.plan
	if l.Positions == nil {
		l.Positions = positions(len(g.rows), len(g.rows))
	}
	l.Holes = append(l.Holes, l.Positions[at])
}

// take makes a run of the rows from at on that are in the segment.
func (g *gatherer) take(at int, s *Segment) int {
	l := g.plan
	stop, shift := s.Row+s.Rows, s.First-s.Row
	from, last, repeats, end := len(l.Items), int64(-1), false, at
	for ; end < len(g.rows) && g.rows[end] < stop; end++ {
		item := g.rows[end] + shift
		repeats = repeats || item == last
		l.Items, last = append(l.Items, item), item
	}
	if from < at { // there are holes
		copy(l.Positions[from:], l.Positions[at:end])
	}
	if n := len(l.Runs) - 1; n >= 0 && l.Runs[n].Chunk == s.Chunk && l.Items[from-1] < l.Items[from] {
		// behind deleted rows
		l.Runs[n].To, l.Runs[n].Repeats = len(l.Items), l.Runs[n].Repeats || repeats
	} else {
		l.Runs = append(l.Runs, chunk.Run{Chunk: s.Chunk, From: from, To: len(l.Items), Repeats: repeats})
	}
	return end
}

// fits reports whether the plan may take the samples of a segment in addition to the earlier ones.
func (g *gatherer) fits(s *Segment) (bool, error) {
	x, l := s.Chunk.Index, g.plan
	if !s.Chunk.Even() || x.DType() != g.dtype {
		return false, nil
	}
	if err := s.check(); err != nil {
		return false, err
	}
	shape := x.Shape(s.First)
	if len(l.Runs) > 0 {
		return shape.Equal(l.Shape), nil
	}
	size, err := shape.Bytes(x.DType())
	l.Shape, l.Size = shape, size
	return err == nil && size > 0 && size == x.ItemBytes(s.First), err
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
