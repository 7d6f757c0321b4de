//go:build !cgo

package compute

import (
	"unsafe"

	"deeplake/core/tensor"
)

func ready() bool { return false }

func pointer[T any](v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }

func compareNative[T any](tensor.DType, nativeOp, []bool, []T, []T) bool { return false }

func SumNative[T any](tensor.DType, []T) (whole int64, sum, lost float64, ok bool) { return }

func ExtremeNative[T any](tensor.DType, bool, []T) (out T, ok bool) { return }

func measureNative(measure, tensor.DType, tensor.DType, unsafe.Pointer, unsafe.Pointer, int, int, int, []float64, []int64) bool {
	return false
}

func nearNative(measure, []float32, []float64, *lowerBound, int, []float64) bool { return false }
