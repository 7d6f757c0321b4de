package dataset

import (
	"cmp"
	"context"
	"math"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
)

// GatherPlan finds many rows of the view at once, in any order, repeats allowed. It is Resolve for
// rows whose samples are all of one shape: it reads the same index pages and looks at each chunk
// once. nil says that they are not, or that there are none; then, and after an error, Resolve has
// to be asked.
func (c *Column) GatherPlan(ctx context.Context, rows []int64) (*chunk.GatherPlan, error) {
	if len(rows) == 0 || len(rows) > math.MaxInt32 || c.Sequence() || c.Encoded() || !c.ct.dtype.Fixed() {
		return nil, nil
	}
	l := &chunk.GatherPlan{}
	if !c.view.lives(ctx, rows, l) {
		return nil, nil
	}
	f := gatherPlanner{finder: finder{c: c}, plan: l, rows: l.Items}
	l.Items = l.Items[:0]
	for at := 0; at < len(f.rows); {
		var err error
		if at, err = f.next(ctx, at); err != nil || at < 0 {
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

// lives makes the items of l the rows of the snapshot at positions of the view, rising, and notes
// those that do not exist as holes. It reports whether all positions are in the view.
func (v *View) lives(ctx context.Context, rows []int64, l *chunk.GatherPlan) bool {
	live := make([]int64, 0, len(rows))
	rising, last := true, int64(0)
	for i, row := range rows {
		if uint64(row) >= uint64(v.n) {
			return false
		}
		if row = v.live(row); row < 0 { // see Draw
			if l.Positions == nil {
				l.Positions = placesTo(i, len(rows))
			}
			l.Holes = append(l.Holes, int32(i))
			continue
		}
		rising = rising && row >= last
		live, last = append(live, row), row
		if l.Positions != nil {
			l.Positions = append(l.Positions, int32(i))
		}
	}
	l.Items = live
	if rising {
		return true
	}
	order := sortRows(ctx, live)
	if l.Positions != nil {
		for k, i := range order {
			order[k] = l.Positions[i]
		}
	}
	l.Positions = order
	return true
}

// placesTo is the places before n, with room for more.
func placesTo(n, room int) []int32 {
	out := make([]int32, n, room)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// gatherPlanner turns rows into runs.
type gatherPlanner struct {
	finder
	plan *chunk.GatherPlan // its items take the place of rows, since there are no more of them
	rows []int64           // of the snapshot, rising
	ends int64             // the first row of the snapshot to which shift does not apply
	move int64             // from rows of the snapshot to physical ones
}

// next finds the entry of the row at, and makes a run of all rows that follow it there. It returns
// where those end, -1: it has no run.
func (f *gatherPlanner) next(ctx context.Context, at int) (int, error) {
	if ctx.Err() != nil {
		return -1, errs.Cause(ctx, "find samples")
	}
	row := f.rows[at]
	if row >= f.ends {
		var physical int64
		physical, f.ends = f.c.view.snap.Live.Run(row)
		f.move = physical - row
	}
	row += f.move
	if f.chunk == nil || row < f.entry.Row || row >= f.entry.Row+f.entry.Rows {
		e, ok, err := f.c.tree.Find(ctx, row)
		if err != nil || e.Tiles > 0 {
			return -1, err
		}
		if !ok {
			f.hole(at)
			return at + 1, nil
		}
		f.entry = e
		if f.chunk, err = f.c.chunk(ctx, &e, 0); err != nil {
			return -1, err
		}
		if ok, err := f.fits(); !ok || err != nil {
			return -1, err
		}
	}
	return f.take(at), nil
}

// hole notes that a row has no sample: from now on samples have other places than rows.
func (f *gatherPlanner) hole(at int) {
	l := f.plan
	if l.Positions == nil {
		l.Positions = placesTo(len(f.rows), len(f.rows))
	}
	l.Holes = append(l.Holes, l.Positions[at])
}

// take makes a run of the rows from at on that are in the entry.
func (f *gatherPlanner) take(at int) int {
	l := f.plan
	stop := min(f.ends, f.entry.Row+f.entry.Rows-f.move)
	shift := f.move + f.entry.First - f.entry.Row
	from, last, repeats, end := len(l.Items), int64(-1), false, at
	for ; end < len(f.rows) && f.rows[end] < stop; end++ {
		item := f.rows[end] + shift
		repeats = repeats || item == last
		l.Items, last = append(l.Items, item), item
	}
	if from < at { // there are holes
		copy(l.Positions[from:], l.Positions[at:end])
	}
	if n := len(l.Runs) - 1; n >= 0 && l.Runs[n].Chunk == f.chunk && l.Items[from-1] < l.Items[from] {
		// behind deleted rows
		l.Runs[n].To, l.Runs[n].Repeats = len(l.Items), l.Runs[n].Repeats || repeats
	} else {
		l.Runs = append(l.Runs, chunk.Run{Chunk: f.chunk, From: from, To: len(l.Items), Repeats: repeats})
	}
	return end
}

// fits reports whether the samples of the entry may be in runs, with those before.
func (f *gatherPlanner) fits() (bool, error) {
	x, l := f.chunk.Index, f.plan
	if !f.chunk.Even() || x.DType() != f.c.ct.dtype {
		return false, nil
	}
	if last := f.entry.First + f.entry.Rows - 1; f.entry.First < 0 || last >= x.Items() {
		return false, beyond(f.chunk, last, x.Items())
	}
	shape := x.Shape(f.entry.First)
	if len(l.Runs) > 0 {
		return shape.Equal(l.Shape), nil
	}
	size, err := shape.Bytes(x.DType())
	l.Shape, l.Size = shape, size
	return err == nil && size > 0 && size == x.ItemBytes(f.entry.First), err
}

const (
	digitBits = 11
	digits    = 1 << digitBits
)

// sortRows sorts rows, none of which is negative, and says where each was. Rows that are equal stay
// in their order. It looks at 11 bits of all rows at a time, which takes a fraction of comparing
// them. When ctx ends they are in no order.
func sortRows(ctx context.Context, rows []int64) []int32 {
	places := make([]int32, len(rows))
	most := slices.Max(rows)
	if most > math.MaxUint32 {
		for i := range places {
			places[i] = int32(i)
		}
		slices.SortFunc(places, func(a, b int32) int { return cmp.Or(cmp.Compare(rows[a], rows[b]), cmp.Compare(a, b)) })
		slices.Sort(rows)
		return places
	}
	from, to := make([]uint64, len(rows)), make([]uint64, len(rows)) // row and place in one word
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
		rows[i], places[i] = int64(v>>32), int32(uint32(v))
	}
	return places
}
