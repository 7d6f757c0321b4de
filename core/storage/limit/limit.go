// Package limit bounds the load on a store: requests in flight, adapted to the store's refusals,
// and bytes in flight. It serves callers in order. It retries nothing, and knows a store only by
// its storage.Fault.
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

// unknownBytes is the cost of a request for a whole object until its answer gives the size. Such
// objects are heads and index pages.
const unknownBytes = 256 << 10

// Limiter holds the slots of one store. The providers and sources of the store share it. All
// methods may be called in parallel.
//
// The number of slots begins at its maximum and changes after each round, which is as many answers
// as there are slots, to requests that were sent in it: it shrinks by half of the share of answers
// that demanded fewer requests, lately, and grows by one where all slots were taken. So a store
// that refuses everything halves it each round, while one that refuses a tenth of its requests at
// random still gets some twenty requests at once. (Halving at any refusal, as TCP does at a
// loss, would end at one or two. The reduction in proportion follows DCTCP: Alizadeh et al.,
// "Data Center TCP", SIGCOMM 2010.)
type Limiter struct {
	most      float64
	mostBytes int64

	mu     sync.Mutex
	slots  float64
	active int
	bytes  int64
	queue  list.List // of *waiter
	rounds int       // that are over
	round  struct {
		answers, refused int
		most             int // requests at once
	}
	share float64 // of answers that were refusals, over the last rounds
}

type waiter struct {
	bytes   int64
	admit   chan struct{} // closed when it is its turn
	through bool
	round   int
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
	l.slots = l.most
	return l
}

// Connections is the number of requests that may run at once now.
func (l *Limiter) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.slots)
}

// Load is the number of requests that run now, and how many bytes are on their way.
func (l *Limiter) Load() (requests int, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active, l.bytes
}

// fits is whether n more bytes may be requested. More than the bound go alone.
func (l *Limiter) fits(n int64) bool {
	return l.active < int(l.slots) && (l.bytes == 0 || n <= l.mostBytes-l.bytes)
}

// admit admits waiting requests, in order.
func (l *Limiter) admit() {
	for e := l.queue.Front(); e != nil; e = l.queue.Front() {
		w := e.Value.(*waiter)
		if !l.fits(w.bytes) {
			return
		}
		l.queue.Remove(e)
		l.take(w.bytes)
		w.through, w.round = true, l.rounds
		close(w.admit)
	}
}

func (l *Limiter) take(n int64) {
	l.active++
	l.bytes += n
	l.round.most = max(l.round.most, l.active)
}

const (
	memory = 0.25 // weight of the last round in the share of refusals
	// part of a round from which on it alone counts: a store that refuses that much is not unlucky
	certain = 0.5
	plenty  = 8 // refusals, being that part, that end a round early
)

// answered reckons with an answer to a request that was sent in a round.
func (l *Limiter) answered(round int, refused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if round != l.rounds {
		return // sent before the last change could show
	}
	l.round.answers++
	if refused {
		l.round.refused++
	}
	part := float64(l.round.refused) / float64(l.round.answers)
	if l.round.answers < int(l.slots) && (l.round.refused < plenty || part < certain) {
		return
	}
	l.share += memory * (part - l.share)
	full := l.round.most >= int(l.slots)
	switch {
	case part >= certain:
		l.slots = min(l.slots, float64(l.round.most)) * (1 - part/2)
	case part > 0:
		l.slots *= 1 - l.share/2
	}
	if full && part < certain {
		l.slots++
	}
	l.slots = min(max(l.slots, 1), l.most)
	l.rounds++
	l.round.answers, l.round.refused, l.round.most = 0, 0, l.active
	l.admit()
}

// slot is one request that the limiter admitted. Its methods may be called in parallel.
type slot struct {
	l       *Limiter
	bytes   atomic.Int64 // of the bound, that it still holds
	over    atomic.Bool
	counted atomic.Bool // its answer was reckoned with
	round   int         // of the Limiter when it was taken
}

// acquire waits until a request of n bytes is admitted, and fills s, which is zero.
func (s *slot) acquire(ctx context.Context, l *Limiter, c *counts, op, object string, n int64) error {
	s.l = l
	s.bytes.Store(n)
	if ctx.Err() != nil {
		return canceled(ctx, op, object)
	}
	l.mu.Lock()
	if l.queue.Len() == 0 && l.fits(n) {
		s.round = l.rounds
		l.take(n)
		l.mu.Unlock()
		return nil
	}
	begun := time.Now()
	w := &waiter{bytes: n, admit: make(chan struct{})}
	e := l.queue.PushBack(w)
	l.mu.Unlock()
	timer := storage.TimerOf(ctx)
	timer.Pause()
	defer timer.Start()
	err := l.wait(ctx, e, w, op, object)
	s.round = w.round
	c.waits.Add(1)
	c.waitTime.Add(int64(time.Since(begun)))
	return err
}

func (l *Limiter) wait(ctx context.Context, e *list.Element, w *waiter, op, object string) error {
	select {
	case <-w.admit:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.through {
		l.free(w.bytes)
	} else {
		l.queue.Remove(e)
	}
	l.admit() // the others may have waited behind this one
	return canceled(ctx, op, object)
}

func canceled(ctx context.Context, op, object string) error {
	return &errs.Error{Kind: errs.Canceled, Op: op, Object: object, Err: context.Cause(ctx)}
}

func (l *Limiter) free(n int64) {
	l.active--
	l.bytes -= n
}

// release returns the slot. Only the first call counts.
func (s *slot) release() {
	if s.over.Swap(true) {
		return
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.l.free(s.bytes.Swap(0))
	s.l.admit()
}

// resize makes the slot count as n bytes.
func (s *slot) resize(n int64) {
	if s.bytes.Load() == n {
		return
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	if s.over.Load() {
		return
	}
	before := s.bytes.Swap(n)
	s.l.bytes += n - before
	if n < before {
		s.l.admit()
	}
}

// judge looks at the error of the slot's request, or of a read of its body, and returns it.
func (s *slot) judge(c *counts, err error) error {
	refused := err != nil && isRefusal(err)
	if refused {
		c.throttles.Add(1)
	}
	if !s.counted.Swap(true) {
		s.l.answered(s.round, refused)
	}
	return err
}

// isRefusal is whether err asks for fewer requests.
func isRefusal(err error) bool {
	var f *storage.Fault
	return errors.As(err, &f) && f.Repeat == storage.Later
}
