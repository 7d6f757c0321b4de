package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// slack is the part of the timeout that the connections below have to tell of it first: they know
// more.
const slack = 20

// ask is the object and range of a request.
type ask struct {
	key    string
	off, n int64
	tag    string
}

// runner is one request of a race, with its answer and how that flows.
type runner struct {
	timer  storage.RequestTimer
	ctx    context.Context // of the request and its body, to see what ended it
	cancel context.CancelCauseFunc
	gone   bool // given up, or has failed; the race's mu guards it

	// written by the sender of the request, before it looks at the race again
	body storage.Body
	err  error
	flow flow
}

func (w *runner) begin(ctx context.Context) {
	w.timer.Start()
	w.ctx, w.cancel = context.WithCancelCause(storage.WithTimer(ctx, &w.timer))
}

// outcome is nil if there is an answer that may be read.
func (w *runner) outcome() error {
	if w.err == nil && !w.gone {
		return nil
	}
	return stalledOr(w.ctx, w.err)
}

// drop ends the request, and its answer if it has brought one.
func (w *runner) drop() {
	if w.body != nil {
		_ = w.body.Close() // not needed any more
	}
	w.cancel(nil)
}

// race is one range request, and perhaps a second one for the same bytes when the first is late.
// The first is sent by the goroutine of the caller, as another one would cost more than all else
// here; the second, which is rare, by one that the watchdog starts. Whoever answers first gets the
// caller; the other is cancelled, and what it may still bring is closed.
//
// The caller gets away from the first only by cancelling it: a storage.Ranger returns when its
// context ends.
type race struct {
	c             *caller
	ctx           context.Context // of the call, for the request that may be sent later
	ask           ask
	allowed, late time.Duration
	first         runner

	mu     sync.Mutex
	over   bool          // the caller goes on without requests in flight
	hedge  *runner       // nil: none was sent
	ended  chan struct{} // closed when the hedge has returned
	won    *runner       // the hedge, if what it returned decides the race
	wonErr error
}

// run is one attempt: it returns when a body has begun, or nothing is left that may answer. The
// runner holds the context of the body.
func (c *caller) run(ctx context.Context, t *trial, a ask) (*runner, error) {
	c.hedges.add(hedgePerRequest)
	r := &race{c: c, ctx: ctx, ask: a, allowed: t.patience(c.timeout + c.timeout/slack), late: c.latency.late(a.n)}
	r.first.begin(ctx)
	if !c.watchdog.addRace(c, r) {
		r.first.cancel(nil)
		return nil, c.stopped(t.op, t.object)
	}
	defer c.watchdog.removeRace(r)
	r.send(&r.first)
	w, err := r.settle()
	if c.tasks.Context().Err() != nil {
		if err == nil {
			w.drop()
		}
		return nil, c.stopped(t.op, t.object)
	}
	return w, err
}

// send makes a panic of a provider the error of this request alone.
func (r *race) send(w *runner) {
	w.err = task.Call(func() (err error) {
		w.body, err = r.c.ranger.Range(w.ctx, r.ask.key, r.ask.off, r.ask.n, r.ask.tag)
		return err
	})
	if w.err != nil {
		w.body = nil
	}
}

// sendHedge is the goroutine of the second request.
func (r *race) sendHedge(w *runner) {
	r.send(w)
	if !r.decides(w) {
		w.drop() // before ended is closed, so that nothing is under way when the caller goes on
	}
	close(r.ended)
}

// decides is whether what the hedge returned is the outcome of the race. The caller learns it as
// the first is cancelled.
func (r *race) decides(w *runner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := w.outcome()
	if r.over || isFault(err) && !r.first.gone {
		w.gone = true // the first may still answer
		return false
	}
	r.won, r.wonErr = w, err
	r.first.cancel(nil)
	return true
}

// settle ends the race after the first request has returned, for whatever reason.
func (r *race) settle() (*runner, error) {
	w, err := r.decide()
	if w != &r.first {
		r.first.drop()
	}
	if err != nil {
		w.drop()
		return nil, err
	}
	if w != &r.first {
		r.c.counts.hedgeWins.Add(1)
	}
	return w, nil
}

func (r *race) decide() (w *runner, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, err = &r.first, r.first.outcome()
	if r.won == nil && err != nil {
		r.first.gone = true
		if r.hedge != nil && !r.hedge.gone && isFault(err) {
			r.await()
		}
	}
	r.over = true
	if r.won != nil {
		w, err = r.won, r.wonErr
	} else if r.hedge != nil {
		r.hedge.cancel(nil) // sendHedge closes what it still brings
	}
	if err == nil {
		r.observe()
	}
	return w, err
}

// await gives the hedge time to return. mu is held, but not meanwhile.
func (r *race) await() {
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-r.ended:
	case <-r.ctx.Done():
	case <-r.c.tasks.Context().Done():
	}
}

// observe remembers how long the answer took. A request that lost would have been late, at least as
// much as it is now.
func (r *race) observe() {
	now := time.Now()
	for _, w := range [...]*runner{&r.first, r.hedge} {
		if w == nil || w.gone {
			continue
		}
		if age, waiting := w.timer.Age(now); !waiting {
			r.c.latency.observe(r.ask.n, age)
		}
	}
}

func isFault(err error) bool {
	if err == nil {
		return false
	}
	var f *storage.Fault
	return errors.As(err, &f)
}

// look gives up requests that are too old, and repeats those whose answer is late. It returns the
// time of the next look.
func (r *race) look(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := now.Add(r.allowed)
	if r.over {
		return next
	}
	next = r.lookAt(&r.first, now, next)
	switch {
	case r.hedge != nil:
		return r.lookAt(r.hedge, now, next)
	case r.first.gone || !r.c.hedging:
		return next
	}
	age, waiting := r.first.timer.Age(now)
	switch {
	case waiting:
		return earlier(next, now.Add(r.late)) // it is not late before, whenever its turn comes
	case age < r.late:
		return earlier(next, now.Add(r.late-age))
	case r.c.mayHedge(now) && r.c.hedges.take():
		r.startHedge()
	}
	return earlier(next, now.Add(r.late)) // the budget may have more then
}

// lookAt gives w up if it was asked too long ago, else it returns when that will be, or next if
// that is earlier.
func (r *race) lookAt(w *runner, now, next time.Time) time.Time {
	age, waiting := w.timer.Age(now)
	switch {
	case w.gone || waiting:
		return next
	case age < r.allowed:
		return earlier(next, now.Add(r.allowed-age))
	}
	w.gone = true
	r.c.counts.stalls.Add(1)
	w.cancel(&stall{fmt.Sprintf("no answer for %.1f s", age.Seconds())})
	return next
}

// startHedge sends the second request. mu is held.
func (r *race) startHedge() {
	w := &runner{}
	w.begin(r.ctx)
	if !r.c.begin(func(context.Context) { r.sendHedge(w) }) {
		w.cancel(nil)
		return
	}
	r.hedge, r.ended = w, make(chan struct{})
	r.c.counts.hedges.Add(1)
	if r.c.counting {
		r.c.counts.requests.Add(1)
	}
}

// end cancels requests in flight.
func (r *race) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first.cancel(nil)
	if r.hedge != nil {
		r.hedge.cancel(nil)
	}
}

// mayHedge is whether a request may be asked twice at all.
func (c *caller) mayHedge(now time.Time) bool {
	return c.hedging && now.UnixNano() >= c.throttled.Load()
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
