package retry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"deeplake/core/storage"
)

// slowest is the rate, in bytes per second, below which a body is given up.
const slowest = 1 << 20

// watchdog looks at the attempts and bodies of a caller, as long as there are any, and ends those from which too little
// comes. One goroutine for all of them costs a request next to nothing.
type watchdog struct {
	mu      sync.Mutex
	watched map[dog]struct{}
	running bool
}

// dog is what the watchdog looks at.
type dog interface {
	// look ends what has been too slow, all having done that much.
	look(c *caller, now time.Time, all done)
	// done is what a body has brought lately.
	done(now time.Time) done
}

// done is bytes, and how long somebody waited for them.
type done struct {
	bytes int64
	busy  time.Duration
}

// rate is in bytes per second.
func (d done) rate() float64 {
	if d.busy <= 0 {
		return 0
	}
	return float64(d.bytes) / d.busy.Seconds()
}

func (d *watchdog) add(c *caller, w dog) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watched == nil {
		d.watched = map[dog]struct{}{}
	}
	d.watched[w] = struct{}{}
	if !d.running {
		d.running = c.begin(func(ctx context.Context) { d.run(ctx, c) })
	}
}

func (d *watchdog) remove(w dog) {
	d.mu.Lock()
	delete(d.watched, w)
	d.mu.Unlock()
}

// run looks around ten times a second, or more often where the timeout is short, until nothing was there to look at.
func (d *watchdog) run(ctx context.Context, c *caller) {
	ticker := time.NewTicker(min(100*time.Millisecond, max(time.Millisecond, c.timeout/20)))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if !d.look(c, now) {
				return
			}
		}
	}
}

func (d *watchdog) look(c *caller, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.watched) == 0 {
		d.running = false
		return false
	}
	var all done
	for w := range d.watched {
		n := w.done(now)
		all.bytes, all.busy = all.bytes+n.bytes, all.busy+n.busy
	}
	for w := range d.watched {
		w.look(c, now, all)
	}
	return true
}

// watch is an attempt of which nothing is seen until it is over.
type watch struct {
	turn    *storage.Turn
	allowed time.Duration
	cancel  context.CancelCauseFunc
}

func (w *watch) look(c *caller, now time.Time, _ done) {
	if age, waiting := w.turn.Age(now); !waiting && age > w.allowed {
		c.counts.stalls.Add(1)
		w.allowed = 1<<63 - 1 // once
		w.cancel(&stall{fmt.Sprintf("no answer for %.1f s", age.Seconds())})
	}
}

func (w *watch) done(time.Time) done { return done{} }

// flow is a body that is being read. Only the time in which somebody waits for bytes counts.
type flow struct {
	cancel   context.CancelCauseFunc
	floor    float64       // bytes per second below which it is given up
	patience time.Duration // without a byte, where the budget of hedges allows to go on elsewhere

	mu    sync.Mutex
	since time.Time // of the Read under way; zero: none
	now   done      // of the window under way, but for that Read
	slow  float64   // what it did when it was given up for that, else 0
	ended bool
}

func (f *flow) begin() {
	now := time.Now()
	f.mu.Lock()
	f.since = now
	f.mu.Unlock()
}

func (f *flow) end(n int) {
	now := time.Now()
	f.mu.Lock()
	f.now.busy += now.Sub(f.since)
	f.now.bytes += int64(n)
	f.since = time.Time{}
	f.mu.Unlock()
}

// slowness is the rate at which the flow was given up for being slow, 0 if it was not.
func (f *flow) slowness() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slow
}

func (f *flow) done(now time.Time) done {
	f.mu.Lock()
	defer f.mu.Unlock()
	return done{f.now.bytes, f.now.busy + f.silence(now)}
}

func (f *flow) silence(now time.Time) time.Duration {
	if f.since.IsZero() {
		return 0
	}
	return max(0, now.Sub(f.since))
}

func (f *flow) look(c *caller, now time.Time, all done) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	silent := f.silence(now)
	mine := done{f.now.bytes, f.now.busy + silent}
	switch {
	// Also while the store throttles: one request ends as another begins.
	case silent >= c.timeout, silent >= f.patience && c.hedging && c.hedges.take():
		f.stop(c, fmt.Sprintf("no byte came for %.1f s", silent.Seconds()))
	case mine.busy >= c.timeout:
		floor := f.floor
		if others := (done{all.bytes - mine.bytes, all.busy - mine.busy}); others.busy > 0 {
			// Where all bodies are slow, the line is what is slow, and asking again would only waste what came.
			floor = min(floor, others.rate()/2)
		}
		if mine.rate() < floor {
			f.slow = mine.rate()
			f.stop(c, fmt.Sprintf("only %d bytes came in %.1f s", mine.bytes, mine.busy.Seconds()))
			return
		}
		f.now = done{busy: -silent} // what this Read has taken so far belongs to the window that is over
	}
}

func (f *flow) stop(c *caller, why string) {
	f.ended = true
	c.counts.stalls.Add(1)
	f.cancel(&stall{why})
}
