package parquet

import (
	"context"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// ReaderAt reads parts of a file.
type ReaderAt interface {
	// ReadAt fills p from off on, or fails.
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// segment is a part of a file.
type segment struct{ off, size int64 }

// block is a part of a file on its way.
type block struct {
	done chan struct{}
	p    []byte
	err  error
}

// stream reads the bytes of a column in order, some blocks ahead. One goroutine at a time uses it.
type stream struct {
	file  ReaderAt
	group *task.Group // of the readers ahead; nil: blocks are read as they are needed
	step  int64       // bytes of a block
	ahead int         // blocks on their way

	rest  []segment // not requested
	queue []*block
	p     []byte // the bytes that were read and not taken
}

// request asks for blocks until enough are on their way.
func (s *stream) request() {
	for len(s.queue) < max(1, s.ahead) && len(s.rest) > 0 {
		r := &s.rest[0]
		b := &block{done: make(chan struct{}), p: make([]byte, min(r.size, s.step))}
		off := r.off
		r.off += int64(len(b.p))
		if r.size -= int64(len(b.p)); r.size == 0 {
			s.rest = s.rest[1:]
		}
		s.queue = append(s.queue, b)
		fetch := func(ctx context.Context) error {
			defer close(b.done)
			b.err = s.file.ReadAt(ctx, b.p, off)
			return nil
		}
		if s.group != nil {
			s.group.Go(fetch)
		}
	}
}

// need makes n bytes available in s.p, or all that are left.
func (s *stream) need(ctx context.Context, n int64) error {
	for int64(len(s.p)) < n {
		if s.group == nil {
			if done, err := s.readNow(ctx, n-int64(len(s.p))); done || err != nil {
				return err
			}
			continue
		}
		s.request()
		if len(s.queue) == 0 {
			return nil
		}
		b := s.queue[0]
		s.queue = s.queue[1:]
		s.request()
		select {
		case <-b.done:
		case <-ctx.Done():
			return errs.Wrap(errs.Canceled, "read", "", ctx.Err())
		}
		if b.err != nil {
			return b.err
		}
		if len(s.p) == 0 {
			s.p = b.p
		} else {
			s.p = append(s.p[:len(s.p):len(s.p)], b.p...)
		}
	}
	return nil
}

// readNow reads n bytes or a block, whichever is more. done reports whether none were left.
func (s *stream) readNow(ctx context.Context, n int64) (done bool, err error) {
	if len(s.rest) == 0 {
		return true, nil
	}
	r := &s.rest[0]
	size := min(r.size, max(n, s.step))
	p := make([]byte, int64(len(s.p))+size)
	at := copy(p, s.p)
	if err := s.file.ReadAt(ctx, p[at:], r.off); err != nil {
		return false, err
	}
	s.p = p
	r.off += size
	if r.size -= size; r.size == 0 {
		s.rest = s.rest[1:]
	}
	return false, nil
}

// take removes n bytes that are available.
func (s *stream) take(n int64) []byte {
	p := s.p[:n:n]
	s.p = s.p[n:]
	return p
}
