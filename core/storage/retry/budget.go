package retry

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The budget of repetitions of a store. In good times successes refill it: half of all requests may
// fail and each is repeated at once. In an outage only time does, so that a store that comes up
// again is not met by all the calls that have piled up.
const (
	repeatBurst      = 128
	repeatsPerSecond = 20
	repeatPerSuccess = 0.5
)

// The budget of hedges: one request in twenty, and two a second. The burst is small, because
// hedges that come all at once are hedges against the load that they are. Time refills it for a
// caller that sends nothing more before late requests are answered.
const (
	hedgeBurst      = 8
	hedgeStart      = 2
	hedgePerRequest = 0.05
	hedgesPerSecond = 2
)

// bucket holds tokens, up to burst.
type bucket struct {
	mu     sync.Mutex
	tokens float64
	burst  float64
	rate   float64 // tokens per second
	last   time.Time
}

func (b *bucket) init(tokens, burst, rate float64) { b.tokens, b.burst, b.rate = tokens, burst, rate }

// add refills by n tokens.
func (b *bucket) add(n float64) {
	b.mu.Lock()
	b.tokens = min(b.burst, b.tokens+n)
	b.mu.Unlock()
}

// reserve takes a token, which may be one that is still to come, and says how long that takes.
func (b *bucket) reserve(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// refill adds the tokens of the time since the last call. mu is held.
func (b *bucket) refill(now time.Time) {
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.last).Seconds())
	}
	b.last = now
}

// take takes a token that is there.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

const (
	samples    = 500 // first bytes that a class remembers
	enough     = 20  // of them, to know what late is
	recompute  = 20  // after so many new ones
	hedgeFloor = 30 * time.Millisecond
	// A first byte is late after 1.5 times the median, at least. Where most take equally long, it
	// would else be one in twenty, and spend the budget for those that are late indeed.
	hedgeMedians = 1.5

	// What counts as late before that: a guess, and then a multiple of the slowest of a few first
	// bytes, of requests of any size. A loader may send fewer than enough requests in an epoch.
	firstGuess   = 500 * time.Millisecond
	few          = 5
	fewTimes     = 4
	leastFewLate = 100 * time.Millisecond
	learnTime    = 50 * time.Millisecond // how often requests in flight are judged again meanwhile
)

// latencies knows how long first bytes take, by the size of the request.
type latencies struct {
	classes [4]class
	early   atomic.Int64 // nanoseconds; the bound of classes with too few samples; 0: none yet

	mu      sync.Mutex
	n       int           // seen in all, up to few
	slowest time.Duration // of them
}

type class struct {
	late atomic.Int64 // nanoseconds; 0: not known

	mu     sync.Mutex
	ring   [samples]time.Duration
	sorted [samples]time.Duration
	n      int // seen in all
}

// classOf is the size class of a request of n bytes; n < 0 asks for a whole object, which are small
// ones.
func classOf(n int64) int {
	switch {
	case n <= 64<<10:
		return 0
	case n <= 1<<20:
		return 1
	case n <= 8<<20:
		return 2
	}
	return 3
}

// observe remembers that the first byte of a request of n bytes came, or was not there, after d.
func (l *latencies) observe(n int64, d time.Duration) {
	if l.early.Load() == 0 {
		l.learn(d)
	}
	c := &l.classes[classOf(n)]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring[c.n%samples] = d
	c.n++
	if c.n >= enough && c.n%recompute == 0 {
		seen := c.sorted[:copy(c.sorted[:], c.ring[:min(c.n, samples)])]
		slices.Sort(seen)
		median := time.Duration(hedgeMedians * float64(seen[len(seen)/2]))
		c.late.Store(int64(max(hedgeFloor, median, seen[len(seen)*95/100])))
	}
}

// learn makes a guess of the first few observations.
func (l *latencies) learn(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	if l.slowest = max(l.slowest, d); l.n >= few {
		l.early.Store(int64(min(max(fewTimes*l.slowest, leastFewLate), firstGuess)))
	}
}

// late is when a first byte counts as late: after the 95th of 100. known is false for a guess that
// the next answers may change.
func (l *latencies) late(n int64) (late time.Duration, known bool) {
	if late := l.classes[classOf(n)].late.Load(); late > 0 {
		return time.Duration(late), true
	}
	if early := l.early.Load(); early > 0 {
		return time.Duration(early), true
	}
	return firstGuess, false
}
