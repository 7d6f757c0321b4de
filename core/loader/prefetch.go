package loader

import (
	"context"
	"math"
	"slices"

	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/prefetch"
	"deeplake/core/read"
	"deeplake/core/storage"
)

// sequentialBytes bounds the prefetched bytes of rows in sequence: more would only wait.
const sequentialBytes = 256 << 20

// fetchLimit bounds the memory of prefetched bytes.
func (l *Loader) fetchLimit() int64 {
	if l.order.Order().Kind == order.Sequential {
		return min(l.options.FetchBytes, sequentialBytes)
	}
	return l.options.FetchBytes
}

// planPrefetch plans the bytes to prefetch, window after window, as far before the decoders as the
// memory allows. If the whole pass fits, all is planned before the first request, so that requests
// are as large as possible, apart from a first batch that has a window of its own.
func (e *Epoch) planPrefetch(ctx context.Context) error {
	o := &e.loader.options
	var cols []read.Access
	for i := range e.fields {
		if a := e.fields[i].access; a.Prefetch != nil {
			cols = append(cols, a)
		}
	}
	r := newPrefetchSchedule(e.loader.share(e.pass), cols, int64(o.BatchSize), e.prefetcher.Limit(), o.ShuffleBytes)
	r.separateSmall()
	return planWindows(ctx, e.prefetcher, r)
}

// planWindows is planPrefetch on a prefetchSchedule.
func planWindows(ctx context.Context, h *prefetch.Prefetcher, r *prefetchSchedule) error {
	switch {
	case r.fits:
		h.JoinWithin(math.MaxInt)
	case r.share.Kind() == order.Full:
		h.JoinWithin(0)
	case r.share.Lifetime() > 0:
		h.Slide(r.share.Lifetime(), r.share.BlockRows()*r.row*5/4)
	}
	for planned := 0; r.at < r.end && h.AwaitSpace(); {
		to, windows := r.next(ctx)
		h.PlanWindows(to, windows...)
		if r.share.Lifetime() > 0 && to < r.batch && !h.Over() {
			planned++ // the first batch needs several windows, which share requests
			continue
		}
		if planned++; !r.fits || h.Over() || r.early && planned == 1 {
			h.Open(planned)
		}
	}
	if r.fits {
		h.KeepAll()
	}
	h.Open(h.Sparse())
	h.End()
	return nil
}

// takeCarryOver gives the prefetcher of e the buffers of the last epoch.
func (l *Loader) takeCarryOver(e *Epoch) {
	if l.carryOver.Empty() {
		return
	}
	e.prefetcher.TakeOver(l.carryOver)
	l.carryOver = prefetch.CarryOver{}
}

// leaveCarryOver closes the prefetcher of e and keeps its buffers for the next epoch. If two epochs
// ran side by side, the buffers of the first to end stay.
func (l *Loader) leaveCarryOver(e *Epoch) {
	left := e.prefetcher.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.carryOver.Empty() && !l.closed {
		l.carryOver = left
		return
	}
	left.Drop(l.fetched)
}

// fetchStats returns the figures of the prefetcher and of the store.
func (e *Epoch) fetchStats() *Fetch {
	c := e.prefetcher.Figures()
	f := &Fetch{Requests: c.Requests, Bytes: c.Bytes, BytesUsed: c.Used, Direct: c.Direct, Waiting: c.Waited.Seconds(), IndexWaiting: c.Index.Seconds(),
		LongestSec: c.Longest.Seconds(), InFlight: c.Running, Buffered: c.Buffered, PeakBuffered: c.PeakBuffered, Limit: e.prefetcher.Limit(), Store: e.traffic()}
	if ended := c.Requests - c.Running; ended > 0 {
		f.MeanSeconds = c.Took.Seconds() / float64(ended)
	}
	return f
}

// traffic returns the counters of the store since the epoch began, until it ended.
func (e *Epoch) traffic() storage.Stats {
	now := e.loader.src.Traffic()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.meters.end != 0 {
		now = e.after
	}
	return now.Since(e.before)
}

// warm reads the index pages of rows, all columns at once. Resolving the rows then waits for no
// page after another. Errors recur where the pages are needed.
func warm(ctx context.Context, cols []read.Access, rows []int64) {
	sorted := slices.Clone(rows)
	slices.Sort(sorted)
	runs := order.Runs(sorted)
	g := task.New(ctx, 0)
	for _, c := range cols {
		if c.Prefetch != nil {
			g.Go(func(ctx context.Context) error {
				_, _ = c.Prefetch(ctx, runs)
				return nil
			})
		}
	}
	_ = g.Wait()
}
