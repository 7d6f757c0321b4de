package prefetch

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
)

// The estimator is given times, so its tests need no clock.
var zero = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestLinkSamples(t *testing.T) {
	t.Parallel()
	var l linkEstimator
	if l.rate() != 0 || l.roundTripBytes() != 0 || l.flight(1e6) != startFlight || l.spare() != math.MaxInt64 {
		t.Fatalf("an unknown link: rate %v, %d in flight, %d to spare", l.rate(), l.flight(1e6), l.spare())
	}
	now := zero
	receive := func(n int64, after time.Duration) {
		now = now.Add(after)
		l.received(n, now)
	}
	receive(1<<30, 0) // begins the sample: the time of these bytes is unknown
	receive(100_000, 10*time.Millisecond)
	if l.rate() != 0 {
		t.Errorf("rate %v within the first sample", l.rate())
	}
	receive(100_000, 10*time.Millisecond)
	if l.rate() != 10e6 || l.mean != 10e6 {
		t.Errorf("rate %v, mean %v, want 10 MB/s", l.rate(), l.mean)
	}
	receive(800_000, 20*time.Millisecond)
	if l.rate() != 40e6 || math.Abs(l.mean-(10e6+30e6/16)) > 1 {
		t.Errorf("rate %v, want the best of the last samples; mean %v", l.rate(), l.mean)
	}
	for range len(l.last) - 1 {
		receive(100_000, 20*time.Millisecond)
	}
	if l.rate() != 40e6 {
		t.Errorf("rate %v: the best sample is forgotten early", l.rate())
	}
	receive(100_000, 20*time.Millisecond)
	if l.rate() != 5e6 {
		t.Errorf("rate %v: an old sample counts", l.rate())
	}
}

func TestLinkIdle(t *testing.T) {
	t.Parallel()
	var l linkEstimator
	l.received(1, zero)
	l.received(1_000_000, zero.Add(time.Millisecond))
	l.idle(zero.Add(time.Millisecond)) // too short to count
	if l.rate() != 0 {
		t.Errorf("rate %v of a millisecond", l.rate())
	}
	// The pause counts in no sample.
	later := zero.Add(time.Hour)
	l.received(1, later)
	l.received(40_000, later.Add(4*time.Millisecond))
	l.idle(later.Add(4 * time.Millisecond))
	if math.Abs(l.rate()-10e6) > 1 {
		t.Errorf("rate %v, want 10 MB/s", l.rate())
	}
	l.idle(later.Add(time.Second)) // there is no sample to end
	if l.next != 1 {
		t.Errorf("%d samples, want 1", l.next)
	}
}

func TestLinkDelays(t *testing.T) {
	t.Parallel()
	var l linkEstimator
	l.answered(30 * time.Millisecond)
	l.answered(20 * time.Millisecond)
	l.answered(50 * time.Millisecond)
	if l.first != 20*time.Millisecond {
		t.Errorf("first byte after %v, want the least", l.first)
	}
	l = linkEstimator{}
	l.answered(0)
	if l.first == 0 {
		t.Error("an answer at once leaves the delay unknown")
	}
	l.ended(leastBody-1, time.Microsecond)
	l.ended(leastBody, 0)
	if l.body != 0 {
		t.Errorf("body rate %v of bodies that show none", l.body)
	}
	l.ended(1_000_000, 100*time.Millisecond)
	l.ended(1_000_000, time.Second)
	if l.body != 10e6 {
		t.Errorf("body rate %v, want that of the fastest", l.body)
	}
}

func TestLinkBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rate, body float64
		first      time.Duration
		request    float64
		want       int64
	}{
		"a quarter of a second":      {100e6, 0, time.Millisecond, 8e6, 25e6},
		"short requests":             {100e6, 100e6, time.Millisecond, 1e6, 25e6},
		"two round trips":            {100e6, 10e6, 50 * time.Millisecond, 1e6, 30e6},
		"at least":                   {1e6, 0, time.Millisecond, 8e6, minFlight},
		"at most":                    {10e9, 0, time.Millisecond, 8e6, maxFlight},
		"long requests, slow bodies": {100e6, 10e6, 0, 8e6, 160e6},
	} {
		l := linkEstimator{first: c.first, body: c.body}
		l.last[3] = c.rate
		if got := l.flight(c.request); got != c.want {
			t.Errorf("%s: %d bytes in flight, want %d", name, got, c.want)
		}
	}
	l := linkEstimator{first: 10 * time.Millisecond, mean: 100e6, next: knownSamples}
	if got := l.spare(); got != spareRoundTrips*1e6 {
		t.Errorf("%d bytes to spare, want four round trips", got)
	}
	l.mean = 1
	if got := l.spare(); got != leastSpare {
		t.Errorf("%d bytes to spare of a slow link, want %d", got, leastSpare)
	}
	l.next--
	if got := l.spare(); got != math.MaxInt64 {
		t.Errorf("%d bytes to spare of a link of few samples", got)
	}
}

// TestFlightFollowsTheLink: a link stays in use, with few bytes in flight where it is narrow.
func TestFlightFollowsTheLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		delay time.Duration
		rate  float64
		peak  int64   // after the first second; at most
		least float64 // share of the link in use
	}{
		"narrow": {10 * time.Millisecond, 10e6, minFlight + 2*mib, 0.97},
		"wide":   {10 * time.Millisecond, 100e6, 27e6 + 2*mib, 0.97},
		"far":    {200 * time.Millisecond, 100e6, 64e6, 0.85},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size, rows = mib, 600
				store := &fakeStore{delay: c.delay, rate: c.rate, blank: true}
				b := newRig(t, store, Options{Limit: 1 << 40, SkipPrefault: true})
				var windows []chunk.Span
				for i := range rows {
					windows = append(windows, span(string(rune('A'+i)), 0, size))
				}
				b.plan(list(windows...)...)
				began := time.Now()
				b.Open(0)
				b.read("A", 0, size)
				b.Done(0)
				pass(time.Second - time.Since(began))
				store.mu.Lock()
				store.peak = 0
				store.mu.Unlock()
				for i := 1; i < rows; i++ {
					b.read(string(rune('A'+i)), 0, size)
				}
				took := time.Since(began).Seconds()
				used := rows * size / took / c.rate
				t.Logf("%.2f of the link, %d bytes in flight", used, store.peak)
				if store.peak > c.peak || store.peak < minFlight/2 {
					t.Errorf("%d bytes in flight, want at most %d", store.peak, c.peak)
				}
				if used < c.least {
					t.Errorf("%.2f of the link is in use, want %.2f", used, c.least)
				}
				b.end()
			})
		})
	}
}

// TestRequestsInFlight bounds the number of requests, too.
func TestRequestsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second}
		b := newRig(t, store, Options{Limit: 1 << 40, Lead: math.MaxInt64})
		var spans []chunk.Span
		for i := range 200 {
			spans = append(spans, span(string(rune('A'+i)), 0, 100))
		}
		b.plan(spans)
		b.Open(0)
		b.settle()
		if store.count() != 200 || store.most != maxRequests {
			t.Errorf("%d requests, %d at once, want 200 and %d", store.count(), store.most, maxRequests)
		}
		b.end()
	})
}

// TestBytesInFlight bounds the bytes of the first batch, which no estimate bounds.
func TestBytesInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second, blank: true}
		b := newRig(t, store, Options{Limit: 1 << 40, Lead: math.MaxInt64, SkipPrefault: true})
		var spans []chunk.Span
		for i := range 40 {
			spans = append(spans, span(string(rune('A'+i)), 0, MaxRequest))
		}
		b.plan(spans)
		b.Open(0)
		pass(time.Second / 2)
		if got := b.Figures(); got.Flying != maxFlight {
			t.Errorf("%d bytes in flight, want %d", got.Flying, maxFlight)
		}
		b.settle()
		if store.count() != 40 || store.peak >= maxFlight+MaxRequest {
			t.Errorf("%d requests, want 40; %d bytes at once", store.count(), store.peak)
		}
		b.end()
	})
}
