//go:build !js

package read

import "unsafe"

// Stride copies every step-th value of so many bytes, until to is full.
func Stride(to, from []byte, each, step int64) {
	switch each {
	case 4:
		stride(valuesOf[uint32](to), valuesOf[uint32](from), step)
	case 8:
		stride(valuesOf[uint64](to), valuesOf[uint64](from), step)
	default:
		for at, i := int64(0), int64(0); i < int64(len(to)); at, i = at+step*each, i+each {
			copy(to[i:i+each], from[at:])
		}
	}
}

// stride copies four values at a time: one check of the bounds serves them all.
func stride[T uint32 | uint64](to, from []T, step int64) {
	for ; len(to) >= 4 && int64(len(from)) > 4*step; to, from = to[4:], from[4*step:] {
		four := from[:3*step+1]
		to[0], to[1], to[2], to[3] = four[0], four[step], four[2*step], four[3*step]
	}
	for i := range to {
		to[i] = from[int64(i)*step]
	}
}

// valuesOf returns bytes as values of T, which may be unaligned.
func valuesOf[T uint32 | uint64](b []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))
}
