package shuffle

import (
	"encoding/binary"
	"unsafe"
)

// buffer returns memory for n bytes.
func (c *Codec) buffer(n int) *[]byte {
	p, _ := c.pool.Get().(*[]byte)
	if p == nil {
		p = new([]byte)
	}
	if cap(*p) < n {
		*p = make([]byte, n)
	}
	*p = (*p)[:cap(*p)]
	return p
}

type word interface {
	uint8 | uint16 | uint32 | uint64
}

// view shows bytes as elements, copied where they are not aligned.
func view[T word](data []byte) []T {
	var one T
	n := len(data) / int(unsafe.Sizeof(one))
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&data[0]))%unsafe.Alignof(one) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), n)
	}
	out := make([]T, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), len(data)), data)
	return out
}

// bounds returns the least and the largest element, as 64 bits. alike reports that none is
// negative.
func bounds(src []byte, size int, signed bool) (least, most uint64, alike bool) {
	if signed {
		var a, b int64
		switch size {
		case 1:
			a, b = extremes[int8](src)
		case 2:
			a, b = extremes[int16](src)
		case 4:
			a, b = extremes[int32](src)
		default:
			a, b = extremes[int64](src)
		}
		return uint64(a), uint64(b), a >= 0
	}
	switch size {
	case 1:
		least, most = spread(view[uint8](src))
	case 2:
		least, most = spread(view[uint16](src))
	case 4:
		least, most = spread(view[uint32](src))
	default:
		least, most = spread(view[uint64](src))
	}
	return least, most, true
}

func spread[T word](s []T) (uint64, uint64) {
	a, b := s[0], s[0]
	for _, v := range s {
		a, b = min(a, v), max(b, v)
	}
	return uint64(a), uint64(b)
}

func extremes[T int8 | int16 | int32 | int64](src []byte) (int64, int64) {
	var one T
	s := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(aligned(src, unsafe.Alignof(one))))), len(src)/int(unsafe.Sizeof(one)))
	a, b := s[0], s[0]
	for _, v := range s {
		a, b = min(a, v), max(b, v)
	}
	return int64(a), int64(b)
}

// aligned returns data, copied where it is not aligned.
func aligned(data []byte, to uintptr) []byte {
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%to == 0 {
		return data
	}
	words := make([]uint64, (len(data)+7)/8)
	out := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(data))
	copy(out, data)
	return out
}

// split writes the low bytes of elements minus base, plane after plane.
func split(body, src []byte, size, planes int, base uint64) {
	switch size {
	case 1:
		splitWords(body, view[uint8](src), planes, uint8(base))
	case 2:
		splitWords(body, view[uint16](src), planes, uint16(base))
	case 4:
		splitWords(body, view[uint32](src), planes, uint32(base))
	default:
		splitWords(body, view[uint64](src), planes, base)
	}
}

func splitWords[T word](body []byte, src []T, planes int, base T) {
	n := len(src)
	for p := range planes {
		plane := body[p*n : (p+1)*n]
		for i, v := range src {
			plane[i] = byte(uint64(v-base) >> (8 * p))
		}
	}
}

// join is the inverse of split.
func join(dst, body []byte, size, planes int, base uint64) {
	aligned := uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%uintptr(size) == 0
	out := dst
	if !aligned {
		out = make([]byte, len(dst))
	}
	switch done := joinNative(out, body, size, planes, base); {
	case done:
	case size == 1:
		joinWords(view[uint8](out), body, planes, uint8(base))
	case size == 2:
		joinWords(view[uint16](out), body, planes, uint16(base))
	case size == 4:
		joinWords(view[uint32](out), body, planes, uint32(base))
	default:
		joinWords(view[uint64](out), body, planes, base)
	}
	if !aligned {
		copy(dst, out)
	}
}

func joinWords[T word](dst []T, body []byte, planes int, base T) {
	n := len(dst)
	switch planes {
	case 0:
		for i := range dst {
			dst[i] = base
		}
	case 1:
		a := body[:n]
		for i, v := range a {
			dst[i] = base + T(v)
		}
	case 2:
		a, b := body[:n], body[n:2*n]
		for i := range dst {
			dst[i] = base + T(uint64(a[i])|uint64(b[i])<<8)
		}
	case 3:
		a, b, c := body[:n], body[n:2*n], body[2*n:3*n]
		for i := range dst {
			dst[i] = base + T(uint64(a[i])|uint64(b[i])<<8|uint64(c[i])<<16)
		}
	case 4:
		a, b, c, d := body[:n], body[n:2*n], body[2*n:3*n], body[3*n:4*n]
		for i := range dst {
			dst[i] = base + T(uint64(a[i])|uint64(b[i])<<8|uint64(c[i])<<16|uint64(d[i])<<24)
		}
	default:
		joinWords(dst, body[:4*n], 4, base)
		for p := 4; p < planes; p++ {
			plane := body[p*n : (p+1)*n]
			for i, v := range plane {
				dst[i] += T(uint64(v) << (8 * p))
			}
		}
	}
}

// bitsOf returns one plane as bits, the first element lowest; nil where its elements are no bits.
func bitsOf(plane []byte, planes int) []byte {
	if planes != 1 {
		return nil
	}
	for _, v := range plane {
		if v > 1 {
			return nil
		}
	}
	out := make([]byte, (len(plane)+7)/8)
	for i, v := range plane {
		out[i/8] |= v << (i % 8)
	}
	return out
}

// spreadBits is the inverse of bitsOf: a byte a bit.
func spreadBits(dst, packed []byte) {
	whole := len(dst) / 8
	for i, b := range packed[:whole] {
		// The multiplication puts bit k into the lowest bit of byte k, beside others.
		v := uint64(b) & 0x7f * 0x0002040810204081 & 0x0101010101010101
		binary.LittleEndian.PutUint64(dst[8*i:], v|uint64(b>>7)<<56)
	}
	for i := 8 * whole; i < len(dst); i++ {
		dst[i] = packed[i/8] >> (i % 8) & 1
	}
}
