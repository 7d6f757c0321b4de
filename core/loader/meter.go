package loader

import (
	"math"
	"sync/atomic"
	"time"
)

// meter measures how long one goroutine works and waits. It reads the clock when the goroutine
// waits, never per sample; others may read it at any time. It is as large as a cache line:
// neighbours belong to other threads.
type meter struct {
	zero    time.Time
	started atomic.Int64 // nanoseconds after zero, plus one; 0: not yet
	ended   atomic.Int64
	since   atomic.Int64 // begin of the wait that goes on; 0: none
	waited  atomic.Int64
	track   *track // waits are shown on it; nil: they are not
}

func (m *meter) now() int64 { return int64(time.Since(m.zero)) + 1 }

func (m *meter) begin() { m.started.Store(m.now()) }

func (m *meter) end() { m.ended.CompareAndSwap(0, m.now()) }

// Pause begins a wait.
func (m *meter) Pause() { m.since.Store(m.now()) }

// Resume ends it.
func (m *meter) Resume() {
	since := m.since.Swap(0)
	m.waited.Add(m.now() - since)
	if m.track != nil {
		m.track.span("wait", m.zero.Add(time.Duration(since-1)), "", 0)
	}
}

// read gives the time of work and of waiting until now, or until the end.
func (m *meter) read() (busy, waiting time.Duration) {
	start := m.started.Load()
	if start == 0 {
		return 0, 0
	}
	end := m.ended.Load()
	if end == 0 {
		end = m.now()
	}
	wait := m.waited.Load()
	if since := m.since.Load(); since != 0 {
		wait += max(end-since, 0)
	}
	total := max(end-start, 0)
	wait = min(wait, total)
	return time.Duration(total - wait), time.Duration(wait)
}

// gaps are the times between batches that were handed over, counted by their logarithm: a quantile
// is right to 6 %.
type gaps struct {
	last    time.Time
	longest time.Duration
	n       int64
	counts  [gapBuckets]int64
}

// A doubling has gapParts buckets; the first is a microsecond wide, the last begins after 18
// minutes.
const (
	gapParts   = 8
	gapBuckets = 30*gapParts + 1
)

// add notes that a batch was handed over now.
func (g *gaps) add(now time.Time) {
	if !g.last.IsZero() {
		d := now.Sub(g.last)
		at := 0
		if d > time.Microsecond {
			at = min(int(math.Log2(float64(d)/float64(time.Microsecond))*gapParts), gapBuckets-1)
		}
		g.counts[at]++
		g.n++
		g.longest = max(g.longest, d)
	}
	g.last = now
}

// quantile returns the gap, in seconds, that a part q of all gaps does not exceed.
func (g *gaps) quantile(q float64) float64 {
	want := int64(math.Ceil(q * float64(g.n)))
	seen := int64(0)
	for at, n := range g.counts {
		if seen += n; n > 0 && seen >= want {
			edge := math.Exp2((float64(at)+0.5)/gapParts) * 1e-6
			return min(edge, g.longest.Seconds())
		}
	}
	return 0
}
