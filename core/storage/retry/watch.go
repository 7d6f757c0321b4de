package retry

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"deeplake/core/storage"
)

// slowest is the rate, in bytes per second, below which a body is given up.
const slowest = 1 << 20

// watchdog looks at the requests and bodies of a caller, as long as there are any, and ends those
// from which too little comes. One goroutine for all of them costs a request next to nothing: it
// sleeps until one of them can be late.
type watchdog struct {
	mu      sync.Mutex
	races   map[*race]struct{}
	watches map[*watch]struct{}
	flows   map[*flow]struct{}
	ended   bool           // no race may begin
	racing  sync.WaitGroup // the races
	running bool
	timer   *time.Timer
	next    time.Time // when the timer ends
	round   time.Time // when the bodies are looked at; zero: there were none
}

// breath is the time that the watchdog rests at least, which is how late it may be.
const breath = 2 * time.Millisecond

// addRace reports false where no race may begin any more. The caller removes the race in the end.
func (d *watchdog) addRace(c *caller, r *race) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return false
	}
	if d.races == nil {
		d.races = map[*race]struct{}{}
	}
	d.races[r] = struct{}{}
	d.racing.Add(1)
	late, known := c.latency.late(r.ask.n)
	if !known {
		late = min(late, learnTime)
	}
	d.wake(c, time.Now().Add(min(r.allowed, late)))
	return true
}

func (d *watchdog) removeRace(r *race) {
	d.mu.Lock()
	delete(d.races, r)
	d.mu.Unlock()
	d.racing.Done()
}

func (d *watchdog) addWatch(c *caller, w *watch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watches == nil {
		d.watches = map[*watch]struct{}{}
	}
	d.watches[w] = struct{}{}
	d.wake(c, time.Now().Add(w.allowed))
}

func (d *watchdog) removeWatch(w *watch) {
	d.mu.Lock()
	delete(d.watches, w)
	d.mu.Unlock()
}

func (d *watchdog) addFlow(c *caller, f *flow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flows == nil {
		d.flows = map[*flow]struct{}{}
	}
	d.flows[f] = struct{}{}
	if d.round.IsZero() {
		d.round = time.Now().Add(roundTime(c))
		d.wake(c, d.round)
	}
}

func (d *watchdog) removeFlow(f *flow) {
	d.mu.Lock()
	delete(d.flows, f)
	d.mu.Unlock()
}

// roundTime is how often the bodies are looked at: ten times a second, or more often where the
// timeout is short.
func roundTime(c *caller) time.Duration {
	return min(100*time.Millisecond, max(time.Millisecond, c.timeout/20))
}

// wake sees to it that the watchdog looks when it is at. d.mu is held.
func (d *watchdog) wake(c *caller, at time.Time) {
	switch {
	case !d.running:
		timer := time.NewTimer(time.Until(at))
		d.timer, d.next = timer, at
		d.running = c.begin(func(ctx context.Context) { d.run(ctx, c, timer) })
	case at.Before(d.next):
		d.next = at
		d.timer.Reset(time.Until(at))
	}
}

// run looks around until nothing is there to look at.
func (d *watchdog) run(ctx context.Context, c *caller, timer *time.Timer) {
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			if !d.look(c, time.Now()) {
				return
			}
		}
	}
}

func (d *watchdog) look(c *caller, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.races)+len(d.watches)+len(d.flows) == 0 {
		d.running, d.round = false, time.Time{}
		return false
	}
	next := now.Add(c.timeout)
	for r := range d.races {
		next = earlier(next, r.look(now))
	}
	for w := range d.watches {
		next = earlier(next, w.look(c, now))
	}
	if !d.round.IsZero() && !now.Before(d.round) {
		d.lookAtFlows(c, now)
	}
	if !d.round.IsZero() {
		next = earlier(next, d.round)
	}
	if soonest := now.Add(breath); next.Before(soonest) {
		next = soonest
	}
	d.next = next
	d.timer.Reset(next.Sub(now))
	return true
}

// lookAtFlows is one round.
func (d *watchdog) lookAtFlows(c *caller, now time.Time) {
	if len(d.flows) == 0 {
		d.round = time.Time{}
		return
	}
	var all done
	for f := range d.flows {
		n := f.done(now)
		all.bytes, all.busy = all.bytes+n.bytes, all.busy+n.busy
	}
	for f := range d.flows {
		f.look(c, now, all)
	}
	d.round = now.Add(roundTime(c))
}

// end cancels the races and waits for them. Watches and bodies end with the store below.
func (d *watchdog) end() {
	d.mu.Lock()
	d.ended = true
	for r := range d.races {
		r.end()
	}
	d.mu.Unlock()
	d.racing.Wait()
}

// done is a number of bytes, and the time a reader waited for them.
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

// watch is an attempt of which nothing is seen until it is over.
type watch struct {
	timer   *storage.RequestTimer
	allowed time.Duration
	cancel  context.CancelCauseFunc
}

// look gives the attempt up if it takes too long, and returns when to look again.
func (w *watch) look(c *caller, now time.Time) time.Time {
	age, waiting := w.timer.Age(now)
	switch {
	case waiting:
		return now.Add(w.allowed)
	case age < w.allowed:
		return now.Add(w.allowed - age)
	}
	c.counts.stalls.Add(1)
	w.allowed = math.MaxInt64 // once
	w.cancel(&stall{fmt.Sprintf("no answer for %.1f s", age.Seconds())})
	return now.Add(c.timeout)
}

// flow is a body that is being read. Only the time in which a reader waits for bytes counts.
type flow struct {
	cancel   context.CancelCauseFunc
	floor    float64       // bytes per second below which it is given up
	patience time.Duration // without a byte, where the budget of hedges allows to go on elsewhere

	mu    sync.Mutex
	since time.Time // of the Read under way; zero: none
	now   done      // of the window under way, but for that Read
	slow  float64   // the rate for which it was given up, else 0
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

// done returns the bytes that the body brought lately.
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

// look ends the body if it has been too slow, all having done that much.
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
	case silent >= c.timeout, silent >= f.patience && c.hedging && c.hedges.take(now):
		f.stop(c, fmt.Sprintf("no byte came for %.1f s", silent.Seconds()))
	case mine.busy >= c.timeout:
		floor := f.floor
		if others := (done{all.bytes - mine.bytes, all.busy - mine.busy}); others.busy > 0 {
			// If all bodies are slow, the link is slow. Repeating would only waste the received
			// bytes.
			floor = min(floor, others.rate()/2)
		}
		if mine.rate() < floor {
			f.slow = mine.rate()
			f.stop(c, fmt.Sprintf("only %d bytes came in %.1f s", mine.bytes, mine.busy.Seconds()))
			return
		}
		// what this Read has taken so far belongs to the window that is over
		f.now = done{busy: -silent}
	}
}

func (f *flow) stop(c *caller, why string) {
	f.ended = true
	c.counts.stalls.Add(1)
	f.cancel(&stall{why})
}
