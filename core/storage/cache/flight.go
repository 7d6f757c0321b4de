package cache

import (
	"context"
	"slices"
	"sync"

	"deeplake/core/errs"
)

// flights are the pages that are being fetched now.
type flights struct {
	mu  sync.Mutex
	now map[name]*flight
}

// flight is one page under way. It belongs to who claimed it, who lands it in any case.
type flight struct {
	name    name
	landed  chan struct{}
	waiters int  // guarded by the mutex of the flights
	page    page // once it has landed, and if ok
	ok      bool
}

// claim returns a new flight that the caller owns, or the flight of another caller to wait for.
func (f *flights) claim(n name) (fl *flight, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl := f.now[n]; fl != nil {
		fl.waiters++
		return fl, false
	}
	if f.now == nil {
		f.now = map[name]*flight{}
	}
	fl = &flight{name: n, landed: make(chan struct{})}
	f.now[n] = fl
	return fl, true
}

// claimNext claims a page unless another caller fetches it.
func (f *flights) claimNext(n name) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now[n] != nil {
		return nil
	}
	fl := &flight{name: n, landed: make(chan struct{})}
	f.now[n] = fl
	return fl
}

// land ends a flight. Waiting callers get a copy of its page. Without a page each of them fetches
// for itself: a cancelled context or an error belongs to one caller only.
func (f *flights) land(fl *flight, p page, ok bool) {
	f.mu.Lock()
	delete(f.now, fl.name)
	if fl.ok = ok; ok && fl.waiters > 0 {
		fl.page = page{slices.Clone(p.data), p.size}
	}
	f.mu.Unlock()
	close(fl.landed)
}

// wait waits for the flight of another caller.
func (fl *flight) wait(ctx context.Context, op, key string) (page, bool, error) {
	select {
	case <-fl.landed:
		return fl.page, fl.ok, nil
	case <-ctx.Done():
		return page{}, false, &errs.Error{Kind: errs.Canceled, Op: op, Object: key, Err: context.Cause(ctx)}
	}
}
