package arrow

import (
	"encoding/binary"
	"unsafe"

	"deeplake/core/errs"
)

// Schema is the ArrowSchema of the C data interface, in the memory of its producer.
type Schema struct {
	format     *byte
	name       *byte
	metadata   *byte
	_          int64 // flags
	nChildren  int64
	children   **Schema
	dictionary *Schema
	release    uintptr
	_          uintptr // the producer's own
}

// Array is the ArrowArray of the C data interface, in the memory of its producer.
type Array struct {
	length     int64
	nullCount  int64
	offset     int64
	nBuffers   int64
	nChildren  int64
	buffers    *unsafe.Pointer
	children   **Array
	dictionary *Array
	release    uintptr
	_          uintptr // the producer's own
}

// Bounds of the descriptions that producers give.
const (
	maxText     = 1 << 20 // bytes of a name, a format or one item of metadata
	maxItems    = 1 << 12 // items of metadata
	maxChildren = 1 << 20
	maxDepth    = 64
	maxLength   = 1 << 40
	maxName     = 300 // bytes of a type's name in messages
	maxDocument = 1 << 28
)

// cText reads a NUL-terminated string; NULL is "".
func cText(p *byte) (string, error) {
	if p == nil {
		return "", nil
	}
	for n := range maxText {
		if *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) == 0 {
			return string(unsafe.Slice(p, n)), nil
		}
	}
	return "", errs.New(errs.Invalid, "a name or a format has no end within %d bytes", maxText)
}

// metadataOf reads the keys and values of a field.
func metadataOf(p *byte) (map[string]string, error) {
	if p == nil {
		return nil, nil
	}
	at := 0
	number := func() int {
		v := int32(binary.NativeEndian.Uint32(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(p), at)), 4)))
		at += 4
		return int(v)
	}
	n := number()
	if n < 0 || n > maxItems {
		return nil, errs.New(errs.Invalid, "metadata has %d items, want 0 to %d", n, maxItems)
	}
	out := make(map[string]string, n)
	for range n {
		var pair [2]string
		for i := range pair {
			size := number()
			if size < 0 || size > maxText {
				return nil, errs.New(errs.Invalid, "an item of metadata has %d bytes, want 0 to %d", size, maxText)
			}
			pair[i] = string(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(p), at)), size))
			at += size
		}
		out[pair[0]] = pair[1]
	}
	return out, nil
}

// childrenOf returns the pointers to n children. It refuses NULL.
func childrenOf[T any](p **T, n int64) ([]*T, error) {
	if n < 0 || n > maxChildren || n > 0 && p == nil {
		return nil, errs.New(errs.Invalid, "it has %d children, want 0 to %d and a pointer that is not NULL", n, maxChildren)
	}
	out := unsafe.Slice(p, n)
	for i, c := range out {
		if c == nil {
			return nil, errs.New(errs.Invalid, "child %d is NULL", i)
		}
	}
	return out, nil
}
