package prefetch

import (
	"math/bits"
	"slices"
	"sort"
	"sync"

	"deeplake/core/slab"
)

// BufferPool keeps memory of buffers for reuse: writing to mapped pages is several times as fast as
// writing to new ones. Large buffers are slabs of their own, by size. Small ones are cut from
// regions, since the system bounds the number of mappings. All methods may be called in parallel.
type BufferPool struct {
	ring *slab.Ring

	mu      sync.Mutex
	limit   int64
	mapped  int64                  // in use and free
	free    map[int64][]*slab.Slab // large ones, by size
	regions []*region
	closed  bool
}

const (
	// bytes of the first region: a read of a few samples needs no more. Each next one is as large
	// as all before it together.
	leastRegion = 512 << 10
	mostRegion  = 32 << 20
	leastSlab   = 1 << 20 // larger buffers are slabs
)

// memory is bytes of a pool.
type memory struct {
	bytes  []byte
	slab   *slab.Slab
	region *region // nil: the whole slab
	off    int64   // in the region
}

// region is a slab that small buffers are cut from.
type region struct {
	slab *slab.Slab
	size int64
	gaps []gap // free, in order, and apart from each other
	most int64 // no gap is larger
}

type gap struct{ off, size int64 }

// rings is the memory of the pool that was closed last, for the next one.
var rings = slab.NewSpare(slab.NewLocalRing)

// NewBufferPool makes a pool that keeps at most limit bytes, those in use included. More may be in
// use.
func NewBufferPool(limit int64) *BufferPool {
	return &BufferPool{ring: rings.Get(limit), limit: limit, free: map[int64][]*slab.Slab{}}
}

// bufferSize rounds n up to a sixteenth of a power of two.
func bufferSize(n int64) int64 {
	n = max(n, smallBuffer)
	step := int64(1) << (bits.Len64(uint64(n-1)) - 5)
	return (n + step - 1) &^ (step - 1)
}

// get returns n bytes. fresh is a slab that this pool has not used yet, or nil.
func (s *BufferPool) get(n int64) (m memory, fresh *slab.Slab, err error) {
	size := bufferSize(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= leastSlab {
		return s.cut(n, size)
	}
	if list := s.free[size]; len(list) > 0 {
		last := list[len(list)-1]
		s.free[size] = list[:len(list)-1]
		return memory{bytes: last.Bytes()[:n:n], slab: last}, nil, nil
	}
	b, err := s.grow(size)
	if err != nil {
		return memory{}, nil, err
	}
	return memory{bytes: b.Bytes()[:n:n], slab: b}, b, nil
}

// grow maps a slab. The caller holds the lock.
func (s *BufferPool) grow(size int64) (*slab.Slab, error) {
	s.mapped += size
	s.trim()
	m, err := s.ring.Get(size)
	if err != nil {
		s.mapped -= size
	}
	return m, err
}

// cut takes size bytes from a region, and gives n of them. The caller holds the lock.
func (s *BufferPool) cut(n, size int64) (m memory, fresh *slab.Slab, err error) {
	all := int64(0)
	for _, r := range s.regions {
		if off, ok := r.take(size); ok {
			return memory{r.slab.Bytes()[off : off+n : off+n], r.slab, r, off}, nil, nil
		}
		all += r.size
	}
	r := &region{size: max(min(max(all, leastRegion), mostRegion), size)}
	if r.slab, err = s.grow(r.size); err != nil {
		return memory{}, nil, err
	}
	r.gaps, r.most = []gap{{0, r.size}}, r.size
	s.regions = append(s.regions, r)
	off, _ := r.take(size)
	return memory{r.slab.Bytes()[off : off+n : off+n], r.slab, r, off}, r.slab, nil
}

// take cuts size bytes off the first gap that holds them: low memory was used before.
func (r *region) take(size int64) (off int64, ok bool) {
	if size > r.most {
		return 0, false
	}
	most := int64(0)
	for i := range r.gaps {
		g := &r.gaps[i]
		if g.size < size {
			most = max(most, g.size)
			continue
		}
		off = g.off
		if g.off, g.size = g.off+size, g.size-size; g.size == 0 {
			r.gaps = slices.Delete(r.gaps, i, i+1)
		}
		return off, true
	}
	r.most = most
	return 0, false
}

// give returns size bytes at off, and joins the gaps around them.
func (r *region) give(off, size int64) {
	i := sort.Search(len(r.gaps), func(i int) bool { return r.gaps[i].off > off })
	r.gaps = slices.Insert(r.gaps, i, gap{off, size})
	if i+1 < len(r.gaps) && off+size == r.gaps[i+1].off {
		r.gaps[i].size += r.gaps[i+1].size
		r.gaps = slices.Delete(r.gaps, i+1, i+2)
	}
	if i > 0 && r.gaps[i-1].off+r.gaps[i-1].size == off {
		r.gaps[i-1].size += r.gaps[i].size
		r.gaps = slices.Delete(r.gaps, i, i+1)
		i--
	}
	r.most = max(r.most, r.gaps[i].size)
}

// unused reports whether no buffer lies in the region.
func (r *region) unused() bool { return len(r.gaps) == 1 && r.gaps[0].size == r.size }

// over reports whether free memory must go. The caller holds the lock.
func (s *BufferPool) over() bool { return s.mapped > s.limit || s.closed }

// trim unmaps free slabs while the pool exceeds the limit. The caller holds the lock.
func (s *BufferPool) trim() {
	for size, list := range s.free {
		for len(list) > 0 && s.over() {
			list[len(list)-1].Release()
			list = list[:len(list)-1]
			s.mapped -= size
		}
		s.free[size] = list
	}
	for i := len(s.regions) - 1; i >= 0 && s.over(); i-- {
		if r := s.regions[i]; r.unused() {
			r.slab.Release()
			s.regions = slices.Delete(s.regions, i, i+1)
			s.mapped -= r.size
		}
	}
}

// put takes memory back.
func (s *BufferPool) put(m memory) {
	size := bufferSize(int64(len(m.bytes)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.region != nil {
		m.region.give(m.off, size)
	} else {
		s.free[size] = append(s.free[size], m.slab)
	}
	if s.over() {
		s.trim()
	}
}

// Close gives free memory to the next pool. Memory in use follows when it is put back.
func (s *BufferPool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.trim()
	rings.Put(s.ring)
}

// Mapped returns the bytes in use or free.
func (s *BufferPool) Mapped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mapped
}
