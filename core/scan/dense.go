package scan

import (
	"context"
	"slices"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/internal/invariant"
	"deeplake/core/query"
	"deeplake/core/read"
)

// Rows that lie close together are read with the rows in between. Whole blocks are read and checked
// anyway. Copying values costs less than locating each one.
const (
	gapBytes   = 2 << 10  // from one wanted value to the next, on average
	denseBytes = 16 << 20 // of all rows, with the rows in between
	denseValue = 64       // bytes of a value, at most
)

// dense reads rows of the dataset with all rows in between, where that is the faster way. c is nil
// where it is not.
func (r *reader) dense(ctx context.Context, f *field, typ array.Type, list []int64) (c *array.Column, err error) {
	r.picked.use(list)
	low := r.picked.low
	n := r.picked.high - low + 1
	if low < 0 || !denseEnough(f, &typ, n, int64(len(list))) {
		return nil, nil
	}
	before := len(r.borrowed)
	whole, err := r.whole(ctx, f, typ, low, low+n)
	if whole == nil || err != nil {
		return nil, err
	}
	c = whole.Take(r.picked.at())
	r.letGo(whole, c, before)
	return c, nil
}

// strided is dense for n rows at equal distances, low being the first.
func (r *reader) strided(ctx context.Context, f *field, typ array.Type, low, n, step int64) (c *array.Column, err error) {
	all := (n-1)*step + 1
	if !denseEnough(f, &typ, all, n) {
		return nil, nil
	}
	before := len(r.borrowed)
	whole, err := r.whole(ctx, f, typ, low, low+all)
	if whole == nil || err != nil {
		return nil, err
	}
	from := storedBytes(whole)
	if d := f.column.DType(); from == nil || whole.Null != nil || whole.Shapes != nil || whole.DType != d {
		c = whole.Take(multiples(n, step))
	} else {
		each := int64(len(from)) / all
		data, to, err := r.newData(d, n*each/int64(d.Size()))
		if err != nil {
			return nil, err
		}
		read.Stride(to, from, each, step)
		c = evenColumn(whole.Type, int(n), whole.Same, data)
	}
	r.letGo(whole, c, before)
	return c, nil
}

// multiples returns the first n multiples of a step.
func multiples(n, step int64) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i * int(step)
	}
	return out
}

// letGo frees a column from which c was copied: its memory, or what it borrowed.
func (r *reader) letGo(whole, c *array.Column, before int) {
	r.Recycle(whole, c) // not borrowed memory
	clear(r.borrowed[before:])
	r.borrowed = r.borrowed[:before]
}

// denseEnough reports whether it pays to read all of so many rows to have some of them.
func denseEnough(f *field, typ *array.Type, all, some int64) bool {
	size := int64(f.column.DType().Size())
	for _, n := range typ.Shape {
		if size > denseValue {
			return false
		}
		size *= n
	}
	return size > 0 && size <= denseValue && all <= denseBytes/size && all*size <= some*gapBytes
}

// whole reads rows [from, to) of the dataset. c is nil where they lie in many pieces that cannot be
// copied.
func (r *reader) whole(ctx context.Context, f *field, typ array.Type, from, to int64) (c *array.Column, err error) {
	if scattered, err := f.column.Pieces().Scattered(ctx, from, to); err != nil {
		return nil, nil // the segments report it
	} else if scattered && !f.remote() {
		return r.copied(ctx, f, typ, from, to)
	} else if scattered {
		return nil, nil
	}
	run := [][2]int64{{from, to}}
	c, err = r.lies(ctx, f, typ, run)
	if err != nil || c != nil && int64(c.N) == to-from {
		return c, err
	}
	r.worker(f)
	if err := r.at.locateRuns(ctx, f, run); err != nil {
		return nil, err
	}
	v := &values{r: r, f: f, typ: typ}
	return v.plain(ctx, v.runs(), r.at.n)
}

// rowList caches the rows of the dataset behind rows of a view. The columns of a batch share them.
type rowList struct {
	view *dataset.View
	of   query.Rows
	list []int64
}

// rows returns the rows of the dataset behind rows of a view, read-only. -1 is none.
func (l *rowList) rows(v *dataset.View, rows query.Rows) []int64 {
	if start, step, regular := v.Regular(); regular && step == 1 && start == 0 && rows.List != nil {
		return rows.List
	}
	same := l.view == v && l.of.N == rows.N && l.of.From == rows.From && len(l.of.List) == len(rows.List)
	if same && (rows.List == nil || &rows.List[0] == &l.of.List[0]) {
		return l.list
	}
	// A new slice: rowRange tells lists by their memory.
	*l = rowList{view: v, of: rows, list: make([]int64, rows.N)}
	for i := range l.list {
		l.list[i] = v.Row(rows.At(i))
	}
	return l.list
}

// rowRange caches the range of a list of rows, and the offset of each row from its start. The
// columns of a batch share one list, which is read-only.
type rowRange struct {
	list      []int64
	low, high int64
	offsets   []int // from low, of list; shorter: not computed yet
}

// use computes the range of a list, unless it is the list of the call before.
func (r *rowRange) use(list []int64) {
	if len(list) == len(r.list) && &list[0] == &r.list[0] {
		invariant.Check(r.fits(), "a list of rows has changed between two columns")
		return
	}
	r.list, r.offsets = list, r.offsets[:0]
	r.low, r.high = list[0], list[0]
	for _, row := range list {
		r.low, r.high = min(r.low, row), max(r.high, row)
	}
}

// fits reports whether the cached values are those of the list. Without the build tag "invariants"
// it is true.
func (r *rowRange) fits() bool {
	if !invariant.Enabled {
		return true
	}
	for i, row := range r.list {
		if row < r.low || row > r.high || i < len(r.offsets) && int64(r.offsets[i]) != row-r.low {
			return false
		}
	}
	return true
}

// at returns the offsets, valid until the next use.
func (r *rowRange) at() []int {
	if len(r.offsets) < len(r.list) {
		r.offsets = slices.Grow(r.offsets, len(r.list))[:len(r.list)]
		for i, row := range r.list {
			r.offsets[i] = int(row - r.low)
		}
	}
	return r.offsets
}
