package scan

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// bound returns a bound of statistics as a query knows it; nil: of a dtype that has none.
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

// buffer is memory for elements. Words of 8 bytes align all element types.
type buffer []uint64

// smallWords is the number of bytes below which memory is not recycled.
const smallWords = 32 << 10

// numbers shows n elements at the front of m.
func numbers[T any](m buffer, n int64) (any, []byte) {
	if len(m) == 0 {
		return []T{}, []byte{}
	}
	var one T
	s := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(m))), int64(cap(m))*8/int64(unsafe.Sizeof(one)))[:n]
	return s, array.Bytes(s)
}

// newData makes n elements of a dtype in the form of columns, and returns them as stored bytes,
// too. Stored numbers are little-endian, like all machines that this library supports. The bytes of
// float16 and bfloat16 have memory of their own, for settle. Memory that the reader got back is not
// cleared.
func (r *reader) newData(d tensor.DType, n int64) (data any, bytes []byte, err error) {
	size := int64(d.Size())
	if d == tensor.Float16 || d == tensor.BFloat16 {
		return make([]float32, n), make([]byte, 2*n), nil
	}
	if size == 0 || d == tensor.Complex64 || d == tensor.Complex128 {
		return nil, nil, errs.New(errs.Unsupported, "values of dtype %s cannot be computed with", d)
	}
	m := r.memory((n*size + 7) / 8)
	switch d {
	case tensor.Bool:
		data, bytes = numbers[bool](m, n)
	case tensor.Uint8:
		data, bytes = numbers[uint8](m, n)
	case tensor.Uint16:
		data, bytes = numbers[uint16](m, n)
	case tensor.Uint32:
		data, bytes = numbers[uint32](m, n)
	case tensor.Uint64:
		data, bytes = numbers[uint64](m, n)
	case tensor.Int8:
		data, bytes = numbers[int8](m, n)
	case tensor.Int16:
		data, bytes = numbers[int16](m, n)
	case tensor.Int32:
		data, bytes = numbers[int32](m, n)
	case tensor.Int64:
		data, bytes = numbers[int64](m, n)
	case tensor.Float32:
		data, bytes = numbers[float32](m, n)
	default:
		data, bytes = numbers[float64](m, n)
	}
	return data, bytes, nil
}

// memory returns n words, recycled ones where possible.
func (r *reader) memory(n int64) buffer {
	var m buffer
	if r.ring != nil && n*8 >= smallWords {
		if m = r.slabWords(n); m != nil {
			return m
		}
	}
	for i, f := range r.free {
		if int64(cap(f)) >= n && int64(cap(f)) <= 2*n {
			m, r.free = f[:n], slices.Delete(r.free, i, i+1)
			break
		}
	}
	if m == nil {
		m = make(buffer, n)
	}
	if n*8 >= smallWords {
		if r.given == nil || len(r.given) >= mostGiven {
			r.given = map[uintptr]bool{}
		}
		r.given[uintptr(unsafe.Pointer(unsafe.SliceData(m)))] = true
	}
	return m
}

// mostGiven bounds the addresses that a reader remembers of memory that did not come back.
const mostGiven = 1 << 10

// mostFree bounds the pieces of free memory.
const mostFree = 16

// Recycle implements query.Recycler: it takes back the memory of a column that Read returned.
// Reading into new memory costs several times as much as reading into used memory.
func (r *reader) Recycle(c *array.Column, others ...*array.Column) {
	if c == nil || c.Items != nil || len(r.free) >= mostFree {
		return
	}
	all := storedBytes(c)
	all = all[:cap(all)]
	p := unsafe.Pointer(unsafe.SliceData(all))
	if len(all) < smallWords || !r.given[uintptr(p)] {
		return // it is too little, or not of this reader
	}
	for _, k := range others {
		if k == nil || k.Items != nil {
			return // an unknown type: its memory cannot be reused
		}
		own := storedBytes(k)
		if q := uintptr(unsafe.Pointer(unsafe.SliceData(own))); q >= uintptr(p) && q < uintptr(p)+uintptr(len(all)) {
			return
		}
	}
	delete(r.given, uintptr(p))
	r.free = append(r.free, unsafe.Slice((*uint64)(p), len(all)/8))
}

// settle converts bytes that were read to the values of columns. Numbers of half precision become
// float32. Every byte of a bool becomes 0 or 1, because Go relies on it.
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
			wide[i] = Half(binary.LittleEndian.Uint16(bytes[2*i:]))
		}
	case tensor.BFloat16:
		wide := data.([]float32)
		for i := range wide {
			wide[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(bytes[2*i:])) << 16)
		}
	}
}

// Half returns a number of IEEE half precision.
func Half(bits uint16) float32 {
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
func storedBytes(c *array.Column) []byte { return array.Bytes(c.Data) }

// valueBytes returns the bytes of row i, which is not NULL, as a dataset would store them. They may
// be shared.
func valueBytes(c *array.Column, i int) []byte {
	if text, ok := c.Data.([]string); ok {
		return append([]byte{}, text[i]...)
	}
	all, size := storedBytes(c), c.DType.Size()
	var from, to int
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

// start returns the first item of row i.
func start(c *array.Column, i int) int {
	if i == 0 {
		return 0
	}
	return c.Ends[i-1]
}
