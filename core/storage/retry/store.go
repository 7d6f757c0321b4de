package retry

import (
	"context"
	"io"
	"math"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Store is a provider whose requests are repeated. All methods may be called in parallel. An error
// that it returns after repetitions says how often and for how long it tried.
type Store struct {
	caller
	inner   storage.Provider
	gathers gathers
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
func (p *Policy) Provider(inner storage.Provider) storage.Provider {
	s := &Store{inner: inner}
	p.fill(&s.caller, inner, inner.URI())
	s.ranger, _ = storage.As[storage.Ranger](inner)
	return s
}

// Get reads the whole object. One that is replaced while it is read is read again.
func (s *Store) Get(ctx context.Context, key string) (data []byte, err error) {
	if s.ranger == nil {
		err = s.repeat(ctx, "get", key, 0, func(ctx context.Context) (err error) {
			data, err = s.inner.Get(ctx, key)
			return err
		})
		s.read(len(data))
		return data, err
	}
	for range 3 {
		if data, err = s.whole(ctx, key); !errs.Is(err, errs.Conflict) {
			break
		}
	}
	return data, err
}

// step bounds the memory for an object before its bytes arrive.
const step = 64 << 20

func (s *Store) whole(ctx context.Context, key string) ([]byte, error) {
	b, err := s.open(ctx, "get", ask{key: key, n: -1})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	data := make([]byte, 0, min(b.length, step))
	for int64(len(data)) < b.length {
		if len(data) == cap(data) {
			grown := make([]byte, len(data), min(b.length, 2*int64(cap(data))))
			copy(grown, data)
			data = grown
		}
		n, err := io.ReadFull(b, data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// ReadAt fills dst. On error its content is undefined.
func (s *Store) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	if s.ranger == nil || len(dst) == 0 || off < 0 || off > math.MaxInt64-int64(len(dst)) {
		err := s.repeat(ctx, "read", key, int64(len(dst)), func(ctx context.Context) error { return s.inner.ReadAt(ctx, key, dst, off) })
		if err == nil {
			s.read(len(dst))
		}
		return err
	}
	var err error
	for range 3 {
		if err = s.readRange(ctx, key, dst, off); !errs.Is(err, errs.Conflict) {
			break
		}
	}
	return err
}

func (s *Store) readRange(ctx context.Context, key string, dst []byte, off int64) error {
	b, err := s.open(ctx, "read", ask{key: key, off: off, n: int64(len(dst))})
	if err != nil {
		return err
	}
	defer b.Close()
	if b.length < int64(len(dst)) {
		return errs.Op("read", key).New(errs.Corrupt, "object is truncated (got %d bytes at offset %d, want %d)", b.length, off, len(dst))
	}
	_, err = io.ReadFull(b, dst)
	return err
}

// Range asks for bytes; the body goes on by itself where it breaks.
func (s *Store) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if s.ranger == nil {
		return storage.RangerOf(s.inner).Range(ctx, key, off, n, tag)
	}
	return s.ranged(ctx, key, off, n, tag)
}

func (c *caller) ranged(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	b, err := c.open(ctx, "read", ask{key, off, n, tag})
	if err != nil {
		return nil, err // not a nil *body in an interface
	}
	return b, nil
}

// Put stores data, as often as it takes.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	return s.sent(len(data), s.repeat(ctx, "put", key, int64(len(data)), func(ctx context.Context) error { return s.inner.Put(ctx, key, data) }))
}

// PutIfAbsent stores data unless the key exists. As an answer can be lost, errs.Exists may speak of
// this very call.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.sent(len(data), s.repeat(ctx, "put-if-absent", key, int64(len(data)), func(ctx context.Context) error {
		return s.inner.PutIfAbsent(ctx, key, data)
	}))
}

// List goes on behind the last object that fn was shown.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	l := listing{caller: &s.caller, t: s.trial("list", prefix)}
	return l.run(ctx, func(ctx context.Context) error {
		return s.inner.List(ctx, prefix, after, func(o storage.Object) bool {
			return l.show(func() bool { after = o.Key; return fn(o) })
		})
	})
}

// Delete removes objects.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	object := s.uri
	if len(keys) == 1 {
		object = keys[0]
	}
	return s.repeat(ctx, "delete", object, int64(len(keys))<<13, func(ctx context.Context) error { return s.inner.Delete(ctx, keys...) })
}

// copyPatience is the time that a copy within the store may take.
const copyPatience = 5 * time.Minute

// CopyFrom copies within the store, where that can.
func (s *Store) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (done bool, err error) {
	inner, ok := storage.As[storage.Copier](s.inner)
	if !ok {
		return false, nil
	}
	t := s.trial("copy", key)
	for {
		t.attempt()
		err := s.once(ctx, &t, nil, copyPatience, func(ctx context.Context) (err error) {
			done, err = inner.CopyFrom(storage.WithAttempts(ctx, s.repeat), storage.Innermost(src), srcKey, key)
			return err
		})
		if err == nil {
			t.success()
			return done, nil
		}
		if err := t.again(ctx, err); err != nil {
			return done, err
		}
	}
}

// Sweep removes what killed writers left, where the store has such.
func (s *Store) Sweep(ctx context.Context, before time.Time, dry bool) (n, bytes int64, err error) {
	inner, ok := storage.As[storage.Sweeper](s.inner)
	if !ok {
		return 0, 0, nil
	}
	err = s.repeat(ctx, "sweep", s.uri, 0, func(ctx context.Context) error {
		moreN, moreBytes, err := inner.Sweep(ctx, before, dry)
		n, bytes = n+moreN, bytes+moreBytes
		return err
	})
	return n, bytes, err
}

// URI is the inner provider's.
func (s *Store) URI() string { return s.inner.URI() }

// Unwrap returns the decorated provider.
func (s *Store) Unwrap() storage.Provider { return s.inner }

// Stats counts what this provider and all below it have done.
func (s *Store) Stats() storage.Stats { return s.stats(s.inner) }

// Close cancels requests in flight and closes the inner provider.
func (s *Store) Close() error {
	s.stop()
	return s.inner.Close()
}

func (c *caller) read(n int) {
	if c.counting {
		c.counts.bytesRead.Add(int64(n))
	}
}

// sent counts n bytes that were stored if err is nil.
func (c *caller) sent(n int, err error) error {
	if err == nil && c.counting {
		c.counts.bytesWritten.Add(int64(n))
	}
	return err
}
