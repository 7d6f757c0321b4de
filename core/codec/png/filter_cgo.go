//go:build cgo

package png

/*
#cgo noescape dli_png_unfilter
#cgo nocallback dli_png_unfilter
#cgo noescape dli_png_unfilter_plain
#cgo nocallback dli_png_unfilter_plain
#include "filter.h"
*/
import "C"

import "unsafe"

// slack is the number of bytes that the C code may read behind rows and behind the row above them.
const slack = C.DLI_PNG_SLACK

// unfilterRows undoes the filters of rows in place. Each is a byte that names the filter and as
// many bytes as above has. Both have slack. It returns how many it has undone: all, or those before
// a filter that does not exist.
func unfilterRows(rows, above []byte, pixel int) int {
	n := len(rows) / (len(above) + 1)
	return int(C.dli_png_unfilter((*C.uchar)(unsafe.SliceData(rows)), C.size_t(n), C.size_t(len(above)),
		(*C.uchar)(unsafe.SliceData(above)), C.size_t(pixel)))
}

// unfilterRowsPlain is the same without vector instructions, for tests.
func unfilterRowsPlain(rows, above []byte, pixel int) int {
	n := len(rows) / (len(above) + 1)
	return int(C.dli_png_unfilter_plain((*C.uchar)(unsafe.SliceData(rows)), C.size_t(n), C.size_t(len(above)),
		(*C.uchar)(unsafe.SliceData(above)), C.size_t(pixel)))
}
