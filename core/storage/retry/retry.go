// Package retry owns the handling of failed and late requests: retries with full jitter under a
// budget per store, hedged reads, bodies that continue where they broke, and timeouts of silent
// requests. It decides by storage.Fault alone, and knows no provider, status code or error text.
package retry

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// Defaults of storage.Settings that this package has a use for.
const (
	defaultTimeout  = 5 * time.Second
	defaultTime     = 60 * time.Second
	defaultAttempts = 10
)

// Policy is shared by all providers and sources of one store: the settings, the budgets, and the
// measured latency of the store. All methods may be called in parallel.
type Policy struct {
	timeout  time.Duration
	limit    time.Duration
	attempts int
	hedging  bool
	random   func() float64

	repeats bucket
	hedges  bucket
	latency latencies

	answered atomic.Bool // the store has answered something
	// nanoseconds since the epoch until which requests wait by order of the store, and none is
	// hedged
	throttled atomic.Int64
}

// Options make a Policy. Random gives numbers in [0, 1), in parallel; nil is the
// generator of the process.
type Options struct {
	Settings storage.Settings
	Random   func() float64
}

// New makes a Policy. Sharing one between the providers of a store makes their budgets one.
func New(o Options) *Policy {
	s := o.Settings
	p := &Policy{
		timeout: seconds(s.Timeout, defaultTimeout), limit: seconds(s.RetryTime, defaultTime),
		attempts: defaultAttempts, hedging: s.Hedge == nil || *s.Hedge, random: o.Random,
	}
	if s.MaxAttempts > 0 {
		p.attempts = s.MaxAttempts
	}
	if p.random == nil {
		p.random = rand.Float64
	}
	p.repeats.init(repeatBurst, repeatBurst, repeatsPerSecond)
	p.hedges.init(hedgeStart, hedgeBurst, hedgesPerSecond)
	return p
}

func seconds(given float64, otherwise time.Duration) time.Duration {
	if given > 0 && given < 1e6 {
		return time.Duration(given * float64(time.Second))
	}
	return otherwise
}

// caller is one decorated provider or source: it owns the goroutines of its requests and counts
// them.
type caller struct {
	*Policy
	ranger storage.Ranger // nil if the inner one is none
	uri    string
	// content may change under a key: a body goes on only where a tag proves that it is the same
	pinned   bool
	counting bool // requests are counted here, since no layer below does

	tasks    *task.Group
	mu       sync.Mutex // guards closed, and that no task begins after it
	closed   bool
	watchdog watchdog
	counts   counts
}

type counts struct {
	requests, bytesRead, bytesWritten                              atomic.Int64
	retries, resumes, stalls, throttles, hedges, hedgeWins, gaveUp atomic.Int64
}

// fill makes c the caller of inner, which it cannot be copied into.
func (p *Policy) fill(c *caller, inner any, uri string) {
	c.Policy, c.uri = p, uri
	c.ranger, _ = inner.(storage.Ranger)
	_, counted := inner.(storage.Meter)
	c.counting = !counted
	// The tasks belong to the decorator, which ends them when it is closed.
	c.tasks = task.New(context.Background(), 0)
}

// begin runs fn in a goroutine that stop waits for, unless the caller was stopped. fn returns no
// error for others to see.
func (c *caller) begin(fn func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks.Go(func(ctx context.Context) error { fn(ctx); return nil })
	return true
}

// stop ends the races and the goroutines, and waits for them.
func (c *caller) stop() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.tasks.Stop()
	c.watchdog.end()
	// no task returns an error, and a panic in one has become the error of its request
	_ = c.tasks.Wait()
}

func (c *caller) stopped(op, object string) error {
	return errs.Op(op, object).New(errs.Closed, "the storage was closed")
}

func (c *caller) stats(inner any) storage.Stats {
	n := &c.counts
	s := storage.Stats{
		Requests: n.requests.Load(), BytesRead: n.bytesRead.Load(), BytesWritten: n.bytesWritten.Load(),
		Retries: n.retries.Load(), Resumes: n.resumes.Load(), Stalls: n.stalls.Load(), Throttles: n.throttles.Load(),
		Hedges: n.hedges.Load(), HedgeWins: n.hedgeWins.Load(), GaveUp: n.gaveUp.Load(),
	}
	s.Add(storage.StatsOf(inner))
	return s
}

// wrote counts n bytes and a request if no layer below does.
func (c *caller) wrote(n int) {
	if c.counting {
		c.counts.bytesWritten.Add(int64(n))
	}
}

// patience is the time limit of a request that moves n bytes without visible progress. Clients
// have bounds of their own that are closer; this one is for those that have none.
func (c *caller) patience(n int64) time.Duration {
	const slowest = 256 << 10 // bytes per second
	return 8*c.timeout + time.Duration(min(n, math.MaxInt64/int64(time.Second))/slowest)*time.Second
}
