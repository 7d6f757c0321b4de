package samplecache

import (
	"sync"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/slab"
)

// Memory caches samples in the memory of this process. All methods may be called in parallel,
// except Close, which comes last.
type Memory struct {
	limit int64
	piece int64 // bytes of a slab
	ring  *slab.Ring

	mu     sync.RWMutex
	chunks map[chunk.ID]*memoryChunk

	slabMu sync.Mutex // guards slabs, used and full
	slabs  []*slab.Slab
	used   int64 // bytes of the last slab
	full   bool

	found pointers // by number of the slab; read without a lock

	hits, misses, samples, bytes atomic.Int64
}

// memoryChunk holds the offsets of the samples of a chunk: 0 is not cached, -1 is being copied,
// else 1 + slab * piece + offset in the slab.
type memoryChunk struct{ offsets []atomic.Int64 }

// pointers is the memory of the slabs.
type pointers struct{ list atomic.Pointer[[][]byte] }

const (
	pieceBytes = 64 << 20
	fewPieces  = 8 // in a small limit
	pageBytes  = 4 << 10
	onTheWay   = -1
)

// NewMemory makes a cache of at most limit bytes, which it takes as needed. It must be closed.
func NewMemory(limit int64) *Memory {
	piece := min(max(limit/fewPieces/pageBytes*pageBytes, pageBytes), pieceBytes)
	m := &Memory{limit: limit, piece: piece, ring: slab.NewLocalRing(0), chunks: map[chunk.ID]*memoryChunk{}, full: limit < piece}
	m.found.list.Store(&[][]byte{})
	return m
}

// Load fills dst with the sample if it is cached.
func (m *Memory) Load(r *chunk.Ref, dst []byte) bool {
	if at := m.offset(r); at > 0 {
		slabs := *m.found.list.Load()
		at--
		copy(dst, slabs[at/m.piece][at%m.piece:])
		m.hits.Add(1)
		return true
	}
	m.misses.Add(1)
	return false
}

// Has reports whether the sample is cached.
func (m *Memory) Has(r *chunk.Ref) bool { return m.offset(r) > 0 }

// offset returns the offset of a sample; 0 or less: it is not cached.
func (m *Memory) offset(r *chunk.Ref) int64 {
	if !fits(r) {
		return 0
	}
	m.mu.RLock()
	p := m.chunks[r.Chunk.ID]
	m.mu.RUnlock()
	if p == nil || r.Item >= int64(len(p.offsets)) {
		return 0
	}
	return p.offsets[r.Item].Load()
}

// Store copies the sample, if it fits.
func (m *Memory) Store(r *chunk.Ref, data []byte) {
	if !fits(r) || int64(len(data)) != r.Size || r.Size > m.piece {
		return
	}
	p := m.chunkOf(r.Chunk)
	if r.Item >= int64(len(p.offsets)) || !p.offsets[r.Item].CompareAndSwap(0, onTheWay) {
		return // cached, or about to be
	}
	at, mem := m.reserve(r.Size)
	if mem == nil {
		p.offsets[r.Item].Store(0)
		return
	}
	copy(mem, data)
	p.offsets[r.Item].Store(at + 1)
	m.samples.Add(1)
	m.bytes.Add(r.Size)
}

func (m *Memory) chunkOf(c *chunk.Chunk) *memoryChunk {
	m.mu.RLock()
	p := m.chunks[c.ID]
	m.mu.RUnlock()
	if p != nil {
		return p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p = m.chunks[c.ID]; p == nil {
		p = &memoryChunk{offsets: make([]atomic.Int64, c.Index.Items())}
		m.chunks[c.ID] = p
	}
	return p
}

// reserve returns memory and its offset; nil: the cache is full.
func (m *Memory) reserve(size int64) (int64, []byte) {
	m.slabMu.Lock()
	defer m.slabMu.Unlock()
	if m.full {
		return 0, nil
	}
	if n := len(m.slabs); n == 0 || m.used+size > m.piece {
		if int64(n+1)*m.piece > m.limit || !m.grow() {
			// Smaller samples may still fit, but would not make the next pass faster.
			m.full = true
			return 0, nil
		}
	}
	from := m.used
	m.used += (size + 63) / 64 * 64
	last := len(m.slabs) - 1
	return int64(last)*m.piece + from, m.slabs[last].Bytes()[from : from+size]
}

func (m *Memory) grow() bool {
	s, err := m.ring.Get(m.piece)
	if err != nil {
		return false // no memory: cached samples stay
	}
	m.slabs = append(m.slabs, s)
	m.used = 0
	list := make([][]byte, len(m.slabs))
	for i, s := range m.slabs {
		list[i] = s.Bytes()
	}
	m.found.list.Store(&list)
	return true
}

// Stats returns the figures since the start.
func (m *Memory) Stats() Stats {
	return Stats{Hits: m.hits.Load(), Misses: m.misses.Load(), Stored: m.samples.Load(), Bytes: m.bytes.Load(), Limit: m.limit}
}

// Close frees the memory.
func (m *Memory) Close() {
	m.slabMu.Lock()
	defer m.slabMu.Unlock()
	m.full = true
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chunks = map[chunk.ID]*memoryChunk{}
	for _, s := range m.slabs {
		s.Release()
	}
	m.slabs = nil
	m.ring.Close()
}
