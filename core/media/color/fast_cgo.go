//go:build cgo

package color

/*
#cgo CFLAGS: -std=c11 -O3 -Wall
#cgo noescape dli_color_convert
#cgo nocallback dli_color_convert
#include "kernel.h"
*/
import "C"

import (
	"unsafe"

	"deeplake/core/media"
)

// fast converts in C, by vectors where the processor has them.
func fast(dst []byte, stride int, p *media.Picture, j *job) { inC(dst, stride, p, j, true) }

// portable converts in C without vectors.
func portable(dst []byte, stride int, p *media.Picture, j *job) { inC(dst, stride, p, j, false) }

func inC(dst []byte, stride int, p *media.Picture, j *job, vectors bool) {
	c := C.dli_color_job{
		width: C.int(p.Width), height: C.int(p.Height), bits: C.int(j.layout.Bits),
		columns: C.int(j.columns), rows: C.int(j.rows), across: C.int(j.across), down: C.int(j.down),
		step: 1, black: C.int(j.black),
		ky: C.int16_t(j.ky), krv: C.int16_t(j.krv), kgu: C.int16_t(j.kgu), kgv: C.int16_t(j.kgv), kbu: C.int16_t(j.kbu),
	}
	var second, third *byte
	switch j.layout.Model {
	case media.NV12:
		second, third = &p.Planes[1][0], &p.Planes[1][1]
		c.strides[1], c.strides[2] = C.size_t(p.Strides[1]), C.size_t(p.Strides[1])
		c.step = 2
	case media.YUV:
		second, third = &p.Planes[1][0], &p.Planes[2][0]
		c.strides[1], c.strides[2] = C.size_t(p.Strides[1]), C.size_t(p.Strides[2])
	default:
		c.gray = 1
	}
	c.strides[0] = C.size_t(p.Strides[0])
	if vectors {
		c.vectors = 1
	}
	C.dli_color_convert(&c, (*C.uchar)(&dst[0]), C.size_t(stride),
		(*C.uchar)(&p.Planes[0][0]), (*C.uchar)(unsafe.Pointer(second)), (*C.uchar)(unsafe.Pointer(third)))
}
