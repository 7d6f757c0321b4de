package array

import (
	"unsafe"

	"deeplake/core/tensor"
)

// Element is the type of an element of Data.
type Element interface {
	bool | uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | float32 | float64 | string
}

// Number is the type of elements that are numbers.
type Number interface {
	uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | float32 | float64
}

// Block is the number of elements that are converted and computed at a time, so that they stay in
// the nearest cache.
const Block = 1024

// Vector is Data with elements of any type.
type Vector interface {
	Len() int
	Data() any
	Fresh(n int) Vector
	Cut(lo, hi int) Vector
	copy(at int, from Vector) // the dtypes are equal
	Move(at int, from Vector, lo, hi int)
	Gather(at int, from Vector, rows []int, k int)
	clear(lo, hi int)
	crop(at int, from Vector, lo int, shape tensor.Shape, cuts []cut)
	At(i int) any
	bytes() int64
	span() (first, end uintptr)
}

type vec[T Element] []T

// Len returns the number of elements.
func (v vec[T]) Len() int { return len(v) }

// Data returns the slice.
func (v vec[T]) Data() any { return []T(v) }

// Fresh allocates n elements of the same dtype.
func (v vec[T]) Fresh(n int) Vector { return make(vec[T], n) }

// Cut returns the elements [lo, hi) without a copy.
func (v vec[T]) Cut(lo, hi int) Vector { return v[lo:hi:hi] }

func (v vec[T]) copy(at int, from Vector) { copy(v[at:], from.(vec[T])) }
func (v vec[T]) clear(lo, hi int)         { clear(v[lo:hi]) }

// Move copies a part of from, as copy does of its cut, without allocating.
func (v vec[T]) Move(at int, from Vector, lo, hi int) { copy(v[at:], from.(vec[T])[lo:hi]) }

// Gather copies rows of k elements. A row of -1 leaves the destination unchanged.
func (v vec[T]) Gather(at int, from Vector, rows []int, k int) {
	src, dst := from.(vec[T]), v[at:at+len(rows)*k]
	if k == 1 {
		for i, r := range rows {
			if r >= 0 {
				dst[i] = src[r]
			}
		}
		return
	}
	for i, r := range rows {
		if r >= 0 {
			copy(dst[i*k:(i+1)*k], src[r*k:])
		}
	}
}

// crop copies the cuts of an array that begins at lo.
func (v vec[T]) crop(at int, from Vector, lo int, shape tensor.Shape, cuts []cut) {
	crop(v[at:], from.(vec[T])[lo:], shape, cuts)
}

// crop gives the number of elements it copied.
func crop[T Element](dst, src []T, shape tensor.Shape, cuts []cut) int {
	if len(cuts) == 0 {
		dst[0] = src[0]
		return 1
	}
	c := cuts[0]
	if len(cuts) == 1 {
		if c.step == 1 {
			return copy(dst[:c.count], src[c.start:])
		}
		for i := range c.count {
			dst[i] = src[c.start+i*c.step]
		}
		return c.count
	}
	inner, whole := SizeOf(shape[1:]), true
	for i, d := range cuts[1:] {
		whole = whole && d.step == 1 && d.count == int(shape[i+1])
	}
	if whole && c.step == 1 {
		return copy(dst[:c.count*inner], src[c.start*inner:])
	}
	n := 0
	if last := cuts[1]; len(cuts) == 2 && last.count <= shortRun { // as of the channels of pictures
		at, row := c.start*inner+last.start, c.step*inner
		if last.count == 2 && last.step == 1 {
			for range c.count {
				from, to := src[at:at+2], dst[n:n+2]
				to[0], to[1] = from[0], from[1]
				at, n = at+row, n+2
			}
			return n
		}
		for range c.count {
			for k, from := 0, at; k < last.count; k, from = k+1, from+last.step {
				dst[n] = src[from]
				n++
			}
			at += row
		}
		return n
	}
	for i := range c.count {
		n += crop(dst[n:], src[(c.start+i*c.step)*inner:], shape[1:], cuts[1:])
	}
	return n
}

// shortRun is the number of elements that cost less to copy one by one than together.
const shortRun = 8

func (v vec[T]) bytes() int64 {
	var one T
	switch any(one).(type) {
	case string:
		return TextBytes*int64(len(v)) + textBytes(any([]T(v)).([]string))
	case bool, uint8, int8:
		return int64(len(v))
	case uint16, int16:
		return 2 * int64(len(v))
	case uint32, int32, float32:
		return 4 * int64(len(v))
	}
	return 8 * int64(len(v))
}

// At widens to the types of Value.
func (v vec[T]) At(i int) any {
	switch x := any(v[i]).(type) {
	case uint8:
		return int64(x)
	case uint16:
		return int64(x)
	case uint32:
		return int64(x)
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case float32:
		return float64(x)
	default:
		return x
	}
}

// vectorOf gives Data its methods; nil for no data.
func vectorOf(data any) Vector {
	switch d := data.(type) {
	case nil:
		return nil
	case []bool:
		return vec[bool](d)
	case []uint8:
		return vec[uint8](d)
	case []uint16:
		return vec[uint16](d)
	case []uint32:
		return vec[uint32](d)
	case []uint64:
		return vec[uint64](d)
	case []int8:
		return vec[int8](d)
	case []int16:
		return vec[int16](d)
	case []int32:
		return vec[int32](d)
	case []int64:
		return vec[int64](d)
	case []float32:
		return vec[float32](d)
	case []float64:
		return vec[float64](d)
	case []string:
		return vec[string](d)
	}
	return nil
}

// Vector is Data with its methods; a column without rows may have none.
func (c *Column) Vector() Vector {
	if v := vectorOf(c.Data); v != nil {
		return v
	}
	return NewVector(c.DType, 0)
}

// Elems returns Data as []T, or nil if it has another type. A column without rows may have no Data.
func Elems[T Element](c *Column) []T {
	d, _ := c.Data.([]T)
	return d
}

// NewVector makes room for n elements of a dtype.
func NewVector(d tensor.DType, n int) Vector {
	switch d {
	case tensor.Bool:
		return make(vec[bool], n)
	case tensor.Uint8:
		return make(vec[uint8], n)
	case tensor.Uint16:
		return make(vec[uint16], n)
	case tensor.Uint32:
		return make(vec[uint32], n)
	case tensor.Uint64:
		return make(vec[uint64], n)
	case tensor.Int8:
		return make(vec[int8], n)
	case tensor.Int16:
		return make(vec[int16], n)
	case tensor.Int32:
		return make(vec[int32], n)
	case tensor.Int64:
		return make(vec[int64], n)
	case tensor.Float16, tensor.BFloat16, tensor.Float32:
		return make(vec[float32], n)
	case tensor.Float64:
		return make(vec[float64], n)
	case tensor.String, tensor.JSON, tensor.Bytes:
		return make(vec[string], n)
	}
	return nil
}

// DTypeOf returns the dtype of Data. Text also means JSON and bytes.
func DTypeOf(data any) tensor.DType {
	switch data.(type) {
	case []bool:
		return tensor.Bool
	case []uint8:
		return tensor.Uint8
	case []uint16:
		return tensor.Uint16
	case []uint32:
		return tensor.Uint32
	case []uint64:
		return tensor.Uint64
	case []int8:
		return tensor.Int8
	case []int16:
		return tensor.Int16
	case []int32:
		return tensor.Int32
	case []int64:
		return tensor.Int64
	case []float32:
		return tensor.Float32
	case []float64:
		return tensor.Float64
	case []string:
		return tensor.String
	case nil:
		return 0
	}
	return 0
}

// SharesMemory reports whether the Data of two columns share memory.
func SharesMemory(a, b any) bool {
	a0, a1 := bounds(a)
	b0, b1 := bounds(b)
	return a0 < b1 && b0 < a1
}

// bounds returns the addresses of the first byte of Data and of the byte after the last.
func bounds(d any) (uintptr, uintptr) {
	v := vectorOf(d)
	if v == nil || v.Len() == 0 {
		return 0, 0
	}
	return v.span()
}

// span returns the memory of the elements as addresses, for comparison only.
func (v vec[T]) span() (uintptr, uintptr) {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(v)))
	return first, first + uintptr(len(v))*unsafe.Sizeof(v[0])
}

// Bytes returns the memory of numbers or bools, with its capacity; nil of texts.
func Bytes(data any) []byte {
	switch data := data.(type) {
	case []bool:
		return memory(data)
	case []uint8:
		return memory(data)
	case []uint16:
		return memory(data)
	case []uint32:
		return memory(data)
	case []uint64:
		return memory(data)
	case []int8:
		return memory(data)
	case []int16:
		return memory(data)
	case []int32:
		return memory(data)
	case []int64:
		return memory(data)
	case []float32:
		return memory(data)
	case []float64:
		return memory(data)
	}
	return nil
}

func memory[T any](s []T) []byte {
	if cap(s) == 0 {
		return []byte{}
	}
	var one T
	size := int(unsafe.Sizeof(one))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), cap(s)*size)[:len(s)*size]
}
