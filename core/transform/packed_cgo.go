//go:build cgo

package transform

/*
#include "packed.h"
*/
import "C"

import "unsafe"

// The structs of packed.go are those of packed.h.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(packedJob{})-unsafe.Sizeof(C.dli_packed_job{})]
	_ = [1]struct{}{}[unsafe.Sizeof(packedPass{})-unsafe.Sizeof(C.dli_packed_pass{})]
	_ = [1]struct{}{}[unsafe.Offsetof(packedJob{}.scale)-unsafe.Offsetof(C.dli_packed_job{}.scale)]
	_ = [1]struct{}{}[unsafe.Offsetof(packedPass{}.fill)-unsafe.Offsetof(C.dli_packed_pass{}.fill)]
	_ = [1]struct{}{}[passSaturate-C.DLI_PASS_SATURATE]
	_ = [1]struct{}{}[resultBFloat16-C.DLI_RESULT_BFLOAT16]
)
