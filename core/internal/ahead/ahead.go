// Package ahead reads parts of a file in order, some blocks before they are needed. It owns the
// blocks on their way. It knows neither stores nor the meaning of bytes.
package ahead

import (
	"context"
	"io"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// ReaderAt reads parts of a file.
type ReaderAt interface {
	// ReadAt fills p from off on, or fails.
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// Memory is a file that was read as a whole.
type Memory []byte

// ReadAt fills p.
func (m Memory) ReadAt(_ context.Context, p []byte, off int64) error {
	if off < 0 || off > int64(len(m))-int64(len(p)) {
		return errs.New(errs.Corrupt, "the file is cut")
	}
	copy(p, m[off:])
	return nil
}

// Segment is a part of a file.
type Segment struct{ Off, Size int64 }

// Options say how a stream reads.
type Options struct {
	Group *task.Group // of the requests ahead; nil: a block is read when it is needed
	Step  int64       // bytes of a block
	Depth int         // blocks on their way
}

// block is a part of a file on its way.
type block struct {
	done chan struct{}
	p    []byte
	err  error
}

// Stream gives the bytes of segments in order. One goroutine at a time may use it.
type Stream struct {
	file  ReaderAt
	o     Options
	rest  []Segment // not requested
	queue []*block
	p     []byte // read and not taken
}

// New returns the stream of segments of a file, none of them empty.
func New(file ReaderAt, o Options, segments ...Segment) *Stream {
	return &Stream{file: file, o: o, rest: segments}
}

// Bytes are those that were read and not taken.
func (s *Stream) Bytes() []byte { return s.p }

// Take removes n bytes, which were read, and returns them.
func (s *Stream) Take(n int64) []byte {
	p := s.p[:n:n]
	s.p = s.p[n:]
	return p
}

// Need reads until Bytes has n bytes, or all that are left.
func (s *Stream) Need(ctx context.Context, n int64) error {
	for int64(len(s.p)) < n {
		p, err := s.next(ctx, n-int64(len(s.p)))
		if err != nil || p == nil {
			return err
		}
		if len(s.p) == 0 {
			s.p = p
		} else {
			s.p = append(s.p[:len(s.p):len(s.p)], p...)
		}
	}
	return nil
}

// next returns the next block, nil behind the last one. A block that is read when it is needed has
// n bytes or more.
func (s *Stream) next(ctx context.Context, n int64) ([]byte, error) {
	if s.o.Group == nil {
		off, size := s.cut(max(n, s.o.Step))
		if size == 0 {
			return nil, nil
		}
		p := make([]byte, size)
		return p, s.file.ReadAt(ctx, p, off)
	}
	s.request()
	if len(s.queue) == 0 {
		return nil, nil
	}
	b := s.queue[0]
	s.queue = s.queue[1:]
	s.request()
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil, errs.Wrap(errs.Canceled, "read", "", ctx.Err())
	}
	return b.p, b.err
}

// cut takes up to most bytes off the first segment.
func (s *Stream) cut(most int64) (off, size int64) {
	if len(s.rest) == 0 {
		return 0, 0
	}
	r := &s.rest[0]
	off, size = r.Off, min(r.Size, most)
	r.Off += size
	if r.Size -= size; r.Size == 0 {
		s.rest = s.rest[1:]
	}
	return off, size
}

// request asks for blocks until enough are on their way.
func (s *Stream) request() {
	for len(s.queue) < max(1, s.o.Depth) {
		off, size := s.cut(s.o.Step)
		if size == 0 {
			return
		}
		b := &block{done: make(chan struct{}), p: make([]byte, size)}
		s.queue = append(s.queue, b)
		s.o.Group.Go(func(ctx context.Context) error {
			defer close(b.done)
			b.err = s.file.ReadAt(ctx, b.p, off)
			return nil
		})
	}
}

// Reader returns the bytes that are not taken as an io.Reader.
func (s *Stream) Reader(ctx context.Context) io.Reader { return reader{s, ctx} }

type reader struct {
	*Stream
	ctx context.Context
}

// Read gives the next bytes.
func (r reader) Read(dst []byte) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	if err := r.Need(r.ctx, 1); err != nil {
		return 0, err
	}
	if len(r.p) == 0 {
		return 0, io.EOF
	}
	return copy(dst, r.Take(min(int64(len(dst)), int64(len(r.p))))), nil
}
