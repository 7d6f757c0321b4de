package ingest

import (
	"context"
	"math/bits"
	"sync"
)

// budget bounds the bytes in flight. One goroutine takes, others give back.
type budget struct {
	limit int64
	mu    sync.Mutex
	used  int64
	freed chan struct{}
}

func newBudget(limit int64) *budget { return &budget{limit: limit, freed: make(chan struct{}, 1)} }

// take waits until n more bytes fit the limit; more than the limit are used alone. It returns false
// if ctx is done before.
func (b *budget) take(ctx context.Context, n int64) bool {
	for {
		b.mu.Lock()
		ok := b.used == 0 || b.used+n <= b.limit
		if ok {
			b.used += n
		}
		b.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-b.freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// buffers reuses the memory of written objects for later ones. Without it, an import of small files
// spends much of its time on garbage collection.
type buffers struct {
	mu   sync.Mutex
	free [32][][]byte // by the logarithm of their size
	held int64
}

// heldBytes bounds the unused memory.
const heldBytes = 32 << 20

// get returns n bytes of any content.
func (b *buffers) get(n int64) []byte {
	class := bits.Len64(uint64(max(n, 512) - 1))
	if class >= len(b.free) {
		return make([]byte, n)
	}
	b.mu.Lock()
	list := b.free[class]
	if k := len(list); k > 0 {
		p := list[k-1]
		b.free[class] = list[:k-1]
		b.held -= int64(cap(p))
		b.mu.Unlock()
		return p[:n]
	}
	b.mu.Unlock()
	return make([]byte, n, 1<<class)
}

// put takes back memory from get.
func (b *buffers) put(p []byte) {
	size := cap(p)
	if size < 512 || size&(size-1) != 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if class := bits.Len(uint(size)) - 1; class < len(b.free) && b.held+int64(size) <= heldBytes {
		b.free[class] = append(b.free[class], p)
		b.held += int64(size)
	}
}
