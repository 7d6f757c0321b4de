//go:build cgo

package shuffle

/*
#cgo CFLAGS: -std=c11 -O3
#cgo noescape dli_shuffle_join
#cgo nocallback dli_shuffle_join
#cgo noescape dli_shuffle_join_plain
#cgo nocallback dli_shuffle_join_plain
#include "join.h"
*/
import "C"

import "unsafe"

// leastNative is the number of elements from which a call of C pays.
const leastNative = 64

// joinNative joins planes of wide numbers by vector instructions. It returns false where it did
// nothing. dst is aligned.
func joinNative(dst, body []byte, size, planes int, base uint64) bool {
	n := len(dst) / size
	if n < leastNative || size < 4 || planes < 1 || planes > 2 {
		return false
	}
	C.dli_shuffle_join(unsafe.Pointer(unsafe.SliceData(dst)), (*C.uint8_t)(unsafe.SliceData(body[:n*planes])), C.size_t(n), C.int(size), C.int(planes), C.uint64_t(base))
	return true
}

// joinPlain is joinNative without AVX2, for tests.
func joinPlain(dst, body []byte, size, planes int, base uint64) {
	n := len(dst) / size
	C.dli_shuffle_join_plain(unsafe.Pointer(unsafe.SliceData(dst)), (*C.uint8_t)(unsafe.SliceData(body[:n*planes])), C.size_t(n), C.int(size), C.int(planes), C.uint64_t(base))
}
