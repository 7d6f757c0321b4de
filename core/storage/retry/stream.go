package retry

import (
	"context"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// bufferBytes is up to where a stream is kept, to be put as a whole and as often as it takes.
const bufferBytes = 16 << 20

// Create begins an object. A small one is put as a whole at the end; the requests of a larger one
// are repeated if the inner provider runs them through storage.AttemptsOf.
func (s *Store) Create(ctx context.Context, key string) (storage.Stream, error) {
	if err := storage.CheckKey(key); err != nil {
		return nil, err
	}
	return &stream{s: s, ctx: ctx, key: key}, nil
}

// stream is an object being written.
type stream struct {
	s   *Store
	ctx context.Context // of Create, for its values: the inner stream may be begun later
	key string

	data  []byte
	inner storage.Stream // once data has become too much
	ended bool
}

func (w *stream) Write(p []byte) (int, error) {
	if w.ended {
		return 0, w.over("write")
	}
	if w.inner == nil && len(w.data)+len(p) <= bufferBytes {
		w.data = append(w.s.gathers.grow(w.data, len(p)), p...)
		return len(p), nil
	}
	if w.inner == nil {
		if err := w.begin(); err != nil {
			return 0, err
		}
	}
	n, err := w.inner.Write(p)
	w.s.wrote(n)
	return n, err
}

// begin hands over to a stream of the inner provider.
func (w *stream) begin() error {
	ctx := storage.WithAttempts(w.ctx, w.s.repeat)
	err := w.s.repeat(ctx, "create", w.key, 0, func(context.Context) (err error) {
		// Not the context of the attempt, which ends with it: the stream goes on.
		w.inner, err = storage.Create(ctx, w.s.inner, w.key)
		return err
	})
	if err != nil {
		w.inner = nil
		return err
	}
	data := w.data
	w.data = nil
	if _, err := w.inner.Write(data); err != nil { // it takes a copy
		return err
	}
	w.s.wrote(len(data))
	w.s.gathers.put(data)
	return nil
}

func (w *stream) Finish(ctx context.Context) error {
	if w.ended {
		return w.over("finish")
	}
	w.ended = true
	if w.inner != nil {
		return w.inner.Finish(ctx)
	}
	data := w.data
	w.data = nil
	tries := 0
	err := w.s.sent(len(data), w.s.repeat(ctx, "put", w.key, int64(len(data)), func(ctx context.Context) error {
		tries++
		return w.s.inner.Put(ctx, w.key, data)
	}))
	if err == nil && tries == 1 {
		w.s.gathers.put(data) // a request that was given up may be reading still
	}
	return err
}

func (w *stream) Abort() {
	w.ended, w.data = true, nil
	if w.inner != nil {
		w.inner.Abort()
	}
}

func (w *stream) over(op string) error {
	return errs.Op(op, w.key).New(errs.Closed, "the stream was finished or aborted")
}
