package format

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"deeplake/core/tensor"
)

// minColumnBytes is the least size of a column in a page: its tensor, no root, and bounds of no
// axes.
const minColumnBytes = 16 + 1 + 1

// LargeColumns reports whether columns are too large for a record, and go into a page. It estimates
// their size as JSON.
func LargeColumns(columns map[UUID]Column) bool {
	n := 0
	for _, c := range columns {
		n += columnJSON + 2*axisJSON*len(c.MaxShape)
	}
	return n > InlineColumns
}

const (
	columnJSON = 180 // bytes of a column without axes, at most
	axisJSON   = 4   // of an axis, about
)

// EncodeColumns makes a page of columns, frame included. Columns that say nothing are left out. One
// that DecodeColumns would not take is errs.Invalid.
func EncodeColumns(columns map[UUID]Column) ([]byte, error) {
	payload, err := encodeColumns(columns)
	if err != nil {
		return nil, refused("columns page", err)
	}
	return EncodeFrame(KindColumns, payload)
}

// DecodeColumns is the strict inverse of EncodeColumns. Nothing in the result is shared with data.
func DecodeColumns(data []byte) (map[UUID]Column, error) {
	payload, err := DecodeFrame(KindColumns, data)
	if err != nil {
		return nil, err
	}
	columns, err := decodeColumns(payload)
	return columns, damaged("columns page", err)
}

// empty reports whether a column says nothing.
func (c Column) empty() bool { return c.Root == nil && c.MaxShape == nil }

func encodeColumns(columns map[UUID]Column) ([]byte, error) {
	if err := CheckColumns(columns, nil); err != nil {
		return nil, err
	}
	ids := slices.SortedFunc(maps.Keys(columns), func(a, b UUID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.DeleteFunc(ids, func(id UUID) bool { return columns[id].empty() })
	out := appendUvarint(make([]byte, 0, 64*len(ids)), int64(len(ids)))
	for _, id := range ids {
		c := columns[id]
		out = append(out, id[:]...)
		if c.Root == nil {
			out = append(out, 0)
		} else {
			out = append(append(out, byte(c.Root.Height+1)), c.Root.Page[:]...)
			out = appendUvarint(appendUvarint(out, c.Chunks), c.Bytes)
		}
		if c.MaxShape == nil {
			out = append(out, 0)
			continue
		}
		out = append(out, byte(len(c.MaxShape)+1))
		for i := range c.MaxShape {
			out = appendUvarint(appendUvarint(out, c.MinShape[i]), c.MaxShape[i]-c.MinShape[i])
		}
	}
	return out, nil
}

func decodeColumns(payload []byte) (map[UUID]Column, error) {
	r := reader{b: payload}
	n := r.count(MaxBlobRaw, minColumnBytes, "columns")
	columns := make(map[UUID]Column, n)
	var last UUID
	for range n {
		id := r.uuid("tensor")
		if r.err == nil && bytes.Compare(last[:], id[:]) >= 0 {
			return nil, fmt.Errorf("tensor %s stands behind tensor %s", id, last)
		}
		last = id
		c := r.column()
		if r.err != nil {
			return nil, r.err
		}
		if c.empty() {
			return nil, errors.New("a column says nothing and should be left out")
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("column %s: %w", id, err)
		}
		columns[id] = c
	}
	return columns, r.end()
}

// column takes one column. The caller checks it.
func (r *reader) column() (c Column) {
	if height := int(r.byte("height of a root")); height > 0 {
		c.Root = &Root{Page: r.uuid("root"), Height: height - 1}
		c.Chunks, c.Bytes = r.uvarint(MaxRows, "chunks"), r.uvarint(1<<62, "bytes")
	}
	axes := int64(r.byte("axes"))
	if axes == 0 {
		return c
	}
	if axes--; axes > tensor.MaxDims || 2*axes > int64(len(r.b)) {
		r.fail("%d axes, want at most %d", axes, tensor.MaxDims)
		return c
	}
	c.MinShape, c.MaxShape = make(tensor.Shape, axes), make(tensor.Shape, axes)
	for i := range axes {
		c.MinShape[i] = r.uvarint(tensor.MaxSampleBytes, "axis")
		c.MaxShape[i] = c.MinShape[i] + r.uvarint(tensor.MaxSampleBytes, "axis")
	}
	return c
}
