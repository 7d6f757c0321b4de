//go:build cgo && unix

package slab

/*
#cgo CFLAGS: -O2 -std=c11 -Wall
#cgo LDFLAGS: -lpthread
#include "slab.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"deeplake/core/errs"
)

const deviceCPU = 1 // a device type of DLPack

// Ring keeps slabs for reuse. All methods may be called in parallel.
type Ring struct {
	mu      sync.RWMutex // only Close, which frees c, locks it for writing
	c       *C.dli_ring
	explain func(code int) error // the error of a code of the allocator
}

// Allocator is the source of a ring's memory, for memory of another kind than the two of this
// package.
type Allocator struct {
	Pointer unsafe.Pointer       // a dli_allocator of slab.h; the ring calls closed at its end
	Explain func(code int) error // the error of a code that map has given
}

// Slab is a piece of memory with a reference count. All methods may be called in parallel by owners
// of a reference.
type Slab struct {
	c    *C.dli_slab
	data []byte
}

// NewRing makes a ring that keeps up to budget bytes mapped when no slab is in use. Get may exceed
// the budget.
func NewRing(budget int64) *Ring {
	return newRing(budget, C.dli_shared_memory(), explainErrno)
}

// NewLocalRing makes a ring like NewRing, with memory for this process alone. A fork copies pages
// that are written after it. In return the first touch of a page is cheaper.
func NewLocalRing(budget int64) *Ring {
	return newRing(budget, C.dli_local_memory(), explainErrno)
}

// NewFileRing makes a ring like NewRing, whose slabs are files that other processes may map.
func NewFileRing(budget int64) *Ring {
	return newRing(budget, C.dli_file_memory(), explainErrno)
}

// NewRingOf makes a ring with memory of an allocator, which it takes over.
func NewRingOf(budget int64, a Allocator) *Ring {
	return newRing(budget, (*C.dli_allocator)(a.Pointer), a.Explain)
}

func newRing(budget int64, a *C.dli_allocator, explain func(code int) error) *Ring {
	return &Ring{c: C.dli_ring_new(C.uint64_t(max(budget, 0)), a), explain: explain}
}

func explainErrno(code int) error {
	return errs.New(errs.Invalid, "%w; use smaller batches", syscall.Errno(code))
}

// SetBudget changes the budget. Free slabs beyond it are unmapped now, slabs in use at their
// release.
func (r *Ring) SetBudget(budget int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.c != nil {
		C.dli_ring_set_budget(r.c, C.uint64_t(max(budget, 0)))
	}
}

// restart sets the counters of the ring to zero, and its budget, for another user.
func (r *Ring) restart(budget int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.c != nil {
		C.dli_ring_restart(r.c, C.uint64_t(max(budget, 0)))
	}
}

// Get gives a slab of at least size bytes with one reference, preferring one that was used before.
// Its content is undefined. A closed ring is errs.Closed, no memory errs.Invalid (the caller asked
// for too much).
func (r *Ring) Get(size int64) (*Slab, error) {
	if size < 0 {
		return nil, errs.New(errs.Invalid, "slab of %d bytes: size is negative", size)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.c == nil {
		return nil, errs.New(errs.Closed, "slab of %d bytes: the ring is closed", size)
	}
	var code C.int
	c := C.dli_ring_get(r.c, C.uint64_t(size), &code)
	if c == nil {
		if code == 0 {
			return nil, errs.New(errs.Forked, "slab of %d bytes: the ring belongs to the parent process", size)
		}
		return nil, errs.Wrap(errs.Invalid, fmt.Sprintf("slab of %d bytes", size), "", r.explain(int(code)))
	}
	s := &Slab{c: c}
	if C.dli_slab_allocator(c).device_type == deviceCPU {
		s.data = unsafe.Slice((*byte)(C.dli_slab_data(c)), int(C.dli_slab_size(c)))
	}
	return s, nil
}

// Stats returns the figures of the ring, zero after Close.
func (r *Ring) Stats() Stats {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.c == nil {
		return Stats{}
	}
	var s C.dli_ring_stats
	C.dli_ring_read(r.c, &s)
	return Stats{Bytes: int64(s.bytes), PeakBytes: int64(s.peak_bytes), Budget: int64(s.budget), Slabs: int64(s.slabs),
		FreeSlabs: int64(s.free_slabs), Created: int64(s.created), Reused: int64(s.reused), Grown: int64(s.grown)}
}

// Close unmaps the free slabs. Slabs in use are unmapped at their last release. A second call does
// nothing.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c != nil {
		C.dli_ring_close(r.c)
		r.c = nil
	}
}

// Bytes returns the memory, page-aligned; nil for memory of a device. It is valid while the caller
// holds a reference.
func (s *Slab) Bytes() []byte { return s.data }

// Address returns where the memory begins, on its device.
func (s *Slab) Address() unsafe.Pointer { return C.dli_slab_data(s.c) }

// File returns the descriptor of the file that the memory is, from its first byte on; -1 without
// one. The slab owns it.
func (s *Slab) File() int { return int(C.dli_slab_file(s.c)) }

// Device returns the device type and number of the memory, with the values of DLPack.
func (s *Slab) Device() (kind, id int32) {
	a := C.dli_slab_allocator(s.c)
	return int32(a.device_type), int32(a.device_id)
}

// Retain adds a reference; the caller must hold one.
func (s *Slab) Retain() { C.dli_slab_retain(s.c) }

// Release drops a reference. With the last one the memory may be handed out again at once.
func (s *Slab) Release() { C.dli_slab_release(s.c) }

// Prefault makes the system map the memory now, at half the cost of mapping each page at its first
// write. Others may write meanwhile. The caller must hold a reference.
func (s *Slab) Prefault() { C.dli_slab_touch(s.c) }

// Pointer returns the dli_slab of slab.h, for C code that holds references of its own.
func (s *Slab) Pointer() unsafe.Pointer { return unsafe.Pointer(s.c) }
