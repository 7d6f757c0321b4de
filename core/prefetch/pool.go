package prefetch

import (
	"math/bits"
	"sync"

	"deeplake/core/slab"
)

// BufferPool keeps memory of buffers for reuse: writing to mapped pages is several times as fast as
// writing to new ones. A slab.Ring alone would give a large slab for a small buffer. All methods
// may be called in parallel.
type BufferPool struct {
	ring *slab.Ring

	mu     sync.Mutex
	limit  int64
	mapped int64 // in use and free
	free   map[int64][]*slab.Slab
	closed bool
}

// NewBufferPool makes a pool that keeps at most limit bytes, those in use included. More may be in
// use.
func NewBufferPool(limit int64) *BufferPool {
	return &BufferPool{ring: slab.NewLocalRing(0), limit: limit, free: map[int64][]*slab.Slab{}}
}

// bufferSize rounds n up to a sixteenth of a power of two.
func bufferSize(n int64) int64 {
	n = max(n, smallBuffer)
	step := int64(1) << (bits.Len64(uint64(n-1)) - 5)
	return (n + step - 1) &^ (step - 1)
}

// get returns a slab of at least n bytes. fresh reports memory that was never used.
func (s *BufferPool) get(n int64) (m *slab.Slab, fresh bool, err error) {
	n = bufferSize(n)
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

// trim unmaps free slabs while the pool exceeds the limit. The caller holds the lock.
func (s *BufferPool) trim() {
	for size, list := range s.free {
		for len(list) > 0 && (s.mapped > s.limit || s.closed) {
			list[len(list)-1].Release()
			list = list[:len(list)-1]
			s.mapped -= size
		}
		s.free[size] = list
	}
}

// put takes back a slab of n bytes.
func (s *BufferPool) put(m *slab.Slab, n int64) {
	n = bufferSize(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[n] = append(s.free[n], m)
	s.trim()
}

// Close unmaps free slabs. A slab in use is unmapped when it is put back.
func (s *BufferPool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.trim()
	s.ring.Close()
}

// Mapped returns the bytes in use or free.
func (s *BufferPool) Mapped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mapped
}
