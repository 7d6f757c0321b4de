//go:build cgo

package compute

/*
#cgo CFLAGS: -std=c11 -O3
#cgo noescape dli_compute_compare
#cgo nocallback dli_compute_compare
#cgo noescape dli_compute_sum
#cgo nocallback dli_compute_sum
#cgo noescape dli_compute_extreme
#cgo nocallback dli_compute_extreme
#cgo noescape dli_compute_measure
#cgo nocallback dli_compute_measure
#cgo noescape dli_compute_near
#cgo nocallback dli_compute_near
#include "kernel.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"deeplake/core/tensor"
)

// ready reports whether the processor has the instructions that the C loops need.
var ready = sync.OnceValue(func() bool { return C.dli_compute_ready() != 0 })

// worth is the number of values that a call into C has to bring.
const worth = 64

func pointer[T any](v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }

// compareNative compares in C; false if it cannot. Neither slice is empty.
func compareNative[T any](d tensor.DType, op nativeOp, dst []bool, a, b []T) bool {
	if len(dst) < worth || !ready() {
		return false
	}
	side := C.int(C.DLI_COLUMNS)
	switch {
	case len(b) == 1:
		side = C.DLI_RIGHT
	case len(a) == 1:
		side = C.DLI_LEFT
	}
	return C.dli_compute_compare(C.int(d), C.int(op), side, (*C.uint8_t)(pointer(dst)), pointer(a), pointer(b), C.size_t(len(dst))) != 0
}

// SumNative adds in C; false if it cannot.
func SumNative[T any](d tensor.DType, a []T) (whole int64, sum, lost float64, ok bool) {
	if len(a) < worth || !ready() {
		return 0, 0, 0, false
	}
	ok = C.dli_compute_sum(C.int(d), pointer(a), C.size_t(len(a)), (*C.int64_t)(&whole), (*C.double)(&sum), (*C.double)(&lost)) != 0
	return whole, sum, lost, ok
}

// ExtremeNative finds the least or greatest in C; false if it cannot, as with NaN.
func ExtremeNative[T any](d tensor.DType, most bool, a []T) (out T, ok bool) {
	if len(a) < worth || !ready() || !d.Fixed() { // C is given no text
		return out, false
	}
	which := C.int(0)
	if most {
		which = 1
	}
	ok = C.dli_compute_extreme(C.int(d), which, pointer(a), C.size_t(len(a)), unsafe.Pointer(&out)) == 1
	return out, ok
}

// measureNative measures rows of n elements in C, and returns false if it cannot. dst and whole
// have space for two values a row. It also takes few rows: the value of a row must not depend on
// the number of others.
func measureNative(m measure, d, e tensor.DType, a, b unsafe.Pointer, step, rows, n int, dst []float64, whole []int64) bool {
	if rows*n == 0 || !ready() {
		return false
	}
	return C.dli_compute_measure(nativeMeasure(m), C.int(d), C.int(e), a, b, C.size_t(step), C.size_t(rows), C.size_t(n),
		(*C.double)(unsafe.SliceData(dst)), (*C.int64_t)(unsafe.SliceData(whole))) != 0
}

func nativeMeasure(m measure) C.int {
	return [...]C.int{dot: C.DLI_DOT, cosine: C.DLI_COSINE, l1Apart: C.DLI_L1, l2Apart: C.DLI_L2, linfApart: C.DLI_LINF, unequal: C.DLI_UNEQUAL}[m]
}

// nearNative measures rows in C against one vector, except rows that r proves to be beyond the
// limit. It returns false if it cannot. dst has space for two values a row.
func nearNative(m measure, a []float32, b []float64, r *lowerBound, rows int, dst []float64) bool {
	if len(a) == 0 || len(a) != rows*len(b) || !ready() {
		return false
	}
	limit := C.dli_compute_limit{at: C.double(r.at), slope: C.double(r.slope)}
	if r.above {
		limit.above = 1
	}
	return C.dli_compute_near(nativeMeasure(m), (*C.float)(pointer(a)), (*C.double)(pointer(b)), (*C.float)(pointer(r.vector)), C.size_t(rows), C.size_t(len(b)),
		&limit, (*C.double)(unsafe.SliceData(dst))) != 0
}
