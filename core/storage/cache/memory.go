package cache

import (
	"slices"

	"deeplake/core/internal/lru"
)

// Memory is a Layer in memory that forgets the pages used longest ago. All methods may be called in
// parallel.
type Memory struct {
	shared
	limit int64
	pages *lru.Cache[name, page]
}

// pageCost is the memory of a page besides its bytes.
const pageCost = 256

// NewMemory makes a layer that holds at most limit bytes.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, pages: lru.New[name, page](limit)}
}

func (m *Memory) load(at pageKey, _ []byte) (page, bool) { return m.pages.Get(at.page) }

func (m *Memory) has(at pageKey) bool {
	_, ok := m.pages.Get(at.page)
	return ok
}

func (m *Memory) keep(at pageKey, p page) {
	cost := int64(len(p.data)) + pageCost
	if cost <= m.limit { // the lru would keep one that is larger
		m.pages.Put(at.page, page{slices.Clone(p.data), p.size}, cost)
	}
}

func (m *Memory) keepSegment(pageKey, []byte, int64) bool { return false }

func (m *Memory) drop(at pageKey) { m.pages.Drop(at.page) }

// Bytes returns the memory that the pages take now.
func (m *Memory) Bytes() int64 { return m.pages.Bytes() }

func (m *Memory) faults() (int64, string) { return 0, "" }

func (m *Memory) claims() *claims { return nil }
