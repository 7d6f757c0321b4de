package tensor

import (
	"math"
	"unsafe"
)

// This file has the one rule for changing the dtype of a value on the way into a tensor:
//
//   - bool, integers: into any dtype of numbers that holds the value exactly
//   - floats: into wider floats, and rounded into narrower ones as by NumPy's astype; a finite
//     value does not become infinite
//   - real numbers into complex ones by the same rule for the real part
//
// Floats do not become integers and complex numbers do not become real.

type integer interface {
	uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64
}

// IsInteger reports whether elements are whole numbers; bool is not among them.
func (d DType) IsInteger() bool { return d >= Uint8 && d <= Int64 }

// IsFloat reports whether elements are real numbers with a fraction.
func (d DType) IsFloat() bool { return d >= Float16 && d <= Float64 }

// IsComplex reports whether elements are complex numbers.
func (d DType) IsComplex() bool { return d == Complex64 || d == Complex128 }

// Takes reports whether d holds some values of from by the rule of conversion.
func (d DType) Takes(from DType) bool {
	switch {
	case !d.Fixed() || !from.Fixed():
		return false
	case d == from:
		return true
	case from == Bool || from.IsInteger():
		return true
	case from.IsFloat():
		return d.IsFloat() || d.IsComplex()
	}
	return d.IsComplex()
}

// Join returns the least dtype that holds the values of both. Where none does, as of int64 and
// uint64, it returns a.
func Join(a, b DType) DType {
	whole := a.IsInteger() && b.IsInteger() // these do not join to floats
	for _, d := range joinOrder {
		if d.covers(a) && d.covers(b) && !(whole && !d.IsInteger()) {
			return d
		}
	}
	return a
}

var joinOrder = []DType{Bool, Uint8, Int8, Uint16, Int16, Float16, BFloat16, Uint32, Int32, Float32, Uint64, Int64, Float64, Complex64, Complex128}

// covers reports whether d holds each value of from: integers of 64 bits count as held by float64.
func (d DType) covers(from DType) bool {
	if d == from || from == Bool {
		return d.Fixed()
	}
	bits, have := from.precision(), d.precision()
	switch {
	case from.IsInteger() && d.IsInteger():
		return (d >= Int8 || from < Int8) && have >= bits
	case from.IsInteger() && d.IsFloat():
		return have >= bits || d == Float64
	case from.IsInteger() && d.IsComplex():
		return have >= bits || d == Complex128
	case from.IsFloat() && d.IsFloat():
		return d.Size() > from.Size()
	case from.IsFloat() && d.IsComplex():
		return d.Size() >= 2*from.Size()
	}
	return from.IsComplex() && d.IsComplex() && d.Size() >= from.Size()
}

// precision returns the bits of the largest range of whole numbers that d holds.
func (d DType) precision() int {
	switch d {
	case Bool:
		return 1
	case Float16:
		return 11
	case BFloat16:
		return 8
	case Float32, Complex64:
		return 24
	case Float64, Complex128:
		return 53
	}
	if d >= Int8 {
		return 8*d.Size() - 1
	}
	return 8 * d.Size()
}

// Convert returns the elements of data, of dtype from, as elements of dtype to, which Takes from.
// It returns data itself if the dtypes are equal. bad is the index of the first element that to
// does not hold; -1: there is none.
func Convert(to, from DType, data []byte) (out []byte, bad int) {
	if to == from {
		return data, -1
	}
	out = make([]byte, len(data)/from.Size()*to.Size())
	switch from {
	case Bool:
		return out, fromInts(to, out, truths(data))
	case Uint8:
		return out, fromInts(to, out, data)
	case Uint16:
		return out, fromInts(to, out, view[uint16](data))
	case Uint32:
		return out, fromInts(to, out, view[uint32](data))
	case Uint64:
		return out, fromInts(to, out, view[uint64](data))
	case Int8:
		return out, fromInts(to, out, view[int8](data))
	case Int16:
		return out, fromInts(to, out, view[int16](data))
	case Int32:
		return out, fromInts(to, out, view[int32](data))
	case Int64:
		return out, fromInts(to, out, view[int64](data))
	case Complex64, Complex128:
		return out, fromComplex(to, from, out, data)
	}
	return out, fromFloats(to, out, floats(from, data))
}

// view shows bytes as elements, copied where they are not aligned.
func view[T any](data []byte) []T {
	var one T
	size := int(unsafe.Sizeof(one))
	n := len(data) / size
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&data[0]))%unsafe.Alignof(one) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), n)
	}
	out := make([]T, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), n*size), data)
	return out
}

// truths returns bools as 0 and 1.
func truths(data []byte) []uint8 {
	out := make([]uint8, len(data))
	for i, b := range data {
		if b != 0 {
			out[i] = 1
		}
	}
	return out
}

// floats returns floats of any width as float64, which holds them exactly.
func floats(d DType, data []byte) []float64 {
	if d == Float64 {
		return view[float64](data)
	}
	out := make([]float64, len(data)/d.Size())
	switch d {
	case Float16:
		for i, b := range view[uint16](data) {
			out[i] = float64(Half(b))
		}
	case BFloat16:
		for i, b := range view[uint16](data) {
			out[i] = float64(Brain(b))
		}
	default:
		for i, v := range view[float32](data) {
			out[i] = float64(v)
		}
	}
	return out
}

func fromInts[S integer](to DType, out []byte, src []S) int {
	switch to {
	case Bool:
		for i, v := range src {
			if v != 0 && v != 1 {
				return i
			}
			out[i] = byte(v)
		}
		return -1
	case Uint8:
		return ints(out, src)
	case Uint16:
		return ints(view[uint16](out), src)
	case Uint32:
		return ints(view[uint32](out), src)
	case Uint64:
		return ints(view[uint64](out), src)
	case Int8:
		return ints(view[int8](out), src)
	case Int16:
		return ints(view[int16](out), src)
	case Int32:
		return ints(view[int32](out), src)
	case Int64:
		return ints(view[int64](out), src)
	}
	wide := make([]float64, len(src))
	for i, v := range src {
		wide[i] = float64(v)
		// 2^63 and 2^64 do not convert back
		if wide[i] >= 1<<63 && (wide[i] >= 1<<64 || uint64(wide[i]) != uint64(v)) || wide[i] < 1<<63 && S(wide[i]) != v {
			return i
		}
	}
	if bad := fromFloats(to, out, wide); bad >= 0 {
		return bad
	}
	return inexact(to, out, wide)
}

// ints converts whole numbers, and returns the index of the first one that D does not hold.
func ints[D, S integer](dst []D, src []S) int {
	for i, v := range src {
		d := D(v)
		if S(d) != v || d < 0 != (v < 0) {
			return i
		}
		dst[i] = d
	}
	return -1
}

// inexact returns the index of the first number that was rounded in out.
func inexact(to DType, out []byte, want []float64) int {
	real, step := to, 1
	switch to {
	case Float64, Complex128:
		return -1
	case Complex64:
		real, step = Float32, 2
	}
	got := floats(real, out)
	for i, v := range want {
		if got[i*step] != v {
			return i
		}
	}
	return -1
}

// fromFloats rounds, and returns the index of the first finite number that became infinite.
func fromFloats(to DType, out []byte, src []float64) int {
	infinite := func(v float64) bool { return v-v != 0 } // or NaN
	switch to {
	case Float64:
		copy(view[float64](out), src)
	case Float32:
		dst := view[float32](out)
		for i, v := range src {
			dst[i] = float32(v)
			if infinite(float64(dst[i])) && !infinite(v) {
				return i
			}
		}
	case Float16:
		dst := view[uint16](out)
		for i, v := range src {
			dst[i] = ToHalf(v)
			if dst[i]&0x7c00 == 0x7c00 && !infinite(v) {
				return i
			}
		}
	case BFloat16:
		dst := view[uint16](out)
		for i, v := range src {
			dst[i] = ToBrain(float32(v))
			if dst[i]&0x7f80 == 0x7f80 && !infinite(v) {
				return i
			}
		}
	case Complex128:
		dst := view[complex128](out)
		for i, v := range src {
			dst[i] = complex(v, 0)
		}
	case Complex64:
		dst := view[complex64](out)
		for i, v := range src {
			dst[i] = complex(float32(v), 0)
			if math.IsInf(float64(real(dst[i])), 0) && !infinite(v) {
				return i
			}
		}
	}
	return -1
}

func fromComplex(to, from DType, out, data []byte) int {
	part := Float32
	if from == Complex128 {
		part = Float64
	}
	into := Float32
	if to == Complex128 {
		into = Float64
	}
	bad := fromFloats(into, out, floats(part, data))
	if bad > 0 {
		bad /= 2
	}
	return bad
}
