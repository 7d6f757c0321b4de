package samplecache

import (
	"sync"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/internal/slab"
)

// Memory keeps samples in the memory of this process. All methods may be called in parallel, but
// for Close, which comes last.
type Memory struct {
	limit int64
	piece int64 // bytes of a slab
	ring  *slab.Ring

	mu     sync.RWMutex
	chunks map[chunk.ID]*places

	room  sync.Mutex // guards what follows
	slabs []*slab.Slab
	used  int64 // bytes of the last slab
	full  bool

	found pointers // by number of the slab; read without a lock

	hits, misses, kept, bytes atomic.Int64
}

// places says where the samples of a chunk lie: 0 nowhere, -1 on their way, else 1 + slab * piece +
// offset.
type places struct{ at []atomic.Int64 }

// pointers are the memory of the slabs.
type pointers struct{ list atomic.Pointer[[][]byte] }

const (
	pieceBytes = 64 << 20
	fewPieces  = 8 // that a small limit is cut into
	pageBytes  = 4 << 10
	onTheWay   = -1
)

// NewMemory makes a cache of at most limit bytes, which are taken as they are needed. It must be
// closed.
func NewMemory(limit int64) *Memory {
	piece := min(max(limit/fewPieces/pageBytes*pageBytes, pageBytes), pieceBytes)
	m := &Memory{limit: limit, piece: piece, ring: slab.NewLocalRing(0), chunks: map[chunk.ID]*places{}, full: limit < piece}
	m.found.list.Store(&[][]byte{})
	return m
}

// Load fills dst with the sample if it is kept.
func (m *Memory) Load(r *chunk.Ref, dst []byte) bool {
	if at := m.place(r); at > 0 {
		slabs := *m.found.list.Load()
		at--
		copy(dst, slabs[at/m.piece][at%m.piece:])
		m.hits.Add(1)
		return true
	}
	m.misses.Add(1)
	return false
}

// Has reports whether the sample is kept.
func (m *Memory) Has(r *chunk.Ref) bool { return m.place(r) > 0 }

// place is where a sample lies, or no more than 0.
func (m *Memory) place(r *chunk.Ref) int64 {
	if !fits(r) {
		return 0
	}
	m.mu.RLock()
	p := m.chunks[r.Chunk.ID]
	m.mu.RUnlock()
	if p == nil || r.Item >= int64(len(p.at)) {
		return 0
	}
	return p.at[r.Item].Load()
}

// Store copies the sample, if there is room.
func (m *Memory) Store(r *chunk.Ref, data []byte) {
	if !fits(r) || int64(len(data)) != r.Size || r.Size > m.piece {
		return
	}
	p := m.places(r.Chunk)
	if r.Item >= int64(len(p.at)) || !p.at[r.Item].CompareAndSwap(0, onTheWay) {
		return // kept, or about to be
	}
	at, mem := m.reserve(r.Size)
	if mem == nil {
		p.at[r.Item].Store(0)
		return
	}
	copy(mem, data)
	p.at[r.Item].Store(at + 1)
	m.kept.Add(1)
	m.bytes.Add(r.Size)
}

func (m *Memory) places(c *chunk.Chunk) *places {
	m.mu.RLock()
	p := m.chunks[c.ID]
	m.mu.RUnlock()
	if p != nil {
		return p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p = m.chunks[c.ID]; p == nil {
		p = &places{at: make([]atomic.Int64, c.Index.Items())}
		m.chunks[c.ID] = p
	}
	return p
}

// reserve gives memory and its place; nil: there is no room.
func (m *Memory) reserve(size int64) (int64, []byte) {
	m.room.Lock()
	defer m.room.Unlock()
	if m.full {
		return 0, nil
	}
	if n := len(m.slabs); n == 0 || m.used+size > m.piece {
		if int64(n+1)*m.piece > m.limit || !m.grow() {
			// smaller samples may have fitted; the next pass would not be faster for them
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
		return false // no memory: what is kept stays
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

// Stats are the figures since the start.
func (m *Memory) Stats() Stats {
	return Stats{Hits: m.hits.Load(), Misses: m.misses.Load(), Kept: m.kept.Load(), Bytes: m.bytes.Load(), Limit: m.limit}
}

// Close frees the memory.
func (m *Memory) Close() {
	m.room.Lock()
	defer m.room.Unlock()
	m.full = true
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chunks = map[chunk.ID]*places{}
	for _, s := range m.slabs {
		s.Release()
	}
	m.slabs = nil
	m.ring.Close()
}
