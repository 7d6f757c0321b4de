package loader

import (
	"cmp"
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
)

// prefetchSchedule cuts a pass into windows: positions whose bytes are needed at about the same
// time. It is used by one goroutine.
type prefetchSchedule struct {
	cursor *orderCursor
	share  *share
	cols   []PrefetchColumn
	end    int64 // local positions of the share, as all positions here
	batch  int64
	limit  int64 // bytes that may be held
	row    int64 // stored bytes of a row in the columns, as estimated
	fits   bool  // all of it may be held at once

	at    int64 // positions before it are behind
	rows  int64 // of the next window, where the order does not say
	order []int64
}

// The shares of the bytes that may be held. Two windows at least must have room: the one that is
// read and the one that comes next.
const (
	runShare        = 2 // no window takes more than limit / runShare, but for a single batch
	sequentialShare = 8 // what windows grow to in sequence
	fullShare       = 4 // and in full random order
	maxRunRows      = 1 << 17
)

func newPrefetchSchedule(s *share, cols []PrefetchColumn, batch, limit int64) *prefetchSchedule {
	w := s.cursor
	r := &prefetchSchedule{cursor: w, share: s, cols: cols, end: s.length(), batch: batch, limit: limit, rows: 2 * batch}
	total := int64(0)
	for _, c := range cols {
		total += c.StoredBytes()
	}
	// in sequence a rank reads the same rows in every epoch
	r.fits = total <= limit || w.order.Kind == Sequential && total/s.world <= limit
	r.row = max(total/max(w.of, 1), 1)
	return r
}

// next finds the next window and what it needs, the smallest columns first: every batch waits for
// all of them.
func (r *prefetchSchedule) next(ctx context.Context) (to int64, spans [][]chunk.Span) {
	to, runs := r.propose()
	spans, total := r.spans(ctx, runs)
	most := r.limit
	if !r.fits {
		most /= runShare
	}
	if total > most && to-r.at > r.batch {
		// Samples are larger here than on average, or blocks larger than samples: take fewer.
		to = min(r.at+max(int64(float64(to-r.at)*float64(most)/float64(total)/2), r.batch), to)
		to = min(to, r.at+maxRunRows)
		r.rows = to - r.at
		spans, _ = r.spans(ctx, r.rowsOf(r.at, to))
	}
	r.at = to
	return to, spans
}

// propose chooses the next window by position and estimate.
func (r *prefetchSchedule) propose() (to int64, runs [][2]int64) {
	o := &r.cursor.order
	switch {
	case o.Kind == Window:
		begin, end := r.share.window(r.at)
		if r.at == begin && r.share.alone() {
			return end, r.cursor.blockRuns()
		}
		to = min(end, r.at+8*maxRunRows)
		if r.at != begin { // the rest of a window that was cut, or in which the pass begins
			to = min(end, r.at+r.rows)
		}
		if r.at == 0 {
			r.rows = end
		}
	case (o.Kind == Full || o.Kind == Mixed && o.Rows >= r.cursor.of) && r.fits && r.at > 0 && r.cursor.sampled == nil && r.share.alone() && r.share.from == 0:
		return r.end, [][2]int64{{0, r.cursor.of}}
	default:
		share := int64(sequentialShare)
		switch o.Kind {
		case Full:
			share = fullShare
		case Mixed: // windows of several views: as much of them as may be
			share = runShare
		}
		to = min(r.at+r.rows, r.end)
		if 2*r.rows*r.row <= r.limit/share && 2*r.rows <= maxRunRows {
			r.rows *= 2
		}
	}
	return to, r.rowsOf(r.at, to)
}

// rowsOf are the rows at positions [from, to), as runs in order.
func (r *prefetchSchedule) rowsOf(from, to int64) [][2]int64 {
	if r.cursor.order.Kind == Sequential && r.share.alone() && r.share.from+to <= r.share.total {
		return [][2]int64{{r.share.from + from, r.share.from + to}}
	}
	r.order = slices.Grow(r.order[:0], int(to-from))[:to-from]
	r.share.fillFrom(r.order, from)
	slices.Sort(r.order)
	return runsOf(r.order)
}

// runsOf joins sorted rows.
func runsOf(rows []int64) (runs [][2]int64) {
	for _, row := range rows {
		if n := len(runs) - 1; n >= 0 && row <= runs[n][1] {
			runs[n][1] = row + 1
			continue
		}
		runs = append(runs, [2]int64{row, row + 1})
	}
	return runs
}

// blockRuns are the rows of the window that the cursor is in.
func (w *orderCursor) blockRuns() [][2]int64 {
	runs := make([][2]int64, 0, w.window.blocks)
	for i := range w.window.blocks {
		from := w.outer.at(w.window.first+i) * w.order.BlockRows
		runs = append(runs, [2]int64{from, min(from+w.order.BlockRows, w.order.Rows)})
	}
	slices.SortFunc(runs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	if w.sampled != nil {
		return w.sampledRuns(runs)
	}
	return runs
}

// spans asks all columns, and counts bytes. What cannot be found is left out: the batch that needs
// it meets the error.
func (r *prefetchSchedule) spans(ctx context.Context, runs [][2]int64) ([][]chunk.Span, int64) {
	spans := make([][]chunk.Span, len(r.cols))
	sizes := make([]int64, len(r.cols))
	g := task.New(ctx, 0)
	for i, c := range r.cols {
		g.Go(func(ctx context.Context) error {
			spans[i], _ = c.Prefetch(ctx, runs)
			sizes[i] = unionBytes(spans[i])
			return nil
		})
	}
	_ = g.Wait() // a panic in an index page shows again where the page is needed
	order := make([]int, len(r.cols))
	total := int64(0)
	for i := range order {
		order[i] = i
		total += sizes[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	sorted := make([][]chunk.Span, len(spans))
	for k, i := range order {
		sorted[k] = spans[i]
	}
	return sorted, total
}

// unionBytes counts bytes that several spans in a row have in common once.
func unionBytes(spans []chunk.Span) (total int64) {
	for i, s := range spans {
		total += s.Bytes
		if i > 0 && spans[i-1].Object == s.Object {
			total -= min(max(spans[i-1].Offset+spans[i-1].Bytes-s.Offset, 0), s.Bytes)
		}
	}
	return total
}
