package faultstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Store is a provider with faults. All methods may be called in parallel; which call is number n is
// then up to the order in which they arrive, and Calls tells it.
type Store struct {
	inner storage.Provider

	mu      sync.Mutex
	plan    Plan
	seen    []int   // per fault of the plan, matching calls so far
	spent   []int64 // per fault of the plan, bytes let through
	calls   []Call
	crashed bool
}

var (
	_ storage.Provider = (*Store)(nil)
	_ storage.Streamer = (*Store)(nil)
)

// New wraps inner. A Plan may serve several Stores, each counts for itself.
func New(inner storage.Provider, plan Plan) *Store {
	s := &Store{inner: inner}
	s.SetPlan(plan)
	return s
}

// SetPlan replaces the faults, which begin to count again, and ends a crash. The calls stay
// remembered.
func (s *Store) SetPlan(plan Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.crashed = slices.Clone(plan), false
	s.seen, s.spent = make([]int, len(plan)), make([]int64, len(plan))
}

// Calls returns every call so far in the order of arrival, those that failed too.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Crashed says whether a Crash was reached.
func (s *Store) Crashed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashed
}

func (s *Store) crash() {
	s.mu.Lock()
	s.crashed = true
	s.mu.Unlock()
}

// hit is the action for a call, the zero Action if there is none, and the number of its fault in
// the plan.
type hit struct {
	Action
	fault int
}

// arrive records a call and finds what hits it.
func (s *Store) arrive(c Call) (hit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	if s.crashed {
		return hit{}, injected(errs.Storage, c, "crashed before")
	}
	var h hit
	found := false
	for i := range s.plan {
		f := &s.plan[i]
		if !f.matches(c) {
			continue
		}
		n := s.seen[i]
		s.seen[i]++
		if !found && n >= f.Skip && n-f.Skip < max(1, f.Times) {
			h, found = hit{f.Do, i}, true
		}
	}
	return h, nil
}

// room says how many of n bytes there is space for, and takes it.
func (s *Store) room(h hit, n int) int {
	if !h.full {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got := max(0, min(int64(n), h.space-s.spent[h.fault]))
	s.spent[h.fault] += got
	return int(got)
}

// around does one call as the plan says. call gets the hit, which may change the data.
func (s *Store) around(ctx context.Context, c Call, call func(hit) error) error {
	h, err := s.arrive(c)
	if err != nil {
		return err
	}
	if err := h.wait(ctx, c); err != nil {
		return err
	}
	if h.before != nil {
		if err := h.before(s, c); err != nil {
			return err
		}
	}
	if err := call(h); err != nil {
		return err
	}
	if h.after != nil {
		return h.after(s, c)
	}
	return nil
}

func (a Action) wait(ctx context.Context, c Call) error {
	if a.delay > 0 {
		timer := time.NewTimer(a.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return errs.Wrap(errs.Canceled, string(c.Op), c.Key, ctx.Err())
		}
	}
	if a.waiting == nil {
		return nil
	}
	if a.waiting.reached != nil {
		select {
		case a.waiting.reached <- struct{}{}:
		case <-ctx.Done():
			return errs.Wrap(errs.Canceled, string(c.Op), c.Key, ctx.Err())
		}
	}
	select {
	case <-a.waiting.release:
		return nil
	case <-ctx.Done():
		return errs.Wrap(errs.Canceled, string(c.Op), c.Key, ctx.Err())
	}
}

func noSpace(c Call) error {
	return errs.Wrap(errs.Storage, string(c.Op), c.Key, fmt.Errorf("no space left: %w (injected fault)", syscall.ENOSPC))
}

// whole is a call that stores all its bytes or none.
func (s *Store) whole(ctx context.Context, c Call, call func() error) error {
	return s.around(ctx, c, func(h hit) error {
		if s.room(h, c.Bytes) < c.Bytes {
			return noSpace(c)
		}
		return call()
	})
}

// Get is one call.
func (s *Store) Get(ctx context.Context, key string) (data []byte, err error) {
	err = s.around(ctx, Call{Op: Get, Key: key}, func(h hit) error {
		data, err = s.inner.Get(ctx, key)
		if err == nil && h.read != nil {
			data, _ = h.read(data, 0) // a shorter object is no error of Get
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadAt is one call.
func (s *Store) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	return s.around(ctx, Call{ReadAt, key, len(dst)}, func(h hit) error {
		err := s.inner.ReadAt(ctx, key, dst, off)
		if err == nil && h.read != nil {
			if _, short := h.read(dst, off); short != nil {
				err = errs.Wrap(errs.Corrupt, string(ReadAt), key, short)
			}
		}
		return err
	})
}

// Put is one call.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	return s.whole(ctx, Call{Put, key, len(data)}, func() error { return s.inner.Put(ctx, key, data) })
}

// PutIfAbsent is one call.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.whole(ctx, Call{PutIfAbsent, key, len(data)}, func() error { return s.inner.PutIfAbsent(ctx, key, data) })
}

// List is one call, however many objects it shows.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	return s.around(ctx, Call{Op: List, Key: prefix}, func(hit) error { return s.inner.List(ctx, prefix, after, fn) })
}

// Delete is one call, however many keys it has.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	return s.around(ctx, Call{Op: Delete, Key: strings.Join(keys, " ")}, func(hit) error { return s.inner.Delete(ctx, keys...) })
}

// URI is the inner provider's.
func (s *Store) URI() string { return s.inner.URI() }

// Close closes the inner provider, after a crash too, so that a test leaks no descriptors. It is no
// call.
func (s *Store) Close() error { return s.inner.Close() }

// Create is one call; so is every Write and the Finish of the stream.
func (s *Store) Create(ctx context.Context, key string) (storage.Stream, error) {
	var inner storage.Stream
	err := s.around(ctx, Call{Op: Create, Key: key}, func(hit) (err error) {
		inner, err = storage.Create(ctx, s.inner, key)
		return err
	})
	if err != nil {
		if inner != nil && !s.Crashed() {
			inner.Abort() // begun, and never visible
		}
		return nil, err
	}
	return &stream{s, inner, key}, nil
}

// stream is a storage.Stream with faults.
type stream struct {
	store *Store
	inner storage.Stream
	key   string
}

func (w *stream) Write(p []byte) (n int, err error) {
	c := Call{Write, w.key, len(p)}
	err = w.store.around(context.Background(), c, func(h hit) (err error) {
		room := w.store.room(h, len(p))
		n, err = w.inner.Write(p[:room])
		if err == nil && room < len(p) {
			err = noSpace(c)
		}
		return err
	})
	return n, err
}

func (w *stream) Finish(ctx context.Context) error {
	err := w.store.around(ctx, Call{Op: Finish, Key: w.key}, func(hit) error { return w.inner.Finish(ctx) })
	if err != nil && !w.store.Crashed() {
		w.inner.Abort() // a failed Finish drops the object
	}
	return err
}

func (w *stream) Abort() {
	if !w.store.Crashed() {
		w.inner.Abort()
	}
}
