package prefetch

import (
	"context"
	"time"

	"deeplake/core/errs"
)

// buffer is memory that requests fill, each its own part from front to back. Received bytes can be
// used while the rest is in flight.
type buffer struct {
	mem     []byte
	pooled  memory // of mem; without a slab: the Go heap
	off     int64  // in the object
	users   int    // extents that are still needed
	running int    // requests in flight
	parts   []portion
	waiting []waiting
	head    bool  // the first batch needs it
	err     error // of the first failed request

	// Buffers that get copies of the received bytes. This one is freed after its request.
	pieces []*buffer
}

// portion is the part of a buffer of one request.
type portion struct{ from, to, filled int64 }

// waiting is a goroutine that waits for bytes of a buffer.
type waiting struct {
	from, to int64
	ready    chan struct{}
}

// size returns the bytes of memory of the buffer.
func (b *buffer) size() int64 {
	if b.pooled.slab != nil {
		return bufferSize(int64(len(b.mem)))
	}
	return int64(len(b.mem))
}

// has reports whether the bytes [from, to) have arrived.
func (b *buffer) has(from, to int64) bool {
	for i := range b.parts {
		if q := &b.parts[i]; q.from < to && q.filled < min(to, q.to) && from < q.to {
			return false
		}
	}
	return true
}

// copyPieces copies n bytes that have arrived behind filled into the pieces.
func (b *buffer) copyPieces(filled, n int64) {
	from, to := b.off+filled, b.off+filled+n
	for _, piece := range b.pieces {
		lo, hi := max(from, piece.off), min(to, piece.off+int64(len(piece.mem)))
		if lo < hi {
			copy(piece.mem[lo-piece.off:hi-piece.off], b.mem[lo-b.off:])
		}
	}
}

// fill counts the bytes of a piece before an offset of the object as arrived.
func (b *buffer) fill(end int64) {
	q := &b.parts[0]
	if arrived := min(max(end-b.off, 0), q.to); arrived > q.filled {
		q.filled = arrived
		b.wake()
	}
}

// wake resumes goroutines whose bytes have arrived, and all of them after a failure.
func (b *buffer) wake() {
	still := b.waiting[:0]
	for _, w := range b.waiting {
		if b.err != nil || b.has(w.from, w.to) {
			close(w.ready)
			continue
		}
		still = append(still, w)
	}
	b.waiting = still
}

// waitFor waits for bytes of b, or for the end of its requests. It releases the lock meanwhile.
func (p *Prefetcher) waitFor(ctx context.Context, b *buffer, from, to int64, by Waiter) error {
	w := waiting{from, to, make(chan struct{})}
	b.waiting = append(b.waiting, w)
	began := time.Now()
	p.mu.Unlock()
	by.Pause()
	defer func() {
		by.Resume()
		p.mu.Lock()
		p.counts.Waited += time.Since(began)
	}()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return errs.Cause(ctx, "load batch")
	}
}
