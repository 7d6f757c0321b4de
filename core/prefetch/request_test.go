package prefetch

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
)

// near estimates a link of short delay, for which no gap is worth reading.
var near = linkEstimator{first: time.Microsecond, mean: 1e6, next: knownSamples}

// TestCoalescing tells which neighbours share a request.
func TestCoalescing(t *testing.T) {
	t.Parallel()
	const big = 2 * mib // beyond smallObject
	for name, c := range map[string]struct {
		windows [][]chunk.Span
		link    linkEstimator
		within  int // windows; -1: the default
		exact   int
		lead    int64 // 0: the first batch needs none of the windows
		want    [][2]int64
	}{
		"neighbours of a window": {
			windows: [][]chunk.Span{{span("o", 0, big), span("o", big, big)}}, within: -1,
			want: [][2]int64{{0, 2 * big}},
		},
		"neighbours in front": {
			windows: [][]chunk.Span{{span("o", big, big), span("o", 0, big)}}, within: -1,
			want: [][2]int64{{0, 2 * big}},
		},
		"the next window": {
			windows: list(span("o", 0, big), span("o", big, big), span("o", 2*big, big)), within: -1,
			want: [][2]int64{{0, 2 * big}, {2 * big, 3 * big}},
		},
		"any window": {
			windows: list(span("o", 0, big), span("o", big, big), span("o", 2*big, big)), within: math.MaxInt,
			want: [][2]int64{{0, 3 * big}},
		},
		"no other window": {
			windows: list(span("o", 0, big), span("o", big, big)), within: 0,
			want: [][2]int64{{0, big}, {big, 2 * big}},
		},
		"a narrow gap": {
			windows: [][]chunk.Span{{span("o", 0, big), span("o", big+narrowGap, 100)}}, within: -1,
			want: [][2]int64{{0, big + narrowGap + 100}},
		},
		"a wide gap among many bytes": {
			windows: [][]chunk.Span{{span("o", 0, big), span("o", big+wideGap, big)}}, within: -1,
			want: [][2]int64{{0, 2*big + wideGap}},
		},
		"a wide gap among few bytes": {
			windows: [][]chunk.Span{{span("o", 0, mib), span("o", mib+wideGap, mib/4)}}, within: -1,
			want: [][2]int64{{0, mib}, {mib + wideGap, mib + wideGap + mib/4}},
		},
		"a wide gap behind joined bytes": {
			windows: [][]chunk.Span{{span("o", 0, mib), span("o", mib, mib), span("o", 2*mib+wideGap, mib/2)}}, within: -1,
			want: [][2]int64{{0, 2*mib + wideGap + mib/2}},
		},
		"a gap too wide": {
			windows: [][]chunk.Span{{span("o", 0, big), span("o", big+wideGap+1, big)}}, within: -1,
			want: [][2]int64{{0, big}, {big + wideGap + 1, 2*big + wideGap + 1}},
		},
		"a gap too wide in front": {
			windows: [][]chunk.Span{{span("o", big+wideGap+1, big), span("o", 0, big)}}, within: -1,
			want: [][2]int64{{big + wideGap + 1, 2*big + wideGap + 1}, {0, big}},
		},
		"a full request": {
			windows: [][]chunk.Span{{span("o", 0, MaxRequest-big), span("o", MaxRequest-big, big), span("o", MaxRequest, big)}}, within: -1,
			want: [][2]int64{{0, MaxRequest}, {MaxRequest, MaxRequest + big}},
		},
		"a small object, narrow link": {
			windows: list(span("o", 0, 100), span("o", 300*kib, 100), span("o", 500*kib, 1000)), within: math.MaxInt, link: near,
			want: [][2]int64{{0, 100}, {300 * kib, 300*kib + 100}, {500 * kib, 500*kib + 1000}},
		},
		"a small dense object, narrow link": {
			windows: list(span("o", 0, 100*kib), span("o", 110*kib, 100*kib), span("o", 250*kib, 100*kib)), within: math.MaxInt, link: near,
			want: [][2]int64{{0, 350 * kib}},
		},
		"later bytes, narrow link": {
			windows: list(span("o", 0, big), span("o", big, leastSpare), span("o", big+leastSpare, 1)), within: math.MaxInt, link: near,
			want: [][2]int64{{0, big + leastSpare}, {big + leastSpare, big + leastSpare + 1}},
		},
		"bytes needed now, narrow link": {
			windows: [][]chunk.Span{{span("o", 0, big), span("o", big, big), span("o", 2*big, 1)}}, within: -1, link: near,
			want: [][2]int64{{0, 2*big + 1}},
		},
		"exact windows": {
			windows: list(span("o", 0, big), span("o", big, big), span("o", 2*big, big)), within: math.MaxInt, exact: 1, lead: 1,
			want: [][2]int64{{0, big}, {big, 3 * big}},
		},
		"long requests of exact windows": {
			windows: [][]chunk.Span{{span("o", 0, big), span("o", big, big), span("o", 2*big, big)}, {span("o", 9*big, 1)}}, within: math.MaxInt, exact: 1, lead: 1,
			want: [][2]int64{{0, firstRequest}, {firstRequest, 3 * big}, {9 * big, 9*big + 1}},
		},
		"a small object of exact windows": {
			windows: list(span("o", 0, 1000), span("o", 1000, 1000)), within: math.MaxInt, exact: 1, lead: 1,
			want: [][2]int64{{0, 2000}},
		},
		"the windows of the first batch are exact": {
			windows: list(span("o", 0, mib), span("o", mib, mib), span("o", 2*mib, mib)), within: math.MaxInt, lead: 2,
			want: [][2]int64{{0, 2 * mib}, {2 * mib, 3 * mib}},
		},
		"a block of several requests": {
			windows: [][]chunk.Span{{span("o", 10, 2*MaxRequest+7)}}, within: -1,
			want: [][2]int64{{10, 10 + (2*MaxRequest+7)/3}, {10 + (2*MaxRequest+7)/3, 10 + 2*(2*MaxRequest+7)/3}, {10 + 2*(2*MaxRequest+7)/3, 10 + 2*MaxRequest + 7}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{blank: true}
				b := newRig(t, store, Options{Limit: 1 << 40, Lead: c.lead, SkipPrefault: true})
				b.link = c.link
				if c.within >= 0 {
					b.JoinWithin(c.within)
				}
				if c.lead == 0 { // the first batch has rules of its own
					c.windows = slices.Insert(c.windows, 0, []chunk.Span{span("first", 0, 1)})
				}
				b.plan(c.windows...)
				b.Open(c.exact)
				b.settle()
				for i := range c.windows {
					b.Done(int64(i))
					b.settle()
				}
				got := store.ranges("o")
				slices.SortFunc(got, byFirst(c.want))
				sameRanges(t, name, got, c.want)
				b.end()
			})
		})
	}
}

// byFirst orders ranges as want does; others go to the end. Requests of one moment have no order.
func byFirst(want [][2]int64) func(a, b [2]int64) int {
	at := func(r [2]int64) int {
		if i := slices.Index(want, r); i >= 0 {
			return i
		}
		return len(want)
	}
	return func(a, b [2]int64) int { return at(a) - at(b) }
}

// TestJoinSkipsRequestedBytes: bytes in flight are not requested again by a request around them,
// unless they are a narrow gap.
func TestJoinSkipsRequestedBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second}
		b := newRig(t, store, Options{Limit: 1 << 40})
		b.plan([]chunk.Span{span("o", 4*mib, 2*mib)})
		b.Open(0)
		b.plan([]chunk.Span{span("o", 0, mib), span("o", 3*mib, 4*mib), span("o", 9*mib, mib)})
		b.read("o", 3*mib, mib)
		b.read("o", 6*mib, mib)
		b.Done(0)
		b.settle()
		got := store.ranges("o")
		for i, r := range got {
			for _, s := range got[:i] {
				if r[0] < s[1] && s[0] < r[1] {
					t.Errorf("the requests %v and %v overlap", s, r)
				}
			}
		}
		if f := b.Figures(); f.Used != 6*mib {
			t.Errorf("%d planned bytes were requested, want 6 MiB", f.Used)
		}
		b.Done(1)
		b.end()
	})
}

// TestSparse counts the windows that may have requests of their own.
func TestSparse(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	b := newRig(t, store, Options{Limit: 1 << 40})
	for i := range 50 { // a fifth more than 50 requests of the expected size
		b.plan([]chunk.Span{span("o", int64(i)*2*aimRequest, aimRequest)})
	}
	b.plan([]chunk.Span{span("small", 0, 1000)})
	if got := b.Sparse(); got != 10 {
		t.Errorf("%d windows may have requests of their own, want 10", got)
	}
	few := newRig(t, store, Options{Limit: 1 << 40})
	few.plan([]chunk.Span{span("small", 0, 1000)}, []chunk.Span{span("small", 2000, 1000)})
	if got := few.Sparse(); got != 2 {
		t.Errorf("%d windows of a small object, want all", got)
	}
	b.end()
	few.end()
}

// TestPlanOrder: requests go out in the order of the plan.
func TestPlanOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{rate: 1e6}
		b := newRig(t, store, Options{Limit: 1 << 40})
		var windows []chunk.Span
		var want []string
		for i := range 30 {
			windows = append(windows, span(string(rune('z'-i)), 0, mib))
			want = append(want, string(rune('z'-i)))
		}
		b.plan(list(windows...)...)
		b.Open(0)
		for i := range want {
			b.read(want[i], 0, mib)
			b.Done(int64(i))
		}
		if got := store.objects(); !slices.Equal(got[:1], want[:1]) || len(got) != len(want) {
			t.Errorf("requests %v, want %v", got, want)
		}
		began := map[string]time.Time{}
		for _, r := range store.requests {
			began[r.object] = r.at
		}
		for i := 1; i < len(want); i++ {
			if began[want[i]].Before(began[want[i-1]]) {
				t.Errorf("%s was requested before %s", want[i], want[i-1])
			}
		}
		b.end()
	})
}

// TestFirstBatchGoesFirst: on a slow link no other bytes delay those of the first batch.
func TestFirstBatchGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 8 * mib
		store := &fakeStore{delay: 10 * time.Millisecond, rate: 10e6, blank: true}
		b := newRig(t, store, Options{Limit: 1 << 40, SkipPrefault: true})
		b.plan(list(span("first", 0, size), span("a", 0, size), span("b", 0, size), span("c", 0, size))...)
		b.Open(0)
		began := time.Now()
		b.read("first", 0, size)
		took := time.Since(began)
		if least := time.Duration(float64(size) / 10e6 * 1e9); took > least*115/100 {
			t.Errorf("the first batch took %v, want about %v", took, least)
		}
		later := store.requests[1].at.Sub(began)
		if from := time.Duration(float64(size-size/headRest) / 10e6 * 1e9); later < from || later > took {
			t.Errorf("the next request went out after %v, want after %v: the link must not idle", later, from)
		}
		b.end()
	})
}

// TestFailures: an error of the store goes to all readers of the buffer. An error of the bytes goes
// to none of them, as it may concern a neighbour: each reads its own bytes.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		kind errs.Kind // 0: the reader reads by itself
	}{
		"store":   {errs.New(errs.Storage, "the server is gone"), errs.Storage},
		"denied":  {errs.New(errs.Denied, "no"), errs.Denied},
		"missing": {errs.New(errs.NotFound, "no such object"), errs.NotFound},
		"damaged": {errs.New(errs.Corrupt, "it is cut short"), 0},
		"range":   {errs.New(errs.Range, "it is short"), 0},
		"a panic": {errs.New(errs.Internal, "a bug"), errs.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{delay: time.Second, fail: func(s chunk.Span) error {
					if s.Object == "bad" {
						return c.err
					}
					return nil
				}}
				b := newRig(t, store, Options{Limit: 1 << 40})
				b.plan([]chunk.Span{span("bad", 0, 200*kib), span("good", 0, 200*kib)}, []chunk.Span{span("bad", 200*kib, 200*kib)})
				b.Open(0)
				for range 5 {
					b.group.Go(func(ctx context.Context) error {
						data, err := b.ReadAhead(still{}).Bytes(ctx, "bad", 300*kib, 100*kib)
						if data != nil || c.kind == 0 && err != nil || c.kind != 0 && !errs.Is(err, c.kind) {
							t.Errorf("%d bytes, %v, want kind %v", len(data), err, c.kind)
						}
						return nil
					})
				}
				b.read("good", 0, 200*kib)
				b.settle()
				// A later reader learns of the failure without a wait and without a request.
				began := time.Now()
				if data, err := b.ReadAhead(still{}).Bytes(t.Context(), "bad", 0, 100); data != nil || (err != nil) != (c.kind != 0) {
					t.Errorf("afterwards: %d bytes, %v", len(data), err)
				}
				if store.count() != 2 || time.Since(began) != 0 {
					t.Errorf("%d requests, want 2; the failure came after %v", store.count(), time.Since(began))
				}
				b.Done(0)
				b.Done(1)
				if f := b.Figures(); f.Buffered != 0 {
					t.Errorf("%d bytes are held after the last batch", f.Buffered)
				}
				b.end()
				unused(t, b.memory)
			})
		})
	}
}

// TestFailureOfOnePart: when one of the requests of a buffer fails, its readers learn so at once,
// and the memory stays until the others have ended.
func TestFailureOfOnePart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second, rate: 20e6, blank: true}
		store.fail = func(s chunk.Span) error {
			if s.Offset > 0 {
				return errs.New(errs.Storage, "the server is gone")
			}
			return nil
		}
		b := newRig(t, store, Options{Limit: 1 << 40, SkipPrefault: true})
		b.plan([]chunk.Span{span("o", 0, 2*MaxRequest)})
		b.Open(0)
		began := time.Now()
		_, err := b.ReadAhead(still{}).Bytes(t.Context(), "o", 0, 2*MaxRequest)
		failed := time.Since(began)
		b.Done(0)
		if f := b.Figures(); !errs.Is(err, errs.Storage) || f.Running != 1 || f.Buffered == 0 {
			t.Errorf("%v; %d requests run, %d bytes are held", err, f.Running, f.Buffered)
		}
		pass(time.Minute)
		if f := b.Figures(); f.Buffered != 0 || failed >= time.Since(began)-time.Minute/2 && failed > 2*time.Second {
			t.Errorf("%d bytes are held; the failure came after %v", f.Buffered, failed)
		}
		b.end()
		unused(t, b.memory)
	})
}

// TestNoMemory: the readers of a buffer that cannot be had read by themselves.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: 1 << 40})
		b.plan([]chunk.Span{span("huge", 0, 1<<50)}, []chunk.Span{span("o", 0, 1000)})
		b.Open(0)
		if data, err := b.ReadAhead(still{}).Bytes(t.Context(), "huge", 0, 10); data != nil || err != nil {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		b.read("o", 0, 1000)
		b.Done(0)
		b.Done(1)
		if f := b.Figures(); f.Buffered != 0 || b.memory.Mapped() != 0 {
			t.Errorf("%d bytes are held, %d are mapped", f.Buffered, b.memory.Mapped())
		}
		b.end()
	})
}

// TestRequestsTeachTheLink: each request tells its delay and the rate of its body, failed ones not
// their rate. Time without requests tells nothing.
func TestRequestsTeachTheLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: 30 * time.Millisecond, rate: 50e6}
		store.fail = func(s chunk.Span) error {
			if s.Object == "bad" {
				return errs.New(errs.Storage, "the server is gone")
			}
			return nil
		}
		b := newRig(t, store, Options{Limit: 1 << 30})
		b.plan(list(span("bad", 0, 2*mib))...)
		b.Open(0)
		b.settle()
		if b.link.first != 30*time.Millisecond || b.link.body != 0 {
			t.Errorf("after a failure: first byte after %v, body at %v", b.link.first, b.link.body)
		}
		b.Done(0)
		b.plan([]chunk.Span{span("good", 0, 4*mib)})
		b.settle()
		if got := b.link.body; got < 49e6 || got > 51e6 {
			t.Errorf("the body came at %.0f bytes per second, want 50 MB/s", got)
		}
		if got := b.link.rate(); got < 45e6 || got > 55e6 || !b.link.since.IsZero() {
			t.Errorf("the link carries %.0f bytes per second, want 50 MB/s", got)
		}
		b.Done(1)
		b.end()
	})
}

// TestNextAfterFailure: the bytes of failed requests are in flight no more, and others follow.
func TestNextAfterFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second, blank: true, fail: func(chunk.Span) error { return errs.New(errs.Storage, "no") }}
		b := newRig(t, store, Options{Limit: 1 << 40, Lead: math.MaxInt64, SkipPrefault: true})
		var spans []chunk.Span
		for i := range 40 { // more than may be in flight
			spans = append(spans, span(string(rune('A'+i)), 0, MaxRequest))
		}
		b.plan(spans)
		b.Open(0)
		b.settle()
		if store.count() != 40 || store.peak >= maxFlight+MaxRequest {
			t.Errorf("%d requests, want 40; %d bytes at once", store.count(), store.peak)
		}
		b.end()
		unused(t, b.memory)
	})
}

// TestRequestedIsCalled once for each request, with its start and its bytes.
func TestRequestedIsCalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second}
		calls := map[int64]time.Duration{}
		start := time.Now()
		b := newRig(t, store, Options{Limit: 1 << 40, Requested: func(began time.Time, bytes int64) { calls[bytes] = began.Sub(start) }})
		b.plan(list(span("a", 0, 100*kib), span("b", 0, 300))...)
		pass(time.Minute)
		b.Open(0)
		b.settle()
		if want := map[int64]time.Duration{100 * kib: time.Minute, 300: time.Minute + time.Second}; fmt.Sprint(calls) != fmt.Sprint(want) {
			t.Errorf("calls %v, want %v", calls, want)
		}
		if f := b.Figures(); f.Requests != 2 || f.Bytes != 100*kib+300 || f.Used != f.Bytes || f.Longest != time.Second || f.Took != 2*time.Second {
			t.Errorf("figures %+v", f)
		}
		b.end()
	})
}
