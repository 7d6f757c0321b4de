package slab

import (
	"sync"
	"time"
)

// Spare keeps, for some seconds, the ring whose user was the last to end. The next user begins with
// memory that is mapped, and slabs that are still in use come back to the ring. All methods may be
// called in parallel.
type Spare struct {
	make func(budget int64) *Ring

	mu   sync.Mutex
	off  bool
	kept *spareRing // nil: none
}

// spareRing is a new value each time that a ring is put back: timers tell one time from the next.
type spareRing struct{ ring *Ring }

// Bounds of the memory and time of a kept ring.
const (
	spareBytes = 256 << 20 // as many as a loader keeps by default while no batch is in use
	spareTime  = 5 * time.Second
)

// NewSpare makes a Spare of rings that make gives.
func NewSpare(make func(budget int64) *Ring) *Spare { return &Spare{make: make} }

// Off closes rings that are put back. Tests of one ring's figures need it.
func (s *Spare) Off() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
}

// Get gives a ring of a budget. One that was put back brings no more free memory than that.
func (s *Spare) Get(budget int64) *Ring {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		return s.make(budget)
	}
	r := s.kept.ring
	s.kept = nil
	r.restart(budget)
	return r
}

// Put takes a ring back, once. Its user takes no more memory of it, and may hold slabs.
func (s *Spare) Put(r *Ring) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		r.Close()
		return
	}
	r.SetBudget(min(r.Stats().Budget, spareBytes))
	if s.kept != nil {
		s.kept.ring.Close()
	}
	kept := &spareRing{r}
	s.kept = kept
	time.AfterFunc(spareTime, func() { s.drop(kept) })
}

// drop closes a ring that nothing has used since it was put back.
func (s *Spare) drop(kept *spareRing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == kept {
		s.kept.ring.Close()
		s.kept = nil
	}
}
