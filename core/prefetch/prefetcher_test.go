package prefetch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
)

// waits counts the waits of a goroutine.
type waits struct{ paused, resumed int }

func (w *waits) Pause()  { w.paused++ }
func (w *waits) Resume() { w.resumed++ }

// TestReads covers the ranges that a prefetcher serves, and those that it leaves to the reader.
func TestReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second}
		b := newRig(t, store, Options{Limit: 1 << 40})
		b.plan([]chunk.Span{span("o", 100, 200), span("o", 500, 100), span("p", 0, 70_000)})
		b.Open(0)
		began := time.Now()
		for _, r := range [][2]int64{{100, 200}, {100, 1}, {299, 1}, {150, 100}, {500, 100}} {
			b.read("o", r[0], r[1])
		}
		b.read("p", 69_999, 1)
		if took := time.Since(began); took != time.Second {
			t.Errorf("two requests took %v, want a second", took)
		}
		before := store.count()
		for _, r := range [][2]int64{{0, 10}, {99, 2}, {299, 2}, {300, 1}, {600, 1}, {100, 500}} {
			if data, err := b.ReadAhead(still{}).Bytes(t.Context(), "o", r[0], r[1]); data != nil || err != nil {
				t.Errorf("%d bytes at %d, which are not planned: %d bytes, %v", r[1], r[0], len(data), err)
			}
		}
		if data, err := b.ReadAhead(still{}).Bytes(t.Context(), "q", 0, 1); data != nil || err != nil {
			t.Errorf("an object that is not planned: %d bytes, %v", len(data), err)
		}
		if f := b.Figures(); f.Direct != 7 || store.count() != before || before != 2 {
			t.Errorf("%d reads are left to the reader, want 7; %d requests, want 2", f.Direct, store.count())
		}
		b.end()
		unused(t, b.memory)
	})
}

// TestOverlappingPlans: spans that overlap share extents, and no byte is requested twice.
func TestOverlappingPlans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: 1 << 40})
		b.JoinWithin(0)
		b.plan(list(span("o", 100, 100), span("o", 400, 100), span("o", 0, 600), span("o", 150, 10), span("o", 0, 600))...)
		if got := len(b.objects["o"].extents); got != 5 || b.planned != 600 {
			t.Errorf("%d extents with %d bytes, want 5 with 600", got, b.planned)
		}
		b.Open(0)
		b.settle()
		total := int64(0)
		for _, r := range store.ranges("o") {
			total += r[1] - r[0]
		}
		if f := b.Figures(); f.Used != 600 || total != f.Bytes {
			t.Errorf("%d of 600 planned bytes in %d requested", f.Used, total)
		}
		b.read("o", 400, 100)
		// Bytes live until the last window that needs them.
		for i := range int64(4) {
			b.Done(i)
			b.read("o", 150, 10)
		}
		b.Done(4)
		if f := b.Figures(); f.Buffered != 0 || b.planned != 0 || b.useful != 0 || len(b.objects) != 0 || len(b.used) != 0 {
			t.Errorf("after the last window %d bytes are held, %d planned", f.Buffered, b.planned)
		}
		b.end()
	})
}

// TestBufferIsSharedByWindows: a buffer lives until the last extent in it is released, in whatever
// order the batches end.
func TestBufferIsSharedByWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: 1 << 40, Batch: 10})
		b.JoinWithin(math.MaxInt)
		for i := range int64(3) {
			b.Plan(10*(i+1), [][]chunk.Span{{span("o", i*100*kib, 100*kib)}})
		}
		b.Open(0)
		b.settle()
		held := b.Figures().Buffered
		if held != bufferSize(300*kib) || store.count() != 1 {
			t.Fatalf("%d bytes are held after %d requests, want one of 300 KiB", held, store.count())
		}
		steps := []struct{ seq, extents int64 }{{2, 3}, {1, 3}, {0, 0}}
		for _, s := range steps {
			b.Done(s.seq)
			left := int64(0)
			if o := b.objects["o"]; o != nil {
				left = int64(len(o.extents))
			}
			if want := held * min(s.extents, 1); left != s.extents || b.Figures().Buffered != want {
				t.Errorf("after batch %d %d extents are left and %d bytes are held, want %d and %d", s.seq, left, b.Figures().Buffered, s.extents, want)
			}
		}
		b.end()
		unused(t, b.memory)
	})
}

// TestBatchesOfManyPositions: a window ends with the batch that holds its last position.
func TestBatchesOfManyPositions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: 1 << 40, Batch: 10})
		b.Plan(15, [][]chunk.Span{{span("a", 0, 1000)}}) // ends within batch 1
		b.Plan(20, [][]chunk.Span{{span("b", 0, 1000)}}) // ends with batch 1
		b.Plan(21, [][]chunk.Span{{span("c", 0, 1000)}})
		b.Open(0)
		b.settle()
		b.Done(0)
		if f := b.Figures(); f.Buffered != 3000 {
			t.Errorf("after batch 0 %d bytes are held, want 3000", f.Buffered)
		}
		b.Done(1)
		if f := b.Figures(); f.Buffered != 1000 {
			t.Errorf("after batch 1 %d bytes are held, want 1000", f.Buffered)
		}
		b.Done(2)
		if f := b.Figures(); f.Buffered != 0 {
			t.Errorf("after batch 2 %d bytes are held", f.Buffered)
		}
		b.end()
	})
}

// TestReleaseBeforeArrival: memory in flight is freed when its request ends, and not before.
func TestReleaseBeforeArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second}
		b := newRig(t, store, Options{Limit: 1 << 40, Lead: 2})
		b.plan(list(span("a", 0, 100*kib), span("b", 0, 100*kib))...)
		b.Open(0)
		b.Done(0)
		b.Done(1)
		if f := b.Figures(); f.Buffered != 2*bufferSize(100*kib) || f.Running != 2 {
			t.Errorf("%d bytes are held, %d requests run, want two", f.Buffered, f.Running)
		}
		b.settle()
		if f := b.Figures(); f.Buffered != 0 {
			t.Errorf("%d bytes are held", f.Buffered)
		}
		b.end()
		unused(t, b.memory)
	})
}

// TestReleaseUnread: bytes that their batch did not wait for are never requested.
func TestReleaseUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: 1 << 40})
		b.plan(list(span("a", 0, 1000), span("b", 0, 1000), span("c", 0, 1000))...)
		b.Done(0)
		b.Done(1)
		b.Open(0)
		b.settle()
		if got := store.objects(); fmt.Sprint(got) != "[c]" {
			t.Errorf("requests %v, want c alone", got)
		}
		b.Done(2)
		b.end()
	})
}

// TestLimit bounds the bytes held and in flight. A reader that waits exceeds the bound: no order of
// reads may end in a deadlock.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second}
		b := newRig(t, store, Options{Limit: 2 * mib, SkipPrefault: true})
		var windows []chunk.Span
		for i := range 6 {
			windows = append(windows, span(string(rune('a'+i)), 0, mib))
		}
		b.plan(list(windows...)...)
		b.Open(0)
		b.settle()
		if f := b.Figures(); f.Buffered != 2*mib || f.PeakBuffered != 2*mib || store.count() != 2 {
			t.Errorf("%d bytes are held, %d at most, by %d requests, want 2 MiB", f.Buffered, f.PeakBuffered, store.count())
		}
		b.read("e", 0, mib) // a batch ahead of its turn
		if got := fmt.Sprint(store.objects()); got != "[a b e]" || b.Figures().Buffered != 3*mib {
			t.Errorf("requests %s, %d bytes held, want a, b and e", got, b.Figures().Buffered)
		}
		b.Done(0)
		b.settle()
		if got := store.count(); got != 3 {
			t.Errorf("%d requests with 2 MiB held, want 3", got)
		}
		b.Done(1)
		b.settle()
		if got := fmt.Sprint(store.objects()); got != "[a b e c]" {
			t.Errorf("requests %s, want c after the memory of b is free", got)
		}
		for i := 2; i < 6; i++ {
			b.read(string(rune('a'+i)), 0, mib)
			b.Done(int64(i))
		}
		if f := b.Figures(); f.PeakBuffered != 3*mib || f.Buffered != 0 {
			t.Errorf("%d bytes were held at most, %d are, want 3 MiB and none", f.PeakBuffered, f.Buffered)
		}
		b.end()
		unused(t, b.memory)
	})
}

// TestObjectBeyondTheLimit: a span larger than the limit goes alone.
func TestObjectBeyondTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: 100 * kib})
		b.plan(list(span("a", 0, 300*kib), span("b", 0, 300*kib))...)
		b.Open(0)
		b.settle()
		if got := fmt.Sprint(store.objects()); got != "[a]" {
			t.Errorf("requests %s, want a alone", got)
		}
		b.read("a", 0, 300*kib)
		b.Done(0)
		b.settle()
		if got := fmt.Sprint(store.objects()); got != "[a b]" {
			t.Errorf("requests %s, want b after a", got)
		}
		b.Done(1)
		b.end()
	})
}

// TestPlanningWaits: the planner waits while its plan fills the limit, unless a reader waits for
// more of it.
func TestPlanningWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		within int
		spans  int // that fill the limit
	}{"joined": {1, 4}, "apart": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newRig(t, &fakeStore{}, Options{Limit: 4 * mib, SkipPrefault: true})
				b.JoinWithin(c.within)
				planned := 0
				b.group.Go(func(context.Context) error {
					for b.AwaitSpace() {
						b.plan([]chunk.Span{span(fmt.Sprint(planned), 0, mib)})
						planned++
					}
					return nil
				})
				synctest.Wait()
				if planned != c.spans || !b.Over() {
					t.Errorf("%d windows are planned, want %d", planned, c.spans)
				}
				w := &waits{}
				b.Await(int64(c.spans)+2, w) // wants two more
				synctest.Wait()
				if planned != c.spans+2 || w.paused == 0 || w.paused != w.resumed {
					t.Errorf("%d windows are planned for a reader, want %d; %+v", planned, c.spans+2, w)
				}
				b.Open(0)
				for i := range 3 {
					b.read(fmt.Sprint(i), 0, mib)
					b.Done(int64(i))
					b.settle()
				}
				// Three windows have gone, and as many as fill the limit are planned.
				if want := 3 + c.spans; planned < max(want, c.spans+3) || planned > want+2 {
					t.Errorf("%d windows are planned after three batches, want about %d", planned, want)
				}
				b.end()
			})
		})
	}
}

// TestAwait waits for a plan, for its end, or for Stop.
func TestAwait(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(b *rig){
		"plan": func(b *rig) { b.Plan(5, nil) },
		"end":  func(b *rig) { b.End() },
		"stop": func(b *rig) { b.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newRig(t, &fakeStore{}, Options{Limit: mib})
				b.Plan(2, nil)
				w := &waits{}
				b.Await(2, w) // is planned
				if w.paused != 0 {
					t.Error("a wait for positions that are planned")
				}
				began := time.Now()
				b.group.Go(func(context.Context) error { b.Await(5, w); return nil })
				pass(time.Second)
				b.Plan(4, nil) // is not enough
				pass(time.Second)
				if w.resumed == w.paused {
					t.Error("the wait ended early")
				}
				wake(b)
				synctest.Wait()
				if w.resumed != w.paused || time.Since(began) != 2*time.Second || b.Figures().Index != 2*time.Second {
					t.Errorf("%+v after %v, %v on the meter", w, time.Since(began), b.Figures().Index)
				}
				b.end()
			})
		})
	}
}

// TestGate: nothing is requested before Open, and readers wait for it.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: mib})
		b.plan([]chunk.Span{span("o", 0, 1000)})
		w := &waits{}
		b.group.Go(func(ctx context.Context) error {
			data, err := b.ReadAhead(w).Bytes(ctx, "o", 0, 1000)
			if len(data) != 1000 || err != nil {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			return nil
		})
		pass(time.Second)
		if store.count() != 0 || w.paused != 1 || w.resumed != 0 {
			t.Errorf("%d requests before Open; %+v", store.count(), w)
		}
		b.Open(0)
		b.Open(7) // has no effect
		pass(time.Second)
		if store.count() != 1 || w.paused != w.resumed || b.exact != 0 || b.Figures().Waited != time.Second {
			t.Errorf("%d requests, want 1; %+v; %d exact windows; %v waited", store.count(), w, b.exact, b.Figures().Waited)
		}
		b.end()
	})
}

// TestPlanAfterOpen: later windows are requested when they are planned.
func TestPlanAfterOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: mib, Lead: 9})
		b.Open(0)
		for i := range 3 {
			b.plan([]chunk.Span{span(string(rune('a'+i)), 0, 1000)})
			b.settle()
			if store.count() != i+1 {
				t.Errorf("%d requests after window %d", store.count(), i)
			}
		}
		b.end()
	})
}

// TestBytesOfAnObject: the planned bytes of an object shrink as windows end. The rest of a large
// object is requested as a small one.
func TestBytesOfAnObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newRig(t, &fakeStore{}, Options{Limit: 1 << 30})
		b.plan(list(span("o", 0, 2*mib), span("o", 2*mib, 1000), span("o", 5*mib, 1000))...)
		b.Open(0)
		b.Done(0)
		if got := b.objects["o"].bytes; got != 2000 {
			t.Errorf("%d planned bytes, want 2000", got)
		}
		b.end()
	})
}

// TestDefaults are those of Options.
func TestDefaults(t *testing.T) {
	t.Parallel()
	p := New(nil, nil, Options{Batch: 7})
	if p.options.Lead != 7 || p.options.Fetch == nil || p.joinWindows != 1 {
		t.Errorf("options %+v, joined within %d windows", p.options, p.joinWindows)
	}
	if p.Limit() != 0 || !p.Over() {
		t.Errorf("limit %d, over %v", p.Limit(), p.Over())
	}
}

// TestStop ends the waits for the gate and for room; TestAwait covers those for plans. Readers
// go on by themselves.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: kib})
		b.plan([]chunk.Span{span("o", 0, 1000), span("p", 0, 1000)})
		var ended atomic.Int64
		b.group.Go(func(ctx context.Context) error {
			if data, err := b.ReadAhead(still{}).Bytes(ctx, "o", 0, 1000); data != nil || err != nil {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			ended.Add(1)
			return nil
		})
		b.group.Go(func(context.Context) error {
			if b.AwaitSpace() {
				t.Error("there is room after Stop")
			}
			ended.Add(1)
			return nil
		})
		pass(time.Second)
		if ended.Load() != 0 {
			t.Errorf("%d waits ended early", ended.Load())
		}
		b.Stop()
		synctest.Wait()
		if ended.Load() != 2 {
			t.Errorf("%d of 2 waits ended", ended.Load())
		}
		b.Open(0)
		b.plan([]chunk.Span{span("q", 0, 1000)})
		b.settle()
		if store.count() != 0 {
			t.Errorf("%d requests after Stop", store.count())
		}
		b.end()
	})
}

// TestCanceledReaders: a reader that gives up leaves at once with the cause of its context, and the
// others get their bytes.
func TestCanceledReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Minute}
		b := newRig(t, store, Options{Limit: mib})
		b.plan([]chunk.Span{span("o", 0, 1000)})
		b.Open(0)
		began := time.Now()
		b.group.Go(func(ctx context.Context) error {
			data, err := b.ReadAhead(still{}).Bytes(ctx, "o", 0, 1000)
			if len(data) != 1000 || err != nil || time.Since(began) != time.Minute {
				t.Errorf("the patient reader: %d bytes, %v after %v", len(data), err, time.Since(began))
			}
			return nil
		})
		cause := errors.New("the user left")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		w := &waits{}
		_, err := b.ReadAhead(w).Bytes(ctx, "o", 0, 10)
		if !errs.Is(err, errs.Canceled) || !errors.Is(err, cause) || time.Since(began) != time.Second || w.resumed != 1 {
			t.Errorf("the other: %v after %v; %+v", err, time.Since(began), w)
		}
		if got := b.Figures().Waited; got != time.Second {
			t.Errorf("%v waited, want a second", got)
		}
		b.settle()
		if store.count() != 1 {
			t.Errorf("%d requests, want 1", store.count())
		}
		b.end()
	})
}

// TestCanceledRequests: when the goroutines are stopped, requests and readers end at once, and the
// memory comes back.
func TestCanceledRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Hour}
		b := newRig(t, store, Options{Limit: 1 << 30, Lead: 3})
		b.plan(list(span("a", 0, 100*kib), span("b", 0, 100*kib), span("c", 0, 100))...)
		b.Open(0)
		began := time.Now()
		var got error
		b.group.Go(func(context.Context) error {
			_, got = b.ReadAhead(still{}).Bytes(t.Context(), "b", 0, 1)
			return nil
		})
		pass(time.Second)
		b.end()
		if !errs.Is(got, errs.Canceled) || time.Since(began) != time.Second {
			t.Errorf("the reader got %v after %v", got, time.Since(began))
		}
		unused(t, b.memory)
	})
}
