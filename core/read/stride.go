package read

import "encoding/binary"

// Stride copies every step-th value of so many bytes, until to is full.
func Stride(to, from []byte, each, step int64) {
	step *= each
	switch each {
	case 4:
		for at, i := int64(0), int64(0); i < int64(len(to)); at, i = at+step, i+4 {
			binary.NativeEndian.PutUint32(to[i:], binary.NativeEndian.Uint32(from[at:]))
		}
	case 8:
		for at, i := int64(0), int64(0); i < int64(len(to)); at, i = at+step, i+8 {
			binary.NativeEndian.PutUint64(to[i:], binary.NativeEndian.Uint64(from[at:]))
		}
	default:
		for at, i := int64(0), int64(0); i < int64(len(to)); at, i = at+step, i+each {
			copy(to[i:i+each], from[at:])
		}
	}
}
