package ahead

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// file counts its requests, and fails behind an offset.
type file struct {
	p        []byte
	fails    int64 // 0: never
	requests atomic.Int64
	largest  atomic.Int64
}

var errGone = errors.New("gone")

// ReadAt fills p.
func (f *file) ReadAt(_ context.Context, p []byte, off int64) error {
	f.requests.Add(1)
	f.largest.Store(max(f.largest.Load(), int64(len(p))))
	if f.fails > 0 && off+int64(len(p)) > f.fails {
		return errGone
	}
	copy(p, f.p[off:])
	return nil
}

func content() []byte {
	p := make([]byte, 1000)
	for i := range p {
		p[i] = byte(i * 7)
	}
	return p
}

// TestStream reads segments in order, whole and in pieces, with blocks of every size and depth.
func TestStream(t *testing.T) {
	t.Parallel()
	f := &file{p: content()}
	want := append(append([]byte{}, f.p[100:350]...), append(append([]byte{}, f.p[0:7]...), f.p[900:]...)...)
	for _, step := range []int64{1, 3, 64, 2000} {
		for _, depth := range []int{0, 1, 5} {
			o := Options{Step: step, Depth: depth}
			if depth > 0 {
				o.Group = task.New(t.Context(), 0)
			}
			segments := []Segment{{100, 250}, {0, 7}, {900, 100}}
			got, err := io.ReadAll(New(f, o, segments...).Reader(t.Context()))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("step %d, depth %d: %d bytes, %v", step, depth, len(got), err)
			}
			s, at := New(f, o, []Segment{{100, 250}, {0, 7}, {900, 100}}...), 0
			for _, n := range []int64{0, 1, 5, 200, 151, 9} {
				if err := s.Need(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				have := min(n, int64(len(s.Bytes())))
				if !bytes.Equal(s.Take(have), want[at:at+int(have)]) {
					t.Errorf("step %d, depth %d: other bytes at %d", step, depth, at)
				}
				at += int(have)
			}
			if at != len(want) || len(s.Bytes()) != 0 {
				t.Errorf("step %d, depth %d: %d bytes, want %d", step, depth, at, len(want))
			}
		}
	}
}

// TestBlocks: a block has Step bytes, or as many as are needed where none are requested ahead.
func TestBlocks(t *testing.T) {
	t.Parallel()
	f := &file{p: content()}
	if err := New(f, Options{Step: 10}, Segment{0, 1000}).Need(t.Context(), 300); err != nil || f.requests.Load() != 1 || f.largest.Load() != 300 {
		t.Error(f.requests.Load(), f.largest.Load(), err)
	}
	f = &file{p: content()}
	g := task.New(t.Context(), 0)
	s := New(f, Options{Group: g, Step: 10, Depth: 4}, Segment{0, 1000})
	if err := s.Need(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil || f.requests.Load() != 5 || f.largest.Load() != 10 {
		t.Errorf("%d requests of %d bytes: one block is taken and four are on their way", f.requests.Load(), f.largest.Load())
	}
}

// TestErrors: an error of the file comes at its place, and a canceled reader waits for nothing.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{0, 3} {
		f := &file{p: content(), fails: 50}
		o := Options{Step: 20, Depth: depth}
		if depth > 0 {
			o.Group = task.New(t.Context(), 0)
		}
		got, err := io.ReadAll(New(f, o, Segment{0, 1000}).Reader(t.Context()))
		if !errors.Is(err, errGone) || !bytes.Equal(got, f.p[:40]) {
			t.Errorf("depth %d: %d bytes, %v", depth, len(got), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stuck := stuckFile{make(chan struct{})}
	defer close(stuck.c)
	s := New(stuck, Options{Group: task.New(t.Context(), 0), Step: 20, Depth: 1}, Segment{0, 100})
	if err := s.Need(ctx, 1); !errs.Is(err, errs.Canceled) {
		t.Error(err)
	}
}

// stuckFile answers when its channel is closed.
type stuckFile struct{ c chan struct{} }

// ReadAt waits.
func (f stuckFile) ReadAt(context.Context, []byte, int64) error {
	<-f.c
	return nil
}
