package loader

import (
	"context"
	"math"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// sequentialBytes bounds what is fetched ahead of rows in sequence: more would only wait.
const sequentialBytes = 256 << 20

// fetchLimit bounds the memory of bytes that are fetched ahead.
func (l *Loader) fetchLimit() int64 {
	if l.order.Kind == Sequential {
		return min(l.options.FetchBytes, sequentialBytes)
	}
	return l.options.FetchBytes
}

// lookAhead plans what is fetched: stretch after stretch, as far ahead of the decoders as the memory allows. When all of
// the pass has room, nothing is asked for before all is planned, so that every piece is as large as it can be.
func (e *Epoch) lookAhead(ctx context.Context) error {
	o := &e.loader.options
	var cols []AheadColumn
	for i := range e.loader.fields {
		if c, ok := e.loader.fields[i].col.(AheadColumn); ok {
			cols = append(cols, c)
		}
	}
	r := newRoute(e.loader.share(e.pass), cols, int64(o.BatchSize), e.hoard.limit)
	return lookAlong(ctx, e.hoard, r)
}

// lookAlong is lookAhead on a route.
func lookAlong(ctx context.Context, h *hoard, r *route) error {
	switch {
	case r.fits:
		h.reach = math.MaxInt
	case r.walk.order.Kind == Full:
		h.reach = 0
	}
	for r.at < r.end && h.awaitRoom() {
		to, spans := r.next(ctx)
		h.plan(to, spans)
		if !r.fits || h.over() {
			h.open(1)
		}
	}
	if r.fits {
		h.keepAll()
	}
	h.open(h.sparse())
	h.end()
	return nil
}

// inherit gives the hoard of e what the last epoch has left.
func (l *Loader) inherit(e *Epoch) {
	if l.kept != nil {
		e.hoard.takeOver(l.kept)
		l.kept = nil
	}
}

// bequeath closes the hoard of e and keeps what it has left for the next epoch; of two epochs that ran side by side, what
// the first one left.
func (l *Loader) bequeath(e *Epoch) {
	left := e.hoard.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil && !l.closed && len(left) > 0 {
		l.kept = left
		return
	}
	l.drop(left)
}

// drop frees pieces that no hoard has.
func (l *Loader) drop(objects map[string]*object) {
	h := &hoard{shelf: l.fetched}
	for _, o := range objects {
		for _, e := range o.extents {
			if p := e.piece; p.mem != nil {
				h.free(p)
			}
		}
	}
}

// fetchStats are the figures of the hoard and of the store.
func (e *Epoch) fetchStats() *Fetch {
	traffic := e.traffic()
	h := e.hoard
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.counts
	f := &Fetch{Requests: c.requests, Bytes: c.bytes, BytesUsed: c.used, Direct: c.direct, Waiting: c.waited.Seconds(), IndexWaiting: c.index.Seconds(),
		LongestSec: c.longest.Seconds(), InFlight: h.running, Held: h.held, PeakHeld: c.held, Limit: h.limit, Store: traffic}
	if ended := c.requests - h.running; ended > 0 {
		f.MeanSeconds = c.took.Seconds() / float64(ended)
	}
	return f
}

// traffic is what the store has done since the epoch began, or did until it ended.
func (e *Epoch) traffic() storage.Stats {
	d, ok := e.loader.src.(distant)
	if !ok {
		return storage.Stats{}
	}
	now := d.Traffic()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.meters.end != 0 {
		now = e.after
	}
	return now.Since(e.before)
}

// readBytes bounds what is held ahead of the jobs of one read.
const readBytes = 256 << 20

// errand is a hoard for jobs that are known from the start. The zero value holds nothing.
type errand struct {
	hoard *hoard
	end   func() // drops the requests that nobody waits for, and what is held
}

// newErrand begins to fetch what jobs need, the first ones first; spans appends what one of them needs. What is a single
// request anyway is left to the job. The errand must be closed.
func newErrand(ctx context.Context, jobs int, spans func(job int, out []chunk.Span) []chunk.Span) errand {
	needs := make([][]chunk.Span, jobs)
	several := false
	var one chunk.Span
	for k := range needs {
		needs[k] = spans(k, nil)
		for _, s := range needs[k] {
			several = several || one.Bytes > 0 && (s.Object != one.Object || s.Offset != one.Offset)
			one = s
		}
	}
	if !several {
		return errand{}
	}
	g := task.New(ctx, 0)
	memory := newShelf(readBytes)
	h := newHoard(g, memory, readBytes, 1)
	h.reach, h.lead = math.MaxInt, math.MaxInt64
	g.Go(func(ctx context.Context) error { // wakes those who wait for bytes when the read is given up
		<-ctx.Done()
		h.stop()
		return nil
	})
	for k := range needs {
		h.plan(int64(k)+1, needs[k:k+1])
	}
	h.open(0)
	h.end()
	return errand{hoard: h, end: func() {
		g.Stop()
		_ = g.Wait() // a failure was met by the job that needed the bytes
		h.close()
		memory.close()
	}}
}

// lend lets a worker use what is held, until forget.
func (e *errand) lend(w *chunk.Worker, m *meter) {
	if e.hoard != nil {
		w.Hold(hand{e.hoard, m})
	}
}

// done says that a job is done with its bytes.
func (e *errand) done(job int64) {
	if e.hoard != nil {
		e.hoard.done(job)
	}
}

func (e *errand) close() {
	if e.hoard != nil {
		e.end()
	}
}

// warm reads the index pages of rows, those of all columns at once, so that resolving the rows need not wait for one page
// after the other. What fails here fails again where it is needed.
func warm(ctx context.Context, cols []Column, rows []int64) {
	sorted := slices.Clone(rows)
	slices.Sort(sorted)
	runs := runsOf(sorted)
	g := task.New(ctx, 0)
	for _, c := range cols {
		if a, ok := c.(AheadColumn); ok {
			g.Go(func(ctx context.Context) error {
				_, _ = a.Ahead(ctx, runs)
				return nil
			})
		}
	}
	_ = g.Wait()
}
