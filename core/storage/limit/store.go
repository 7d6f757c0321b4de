package limit

import (
	"context"
	"sync/atomic"
	"time"

	"deeplake/core/storage"
)

// counts are the figures of one decorated provider or source.
type counts struct {
	requests, bytesRead, bytesWritten atomic.Int64
	throttles, waits, waitTime        atomic.Int64
}

func (c *counts) stats(l *Limiter, inner any) storage.Stats {
	s := storage.Stats{
		Requests: c.requests.Load(), BytesRead: c.bytesRead.Load(), BytesWritten: c.bytesWritten.Load(),
		Throttles: c.throttles.Load(), Waits: c.waits.Load(), WaitTime: time.Duration(c.waitTime.Load()), Connections: int64(l.Connections()),
	}
	s.Add(storage.StatsOf(inner))
	return s
}

// Store is a provider whose requests wait for a slot. All methods may be called in parallel.
type Store struct {
	l      *Limiter
	inner  storage.Provider
	ranger storage.Ranger
	counts
}

var (
	_ storage.Provider = (*Store)(nil)
	_ storage.Streamer = (*Store)(nil)
	_ storage.Copier   = (*Store)(nil)
	_ storage.Sweeper  = (*Store)(nil)
	_ storage.Wrapper  = (*Store)(nil)
	_ storage.Meter    = (*Store)(nil)
	_ storage.Ranger   = (*Store)(nil)
)

// Provider decorates inner, and owns it from then on. The result is a storage.Ranger if inner is
// one.
func (l *Limiter) Provider(inner storage.Provider) storage.Provider {
	s := &Store{l: l, inner: inner, ranger: storage.RangerOf(inner)}
	return s
}

// in makes one request in a slot; reads is the number of bytes that it requests.
func (s *Store) in(ctx context.Context, op, object string, reads int64, request func(ctx context.Context) error) error {
	var taken slot
	if err := taken.acquire(ctx, s.l, &s.counts, op, object, reads); err != nil {
		return err
	}
	defer taken.release()
	s.requests.Add(1)
	return taken.judge(&s.counts, request(ctx))
}

// Get reads the whole object.
func (s *Store) Get(ctx context.Context, key string) (data []byte, err error) {
	err = s.in(ctx, "get", key, unknownBytes, func(ctx context.Context) (err error) {
		data, err = s.inner.Get(ctx, key)
		return err
	})
	s.bytesRead.Add(int64(len(data)))
	return data, err
}

// ReadAt fills dst.
func (s *Store) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	err := s.in(ctx, "read", key, int64(len(dst)), func(ctx context.Context) error { return s.inner.ReadAt(ctx, key, dst, off) })
	if err == nil {
		s.bytesRead.Add(int64(len(dst)))
	}
	return err
}

// Put stores data.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	return s.wrote(data, s.in(ctx, "put", key, 0, func(ctx context.Context) error { return s.inner.Put(ctx, key, data) }))
}

// PutIfAbsent stores data unless the key exists.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.wrote(data, s.in(ctx, "put-if-absent", key, 0, func(ctx context.Context) error { return s.inner.PutIfAbsent(ctx, key, data) }))
}

func (s *Store) wrote(data []byte, err error) error {
	if err == nil {
		s.bytesWritten.Add(int64(len(data)))
	}
	return err
}

// List takes a place until the first object has come. fn runs without one, so that it may ask the
// store for something.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	var taken slot
	if err := taken.acquire(ctx, s.l, &s.counts, "list", prefix, 0); err != nil {
		return err
	}
	defer taken.release()
	s.requests.Add(1)
	return taken.judge(&s.counts, s.inner.List(ctx, prefix, after, func(o storage.Object) bool {
		taken.release()
		return fn(o)
	}))
}

// Delete removes objects.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	object := s.URI()
	if len(keys) == 1 {
		object = keys[0]
	}
	return s.in(ctx, "delete", object, 0, func(ctx context.Context) error { return s.inner.Delete(ctx, keys...) })
}

// attempts gives each request of a call a slot of its own.
func (s *Store) attempts(ctx context.Context) context.Context {
	outer := storage.AttemptsOf(ctx)
	return storage.WithAttempts(ctx, func(ctx context.Context, op, object string, n int64, try func(ctx context.Context) error) error {
		return outer(ctx, op, object, n, func(ctx context.Context) error {
			err := s.in(ctx, op, object, 0, try)
			if err == nil {
				s.bytesWritten.Add(n)
			}
			return err
		})
	})
}

// Create begins an object. Requests that the inner provider runs through storage.AttemptsOf wait
// for slots.
func (s *Store) Create(ctx context.Context, key string) (storage.Stream, error) {
	return storage.Create(s.attempts(ctx), s.inner, key)
}

// CopyFrom copies within the store, where that can. It takes a place as a whole.
func (s *Store) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (done bool, err error) {
	inner, ok := storage.As[storage.Copier](s.inner)
	if !ok {
		return false, nil
	}
	err = s.in(ctx, "copy", key, 0, func(ctx context.Context) (err error) {
		done, err = inner.CopyFrom(ctx, storage.Innermost(src), srcKey, key)
		return err
	})
	return done, err
}

// Sweep removes what killed writers left, where the store has such.
func (s *Store) Sweep(ctx context.Context, before time.Time, dry bool) (n, bytes int64, err error) {
	inner, ok := storage.As[storage.Sweeper](s.inner)
	if !ok {
		return 0, 0, nil
	}
	err = s.in(ctx, "sweep", s.URI(), 0, func(ctx context.Context) (err error) {
		n, bytes, err = inner.Sweep(ctx, before, dry)
		return err
	})
	return n, bytes, err
}

// URI is the inner provider's.
func (s *Store) URI() string { return s.inner.URI() }

// Unwrap returns the decorated provider.
func (s *Store) Unwrap() storage.Provider { return s.inner }

// Stats counts what this provider and all below it have done; Connections is the Limiter's.
func (s *Store) Stats() storage.Stats { return s.stats(s.l, s.inner) }

// Close closes the inner provider.
func (s *Store) Close() error { return s.inner.Close() }

// Range asks for bytes, which hold their slot until the body is closed.
func (s *Store) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	return ranged(ctx, s.l, &s.counts, s.ranger, key, off, n, tag)
}

func ranged(ctx context.Context, l *Limiter, c *counts, r storage.Ranger, key string, off, n int64, tag string) (storage.Body, error) {
	want := n
	if want < 0 {
		want = unknownBytes
	}
	b := &body{c: c}
	if err := b.slot.acquire(ctx, l, c, "read", key, want); err != nil {
		return nil, err
	}
	c.requests.Add(1)
	in, err := r.Range(ctx, key, off, n, tag)
	if err != nil {
		err = b.slot.judge(c, err)
		b.slot.release()
		return nil, err
	}
	left := max(0, in.Len())
	b.slot.resize(left)
	b.Body, b.left, b.held = in, left, left
	return b, nil
}

// freeStep is the number of bytes that are read before they are given back to the bound.
const freeStep = 256 << 10

// body is an answer that holds its slot until it is closed.
type body struct {
	storage.Body
	slot slot
	c    *counts
	left int64 // to come
	held int64 // of the bound
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Body.Read(p)
	b.c.bytesRead.Add(int64(n))
	b.left = max(0, b.left-int64(n))
	if b.held-b.left >= freeStep {
		b.held = b.left
		b.slot.resize(b.held)
	}
	return n, b.slot.judge(b.c, err)
}

func (b *body) Close() error {
	defer b.slot.release()
	return b.Body.Close()
}

// Source is a storage.Source whose requests wait for a slot. All methods may be called in
// parallel.
type Source struct {
	l     *Limiter
	inner storage.Source
	counts
}

var (
	_ storage.Source = (*Source)(nil)
	_ storage.Meter  = (*Source)(nil)
)

// Source decorates inner, and owns it from then on.
func (l *Limiter) Source(inner storage.Source) *Source { return &Source{l: l, inner: inner} }

// Range asks for bytes, which hold their slot until the body is closed.
func (s *Source) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	return ranged(ctx, s.l, &s.counts, s.inner, key, off, n, tag)
}

// Objects takes a place until the first object has come, as Store.List does.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	var taken slot
	if err := taken.acquire(ctx, s.l, &s.counts, "list", prefix, 0); err != nil {
		return err
	}
	defer taken.release()
	s.requests.Add(1)
	return taken.judge(&s.counts, s.inner.Objects(ctx, prefix, after, func(e storage.Entry) bool {
		taken.release()
		return fn(e)
	}))
}

// URI is the inner source's.
func (s *Source) URI() string { return s.inner.URI() }

// Inner is the source that is decorated.
func (s *Source) Inner() storage.Source { return s.inner }

// Stats counts what this source and all below it have done; Connections is the Limiter's.
func (s *Source) Stats() storage.Stats { return s.stats(s.l, s.inner) }

// Close closes the inner source.
func (s *Source) Close() error { return s.inner.Close() }
