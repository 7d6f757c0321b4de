package loader

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestStats(t *testing.T) {
	t.Parallel()
	src := fakeSet(100)
	o := Options{BatchSize: 10, Workers: 2, Tensors: []string{"labels", "images"}}
	l := open(t, src, o)
	if s := l.Stats(); s.Rows != 0 || s.Bottleneck == "" {
		t.Errorf("before the first epoch: %+v", s)
	}
	e := start(t, l, 7)
	for b := next(t, e); b != nil; b = next(t, e) {
		b.Release()
	}
	s := l.Stats()
	if s.Epoch != 7 || s.Batches != 10 || s.Rows != 100 || s.Bytes != 100*(90+8) || s.Stored != 100*(92+10) {
		t.Errorf("counts %+v", s)
	}
	if s.Plan.Threads != 1 || s.Decode.Threads != 2 || s.Consumer.Threads != 1 || s.Prefetch != DefaultPrefetch || s.Ready != 0 || s.InFlight != 0 {
		t.Errorf("threads and queue %+v", s)
	}
	for name, g := range map[string]struct {
		stage   Stage
		threads float64
	}{"plan": {s.Plan, 1}, "decode": {s.Decode, 2}, "consumer": {s.Consumer, 1}} {
		if total := g.stage.Busy + g.stage.Waiting; total <= 0 || total > g.threads*s.Seconds*1.001 {
			t.Errorf("%s: %.6f s busy, %.6f s waiting in %.6f s of %v threads", name, g.stage.Busy, g.stage.Waiting, s.Seconds, g.threads)
		}
	}
	if math.Abs(s.RowRate*s.Seconds-100) > 1e-6 {
		t.Errorf("rate %f in %f s", s.RowRate, s.Seconds)
	}
	if s.FirstBatch <= 0 || s.FirstBatch > s.Seconds || s.Gaps.Median <= 0 || s.Gaps.P99 < s.Gaps.Median || s.Gaps.Longest < s.Gaps.P99 {
		t.Errorf("first batch after %f s of %f s, gaps %+v", s.FirstBatch, s.Seconds, s.Gaps)
	}
	if s.MeanReady < 1 || s.MeanReady > float64(s.Prefetch) {
		t.Errorf("%f of %d batches ready on average", s.MeanReady, s.Prefetch)
	}
	if want := 100 * 2 / s.Decode.Busy; math.Abs(s.Decode.Rate/want-1) > 1e-6 {
		t.Errorf("decoding could give %f rows a second, want %f", s.Decode.Rate, want)
	}
	if again := l.Stats(); again.Seconds != s.Seconds {
		t.Error("the clock of an epoch that has ended goes on")
	}
	text, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(text), `"first_skips":[]`) || !strings.Contains(string(text), `"bottleneck":"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestBottleneck(t *testing.T) {
	t.Parallel()
	stage := func(threads int, busy float64) Stage {
		return Stage{Threads: threads, Busy: busy * float64(threads), Waiting: (1 - busy) * float64(threads)}
	}
	for name, c := range map[string]struct {
		s    Stats
		want string
	}{
		"decode":   {Stats{Decode: stage(2, 0.98), Consumer: stage(1, 0.39), Plan: stage(1, 0.01)}, "decode: 2 of 2 threads busy 98 %; the consumer waited 61 % of the time"},
		"consumer": {Stats{Decode: stage(2, 0.3), Consumer: stage(1, 0.99), Plan: stage(1, 0.01)}, "consumer: it waited 1 % of the time; 2 decode threads were busy 30 %"},
		"plan":     {Stats{Decode: stage(2, 0.3), Consumer: stage(1, 0.1), Plan: stage(1, 0.9)}, "plan: finding samples took 90 % of the time; decode threads were busy 30 %, the consumer waited 90 %"},
		"prefetch": {Stats{Decode: stage(2, 0.5), Consumer: stage(1, 0.5), Plan: stage(1, 0.1)}, "prefetch: 2 decode threads busy 50 %, the consumer waited 50 % of the time; a larger prefetch evens them out"},
	} {
		c.s.Seconds = 1
		if got := c.s.bottleneck(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestMeter(t *testing.T) {
	t.Parallel()
	m := meter{zero: time.Now()}
	if busy, waiting := m.read(); busy != 0 || waiting != 0 {
		t.Errorf("before it begins: %v, %v", busy, waiting)
	}
	m.started.Store(1)
	m.waited.Store(300)
	m.ended.Store(1001)
	if busy, waiting := m.read(); busy != 700 || waiting != 300 {
		t.Errorf("%v busy, %v waiting, want 700 and 300 ns", busy, waiting)
	}
	m.since.Store(901) // a wait that goes on counts until now, or until the end
	if busy, waiting := m.read(); busy != 600 || waiting != 400 {
		t.Errorf("%v busy, %v waiting, want 600 and 400 ns", busy, waiting)
	}
}
