package array

import "deeplake/core/tensor"

// element is what Data holds.
type element interface {
	bool | uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | float32 | float64 | string
}

type number interface {
	uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | float32 | float64
}

// block is how many elements are converted and computed at a time, so that they stay in the nearest
// cache.
const block = 1024

// vector is Data whatever its elements are.
type vector interface {
	len() int
	data() any
	fresh(n int) vector
	cut(lo, hi int) vector
	copy(at int, from vector) // the dtypes are equal
	move(at int, from vector, lo, hi int)
	gather(at int, from vector, rows []int, k int)
	clear(lo, hi int)
	crop(at int, from vector, lo int, shape tensor.Shape, cuts []cut)
	at(i int) any
	bytes() int64
	span() (first, end uintptr)
}

type vec[T element] []T

func (v vec[T]) len() int                 { return len(v) }
func (v vec[T]) data() any                { return []T(v) }
func (v vec[T]) fresh(n int) vector       { return make(vec[T], n) }
func (v vec[T]) cut(lo, hi int) vector    { return v[lo:hi:hi] }
func (v vec[T]) copy(at int, from vector) { copy(v[at:], from.(vec[T])) }
func (v vec[T]) clear(lo, hi int)         { clear(v[lo:hi]) }

// move copies a part of from, as copy does of its cut, without allocating.
func (v vec[T]) move(at int, from vector, lo, hi int) { copy(v[at:], from.(vec[T])[lo:hi]) }

// gather takes rows of k elements; -1 leaves what is there.
func (v vec[T]) gather(at int, from vector, rows []int, k int) {
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

// crop copies what cuts take of an array that begins at lo.
func (v vec[T]) crop(at int, from vector, lo int, shape tensor.Shape, cuts []cut) {
	crop(v[at:], from.(vec[T])[lo:], shape, cuts)
}

// crop gives the number of elements it copied.
func crop[T element](dst, src []T, shape tensor.Shape, cuts []cut) int {
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
	inner, whole := elements(shape[1:]), true
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

// shortRun is how many elements cost less to copy one by one than together.
const shortRun = 8

func (v vec[T]) bytes() int64 {
	var one T
	switch any(one).(type) {
	case string:
		n := int64(16 * len(v))
		for _, s := range any([]T(v)).([]string) {
			n += int64(len(s))
		}
		return n
	case bool, uint8, int8:
		return int64(len(v))
	case uint16, int16:
		return 2 * int64(len(v))
	case uint32, int32, float32:
		return 4 * int64(len(v))
	}
	return 8 * int64(len(v))
}

// at widens to the types of Value.
func (v vec[T]) at(i int) any {
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
func vectorOf(data any) vector {
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

// vector is Data with its methods; a column without rows may have none.
func (c *Column) vector() vector {
	if v := vectorOf(c.Data); v != nil {
		return v
	}
	return allocate(c.DType, 0)
}

// elems is Data, where it is known what it holds; a column without rows may have none.
func elems[T element](c *Column) []T {
	d, _ := c.Data.([]T)
	return d
}

// allocate makes room for n elements of a dtype.
func allocate(d tensor.DType, n int) vector {
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

// dtypeOf is the dtype of Data, where text stands for JSON and bytes too.
func dtypeOf(data any) tensor.DType {
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

// lane gives the elements [lo, hi) of a column as T; scratch has room for them if they need
// converting.
type lane[T any] func(lo, hi int, scratch []T) []T

func direct[T any](d []T) lane[T] { return func(lo, hi int, _ []T) []T { return d[lo:hi:hi] } }

func widen[T, S number](d []S) lane[T] {
	return func(lo, hi int, scratch []T) []T {
		d, out := d[lo:hi], scratch[:hi-lo]
		for i, v := range d {
			out[i] = T(v)
		}
		return out
	}
}

func fromBools[T number](d []bool) lane[T] {
	return func(lo, hi int, scratch []T) []T {
		d, out := d[lo:hi], scratch[:hi-lo]
		for i, v := range d {
			out[i] = 0
			if v {
				out[i] = 1
			}
		}
		return out
	}
}

// lanes reads numbers as T. What T cannot hold is the caller's care.
func lanes[T number](data any) lane[T] {
	if d, ok := data.([]T); ok {
		return direct(d)
	}
	switch d := data.(type) {
	case []bool:
		return fromBools[T](d)
	case []uint8:
		return widen[T](d)
	case []uint16:
		return widen[T](d)
	case []uint32:
		return widen[T](d)
	case []uint64:
		return widen[T](d)
	case []int8:
		return widen[T](d)
	case []int16:
		return widen[T](d)
	case []int32:
		return widen[T](d)
	case []int64:
		return widen[T](d)
	case []float32:
		return widen[T](d)
	case []float64:
		return widen[T](d)
	}
	return direct[T](nil)
}

// all gives every element as T, without a copy where they are T.
func all[T number](data any) []T {
	n := 0
	if v := vectorOf(data); v != nil {
		n = v.len()
	}
	if d, ok := data.([]T); ok {
		return d
	}
	return lanes[T](data)(0, n, make([]T, n))
}
