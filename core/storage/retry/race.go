package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// ask is what a range request asks for.
type ask struct {
	key    string
	off, n int64
	tag    string
}

// runner is one request of a race.
type runner struct {
	turn   *storage.Turn
	ctx    context.Context // of the request and its body, to see what ended it
	cancel context.CancelCauseFunc
	hedge  bool
	gone   bool // given up, or has failed

	body storage.Body
	err  error
}

// race is one range request, and perhaps a second one for the same bytes when the first is late. Whoever answers first
// gets the caller; the other is cancelled, and what it may still bring is closed.
type race struct {
	c    *caller
	t    *trial
	ask  ask
	done chan *runner // has room for all

	mu   sync.Mutex
	over bool

	runners []*runner
}

// recheck is how long a request that waits for its turn is left alone.
const recheck = 5 * time.Millisecond

// run is one attempt: it returns when a body has begun, or nothing is left that may answer. The runner holds the context
// of the body.
func (c *caller) run(ctx context.Context, t *trial, a ask) (*runner, error) {
	c.hedges.add(hedgePerRequest)
	r := &race{c: c, t: t, ask: a, done: make(chan *runner, 2)}
	defer r.settle()
	if !r.start(ctx, false) {
		return nil, c.stopped(t.op, t.object)
	}
	allowed, late := t.patience(c.timeout), c.latency.late(a.n)
	timer := time.NewTimer(min(allowed, late))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, t.canceled(ctx)
		case <-c.tasks.Context().Done():
			return nil, c.stopped(t.op, t.object)
		case w := <-r.done:
			if over, err := r.arrived(w); over || err != nil {
				return w, err
			}
		case now := <-timer.C:
			next, err := r.look(ctx, now, allowed, late)
			if err != nil {
				return nil, err
			}
			timer.Reset(next)
		}
	}
}

// start sends a request.
func (r *race) start(ctx context.Context, hedge bool) bool {
	w := &runner{turn: storage.NewTurn(), hedge: hedge}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	rctx := storage.WithTurn(w.ctx, w.turn)
	r.runners = append(r.runners, w)
	return r.c.begin(func(context.Context) {
		body, err := r.send(rctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.over {
			if body != nil {
				_ = body.Close() // nobody wants it any more
			}
			return
		}
		w.body, w.err = body, err
		r.done <- w
	})
}

// send makes a panic of a provider the error of this request alone.
func (r *race) send(ctx context.Context) (body storage.Body, err error) {
	err = task.Call(func() error {
		var err error
		body, err = r.c.ranger.Range(ctx, r.ask.key, r.ask.off, r.ask.n, r.ask.tag)
		return err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// arrived takes what a runner brought. over: it is the answer. An error is that of the attempt.
func (r *race) arrived(w *runner) (over bool, err error) {
	if w.gone { // has been counted as a stall, and cancelled
		if w.body != nil {
			_ = w.body.Close()
		}
		return false, nil
	}
	if w.err == nil {
		now := time.Now()
		for _, other := range r.runners {
			// A request that lost would have been late, at least as much as it is now.
			if age, waiting := other.turn.Age(now); !waiting && !other.gone {
				r.c.latency.observe(r.ask.n, age)
			}
		}
		if w.hedge {
			r.c.counts.hedgeWins.Add(1)
		}
		return true, nil
	}
	w.gone = true
	var f *storage.Fault
	if !errors.As(w.err, &f) || !r.running() {
		return false, stalledOr(w.ctx, w.err)
	}
	return false, nil // the other may still answer
}

func (r *race) running() bool {
	for _, w := range r.runners {
		if !w.gone {
			return true
		}
	}
	return false
}

// look gives up what was asked too long ago, and asks again where the answer is late. It returns when to look again.
func (r *race) look(ctx context.Context, now time.Time, allowed, late time.Duration) (time.Duration, error) {
	next := allowed
	for _, w := range r.runners {
		if w.gone {
			continue
		}
		age, waiting := w.turn.Age(now)
		switch {
		case waiting:
			next = min(next, recheck)
		case age >= allowed:
			w.gone = true
			why := &stall{fmt.Sprintf("no answer for %.1f s", age.Seconds())}
			w.cancel(why)
			r.c.counts.stalls.Add(1)
			if !r.running() {
				return 0, &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%w", why)}
			}
		default:
			next = min(next, allowed-age)
		}
	}
	if len(r.runners) > 1 || r.runners[0].gone {
		return next, nil
	}
	if age, waiting := r.runners[0].turn.Age(now); !waiting {
		if age < late {
			next = min(next, late-age)
		} else if r.c.mayHedge(now) && r.c.hedges.take() {
			r.c.counts.hedges.Add(1)
			if r.c.counting {
				r.c.counts.requests.Add(1)
			}
			r.start(ctx, true)
		} else if r.c.hedging {
			next = min(next, late) // the budget may have more then
		}
	}
	return max(next, time.Millisecond), nil
}

// mayHedge is whether a request may be asked twice at all.
func (c *caller) mayHedge(now time.Time) bool {
	return c.hedging && now.UnixNano() >= c.throttled.Load()
}

// settle ends what has not answered, and closes what answered too late.
func (r *race) settle() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	for _, w := range r.runners {
		if w.body == nil || w.err != nil {
			w.cancel(nil)
		}
	}
	for {
		select {
		case w := <-r.done:
			if w.body != nil {
				_ = w.body.Close()
			}
			w.cancel(nil)
		default:
			return
		}
	}
}
