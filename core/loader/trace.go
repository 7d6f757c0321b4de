package loader

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
)

// maxTraceEvents bounds a trace. Later events are counted and dropped. An event takes 56 bytes.
const maxTraceEvents = 1 << 18

// trace records the work of a loader's goroutines over time. Each epoch is a process of the trace,
// and each of its goroutines a track. A nil trace has nil tracks: they record nothing and cost a
// comparison.
type trace struct {
	zero    time.Time
	left    atomic.Int64 // events that have room
	dropped atomic.Int64

	mu     sync.Mutex
	epochs []*tracedEpoch
}

// tracedEpoch is the tracks of one epoch.
type tracedEpoch struct {
	trace *trace
	name  string

	mu     sync.Mutex
	tracks []*track
}

// track records the spans of one goroutine, disjoint or nested. In an overlapping track, the spans
// are requests.
type track struct {
	epoch   *tracedEpoch
	name    string
	overlap bool

	mu     sync.Mutex
	events []traceEvent
}

// traceEvent is a span. Times are nanoseconds after the trace began.
type traceEvent struct {
	name     string
	from, to int64
	arg      string
	number   int64
}

func newTrace() *trace {
	t := &trace{zero: time.Now()}
	t.left.Store(maxTraceEvents)
	return t
}

// epoch adds an epoch. It returns nil if the trace is full.
func (t *trace) epoch(number int64) *tracedEpoch {
	if t == nil || t.left.Load() <= 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &tracedEpoch{trace: t, name: fmt.Sprintf("epoch %d", number)}
	t.epochs = append(t.epochs, e)
	return e
}

// track adds a track. Tracks are shown in the order in which they were added.
func (e *tracedEpoch) track(name string, overlap bool) *track {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &track{epoch: e, name: name, overlap: overlap}
	e.tracks = append(e.tracks, t)
	return t
}

// mark returns the begin of a span.
func (t *track) mark() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// span adds a span from the given time until now. number is its argument, named arg.
func (t *track) span(name string, from time.Time, arg string, number int64) {
	if t == nil {
		return
	}
	tr := t.epoch.trace
	if tr.left.Add(-1) < 0 {
		tr.dropped.Add(1)
		return
	}
	ev := traceEvent{name: name, from: int64(from.Sub(tr.zero)), to: int64(time.Since(tr.zero)), arg: arg, number: number}
	t.mu.Lock()
	t.events = append(t.events, ev)
	t.mu.Unlock()
}

// chromeEvent is one event of the Trace Event Format, which Perfetto and chrome://tracing read.
// Times are microseconds.
type chromeEvent struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	Pid  int            `json:"pid"`
	Tid  int            `json:"tid"`
	ID   string         `json:"id,omitempty"`
	Ts   float64        `json:"ts"`
	Dur  *float64       `json:"dur,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

// chromeTrace is a whole file.
type chromeTrace struct {
	Events []chromeEvent  `json:"traceEvents"`
	Unit   string         `json:"displayTimeUnit"`
	Other  map[string]any `json:"otherData"`
}

// json returns the trace as a file for a viewer.
func (t *trace) json() ([]byte, error) {
	t.mu.Lock()
	epochs := slices.Clone(t.epochs)
	t.mu.Unlock()
	out := chromeTrace{Events: []chromeEvent{}, Unit: "ms", Other: map[string]any{"began_ns": t.zero.UnixNano(), "dropped_events": t.dropped.Load()}}
	for i, e := range epochs {
		out.Events = e.chrome(i+1, out.Events)
	}
	return json.Marshal(out)
}

func (e *tracedEpoch) chrome(pid int, out []chromeEvent) []chromeEvent {
	e.mu.Lock()
	tracks := slices.Clone(e.tracks)
	e.mu.Unlock()
	out = append(out, chromeEvent{Name: "process_name", Ph: "M", Pid: pid, Args: map[string]any{"name": e.name}})
	for i, t := range tracks {
		tid := i + 1
		out = append(out,
			chromeEvent{Name: "thread_name", Ph: "M", Pid: pid, Tid: tid, Args: map[string]any{"name": t.name}},
			chromeEvent{Name: "thread_sort_index", Ph: "M", Pid: pid, Tid: tid, Args: map[string]any{"sort_index": tid}})
		out = t.chrome(pid, tid, out)
	}
	return out
}

func (t *track) chrome(pid, tid int, out []chromeEvent) []chromeEvent {
	t.mu.Lock()
	events := slices.Clone(t.events)
	t.mu.Unlock()
	// The outer span first: it was added last.
	slices.SortStableFunc(events, func(a, b traceEvent) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	for i, ev := range events {
		c := chromeEvent{Name: ev.name, Cat: t.name, Ph: "X", Pid: pid, Tid: tid, Ts: micros(ev.from)}
		if ev.arg != "" {
			c.Args = map[string]any{ev.arg: ev.number}
		}
		if !t.overlap {
			took := micros(ev.to - ev.from)
			c.Dur = &took
			out = append(out, c)
			continue
		}
		c.Ph, c.ID = "b", fmt.Sprintf("%d.%d.%d", pid, tid, i)
		end := c
		end.Ph, end.Ts, end.Args = "e", micros(ev.to), nil
		out = append(out, c, end)
	}
	return out
}

func micros(ns int64) float64 { return float64(ns) / 1e3 }

// follow gives the goroutines of e their tracks. It returns the function that records requests.
func (e *Epoch) follow(t *tracedEpoch) (requested func(began time.Time, bytes int64)) {
	if t == nil {
		return nil
	}
	e.meters.consumer.track, e.meters.planner.track = t.track("consumer", false), t.track("plan", false)
	for i := range e.meters.workers {
		e.meters.workers[i].track = t.track(fmt.Sprintf("decode %d", i), false)
	}
	if e.loader.fetched == nil {
		return nil
	}
	fetch := t.track("fetch", true)
	return func(began time.Time, bytes int64) { fetch.span("request", began, "bytes", bytes) }
}

// consumed ends the span of the batch that the consumer had, when it asks for the next one.
func (e *Epoch) consumed() {
	if !e.handedAt.IsZero() {
		e.meters.consumer.track.span("consume", e.handedAt, "batch", e.handed)
		e.handedAt = time.Time{}
	}
}

// Trace returns the trace of the epochs of l in the Trace Event Format, which Perfetto and
// chrome://tracing show. Each epoch is a process, each goroutine a track. It fails without
// Options.Trace.
func (l *Loader) Trace() ([]byte, error) {
	if l.trace == nil {
		return nil, errs.Op("trace loader", "").New(errs.Invalid, "it was opened without trace")
	}
	return l.trace.json()
}
