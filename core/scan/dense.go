package scan

import (
	"context"
	"slices"

	"deeplake/core/array"
	"deeplake/core/internal/invariant"
	"deeplake/core/query"
)

// Rows that lie close together are read with the rows in between. Whole blocks are read and checked
// anyway. Copying values costs less than locating each one.
const (
	gapBytes   = 2 << 10  // from one wanted value to the next, on average
	denseBytes = 16 << 20 // of all rows, with the rows in between
	denseValue = 64       // bytes of a value, at most
)

// dense reads the rows of a list with all rows in between, where that is the faster way. c is nil
// where it is not.
func (r *reader) dense(ctx context.Context, f *field, typ array.Type, column int, rows query.Rows) (c *array.Column, err error) {
	if rows.N < 2 || typ.List || !typ.DType.Fixed() || typ.Dims < 0 || f.column.Encoded() {
		return nil, nil
	}
	if _, step, regular := f.view.Regular(); !regular || step != 1 {
		return nil, nil
	}
	size := int64(f.column.DType().Size())
	for _, n := range typ.Shape {
		if n < 0 || size > denseValue {
			return nil, nil
		}
		size *= n
	}
	r.picked.use(rows.List)
	low := r.picked.low
	n := r.picked.high - low + 1
	if size == 0 || size > denseValue || n > denseBytes/size || n*size > rows.N*gapBytes {
		return nil, nil
	}
	all, before := query.Rows{From: low, N: n}, len(r.borrowed)
	whole, err := r.lies(ctx, f, column, all)
	if err == nil && (whole == nil || int64(whole.N) < n) {
		whole, err = r.readField(ctx, f, column, all, query.Values, nil)
	}
	if err != nil {
		return nil, err
	}
	out := whole.Take(r.picked.at())
	r.Recycle(whole, out) // not borrowed memory
	clear(r.borrowed[before:])
	r.borrowed = r.borrowed[:before]
	return out, nil
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
