package retry_test

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
	"deeplake/go/tests/clock"
)

// answer is the outcome of one request, with its time.
type answer struct {
	after time.Duration
	err   error
	deaf  bool // it takes no notice that its context ends
}

// scripted is a Ranger whose requests are answered by a script; the tag of an answer is its number.
// It counts.
type scripted struct {
	storage.Provider
	answers []answer

	asked, canceled, running, open atomic.Int64
	closedUnder                    atomic.Bool // while requests were under way
}

func (s *scripted) Range(ctx context.Context, _ string, _, _ int64, _ string) (storage.Body, error) {
	n := s.asked.Add(1)
	s.running.Add(1)
	defer s.running.Add(-1)
	a := s.answers[n-1]
	timer := time.NewTimer(a.after)
	defer timer.Stop()
	ended := ctx.Done()
	if a.deaf {
		ended = nil
	}
	select {
	case <-timer.C:
	case <-ended:
		s.canceled.Add(1)
		return nil, errs.New(errs.Canceled, "%w", context.Cause(ctx))
	}
	if a.err != nil {
		return nil, a.err
	}
	s.open.Add(1)
	return &counted{nothing: nothing{10, 10}, ctx: ctx, s: s, tag: strconv.FormatInt(n, 10)}, nil
}

func (s *scripted) Close() error {
	s.closedUnder.Store(s.running.Load() > 0)
	return s.Provider.Close()
}

// counted is a body of 10 bytes that is closed once.
type counted struct {
	nothing
	ctx    context.Context
	s      *scripted
	tag    string
	closed bool
}

func (b *counted) Tag() string { return b.tag }

func (b *counted) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, errs.New(errs.Canceled, "%w", err)
	}
	return b.nothing.Read(p)
}

func (b *counted) Close() error {
	if !b.closed {
		b.closed = true
		b.s.open.Add(-1)
	}
	return nil
}

func script(t *testing.T, answers ...answer) (*scripted, storage.Provider) {
	t.Helper()
	s := &scripted{Provider: open(t, &mem.Space{}), answers: answers}
	p := retry.New(retry.Options{Settings: storage.Settings{Timeout: 1}, Random: func() float64 { return 0.5 }}).Provider(s)
	t.Cleanup(func() { _ = p.Close() })
	return s, p
}

// TestRaces: who answers first is read, at once; the other is cancelled, and nothing of it is left.
func TestRaces(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	soon := &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "broke")}
	later := &storage.Fault{Repeat: storage.Later, Wait: 2 * time.Second, Err: errs.New(errs.Storage, "slow down")}
	denied := errs.New(errs.Denied, "no")
	for _, c := range []struct {
		name string
		// The second is requested after 500 ms, if the first is still under way, the third
		// after 500 more. Each is given up after 1.05 s.
		answers  []answer
		kind     errs.Kind
		tag      string
		took     time.Duration
		canceled int64
		want     storage.Stats
	}{
		{
			name: "in time", answers: []answer{{after: 499 * ms}},
			tag: "1", took: 499 * ms, want: storage.Stats{Requests: 1},
		},
		{
			name: "the second is first", answers: []answer{{after: 900 * ms}, {after: 100 * ms}},
			tag: "2", took: 600 * ms, canceled: 1, want: storage.Stats{Requests: 2, Hedges: 1, HedgeWins: 1},
		},
		{
			name: "the first is first", answers: []answer{{after: 600 * ms}, {after: 300 * ms}},
			tag: "1", took: 600 * ms, canceled: 1, want: storage.Stats{Requests: 2, Hedges: 1},
		},
		{
			name: "a first that is deaf", answers: []answer{{after: 800 * ms, deaf: true}, {after: 100 * ms}},
			tag: "2", took: 800 * ms, want: storage.Stats{Requests: 2, Hedges: 1, HedgeWins: 1},
		},
		{
			name: "a second that is deaf", answers: []answer{{after: 600 * ms}, {after: 300 * ms, deaf: true}},
			tag: "1", took: 600 * ms, want: storage.Stats{Requests: 2, Hedges: 1},
		},
		{
			name: "the first breaks", answers: []answer{{after: 600 * ms, err: soon}, {after: 300 * ms}},
			tag: "2", took: 800 * ms, want: storage.Stats{Requests: 2, Hedges: 1, HedgeWins: 1},
		},
		{
			name: "the first fails for good", answers: []answer{{after: 600 * ms, err: denied}, {after: 300 * ms}},
			kind: errs.Denied, took: 600 * ms, canceled: 1, want: storage.Stats{Requests: 2, Hedges: 1},
		},
		{
			name: "the second breaks", answers: []answer{{after: 800 * ms}, {after: 100 * ms, err: soon}},
			tag: "1", took: 800 * ms, want: storage.Stats{Requests: 2, Hedges: 1},
		},
		{
			name: "the second fails for good", answers: []answer{{after: 800 * ms}, {after: 100 * ms, err: denied}},
			kind: errs.Denied, took: 600 * ms, canceled: 1, want: storage.Stats{Requests: 2, Hedges: 1},
		},
		{
			name: "the first breaks, then the second fails", answers: []answer{{after: 600 * ms, err: soon}, {after: 300 * ms, err: denied}},
			kind: errs.Denied, took: 800 * ms, want: storage.Stats{Requests: 2, Hedges: 1},
		},
		{
			name: "both break", answers: []answer{{after: 600 * ms, err: soon}, {after: 300 * ms, err: soon}, {}},
			tag: "3", took: 830 * ms, want: storage.Stats{Requests: 3, Hedges: 1, Retries: 1},
		},
		{
			name:    "both fail, the second says how long to wait",
			answers: []answer{{after: 600 * ms, err: soon}, {after: 300 * ms, err: later}, {}},
			tag:     "3", took: 2800 * ms, want: storage.Stats{Requests: 3, Hedges: 1, Retries: 1, Throttles: 1},
		},
		{
			name: "the first is given up", answers: []answer{{after: time.Hour}, {after: 900 * ms}, {after: 900 * ms}},
			tag: "2", took: 1400 * ms, canceled: 2, want: storage.Stats{Requests: 3, Hedges: 2, HedgeWins: 1, Stalls: 1},
		},
		{
			name: "the third is first", answers: []answer{{after: time.Hour}, {after: time.Hour}, {after: 20 * ms}},
			tag: "3", took: 1020 * ms, canceled: 2, want: storage.Stats{Requests: 3, Hedges: 2, HedgeWins: 1},
		},
		{
			name: "the third breaks", answers: []answer{{after: time.Hour}, {after: 900 * ms}, {after: 100 * ms, err: soon}},
			tag: "2", took: 1400 * ms, canceled: 1, want: storage.Stats{Requests: 3, Hedges: 2, HedgeWins: 1, Stalls: 1},
		},
		{
			name: "the second breaks, the third is first", answers: []answer{{after: time.Hour}, {after: 100 * ms, err: soon}, {after: 20 * ms}},
			tag: "3", took: 1020 * ms, canceled: 1, want: storage.Stats{Requests: 3, Hedges: 2, HedgeWins: 1},
		},
		{
			name: "all are given up", answers: []answer{{after: time.Hour}, {after: time.Hour}, {after: time.Hour}, {}},
			tag: "4", took: 2080 * ms, canceled: 3, want: storage.Stats{Requests: 4, Hedges: 2, Retries: 1, Stalls: 3},
		},
		{
			name: "given up, but deaf", answers: []answer{{after: 1100 * ms, deaf: true}, {after: 100 * ms, err: soon}, {after: 200 * ms}},
			tag: "3", took: 1200 * ms, want: storage.Stats{Requests: 3, Hedges: 2, HedgeWins: 1, Stalls: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, p := script(t, c.answers...)
				begun := time.Now()
				b, err := p.(storage.Ranger).Range(t.Context(), "k", 0, 10, "")
				if took := time.Since(begun); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if c.kind != 0 && !errs.Is(err, c.kind) || c.kind == 0 && err != nil {
					t.Fatalf("got %v, want kind %v", err, c.kind)
				}
				if err == nil {
					if b.Tag() != c.tag {
						t.Errorf("answer %s, want %s", b.Tag(), c.tag)
					}
					if data, err := io.ReadAll(b); err != nil || len(data) != 10 {
						t.Errorf("read %d bytes: %v", len(data), err)
					}
					b.Close()
				}
				clock.Pass(time.Second) // the deaf answer ends as well
				if running, left, canceled := s.running.Load(), s.open.Load(), s.canceled.Load(); running != 0 || left != 0 || canceled != c.canceled {
					t.Errorf("%d requests run, %d bodies are open, %d were cancelled, want %d", running, left, canceled, c.canceled)
				}
				c.want.BytesRead = 10
				if err != nil {
					c.want.BytesRead = 0
				}
				if got := stats(p); got != c.want {
					t.Errorf("stats: got %+v, want %+v", got, c.want)
				}
			})
		})
	}
}

// TestEndsOfRaces: a call that is cancelled, or whose store is closed, returns at once, and closing
// waits for it.
func TestEndsOfRaces(t *testing.T) {
	t.Parallel()
	soon := &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "broke")}
	late := answer{after: 900 * time.Millisecond}
	for _, c := range []struct {
		name    string
		answers []answer
		at      time.Duration
	}{
		{"one", []answer{late}, 300 * time.Millisecond},
		{"two", []answer{late, late}, 700 * time.Millisecond},
		{"the second alone", []answer{{after: 600 * time.Millisecond, err: soon}, late}, 700 * time.Millisecond},
		{"the second alone and deaf", []answer{{after: 600 * time.Millisecond, err: soon}, {after: time.Second, deaf: true}}, 700 * time.Millisecond},
	} {
		for _, kind := range []errs.Kind{errs.Canceled, errs.Closed} {
			t.Run(c.name+", "+kind.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, p := script(t, c.answers...)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					begun := time.Now()
					var took time.Duration
					g := task.New(t.Context(), 0)
					g.Go(func(context.Context) error {
						err := p.ReadAt(ctx, "k", make([]byte, 10), 0)
						took = time.Since(begun)
						return err
					})
					clock.Pass(c.at)
					if kind == errs.Canceled {
						cancel()
					} else if err := p.Close(); err != nil {
						t.Error(err)
					}
					if err := g.Wait(); !errs.Is(err, kind) || took != c.at {
						t.Errorf("after %v: %v, want %v", took, err, kind)
					}
					clock.Pass(time.Second) // the deaf one ends as well
					if s.running.Load() != 0 || s.open.Load() != 0 || s.closedUnder.Load() {
						t.Errorf("%d requests run, %d bodies are open, closed under requests: %v", s.running.Load(), s.open.Load(), s.closedUnder.Load())
					}
				})
			})
		}
	}
}

// TestLateAfterAQueue: the second request comes when the first is late from when its turn came, and
// not before.
func TestLateAfterAQueue(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{300 * time.Millisecond, 700 * time.Millisecond} {
		// it is late after 500 ms
		synctest.Test(t, func(t *testing.T) {
			s, _ := script(t, answer{after: 3 * time.Second}, answer{})
			p := retry.New(retry.Options{}).Provider(&queued{s, wait})
			defer p.Close()
			begun := time.Now()
			if err := p.ReadAt(t.Context(), "k", make([]byte, 10), 0); err != nil {
				t.Fatal(err)
			}
			// The second waits as well.
			if took := time.Since(begun); took != 2*wait+500*time.Millisecond {
				t.Errorf("a queue of %v: took %v", wait, took)
			}
		})
	}
}

// queued holds each request back for a while.
type queued struct {
	*scripted
	wait time.Duration
}

func (q *queued) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	timer := storage.TimerOf(ctx)
	timer.Pause()
	clock.Pass(q.wait)
	timer.Start()
	return q.scripted.Range(ctx, key, off, n, tag)
}
