package format

import (
	"encoding/binary"
	"fmt"
)

// reader takes binary fields off the front of a payload. The first error stays and later reads
// return zeros, so that callers check once per structure; loops stay bounded because every count is
// held against the bytes that are left.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

// bytes takes n bytes, which stay a part of the payload.
func (r *reader) bytes(n int64, what string) []byte {
	if n < 0 || n > int64(len(r.b)) {
		r.fail("%s: %d bytes are left, want %d", what, len(r.b), n)
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte(what string) byte {
	if b := r.bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uuid(what string) (u UUID) {
	copy(u[:], r.bytes(int64(len(u)), what))
	return u
}

// raw takes a uvarint in its shortest form.
func (r *reader) raw(what string) uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 || (n > 1 && r.b[n-1] == 0) {
		r.fail("%s: not a uvarint in its shortest form", what)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// uvarint takes a number of 0 to limit.
func (r *reader) uvarint(limit int64, what string) int64 {
	v := r.raw(what)
	if v > uint64(limit) {
		r.fail("%s is %d, want at most %d", what, v, limit)
		return 0
	}
	return int64(v)
}

// svarint takes a zigzag-coded number.
func (r *reader) svarint(what string) int64 {
	return unzigzag(r.raw(what))
}

// count takes the number of elements that follow, each of at least size bytes, and holds it against
// what is left.
func (r *reader) count(limit, size int64, what string) int64 {
	n := r.uvarint(limit, what)
	if n > int64(len(r.b))/size {
		r.fail("%s is %d, but only %d bytes are left", what, n, len(r.b))
		return 0
	}
	return n
}

// end refuses bytes that nobody took.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes are left over", len(r.b))
	}
	return r.err
}

// appendUvarint appends v, which the caller has found to be >= 0.
func appendUvarint(b []byte, v int64) []byte { return binary.AppendUvarint(b, uint64(v)) }

// appendSvarint appends v zigzag-coded.
func appendSvarint(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, zigzag(v))
}
