// Package limit owns how much is asked of a store at once: requests, adapted to what the store puts up with, and bytes on
// their way. Whoever comes first is served first. It repeats nothing, and knows a store only by its storage.Fault.
package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Defaults of storage.Settings that this package has a use for.
const (
	DefaultConnections   = 64
	DefaultBytesInFlight = 256 << 20
)

// unknownBytes is what a request for a whole object counts until its answer says more: those are heads and index pages.
const unknownBytes = 256 << 10

// Limiter is the places of one store; the providers and sources of the store share it. All methods may be called in
// parallel.
//
// The number of places begins at its maximum, is halved when the store asks for fewer requests (once for all requests
// that were under way then), and grows by one for each second in which all were taken.
type Limiter struct {
	most      float64
	mostBytes int64

	mu     sync.Mutex
	places float64
	active int
	bytes  int64
	queue  list.List // of *waiter
	cut    time.Time // when the places were halved last
	seen   time.Time // when growth was reckoned last
}

type waiter struct {
	bytes   int64
	admit   chan struct{} // closed when it is its turn
	through bool
}

// New makes a Limiter.
func New(s storage.Settings) *Limiter {
	l := &Limiter{most: DefaultConnections, mostBytes: DefaultBytesInFlight}
	if s.MaxConnections > 0 {
		l.most = float64(s.MaxConnections)
	}
	if s.MaxBytesInFlight > 0 {
		l.mostBytes = s.MaxBytesInFlight
	}
	l.places = l.most
	return l
}

// Connections is how many requests may run at once now.
func (l *Limiter) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.places)
}

// Load is how many requests run now, and how many bytes are on their way.
func (l *Limiter) Load() (requests int, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active, l.bytes
}

// fits is whether n more bytes may be asked for. More than the bound go alone.
func (l *Limiter) fits(n int64) bool {
	return l.active < int(l.places) && (l.bytes == 0 || n <= l.mostBytes-l.bytes)
}

// grow adds places for the time in which all were taken. It comes before every change of active.
func (l *Limiter) grow(now time.Time) {
	if l.active >= int(l.places) && l.places < l.most {
		l.places = min(l.most, l.places+now.Sub(l.seen).Seconds())
	}
	l.seen = now
}

// admit lets in whoever may go, in order.
func (l *Limiter) admit(now time.Time) {
	for e := l.queue.Front(); e != nil; e = l.queue.Front() {
		w := e.Value.(*waiter)
		if !l.fits(w.bytes) {
			return
		}
		l.queue.Remove(e)
		l.take(now, w.bytes)
		w.through = true
		close(w.admit)
	}
}

func (l *Limiter) take(now time.Time, n int64) {
	l.grow(now)
	l.active++
	l.bytes += n
}

// halve answers a request, begun at began, that the store found too much.
func (l *Limiter) halve(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began.Before(l.cut) {
		return // sent before the last cut could show
	}
	now := time.Now()
	l.grow(now)
	l.places = max(1, min(l.places, float64(l.active))/2)
	l.cut = now
}

// slot is a place taken. Its methods may be called in parallel.
type slot struct {
	l     *Limiter
	began time.Time
	bytes atomic.Int64 // of the bound, that it still holds
	over  atomic.Bool
}

// acquire waits for a place for a request of n bytes.
func (l *Limiter) acquire(ctx context.Context, c *counts, op, object string, n int64) (*slot, error) {
	s := &slot{l: l}
	s.bytes.Store(n)
	l.mu.Lock()
	now := time.Now()
	if ctx.Err() != nil {
		l.mu.Unlock()
		return nil, canceled(ctx, op, object)
	}
	if l.queue.Len() == 0 && l.fits(n) {
		l.take(now, n)
		l.mu.Unlock()
		s.began = now
		return s, nil
	}
	w := &waiter{bytes: n, admit: make(chan struct{})}
	e := l.queue.PushBack(w)
	l.mu.Unlock()
	turn := storage.TurnOf(ctx)
	turn.Wait()
	defer turn.Go()
	err := l.wait(ctx, e, w, op, object)
	s.began = time.Now()
	c.waits.Add(1)
	c.waitTime.Add(int64(s.began.Sub(now)))
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (l *Limiter) wait(ctx context.Context, e *list.Element, w *waiter, op, object string) error {
	select {
	case <-w.admit:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if w.through {
		l.free(now, w.bytes)
	} else {
		l.queue.Remove(e)
	}
	l.admit(now) // this one may have been what the others waited behind
	return canceled(ctx, op, object)
}

func canceled(ctx context.Context, op, object string) error {
	return &errs.Error{Kind: errs.Canceled, Op: op, Object: object, Err: context.Cause(ctx)}
}

func (l *Limiter) free(now time.Time, n int64) {
	l.grow(now)
	l.active--
	l.bytes -= n
}

// release gives the place back, the first time.
func (s *slot) release() {
	if s.over.Swap(true) {
		return
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	now := time.Now()
	s.l.free(now, s.bytes.Swap(0))
	s.l.admit(now)
}

// resize makes the slot count as n bytes.
func (s *slot) resize(n int64) {
	if s.over.Load() {
		return
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	before := s.bytes.Swap(n)
	s.l.bytes += n - before
	if n < before {
		s.l.admit(time.Now())
	}
}

// judge looks at the error of the slot's request, and returns it.
func (s *slot) judge(c *counts, err error) error {
	var f *storage.Fault
	if err != nil && errors.As(err, &f) && f.Repeat == storage.Later {
		c.throttles.Add(1)
		s.l.halve(s.began)
	}
	return err
}
