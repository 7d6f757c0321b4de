//go:build cgo

package transform

/*
#cgo CFLAGS: -std=c11 -O3
#cgo noescape dli_transform_run
#cgo nocallback dli_transform_run
#cgo noescape dli_weigh_vector
#cgo nocallback dli_weigh_vector
#include <stdlib.h>
#include "kernel.h"
*/
import "C"

import (
	"runtime"
	"unsafe"

	"deeplake/core/errs"
)

// native is the job as the C code reads it, in memory of C.
type native struct {
	job    *C.dli_job
	pinned runtime.Pinner // dst and the tables, where they are Go's
}

// memory is the buffer of the C code between jobs.
type memory struct{ space *C.dli_space }

func (m *memory) free() {
	if m.space != nil {
		C.dli_transform_free(m.space)
		C.free(unsafe.Pointer(m.space))
		m.space = nil
	}
}

// allocate gives numbers in memory of C, so that C may keep their address; nil: there is no memory.
func allocate(ints int) []int32 {
	p := (*int32)(C.calloc(C.size_t(ints), 4))
	if p == nil {
		return nil
	}
	return unsafe.Slice(p, ints)
}

func release(b []int32) { C.free(unsafe.Pointer(unsafe.SliceData(b))) }

// room gives memory for n values of T, valid until Reset.
func room[T any](ws *Workspace, n int) ([]T, error) {
	var one T
	size := int(unsafe.Sizeof(one))
	ints, err := ws.arena.ints((n*size + 3) / 4)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(ints))), n), nil
}

// ready writes the job down for C.
func (ws *Workspace) ready(j *Job) error {
	if ws.memory.space == nil {
		if ws.memory.space = (*C.dli_space)(C.calloc(1, C.sizeof_dli_space)); ws.memory.space == nil {
			return errNoMemory()
		}
	}
	stages, err := room[C.dli_stage](ws, len(j.stages))
	if err != nil {
		return err
	}
	jobs, err := room[C.dli_job](ws, 1)
	if err != nil {
		return err
	}
	for i := range j.stages {
		s := &j.stages[i]
		c := C.dli_stage{what: C.int32_t(s.kind), paint: C.int32_t(s.paint), in_h: C.int32_t(s.inH), in_w: C.int32_t(s.inW),
			h: C.int32_t(s.h), w: C.int32_t(s.w), oy: C.int32_t(s.oy), ox: C.int32_t(s.ox), factor: C.float(s.factor), x: s.x.c(), y: s.y.c()}
		if s.upright {
			c.upright = 1
		}
		for k, v := range s.fill {
			c.fill[k] = C.uint8_t(v)
		}
		stages[i] = c
	}
	job := &jobs[0]
	*job = C.dli_job{stages: unsafe.SliceData(stages), count: C.int32_t(len(stages)), channels: C.int32_t(j.channels),
		in_h: C.int32_t(j.region.Height), in_w: C.int32_t(j.region.Width),
		h: C.int32_t(j.h), w: C.int32_t(j.w), dst_size: C.size_t(len(j.dst)), dst: (*C.uint8_t)(j.pin(unsafe.Pointer(unsafe.SliceData(j.dst)))), space: ws.memory.space}
	p := j.p
	if p.chw {
		job.chw = 1
	}
	if len(p.mean) > 1 {
		job.per_channel = 1
	}
	switch {
	case p.halves != nil:
		job.form, job.table = C.DLI_HALVES, j.pin(unsafe.Pointer(unsafe.SliceData(p.halves)))
	case p.floats != nil:
		job.form, job.table = C.DLI_FLOATS, j.pin(unsafe.Pointer(unsafe.SliceData(p.floats)))
		job.scale = C.float(p.affine[0])
		job.mean = (*C.float)(j.pin(unsafe.Pointer(unsafe.SliceData(p.mean))))
		job.std = (*C.float)(j.pin(unsafe.Pointer(unsafe.SliceData(p.std))))
	}
	j.native.job = job
	return nil
}

func (j *Job) pin(p unsafe.Pointer) unsafe.Pointer {
	j.native.pinned.Pin(p)
	return p
}

func (a *axis) c() C.dli_axis {
	c := C.dli_axis{taps: C.int32_t(a.taps)}
	if a.same {
		c.same = 1
	}
	if len(a.first) > 0 {
		c.first = (*C.int32_t)(unsafe.SliceData(a.first))
	}
	if len(a.weights) > 0 {
		c.weights = (*C.int32_t)(unsafe.SliceData(a.weights))
	}
	return c
}

// layFast is lay in vector code; false: there is none for this.
func (a *axis) layFast(r *reach, windows []span, begin, step int, all span) bool {
	if r.filter != bilinear || len(windows) == 0 || unsafe.Sizeof(windows[0]) != 2*C.sizeof_int64_t {
		return false
	}
	c := C.dli_reach{lo: C.double(r.lo), scale: C.double(r.scale), inverse: C.double(r.inverse), begin: C.int32_t(begin), step: C.int32_t(step)}
	return C.dli_weigh_vector((*C.int32_t)(unsafe.SliceData(a.first)), (*C.int32_t)(unsafe.SliceData(a.weights)), C.int32_t(a.taps),
		(*C.int64_t)(unsafe.Pointer(unsafe.SliceData(windows))), C.int32_t(len(windows)), &c, C.int64_t(all.from), C.int64_t(all.to)) != 0
}

// forget ends the job's use of memory.
func (j *Job) forget() {
	j.native.pinned.Unpin()
	j.native.job, j.dst, j.stages = nil, nil, nil
}

// Deliver does the work, given the pixels of Region.
func (j *Job) Deliver(pix []byte, stride int) error {
	if err := j.check(pix, stride); err != nil {
		return err
	}
	switch C.dli_transform_run(unsafe.Pointer(j.native.job), (*C.uchar)(unsafe.SliceData(pix)), C.size_t(len(pix)), C.size_t(stride),
		C.int32_t(j.region.Width), C.int32_t(j.region.Height), C.int32_t(j.channels)) {
	case C.DLI_DONE:
		return nil
	case C.DLI_NO_MEMORY:
		return errNoMemory()
	}
	return errs.New(errs.Internal, "transform %d bytes in rows of %d: they are not region %+v of %d channels", len(pix), stride, j.region, j.channels)
}

// Native is Take for decoders in C.
func (j *Job) Native() (call, arg unsafe.Pointer) {
	return C.dli_transform_address(), unsafe.Pointer(j.native.job)
}
