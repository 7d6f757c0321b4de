package dataset

import (
	"cmp"
	"context"
	"math"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
)

// Lots finds many rows of the view at once, in any order, repeats allowed. It is Resolve for rows that all have a sample, and
// all of one shape: it reads the same index pages and looks at each chunk once. nil says that they have not; then, and after
// an error, Resolve has to be asked.
func (c *Column) Lots(ctx context.Context, rows []int64) (*chunk.Lots, error) {
	if len(rows) == 0 || len(rows) > math.MaxInt32 || c.Sequence() || c.Encoded() || !c.ct.dtype.Fixed() {
		return nil, nil
	}
	l := &chunk.Lots{Items: make([]int64, len(rows))}
	rising, ok := c.view.lives(rows, l.Items)
	if !ok {
		return nil, nil
	}
	if !rising {
		l.Places = sortRows(ctx, l.Items)
	}
	f := lotFinder{finder: finder{c: c}, lots: l}
	for at := 0; at < len(l.Items); {
		var err error
		if at, err = f.next(ctx, at); err != nil || at < 0 {
			return nil, err
		}
	}
	return l, nil
}

// lives fills live with the rows of the snapshot at positions of the view. rising says that none is smaller than the one
// before it; ok is false where there is a position, or a row, that does not exist.
func (v *View) lives(rows, live []int64) (rising, ok bool) {
	rising = true
	last := int64(0)
	for i, row := range rows {
		if uint64(row) >= uint64(v.n) {
			return false, false
		}
		row = v.live(row)
		if row < last {
			if rising = false; row < 0 {
				return false, false
			}
		}
		live[i], last = row, row
	}
	return rising, true
}

// lotFinder turns rows into lots.
type lotFinder struct {
	finder
	lots *chunk.Lots
	ends int64 // the first row of the snapshot to which shift does not apply
	move int64 // from rows of the snapshot to physical ones
}

// next finds the entry of the row at, and makes a lot of all rows that follow it there. It returns where those end, -1: it
// has no lot.
func (f *lotFinder) next(ctx context.Context, at int) (int, error) {
	if ctx.Err() != nil {
		return -1, errs.Cause(ctx, "find samples")
	}
	live := f.lots.Items
	row := live[at]
	if row >= f.ends {
		var physical int64
		physical, f.ends = f.c.view.snap.Live.Run(row)
		f.move = physical - row
	}
	row += f.move
	if f.chunk == nil || row < f.entry.Row || row >= f.entry.Row+f.entry.Rows {
		e, ok, err := f.c.tree.Find(ctx, row)
		if err != nil || !ok || e.Tiles > 0 {
			return -1, err
		}
		f.entry = e
		if f.chunk, err = f.c.view.d.chunks.get(ctx, f.c.tree, &e, 0); err != nil {
			return -1, err
		}
		if ok, err := f.fits(); !ok || err != nil {
			return -1, err
		}
	}
	stop := min(f.ends, f.entry.Row+f.entry.Rows-f.move)
	shift := f.move + f.entry.First - f.entry.Row
	end, last, repeats := at, int64(-1), false
	for ; end < len(live) && live[end] < stop; end++ {
		item := live[end] + shift
		repeats = repeats || item == last
		live[end], last = item, item
	}
	if n := len(f.lots.Lots) - 1; n >= 0 && f.lots.Lots[n].Chunk == f.chunk && live[at-1] < live[at] { // behind deleted rows
		f.lots.Lots[n].To = end
		f.lots.Lots[n].Repeats = f.lots.Lots[n].Repeats || repeats
		return end, nil
	}
	f.lots.Lots = append(f.lots.Lots, chunk.Lot{Chunk: f.chunk, From: at, To: end, Repeats: repeats})
	return end, nil
}

// fits reports whether the samples of the entry may be in lots, with those before.
func (f *lotFinder) fits() (bool, error) {
	x, l := f.chunk.Index, f.lots
	if !f.chunk.Even() || x.DType() != f.c.ct.dtype {
		return false, nil
	}
	if last := f.entry.First + f.entry.Rows - 1; f.entry.First < 0 || last >= x.Items() {
		return false, beyond(f.chunk, last, x.Items())
	}
	shape := x.Shape(f.entry.First)
	if len(l.Lots) > 0 {
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

// sortRows sorts rows, none of which is negative, and says where each was. Rows that are equal stay in their order. It looks
// at 11 bits of all rows at a time, which takes a fraction of comparing them. When ctx ends they are in no order.
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
