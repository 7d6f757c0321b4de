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
	r.near.see(rows.List)
	low := r.near.low
	n := r.near.high - low + 1
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
	out := whole.Take(r.near.at())
	r.Recycle(whole, out) // not borrowed memory
	clear(r.borrowed[before:])
	r.borrowed = r.borrowed[:before]
	return out, nil
}

// near caches the range of a list of rows, and the offset of each row from its start. The columns
// of a batch share one list, which is read-only.
type near struct {
	list      []int64
	low, high int64
	offsets   []int // from low, of list; shorter: not computed yet
}

// see takes in a list.
func (n *near) see(list []int64) {
	if len(list) == len(n.list) && &list[0] == &n.list[0] {
		invariant.Check(n.unchanged(), "a list of rows has changed between two columns")
		return
	}
	n.list, n.offsets = list, n.offsets[:0]
	n.low, n.high = list[0], list[0]
	for _, row := range list {
		n.low, n.high = min(n.low, row), max(n.high, row)
	}
}

// unchanged reports whether the list agrees with what was computed from it.
func (n *near) unchanged() bool {
	if !invariant.Enabled {
		return true
	}
	for i, row := range n.list {
		if row < n.low || row > n.high || i < len(n.offsets) && int64(n.offsets[i]) != row-n.low {
			return false
		}
	}
	return true
}

// at returns the offsets, valid until the next see.
func (n *near) at() []int {
	if len(n.offsets) < len(n.list) {
		n.offsets = slices.Grow(n.offsets, len(n.list))[:len(n.list)]
		for i, row := range n.list {
			n.offsets[i] = int(row - n.low)
		}
	}
	return n.offsets
}
