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
	gone   bool          // given up, or has failed; the race's mu guards it
	ended  chan struct{} // closed when a hedge has returned

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

// race is one range request, and perhaps others for the same bytes, called hedges: a second one
// when the first is late, and a third one when the second is late too. The first is sent by the
// goroutine of the caller, as another one would cost more than all else here; hedges, which are
// rare, by goroutines that the watchdog starts. The first answer goes to the caller; the other
// requests are cancelled, and their late answers closed.
//
// The caller gets away from the first only by cancelling it: a storage.Ranger returns when its
// context ends.
type race struct {
	c       *caller
	ctx     context.Context // of the call, for requests that may be sent later
	ask     ask
	allowed time.Duration
	first   runner

	mu     sync.Mutex
	over   bool // the caller goes on without requests in flight
	hedges []*runner
	won    *runner // the hedge whose return decides the race
	wonErr error
}

// mostHedges of a race: if one request in a hundred is slow, one in a million is so thrice.
const mostHedges = 2

// run is one attempt: it returns when a body has begun, or nothing is left that may answer. The
// runner holds the context of the body.
func (c *caller) run(ctx context.Context, t *trial, a ask) (*runner, error) {
	c.hedges.add(hedgePerRequest)
	r := &race{c: c, ctx: ctx, ask: a, allowed: t.patience(c.timeout + c.timeout/slack)}
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

// sendHedge is the goroutine of a hedge.
func (r *race) sendHedge(w *runner) {
	r.send(w)
	if !r.decides(w) {
		w.drop() // before ended is closed, so that nothing is under way when the caller goes on
	}
	close(w.ended)
}

// decides reports whether the answer of a hedge is the outcome of the race. The caller learns it as
// the others are cancelled.
func (r *race) decides(w *runner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := w.outcome()
	gone := w.gone
	w.gone = true
	if r.over || r.won != nil || isFault(err) && (!r.first.gone || r.running() != nil) {
		return false // another one may still answer
	}
	w.gone = gone
	r.won, r.wonErr = w, err
	r.first.cancel(nil)
	r.cancelHedges(w)
	return true
}

// running is a hedge that may still answer, nil if there is none.
func (r *race) running() *runner {
	for _, w := range r.hedges {
		if !w.gone {
			return w
		}
	}
	return nil
}

// cancelHedges ends the hedges but for one. sendHedge closes their late answers.
func (r *race) cancelHedges(but *runner) {
	for _, w := range r.hedges {
		if w != but {
			w.cancel(nil)
		}
	}
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
		if isFault(err) {
			r.await()
		}
	}
	r.over = true
	if r.won != nil {
		w, err = r.won, r.wonErr
	}
	r.cancelHedges(w)
	if err == nil {
		r.observe()
	}
	return w, err
}

// await gives the hedges time to return. mu is held, but not meanwhile.
func (r *race) await() {
	for r.won == nil {
		w := r.running()
		if w == nil || r.ctx.Err() != nil || r.c.tasks.Context().Err() != nil {
			return
		}
		r.mu.Unlock()
		select {
		case <-w.ended:
		case <-r.ctx.Done():
		case <-r.c.tasks.Context().Done():
		}
		r.mu.Lock()
	}
}

// observe remembers how long the answer took. A request that lost counts as an answer of now, since
// it would not have come sooner.
func (r *race) observe() {
	now := time.Now()
	observe := func(w *runner) {
		if age, waiting := w.timer.Age(now); !w.gone && !waiting {
			r.c.latency.observe(r.ask.n, age)
		}
	}
	observe(&r.first)
	for _, w := range r.hedges {
		observe(w)
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
	if r.over || r.won != nil {
		return next
	}
	next = r.lookAt(&r.first, now, next)
	last := &r.first
	for _, last = range r.hedges {
		next = r.lookAt(last, now, next)
	}
	if len(r.hedges) == mostHedges || r.first.gone || !r.c.hedging {
		return next
	}
	late, known := r.c.latency.late(r.ask.n)
	if !known {
		next = earlier(next, now.Add(learnTime)) // it may be known then
	}
	age, waiting := last.timer.Age(now)
	switch {
	case waiting:
		return earlier(next, now.Add(late)) // it is not late before, whenever its turn comes
	case age < late:
		return earlier(next, now.Add(late-age))
	case r.c.mayHedge(now) && r.c.hedges.take(now):
		r.startHedge()
	}
	return earlier(next, now.Add(late)) // the budget may have more then
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

// startHedge sends one more request. mu is held.
func (r *race) startHedge() {
	w := &runner{ended: make(chan struct{})}
	w.begin(r.ctx)
	if !r.c.begin(func(context.Context) { r.sendHedge(w) }) {
		w.cancel(nil)
		return
	}
	r.hedges = append(r.hedges, w)
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
	r.cancelHedges(nil)
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
