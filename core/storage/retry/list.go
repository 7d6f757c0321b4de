package retry

import (
	"context"

	"deeplake/core/storage"
)

// listing is a listing with its repetitions. The time that the callback takes is not the store's.
type listing struct {
	*caller
	t       trial
	timer   *storage.RequestTimer
	shown   bool // something, since the attempt began
	stopped bool
}

// run lists until the end; list continues behind the last shown entry.
func (l *listing) run(ctx context.Context, list func(ctx context.Context) error) error {
	for {
		l.t.attempt()
		w := &watch{}
		l.shown = false
		err := l.once(ctx, &l.t, w, l.patience(0), func(ctx context.Context) error {
			l.timer = w.timer
			return list(ctx)
		})
		if err == nil {
			l.t.success()
			return nil
		}
		if l.stopped && ctx.Err() == nil {
			return nil // the caller has all that it wanted
		}
		if l.shown {
			l.t.restart()
		}
		if err := l.t.again(ctx, err); err != nil {
			return err
		}
	}
}

// show calls fn outside of the time that is watched.
func (l *listing) show(fn func() bool) bool {
	l.timer.Pause()
	defer l.timer.Start()
	l.shown = true
	l.stopped = !fn()
	return !l.stopped
}

// Source is a storage.Source whose requests are repeated. All methods may be called in parallel. A
// body goes on where it broke only if the source gives tags.
type Source struct {
	caller
	inner storage.Source
}

var (
	_ storage.Source = (*Source)(nil)
	_ storage.Meter  = (*Source)(nil)
)

// Source decorates inner, and owns it from then on.
func (p *Policy) Source(inner storage.Source) *Source {
	s := &Source{inner: inner}
	p.fill(&s.caller, inner, inner.URI())
	s.pinned = true
	return s
}

// Range asks for bytes.
func (s *Source) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	return s.ranged(ctx, key, off, n, tag)
}

// Objects goes on behind the last object that fn was shown; where the listing has no order, it
// begins again and passes over as many as were shown.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	l := listing{caller: &s.caller, t: s.trial("list", s.uri+"/"+prefix)}
	begin, last, ordered, shown := after, after, true, 0
	return l.run(ctx, func(ctx context.Context) error {
		from, skip := last, 0
		if !ordered {
			from, skip = begin, shown
		}
		return s.inner.Objects(ctx, prefix, from, func(e storage.Entry) bool {
			if skip > 0 {
				skip--
				return true
			}
			ordered = ordered && (shown == 0 || e.Key > last)
			last = e.Key
			shown++
			return l.show(func() bool { return fn(e) })
		})
	})
}

// URI is the inner source's.
func (s *Source) URI() string { return s.inner.URI() }

// Inner is the source that is decorated.
func (s *Source) Inner() storage.Source { return s.inner }

// Stats counts what this source and all below it have done.
func (s *Source) Stats() storage.Stats { return s.stats(s.inner) }

// Close cancels requests in flight and closes the inner source.
func (s *Source) Close() error {
	s.stop()
	return s.inner.Close()
}
