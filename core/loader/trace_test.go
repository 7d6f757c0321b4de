package loader

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/order"
)

// shown is one span of a trace file.
type shown struct {
	name     string
	pid, tid int
	from, to float64
	args     map[string]any
}

// parseTrace reads a trace file as a viewer does: it gives the names of the tracks and the spans of
// each.
func parseTrace(t *testing.T, data []byte) (names map[[2]int]string, spans map[[2]int][]shown, dropped float64) {
	t.Helper()
	var file struct {
		Events []map[string]any `json:"traceEvents"`
		Other  map[string]any   `json:"otherData"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	names, spans = map[[2]int]string{}, map[[2]int][]shown{}
	open := map[string]shown{}
	for _, ev := range file.Events {
		number := func(key string) float64 { v, _ := ev[key].(float64); return v }
		args, _ := ev["args"].(map[string]any)
		s := shown{name: ev["name"].(string), pid: int(number("pid")), tid: int(number("tid")), from: number("ts"), args: args}
		at := [2]int{s.pid, s.tid}
		switch ev["ph"] {
		case "M":
			if name, ok := args["name"].(string); ok {
				names[at] = name
			}
		case "X":
			s.to = s.from + number("dur")
			spans[at] = append(spans[at], s)
		case "b":
			open[ev["id"].(string)] = s
		case "e":
			begin, ok := open[ev["id"].(string)]
			if !ok {
				t.Errorf("the end of %v without a begin", ev)
			}
			begin.to = s.from
			spans[at] = append(spans[at], begin)
		default:
			t.Errorf("phase %v", ev["ph"])
		}
	}
	return names, spans, file.Other["dropped_events"].(float64)
}

// checkNesting wants the spans of a track to lie beside or within each other, in order.
func checkNesting(t *testing.T, name string, spans []shown) {
	t.Helper()
	var around []shown
	for i, s := range spans {
		if s.to < s.from || i > 0 && s.from < spans[i-1].from {
			t.Fatalf("%s: %+v after %+v", name, s, spans[max(i-1, 0)])
		}
		for len(around) > 0 && around[len(around)-1].to <= s.from {
			around = around[:len(around)-1]
		}
		// Times are rounded to nanoseconds, and as microseconds by JSON's 64 bits.
		if len(around) > 0 && s.to > around[len(around)-1].to+0.01 {
			t.Fatalf("%s: %+v goes beyond %+v", name, s, around[len(around)-1])
		}
		around = append(around, s)
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	l := open(t, fakeSet(100), Options{BatchSize: 10, Workers: 2, Tensors: []string{"labels", "images"}, Trace: true})
	for epoch := range int64(2) {
		e := start(t, l, epoch)
		for b := next(t, e); b != nil; b = next(t, e) {
			b.Release()
		}
	}
	data, err := l.Trace()
	if err != nil {
		t.Fatal(err)
	}
	names, spans, dropped := parseTrace(t, data)
	if dropped != 0 {
		t.Errorf("%v events dropped", dropped)
	}
	for pid := 1; pid <= 2; pid++ {
		if got := names[[2]int{pid, 0}]; got != "epoch "+string(rune('0'+pid-1)) {
			t.Errorf("process %d is %q", pid, got)
		}
		for tid, want := range []string{1: "consumer", 2: "plan", 3: "decode 0", 4: "decode 1"} {
			if want == "" {
				continue
			}
			at := [2]int{pid, tid}
			if names[at] != want {
				t.Errorf("track %d is %q, want %q", tid, names[at], want)
			}
			checkNesting(t, want, spans[at])
		}
		count := func(tid int, name string) (n int) {
			for _, s := range spans[[2]int{pid, tid}] {
				if s.name == name {
					n++
				}
			}
			return n
		}
		if consumed, planned, decoded := count(1, "consume"), count(2, "plan"), count(3, "decode")+count(4, "decode"); consumed != 10 || planned != 10 || decoded < 10 {
			t.Errorf("epoch %d: %d batches consumed, %d planned, %d jobs decoded", pid-1, consumed, planned, decoded)
		}
	}
}

func TestTraceIsBounded(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	tr.left.Store(3)
	track := tr.epoch(0).track("x", false)
	for range 5 {
		track.span("y", track.mark(), "", 0)
	}
	data, err := tr.json()
	if err != nil {
		t.Fatal(err)
	}
	if _, spans, dropped := parseTrace(t, data); len(spans[[2]int{1, 1}]) != 3 || dropped != 2 {
		t.Errorf("%d spans, %v dropped, want 3 and 2", len(spans[[2]int{1, 1}]), dropped)
	}
}

func TestTraceOverlaps(t *testing.T) {
	t.Parallel()
	tr := newTrace()
	track := tr.epoch(4).track("fetch", true)
	from := track.mark()
	track.span("request", from, "bytes", 7)
	track.span("request", from, "bytes", 8)
	data, err := tr.json()
	if err != nil {
		t.Fatal(err)
	}
	_, spans, _ := parseTrace(t, data)
	if got := spans[[2]int{1, 1}]; len(got) != 2 || got[0].args["bytes"].(float64)+got[1].args["bytes"].(float64) != 15 {
		t.Errorf("spans %+v", got)
	}
}

func TestNoTrace(t *testing.T) {
	l := open(t, fakeSet(10), Options{BatchSize: 10})
	if _, err := l.Trace(); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "trace") {
		t.Errorf("%v", err)
	}
	var none *trace
	track := none.epoch(0).track("x", false)
	track.span("y", track.mark(), "", 0)
	if allocs := testing.AllocsPerRun(100, func() { track.span("y", track.mark(), "", 0) }); allocs != 0 {
		t.Errorf("%v allocations without a trace", allocs)
	}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	var g gaps
	if g.quantile(0.5) != 0 {
		t.Error("a gap before the second batch")
	}
	now := time.Now()
	g.add(now)
	for i := range 100 {
		gap := time.Millisecond
		if i == 99 {
			gap = time.Second
		}
		now = now.Add(gap)
		g.add(now)
	}
	for q, want := range map[float64]float64{0.5: 1e-3, 0.99: 1e-3, 1: 1} {
		if got := g.quantile(q); math.Abs(got/want-1) > 0.06 {
			t.Errorf("quantile %v is %v s, want %v", q, got, want)
		}
	}
	for _, gap := range []time.Duration{0, time.Nanosecond, time.Hour} {
		now = now.Add(gap)
		g.add(now)
	}
	if g.quantile(1) > g.longest.Seconds() || g.longest != time.Hour {
		t.Errorf("the longest of %v is %v", g.longest, g.quantile(1))
	}
}

// Over a store, every request of the epoch is on a track of its own.
func TestTraceOfRequests(t *testing.T) {
	t.Parallel()
	lake := plainRemoteSet(t)
	synctest.Test(t, func(t *testing.T) {
		l := open2(t, SourceOf(lake.open(t)), Options{BatchSize: 256, Shuffle: order.Window, Trace: true})
		defer l.Close()
		e := start(t, l, 0)
		for b := next(t, e); b != nil; b = next(t, e) {
			b.Release()
		}
		fetch := e.Stats().Fetch
		data, err := l.Trace()
		if err != nil {
			t.Fatal(err)
		}
		names, spans, _ := parseTrace(t, data)
		var requests, bytes int64
		for at, name := range names {
			if name != "fetch" {
				continue
			}
			for _, s := range spans[at] {
				requests++
				bytes += int64(s.args["bytes"].(float64))
			}
		}
		if requests == 0 || requests != fetch.Requests || bytes != fetch.Bytes {
			t.Errorf("the trace has %d requests of %d bytes, the statistics %d of %d", requests, bytes, fetch.Requests, fetch.Bytes)
		}
	})
}
