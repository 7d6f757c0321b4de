package array

import (
	"encoding/binary"
	"math"

	"deeplake/core/tensor"
)

// AppendKey appends bytes that are equal exactly if the values of rows are, in columns of one
// type: NULL equals NULL, NaN equals NaN, 0 equals -0. They say where they end, so keys of several
// columns may follow each other.
func AppendKey(dst []byte, c *Column, row int) []byte {
	if c.IsNull(row) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	if c.List {
		lo, hi := c.ItemSpan(row)
		dst = binary.AppendUvarint(dst, uint64(hi-lo))
		for i := lo; i < hi; i++ {
			dst = AppendKey(dst, c.Items, i)
		}
		return dst
	}
	shape := c.ShapeAt(row)
	if c.Dims != 0 || len(shape) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(shape)))
		for _, d := range shape {
			dst = binary.AppendUvarint(dst, uint64(d))
		}
	}
	lo, hi := c.Span(row)
	switch d := c.Data.(type) {
	case []float32:
		for _, v := range d[lo:hi] {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(same32(v)))
		}
	case []float64:
		for _, v := range d[lo:hi] {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(CanonicalFloat(v)))
		}
	case []string:
		for _, v := range d[lo:hi] {
			if c.DType == tensor.JSON {
				v = CanonicalJSON(v)
			}
			dst = binary.AppendUvarint(dst, uint64(len(v)))
			dst = append(dst, v...)
		}
	case []uint64:
		for _, v := range d[lo:hi] {
			dst = binary.LittleEndian.AppendUint64(dst, v)
		}
	case []int64:
		for _, v := range d[lo:hi] {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	case []uint8:
		dst = append(dst, d[lo:hi]...)
	case []int32:
		for _, v := range d[lo:hi] {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
		}
	default:
		l := Lanes[int64](c.Data)
		var one [1]int64
		for i := lo; i < hi; i++ {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(l(i, i+1, one[:])[0]))
		}
	}
	return dst
}

// AppendSigns appends which zeros of a row are negative. AppendKey does not distinguish them.
func AppendSigns(dst []byte, c *Column, row int) []byte {
	if c.IsNull(row) {
		return dst
	}
	if c.List {
		for i, hi := c.ItemSpan(row); i < hi; i++ {
			dst = AppendSigns(dst, c.Items, i)
		}
		return dst
	}
	lo, hi := c.Span(row)
	switch d := c.Data.(type) {
	case []float32:
		for i, v := range d[lo:hi] {
			if v == 0 && math.Signbit(float64(v)) {
				dst = binary.AppendUvarint(dst, uint64(i+1))
			}
		}
	case []float64:
		for i, v := range d[lo:hi] {
			if v == 0 && math.Signbit(v) {
				dst = binary.AppendUvarint(dst, uint64(i+1))
			}
		}
	}
	return append(dst, 0)
}

// CanonicalFloat writes NaN and zero in one way.
func CanonicalFloat(v float64) float64 {
	if v != v {
		return math.NaN()
	}
	if v == 0 {
		return 0
	}
	return v
}

func same32(v float32) float32 {
	if v != v {
		return float32(math.NaN())
	}
	if v == 0 {
		return 0
	}
	return v
}
