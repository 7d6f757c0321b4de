package ahead

import (
	"math/bits"
	"sync"

	"deeplake/core/internal/slab"
)

// Shelf is memory for pieces, kept for the next ones: pages that were touched before take bytes several times as fast. A
// slab.Ring by itself would give a large slab for a small piece. All methods may be called in parallel.
type Shelf struct {
	ring *slab.Ring

	mu     sync.Mutex
	limit  int64
	mapped int64 // lent and free
	free   map[int64][]*slab.Slab
	closed bool
}

// NewShelf makes a shelf that keeps no more than limit bytes, lent ones counted. It lends more if it must.
func NewShelf(limit int64) *Shelf {
	return &Shelf{ring: slab.NewLocalRing(0), limit: limit, free: map[int64][]*slab.Slab{}}
}

// shelfSize rounds n up to a sixteenth of a power of two.
func shelfSize(n int64) int64 {
	n = max(n, smallPiece)
	step := int64(1) << (bits.Len64(uint64(n-1)) - 5)
	return (n + step - 1) &^ (step - 1)
}

// get lends n bytes at least. fresh memory was never touched.
func (s *Shelf) get(n int64) (m *slab.Slab, fresh bool, err error) {
	n = shelfSize(n)
	s.mu.Lock()
	if list := s.free[n]; len(list) > 0 {
		last := list[len(list)-1]
		s.free[n] = list[:len(list)-1]
		s.mu.Unlock()
		return last, false, nil
	}
	s.mapped += n
	s.trim()
	s.mu.Unlock()
	m, err = s.ring.Get(n)
	if err != nil {
		s.mu.Lock()
		s.mapped -= n
		s.mu.Unlock()
	}
	return m, true, err
}

// trim unmaps free slabs of any size while there is more than the limit. The lock is held.
func (s *Shelf) trim() {
	for size, list := range s.free {
		for len(list) > 0 && (s.mapped > s.limit || s.closed) {
			list[len(list)-1].Release()
			list = list[:len(list)-1]
			s.mapped -= size
		}
		s.free[size] = list
	}
}

// put takes a slab for n bytes back.
func (s *Shelf) put(m *slab.Slab, n int64) {
	n = shelfSize(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[n] = append(s.free[n], m)
	s.trim()
}

// Close unmaps what is free; what is lent is unmapped when it comes back.
func (s *Shelf) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.trim()
	s.ring.Close()
}

// Mapped is how many bytes are lent or free.
func (s *Shelf) Mapped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mapped
}
