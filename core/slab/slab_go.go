//go:build !cgo || !unix

package slab

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"deeplake/core/errs"
)

// align is the alignment of a slab's memory, as vector code and DLPack consumers require it.
const align = 64

// Ring is the form for builds without C: the memory is the Go heap's, and there is no Python to
// keep it. All methods may be called in parallel.
type Ring struct {
	mu     sync.Mutex
	closed bool
	free   []*Slab
	stats  Stats
}

// Slab is a piece of memory with a reference count. All methods may be called in parallel by owners
// of a reference.
type Slab struct {
	ring *Ring
	refs atomic.Int32
	data []byte
}

// NewRing makes a ring that keeps up to budget bytes when no slab is in use. Get may exceed the
// budget.
func NewRing(budget int64) *Ring { return &Ring{stats: Stats{Budget: max(budget, 0)}} }

// NewLocalRing is NewRing: all memory of this build is local.
func NewLocalRing(budget int64) *Ring { return NewRing(budget) }

// NewFileRing is NewRing: this build has no files for other processes.
func NewFileRing(budget int64) *Ring { return NewRing(budget) }

// SetBudget changes the budget. Free slabs beyond it are dropped now, slabs in use at their
// release.
func (r *Ring) SetBudget(budget int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Budget = max(budget, 0)
	r.trim(0)
}

// restart sets the counters of the ring to zero, and its budget, for another user.
func (r *Ring) restart(budget int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Budget = max(budget, 0)
	r.trim(0)
	r.stats = Stats{Bytes: r.stats.Bytes, PeakBytes: r.stats.Bytes, Budget: r.stats.Budget, Slabs: r.stats.Slabs, FreeSlabs: r.stats.FreeSlabs}
}

// Get gives a slab of at least size bytes with one reference, preferring one that was used before.
// Its content is undefined. A closed ring is errs.Closed, no memory errs.Invalid.
func (r *Ring) Get(size int64) (*Slab, error) {
	if size < 0 || size > 1<<46 {
		return nil, errs.New(errs.Invalid, "slab of %d bytes: more than any machine has; use smaller batches", size)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errs.New(errs.Closed, "slab of %d bytes: the ring is closed", size)
	}
	best := -1
	for i, s := range r.free {
		if int64(len(s.data)) >= size && (best < 0 || len(s.data) < len(r.free[best].data)) {
			best = i
		}
	}
	var s *Slab
	if best >= 0 {
		s = r.take(best)
		r.stats.Reused++
	} else {
		r.trim(size)
		raw := make([]byte, size+align)
		off := (align - int(uintptr(unsafe.Pointer(&raw[0]))%align)) % align
		s = &Slab{ring: r, data: raw[off : off+int(size)]}
		r.stats.Bytes += size
		r.stats.Slabs++
		r.stats.Created++
		if r.stats.Bytes > r.stats.Budget {
			r.stats.Grown++
		}
		r.stats.PeakBytes = max(r.stats.PeakBytes, r.stats.Bytes)
	}
	s.refs.Store(1)
	return s, nil
}

// Stats returns the figures of the ring, zero after Close.
func (r *Ring) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Stats{}
	}
	return r.stats
}

// Close drops the free slabs. Slabs in use are dropped at their last release. A second call does
// nothing.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.stats.Budget = 0
	r.trim(0)
}

func (r *Ring) take(i int) *Slab {
	s := r.free[i]
	r.free = append(r.free[:i], r.free[i+1:]...)
	r.stats.FreeSlabs--
	return s
}

// trim drops free slabs, smallest first, until want more bytes fit into the budget.
func (r *Ring) trim(want int64) {
	for len(r.free) > 0 && r.stats.Bytes+want > r.stats.Budget {
		small := 0
		for i, s := range r.free {
			if len(s.data) < len(r.free[small].data) {
				small = i
			}
		}
		r.drop(r.take(small))
	}
}

func (r *Ring) drop(s *Slab) {
	r.stats.Bytes -= int64(len(s.data))
	r.stats.Slabs--
}

// Bytes returns the memory, 64-byte aligned. It is valid while the caller holds a reference.
func (s *Slab) Bytes() []byte { return s.data }

// Retain adds a reference; the caller must hold one.
func (s *Slab) Retain() { s.refs.Add(1) }

// Release drops a reference. With the last one the memory may be handed out again at once.
func (s *Slab) Release() {
	if s.refs.Add(-1) != 0 {
		return
	}
	r := s.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.stats.Bytes > r.stats.Budget {
		r.drop(s)
		return
	}
	r.free = append(r.free, s)
	r.stats.FreeSlabs++
}

// File returns -1: this build has no files for other processes.
func (s *Slab) File() int { return -1 }

// Address returns where the memory begins.
func (s *Slab) Address() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s.data)) }

// Device returns the CPU's device type and number: this build has no other memory.
func (s *Slab) Device() (kind, id int32) { return 1, 0 }

// Prefault does nothing: the Go heap finds its memory by itself.
func (s *Slab) Prefault() {}

// Pointer is nil: there is no C code to hold references in this build.
func (s *Slab) Pointer() unsafe.Pointer { return nil }
