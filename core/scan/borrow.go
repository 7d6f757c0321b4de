package scan

import (
	"context"
	"slices"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

var _ query.Borrower = (*reader)(nil)

// Borrow implements query.Borrower.
func (r *reader) Borrow(ctx context.Context, column int, rows query.Rows) (*array.Column, error) {
	f := r.table.field(column)
	if rows.List != nil || rows.N == 0 || f.compute != nil || checkRows(rows, r.table.rows) != nil {
		return nil, nil
	}
	typ, err := r.table.Resolve(ctx, column)
	start, step, regular := f.view.Regular()
	if err != nil || !regular || step != 1 {
		return nil, nil
	}
	from := start + rows.From
	if scattered, err := f.column.Pieces().Scattered(ctx, from, from+rows.N); scattered || err != nil {
		return nil, nil
	}
	return r.lies(ctx, f, typ, [][2]int64{{from, from + rows.N}})
}

// Return lets go of borrowed memory.
func (r *reader) Return() {
	clear(r.borrowed)
	r.borrowed = r.borrowed[:0]
}

// lies borrows a run of rows of the dataset from mapped memory, up to the end of the first piece.
// It returns nil if they are not mapped, and after an error: the read that follows reports it.
func (r *reader) lies(ctx context.Context, f *field, typ array.Type, run [][2]int64) (*array.Column, error) {
	d := f.column.DType()
	if f.remote() || !plainNumber(d) || f.column.Encoded() || f.otherUnit() && !r.counts {
		return nil, nil
	}
	if typ.List || typ.Dims < 0 || slices.Contains(typ.Shape, -1) {
		return nil, nil
	}
	if err := r.at.locateRuns(ctx, f, run); err != nil || len(r.at.segments) == 0 {
		return nil, nil
	}
	s := &r.at.segments[0]
	mem, keep := r.io.Borrow(ctx, s, d, typ.Shape)
	if mem == nil {
		return nil, nil
	}
	r.borrowed = append(r.borrowed, keep)
	r.decoded += int64(len(mem))
	shape := typ.Shape
	if shape == nil {
		shape = tensor.Shape{}
	}
	return &array.Column{Type: typ, N: int(s.Rows), Same: shape, Data: elementsOf(d, mem)}, nil
}

// plainNumber reports whether columns hold numbers of a dtype as they are stored. Bools are
// excluded: a byte other than 0 and 1 must not be read as a bool.
func plainNumber(d tensor.DType) bool {
	switch d {
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Float32, tensor.Float64:
		return true
	}
	return false
}

// elementsOf returns borrowed memory as elements, which are read-only.
func elementsOf(d tensor.DType, mem []byte) any {
	switch d {
	case tensor.Uint8:
		return mem
	case tensor.Uint16:
		return elements[uint16](mem)
	case tensor.Uint32:
		return elements[uint32](mem)
	case tensor.Uint64:
		return elements[uint64](mem)
	case tensor.Int8:
		return elements[int8](mem)
	case tensor.Int16:
		return elements[int16](mem)
	case tensor.Int32:
		return elements[int32](mem)
	case tensor.Int64:
		return elements[int64](mem)
	case tensor.Float32:
		return elements[float32](mem)
	}
	return elements[float64](mem)
}

func elements[T any](mem []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/int(unsafe.Sizeof(one)))
}
