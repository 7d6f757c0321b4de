package scan

import (
	"context"

	"deeplake/core/array"
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
	low, high := rows.List[0], rows.List[0]
	for _, row := range rows.List {
		low, high = min(low, row), max(high, row)
	}
	n := high - low + 1
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
	at := make([]int, rows.N)
	for i, row := range rows.List {
		at[i] = int(row - low)
	}
	out := whole.Take(at)
	r.Recycle(whole, out) // not borrowed memory
	clear(r.borrowed[before:])
	r.borrowed = r.borrowed[:before]
	return out, nil
}
