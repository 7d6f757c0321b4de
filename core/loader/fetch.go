package loader

import (
	"context"
	"math"
	"slices"

	"deeplake/core/ahead"
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
	r := newRoute(e.loader.share(e.pass), cols, int64(o.BatchSize), e.hoard.Limit())
	return lookAlong(ctx, e.hoard, r)
}

// lookAlong is lookAhead on a route.
func lookAlong(ctx context.Context, h *ahead.Hoard, r *route) error {
	switch {
	case r.fits:
		h.Join(math.MaxInt)
	case r.walk.order.Kind == Full:
		h.Join(0)
	}
	for r.at < r.end && h.AwaitRoom() {
		to, spans := r.next(ctx)
		h.Plan(to, spans)
		if !r.fits || h.Over() {
			h.Open(1)
		}
	}
	if r.fits {
		h.KeepAll()
	}
	h.Open(h.Sparse())
	h.End()
	return nil
}

// inherit gives the hoard of e what the last epoch has left.
func (l *Loader) inherit(e *Epoch) {
	if l.kept.Empty() {
		return
	}
	e.hoard.TakeOver(l.kept)
	l.kept = ahead.Left{}
}

// bequeath closes the hoard of e and keeps what it has left for the next epoch; of two epochs that ran side by side, what
// the first one left.
func (l *Loader) bequeath(e *Epoch) {
	left := e.hoard.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept.Empty() && !l.closed {
		l.kept = left
		return
	}
	left.Drop(l.fetched)
}

// fetchStats are the figures of the hoard and of the store.
func (e *Epoch) fetchStats() *Fetch {
	c := e.hoard.Figures()
	f := &Fetch{Requests: c.Requests, Bytes: c.Bytes, BytesUsed: c.Used, Direct: c.Direct, Waiting: c.Waited.Seconds(), IndexWaiting: c.Index.Seconds(),
		LongestSec: c.Longest.Seconds(), InFlight: c.Running, Held: c.Held, PeakHeld: c.PeakHeld, Limit: e.hoard.Limit(), Store: e.traffic()}
	if ended := c.Requests - c.Running; ended > 0 {
		f.MeanSeconds = c.Took.Seconds() / float64(ended)
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
	hoard *ahead.Hoard
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
	memory := ahead.NewShelf(readBytes)
	h := ahead.New(g, memory, ahead.Options{Limit: readBytes, Batch: 1, Lead: math.MaxInt64})
	h.Join(math.MaxInt)
	g.Go(func(ctx context.Context) error { // wakes those who wait for bytes when the read is given up
		<-ctx.Done()
		h.Stop()
		return nil
	})
	for k := range needs {
		h.Plan(int64(k)+1, needs[k:k+1])
	}
	h.Open(0)
	h.End()
	return errand{hoard: h, end: func() {
		g.Stop()
		_ = g.Wait() // a failure was met by the job that needed the bytes
		h.Close()
		memory.Close()
	}}
}

// lend lets a worker use what is held, until forget.
func (e *errand) lend(w *chunk.Worker, m *meter) {
	if e.hoard != nil {
		w.Hold(e.hoard.Hand(m))
	}
}

// done says that a job is done with its bytes.
func (e *errand) done(job int64) {
	if e.hoard != nil {
		e.hoard.Done(job)
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
