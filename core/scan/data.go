package scan

import (
	"encoding/binary"
	"math"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// bound is a bound of statistics as a query knows it; nil: of a dtype that has none.
func bound(d tensor.DType, bits uint64) any {
	switch {
	case d == tensor.Bool:
		return bits != 0
	case d >= tensor.Uint8 && d <= tensor.Uint64:
		return bits
	case d >= tensor.Int8 && d <= tensor.Int64:
		return int64(bits)
	case d == tensor.Float32 || d == tensor.Float64:
		return math.Float64frombits(bits)
	}
	return nil
}

// bytesOf is the memory of numbers, to be read into.
func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return []byte{}
	}
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(one)))
}

func numbers[T any](n int64) (any, []byte) {
	s := make([]T, n)
	return s, bytesOf(s)
}

// newData makes n elements of a dtype as columns hold them, and shows them as the bytes that are stored. Stored numbers are
// little-endian, as those of all machines are that this library runs on. Of float16 and bfloat16 the bytes are memory of
// their own, for widen.
func newData(d tensor.DType, n int64) (data any, bytes []byte, err error) {
	switch d {
	case tensor.Bool:
		data, bytes = numbers[bool](n)
	case tensor.Uint8:
		data, bytes = numbers[uint8](n)
	case tensor.Uint16:
		data, bytes = numbers[uint16](n)
	case tensor.Uint32:
		data, bytes = numbers[uint32](n)
	case tensor.Uint64:
		data, bytes = numbers[uint64](n)
	case tensor.Int8:
		data, bytes = numbers[int8](n)
	case tensor.Int16:
		data, bytes = numbers[int16](n)
	case tensor.Int32:
		data, bytes = numbers[int32](n)
	case tensor.Int64:
		data, bytes = numbers[int64](n)
	case tensor.Float32:
		data, bytes = numbers[float32](n)
	case tensor.Float64:
		data, bytes = numbers[float64](n)
	case tensor.Float16, tensor.BFloat16:
		data, bytes = make([]float32, n), make([]byte, 2*n)
	default:
		return nil, nil, errs.New(errs.Unsupported, "values of dtype %s cannot be computed with", d)
	}
	return data, bytes, nil
}

// settle makes of bytes that were read what columns hold: numbers of half precision become float32, and every byte of a bool
// 0 or 1, which Go relies on.
func settle(d tensor.DType, data any, bytes []byte) {
	switch d {
	case tensor.Bool:
		for i, b := range bytes {
			if b > 1 {
				bytes[i] = 1
			}
		}
	case tensor.Float16:
		wide := data.([]float32)
		for i := range wide {
			wide[i] = half(binary.LittleEndian.Uint16(bytes[2*i:]))
		}
	case tensor.BFloat16:
		wide := data.([]float32)
		for i := range wide {
			wide[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(bytes[2*i:])) << 16)
		}
	}
}

// half is a number of IEEE half precision.
func half(bits uint16) float32 {
	sign, rest := uint32(bits&0x8000)<<16, uint32(bits&0x7fff)
	switch {
	case rest >= 0x7c00: // infinite, or none
		return math.Float32frombits(sign | 0x7f800000 | (rest&0x3ff)<<13)
	case rest >= 0x400:
		return math.Float32frombits(sign | (rest<<13 + (127-15)<<23))
	}
	small := float32(rest) / (1 << 24)
	if sign != 0 {
		return -small
	}
	return small
}

// storedBytes shows the elements of a column as the bytes of its dtype.
func storedBytes(c *array.Column) []byte {
	switch data := c.Data.(type) {
	case []bool:
		return bytesOf(data)
	case []uint8:
		return data
	case []uint16:
		return bytesOf(data)
	case []uint32:
		return bytesOf(data)
	case []uint64:
		return bytesOf(data)
	case []int8:
		return bytesOf(data)
	case []int16:
		return bytesOf(data)
	case []int32:
		return bytesOf(data)
	case []int64:
		return bytesOf(data)
	case []float32:
		return bytesOf(data)
	case []float64:
		return bytesOf(data)
	}
	return nil
}

// valueBytes is the bytes of row i, which is not NULL, as a dataset would store them. They may be shared.
func valueBytes(c *array.Column, i int) []byte {
	if text, ok := c.Data.([]string); ok {
		return append([]byte{}, text[i]...)
	}
	all, size := storedBytes(c), c.DType.Size()
	from, to := i, i+1
	if c.Shapes != nil {
		from, to = c.Starts[i], c.Starts[i+1]
	} else {
		n := 1
		for _, d := range c.Same {
			n *= int(d)
		}
		from, to = i*n, (i+1)*n
	}
	return all[from*size : to*size : to*size]
}

// start is the first item of row i.
func start(c *array.Column, i int) int {
	if i == 0 {
		return 0
	}
	return c.Ends[i-1]
}
