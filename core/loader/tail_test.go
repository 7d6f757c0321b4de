package loader

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/order"
	"deeplake/core/storage"
	"deeplake/core/storage/retry"
	"deeplake/go/tests/clock"
)

// paced runs epochs with a consumer that takes a batch each step. It gives their time, and the
// times from batch to batch in order of size, without the first ones of each epoch.
func paced(t *testing.T, l *Loader, epochs int64, step time.Duration) (total time.Duration, gaps []time.Duration) {
	t.Helper()
	const full = 8 // batches until the window of the prefetcher is full
	began := time.Now()
	for epoch := range epochs {
		e := start(t, l, epoch)
		for n := 0; ; n++ {
			asked := time.Now()
			b := next(t, e)
			if b == nil {
				break
			}
			if n >= full {
				gaps = append(gaps, time.Since(asked)+step)
			}
			b.Release()
			clock.Pass(step)
		}
		e.Close()
	}
	slices.Sort(gaps)
	return time.Since(began), gaps
}

// slowRanges returns a function that delays one request in a hundred by a second, and one in a
// thousand by an hour. The object's place in order of first use, the offset and the number of
// earlier requests for them decide: neither the objects' random names nor the order in which
// goroutines run choose the slow requests.
func slowRanges() func(key string, off int64) time.Duration {
	type place struct {
		object int
		off    int64
	}
	objects, requests := map[string]int{}, map[place]int{}
	return func(key string, off int64) time.Duration {
		if _, known := objects[key]; !known {
			objects[key] = len(objects)
		}
		p := place{objects[key], off}
		requests[p]++
		h := fnv.New64a()
		fmt.Fprint(h, p, requests[p])
		switch draw := h.Sum64() >> 32 % 1000; {
		case draw == 500:
			return time.Hour
		case draw%100 == 50:
			return time.Second
		}
		return 0
	}
}

// TestTailsDoNotShow: one request in a hundred takes 20 times as long as the others, and one in a
// thousand is not answered. A consumer as fast as two cores decode noise hardly notices.
func TestTailsDoNotShow(t *testing.T) {
	t.Parallel()
	l := plainRemoteSet(t)
	const batch, epochs = 64, 16
	step := time.Second * batch / 3700
	for name, o := range map[string]Options{
		"window":     {Shuffle: order.Window, ShuffleBytes: 16 << 20, FetchBytes: 40 << 20},
		"slides":     {Shuffle: order.Window, ShuffleBytes: 16 << 20, FetchBytes: 40 << 20, blockBytes: 1 << 20},
		"sequential": {FetchBytes: 40 << 20},
		"full":       {Shuffle: order.Full, FetchBytes: 60 << 20},
	} {
		if testing.Short() && name != "slides" {
			continue
		}
		o.BatchSize, o.Workers = batch, 2
		run := func(t *testing.T, slow func(string, int64) time.Duration) (total, p99, median time.Duration) {
			synctest.Test(t, func(t *testing.T) {
				l.wrap = func(p storage.Provider) storage.Provider { return retry.New(retry.Options{}).Provider(p) }
				v := l.open(t)
				l.remote.slow = slow
				ld := open2(t, SourceOf(v), o)
				defer ld.Close()
				var gaps []time.Duration
				total, gaps = paced(t, ld, epochs, step)
				p99, median = gaps[len(gaps)*99/100], gaps[len(gaps)/2]
			})
			return total, p99, median
		}
		t.Run(name, func(t *testing.T) {
			clean, cleanP99, _ := run(t, func(string, int64) time.Duration { return 0 })
			total, p99, median := run(t, slowRanges())
			rate := clean.Seconds() / total.Seconds()
			t.Logf("%.3f of the clean rate; the 99th gap of 100 is %v, clean %v; the median %v", rate, p99, cleanP99, median)
			if rate < 0.9 {
				t.Errorf("%.2f of the clean rate, want 0.9", rate)
			}
			if p99 > max(3*median, cleanP99*3/2) {
				t.Errorf("the 99th gap of 100 is %v, clean %v; the median %v", p99, cleanP99, median)
			}
		})
	}
}
