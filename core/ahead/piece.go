package ahead

import (
	"context"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/slab"
)

// piece is memory that requests fill, each its part of it from front to back. What has come can be used while the rest is
// on its way.
type piece struct {
	mem     []byte
	slab    *slab.Slab // of mem; nil: the Go heap
	off     int64      // in the object
	left    int        // extents that are still needed
	running int        // requests on their way
	parts   []portion
	waiting []waiting
	head    bool  // a first batch waits for it
	err     error // of the first request that failed
}

// portion is the part of a piece that one request fills.
type portion struct{ from, to, filled int64 }

// waiting is somebody who needs bytes of a piece.
type waiting struct {
	from, to int64
	ready    chan struct{}
}

// size is the memory that the piece takes.
func (p *piece) size() int64 {
	if p.slab != nil {
		return shelfSize(int64(len(p.mem)))
	}
	return int64(len(p.mem))
}

// has reports whether the bytes from from to to are there.
func (p *piece) has(from, to int64) bool {
	for i := range p.parts {
		if q := &p.parts[i]; q.from < to && q.filled < min(to, q.to) && from < q.to {
			return false
		}
	}
	return true
}

// wake lets those go on who wait for what is there, or for what will not come.
func (p *piece) wake() {
	still := p.waiting[:0]
	for _, w := range p.waiting {
		if p.err != nil || p.has(w.from, w.to) {
			close(w.ready)
			continue
		}
		still = append(still, w)
	}
	p.waiting = still
}

// waitFor waits for bytes of p, or the end of its requests. The lock is held, but not meanwhile.
func (h *Hoard) waitFor(ctx context.Context, p *piece, from, to int64, by Waiter) error {
	w := waiting{from, to, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	began := time.Now()
	h.mu.Unlock()
	by.Pause()
	defer func() {
		by.Resume()
		h.mu.Lock()
		h.counts.Waited += time.Since(began)
	}()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return errs.Cause(ctx, "load batch")
	}
}
