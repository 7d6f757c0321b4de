package episodes

import (
	"context"
	"sync"

	"deeplake/core/errs"
)

// budget bounds the bytes of episodes between their requests and the writer. The next one to be
// written may exceed it, so the others never hold it up.
type budget struct {
	limit int64

	mu    sync.Mutex
	used  int64
	next  int64
	freed chan struct{} // closed when bytes are given back, or the next one has come
}

// take waits until n more bytes of an episode fit.
func (b *budget) take(ctx context.Context, seq, n int64) error {
	for {
		b.mu.Lock()
		if seq == b.next || n == 0 || b.used+n <= b.limit {
			b.used += n
			b.mu.Unlock()
			return nil
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return errs.Wrap(errs.Canceled, "import", "", ctx.Err())
		}
	}
}

// turn says that an episode has come to the writer.
func (b *budget) turn(seq int64) {
	b.mu.Lock()
	b.next = seq
	b.wake()
	b.mu.Unlock()
}

// give gives back the bytes of the episode that was written.
func (b *budget) give(n int64) {
	b.mu.Lock()
	b.used -= n
	b.next++
	b.wake()
	b.mu.Unlock()
}

func (b *budget) wake() {
	close(b.freed)
	b.freed = make(chan struct{})
}
