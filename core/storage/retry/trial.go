package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Waits between attempts; each is drawn evenly between the floor and a bound that doubles.
const (
	soonFloor  = 10 * time.Millisecond
	soonFirst  = 50 * time.Millisecond
	soonCap    = 2 * time.Second
	laterFirst = 50 * time.Millisecond
	laterCap   = 5 * time.Second
)

// contactSlack and the timeout bound a call while the store has never answered: a wrong address
// shows within ten seconds, not after all the repetitions that a known store deserves.
const contactSlack = 4 * time.Second

// enoughProgress bytes make a fresh start: a body of gigabytes may break more often than a call may
// be repeated.
const enoughProgress = 1 << 20

// trial is one call with its repetitions.
type trial struct {
	c          *caller
	op, object string
	began      time.Time
	attempts   int
	refreshed  bool
}

func (c *caller) trial(op, object string) trial {
	return trial{c: c, op: op, object: object, began: time.Now()}
}

// exhausted marks the error of a call that was repeated in vain, so that no layer above repeats
// it again.
type exhausted struct{ err error }

func (e *exhausted) Error() string { return e.err.Error() }
func (e *exhausted) Unwrap() error { return e.err }

// time bounds the duration of the call.
func (t *trial) time() time.Duration {
	if t.c.answered.Load() {
		return t.c.limit
	}
	return min(t.c.limit, contactSlack+t.c.timeout)
}

// patience cuts the time limit of an attempt to the rest of the call's, while the store has never
// answered.
func (t *trial) patience(d time.Duration) time.Duration {
	if t.c.answered.Load() {
		return d
	}
	return min(d, max(time.Second, t.time()-time.Since(t.began)))
}

// attempt counts a request that is about to be sent.
func (t *trial) attempt() {
	t.attempts++
	if t.attempts > 1 {
		t.c.counts.retries.Add(1)
	}
	if t.c.counting {
		t.c.counts.requests.Add(1)
	}
}

// success refills the budget and remembers that the store is there.
func (t *trial) success() {
	t.c.answered.Store(true)
	t.c.repeats.add(repeatPerSuccess)
}

// restart forgets failures, after progress. The next attempt is a repetition all the same.
func (t *trial) restart() { t.attempts, t.refreshed, t.began = 1, false, time.Now() }

// again judges the error of an attempt: it returns nil, after a wait, where another one is to be
// made, else the error of the call.
func (t *trial) again(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return t.canceled(ctx)
	}
	var f *storage.Fault
	var done *exhausted
	if !errors.As(err, &f) || errors.As(err, &done) {
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Exists) {
			t.success() // an answer as good as any
		}
		return err
	}
	delay, ok := t.delay(f)
	if !ok || t.attempts >= t.c.attempts || time.Since(t.began)+delay > t.time() {
		return t.giveUp(err)
	}
	if wait := t.c.repeats.reserve(time.Now()); wait > delay {
		delay = wait
	}
	if time.Since(t.began)+delay > t.time() {
		t.c.repeats.add(1)
		return t.giveUp(err)
	}
	return t.sleep(ctx, delay)
}

// delay returns the wait after f, and whether a repetition can help at all.
func (t *trial) delay(f *storage.Fault) (time.Duration, bool) {
	switch f.Repeat {
	case storage.Refresh:
		if t.refreshed {
			return 0, false
		}
		t.refreshed = true
		return f.Wait, true
	case storage.Later:
		t.c.answered.Store(true)
		if t.c.counting {
			t.c.counts.throttles.Add(1)
		}
		d := max(f.Wait, t.jitter(0, laterFirst, laterCap))
		until := time.Now().Add(d).UnixNano()
		for old := t.c.throttled.Load(); old < until && !t.c.throttled.CompareAndSwap(old, until); {
			old = t.c.throttled.Load()
		}
		return d, true
	default:
		return max(f.Wait, t.jitter(soonFloor, soonFirst, soonCap)), true
	}
}

// jitter is drawn from floor to first doubled for each attempt, at most most.
func (t *trial) jitter(floor, first, most time.Duration) time.Duration {
	bound := most
	if n := t.attempts - 1; n < 20 {
		bound = min(most, first<<max(0, n))
	}
	return floor + time.Duration(t.c.random()*float64(bound-floor))
}

func (t *trial) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return t.canceled(ctx)
	case <-t.c.tasks.Context().Done():
		return t.c.stopped(t.op, t.object)
	}
}

func (t *trial) canceled(ctx context.Context) error {
	return &errs.Error{Kind: errs.Canceled, Op: t.op, Object: t.object, Err: context.Cause(ctx)}
}

// giveUp says how often and how long the call was tried.
func (t *trial) giveUp(err error) error {
	t.c.counts.gaveUp.Add(1)
	times := "once"
	if t.attempts > 1 {
		times = fmt.Sprintf("%d times in %.1f s", t.attempts, time.Since(t.began).Seconds())
	}
	hint := ""
	if !t.c.answered.Load() {
		hint = "; " + t.c.uri + " has never answered: check the address, the network and the proxy"
	}
	return errs.Wrap(errs.Storage, t.op, t.object, &exhausted{fmt.Errorf("tried %s: %w%s", times, err, hint)})
}

// repeat makes one call, as often as it takes. n is the number of bytes that it moves.
func (c *caller) repeat(ctx context.Context, op, object string, n int64, try func(ctx context.Context) error) error {
	t := c.trial(op, object)
	for {
		t.attempt()
		err := c.once(ctx, &t, nil, c.patience(n), try)
		if err == nil {
			t.success()
			return nil
		}
		if err := t.again(ctx, err); err != nil {
			return err
		}
	}
}

// once makes one attempt, and gives it up when its time is over.
func (c *caller) once(ctx context.Context, t *trial, w *watch, allowed time.Duration, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if w == nil {
		w = &watch{}
	}
	w.timer, w.allowed, w.cancel = storage.StartTimer(), t.patience(allowed), cancel
	c.watchdog.addWatch(c, w)
	defer c.watchdog.removeWatch(w)
	err := try(storage.WithTimer(ctx, w.timer))
	if err != nil {
		err = stalledOr(ctx, err)
	}
	return err
}

// stall is why the watchdog ended an attempt.
type stall struct{ what string }

func (s *stall) Error() string { return s.what }

// stalledOr is the Fault of a stall if that ended ctx, else err.
func stalledOr(ctx context.Context, err error) error {
	var s *stall
	if cause := context.Cause(ctx); cause != nil && errors.As(cause, &s) {
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%s", s.what)}
	}
	return err
}
