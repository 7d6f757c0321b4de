//go:build cgo && !nolibdeflate

package png

/*
#cgo LDFLAGS: -ldeflate
#cgo noescape libdeflate_zlib_decompress
#cgo nocallback libdeflate_zlib_decompress
#include <libdeflate.h>
*/
import "C"

import "unsafe"

// wholeInflater inflates all pixels of a file at once, by libdeflate. Its zero value is ready.
type wholeInflater struct {
	c *C.struct_libdeflate_decompressor
}

// inflate reports whether data is a zlib stream of exactly as many bytes as dst has, which has them
// then.
func (w *wholeInflater) inflate(dst, data []byte) bool {
	if w.c == nil {
		if w.c = C.libdeflate_alloc_decompressor(); w.c == nil {
			return false
		}
	}
	// Without a place for the number of bytes, fewer than dst has are an error too.
	return C.libdeflate_zlib_decompress(w.c, unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)),
		unsafe.Pointer(unsafe.SliceData(dst)), C.size_t(len(dst)), nil) == C.LIBDEFLATE_SUCCESS
}

// close frees the inflater. Closing twice is allowed.
func (w *wholeInflater) close() {
	C.libdeflate_free_decompressor(w.c)
	w.c = nil
}
