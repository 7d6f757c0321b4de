package prefetch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/go/tests/clock"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// fakeStore answers requests by the fake clock of a bubble. The zero value answers at once.
type fakeStore struct {
	delay time.Duration // to the first byte of a request
	rate  float64       // bytes per second of all requests together; 0: at once
	blank bool          // the bytes are never written: a test of times needs none
	// fail returns the error of a request; the request fails after half of its bytes
	fail func(s chunk.Span) error

	mu       sync.Mutex
	requests []asked // in order of arrival
	running  int
	most     int   // the peak of running
	flying   int64 // bytes requested and not yet delivered
	peak     int64 // the peak of flying
	free     time.Time
}

// asked is one request.
type asked struct {
	object   string
	off, end int64
	at       time.Time
}

// content returns the byte of an object at an offset.
func content(object string, off int64) byte {
	return byte(off) ^ byte(off>>8)*3 ^ byte(off>>16)*5 ^ object[len(object)-1]
}

// fetch has the signature of Options.Fetch.
func (f *fakeStore) fetch(s chunk.Span, ctx context.Context, dst []byte, landed func(n int64)) error {
	f.mu.Lock()
	f.requests = append(f.requests, asked{s.Object, s.Offset, s.Offset + s.Bytes, time.Now()})
	f.running++
	f.most = max(f.most, f.running)
	f.flying += s.Bytes
	f.peak = max(f.peak, f.flying)
	f.mu.Unlock()
	left := s.Bytes
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
		f.flying -= left
	}()
	if err := wait(ctx, f.delay); err != nil {
		return err
	}
	landed(0)
	const quantum = 64 * kib
	for left > 0 {
		if err := f.failure(s, left); err != nil {
			return err
		}
		n := min(left, quantum)
		if err := wait(ctx, f.take(n)); err != nil {
			return err
		}
		at := s.Bytes - left
		for i := int64(0); i < n && !f.blank; i++ {
			dst[at+i] = content(s.Object, s.Offset+at+i)
		}
		f.mu.Lock()
		f.flying -= n
		f.mu.Unlock()
		left -= n
		landed(n)
	}
	return nil
}

func (f *fakeStore) failure(s chunk.Span, left int64) error {
	if f.fail == nil || left > (s.Bytes+1)/2 {
		return nil
	}
	return f.fail(s)
}

// take returns the time until n more bytes have come through the link.
func (f *fakeStore) take(n int64) time.Duration {
	if f.rate == 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.free.Before(now) {
		f.free = now
	}
	f.free = f.free.Add(time.Duration(float64(n) / f.rate * 1e9))
	return f.free.Sub(now)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errs.Wrap(errs.Canceled, "read", "fake", context.Cause(ctx))
	}
}

// ranges returns the byte ranges of the requests for an object, in order of arrival.
func (f *fakeStore) ranges(object string) [][2]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out [][2]int64
	for _, r := range f.requests {
		if r.object == object {
			out = append(out, [2]int64{r.off, r.end})
		}
	}
	return out
}

// objects returns the objects of the requests, in order of arrival.
func (f *fakeStore) objects() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, r := range f.requests {
		out = append(out, r.object)
	}
	return out
}

func (f *fakeStore) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// rig is a prefetcher over a fake store. It must be ended.
type rig struct {
	*Prefetcher
	t      *testing.T
	store  *fakeStore
	memory *BufferPool
	group  *task.Group
}

// newRig makes a prefetcher over store, with a pool of its own.
func newRig(t *testing.T, store *fakeStore, o Options) *rig {
	t.Helper()
	memory := NewBufferPool(o.Limit)
	t.Cleanup(memory.Close)
	return overPool(t, store, o, memory)
}

// overPool makes a prefetcher over store and a pool.
func overPool(t *testing.T, store *fakeStore, o Options, memory *BufferPool) *rig {
	t.Helper()
	if o.Batch == 0 {
		o.Batch = 1
	}
	o.Fetch = store.fetch
	g := task.New(t.Context(), 0)
	return &rig{New(g, memory, o), t, store, memory, g}
}

// plan adds one window of a position for each list of spans.
func (b *rig) plan(windows ...[]chunk.Span) {
	for _, spans := range windows {
		b.mu.Lock()
		to := int64(len(b.windows)) + 1
		b.mu.Unlock()
		b.Plan(to, [][]chunk.Span{spans})
	}
}

// read reads n bytes at off and compares them.
func (b *rig) read(object string, off, n int64) {
	b.t.Helper()
	data, err := b.ReadAhead(still{}).Bytes(b.t.Context(), object, off, n)
	if err != nil || int64(len(data)) != n {
		b.t.Errorf("%s [%d, %d): %d bytes, %v", object, off, off+n, len(data), err)
		return
	}
	for i := int64(0); i < n && !b.store.blank; i++ {
		if data[i] != content(object, off+i) {
			b.t.Errorf("%s: the byte at %d is wrong", object, off+i)
			return
		}
	}
}

// settle waits until no request is in flight.
func (b *rig) settle() {
	b.t.Helper()
	pass(time.Hour)
	if f := b.Figures(); f.Running != 0 || f.Flying != 0 {
		b.t.Errorf("%d requests with %d bytes are in flight after an hour", f.Running, f.Flying)
	}
}

// pass lets d pass, and waits until all other goroutines wait for something.
func pass(d time.Duration) {
	clock.Pass(d)
	synctest.Wait()
}

// end stops the goroutines and closes the prefetcher. All counters of bytes in flight must be zero
// then, and so must those of held bytes unless the next pass takes them over.
func (b *rig) end() CarryOver {
	b.t.Helper()
	b.Stop()
	b.group.Stop()
	if err := b.group.Wait(); err != nil {
		b.t.Errorf("a goroutine failed: %v", err)
	}
	c := b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flying != 0 || b.running != 0 || b.head.flying != 0 {
		b.t.Errorf("at the end %d bytes of %d requests are in flight, %d of the first batch", b.flying, b.running, b.head.flying)
	}
	if c.Empty() && b.buffered != 0 {
		b.t.Errorf("at the end %d bytes are held", b.buffered)
	}
	return c
}

// unused checks that no memory of the pool is in use: all that is mapped is free.
func unused(t *testing.T, s *BufferPool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	free := int64(0)
	for size, list := range s.free {
		free += size * int64(len(list))
	}
	for _, r := range s.regions {
		if !r.unused() {
			t.Errorf("a region of %d bytes has the gaps %v", r.size, r.gaps)
		}
		free += r.size
	}
	if free != s.mapped {
		t.Errorf("%d of %d mapped bytes are free", free, s.mapped)
	}
}

// still is a Waiter that notes nothing.
type still struct{}

func (still) Pause()  {}
func (still) Resume() {}

// span returns a span of an object.
func span(object string, off, n int64) chunk.Span {
	return chunk.Span{Object: object, Offset: off, Bytes: n}
}

// list returns windows of one span each.
func list(spans ...chunk.Span) (windows [][]chunk.Span) {
	for _, s := range spans {
		windows = append(windows, []chunk.Span{s})
	}
	return windows
}

func sameRanges(t *testing.T, text string, got, want [][2]int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: requests %v, want %v", text, got, want)
	}
}
