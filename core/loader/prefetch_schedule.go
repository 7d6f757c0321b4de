package loader

import (
	"cmp"
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/prefetch"
	"deeplake/core/read"
)

// prefetchSchedule cuts a pass into windows: positions that need their bytes at about the same
// time. One goroutine uses it. See docs/design/prefetch.md.
type prefetchSchedule struct {
	share *order.Share
	cols  []read.Access
	end   int64 // local positions of the share, as all positions here
	batch int64
	limit int64 // bound of buffered bytes
	row   int64 // stored bytes of a row in the columns, as estimated
	fits  bool  // the whole pass fits into limit

	at    int64 // positions before it are behind
	early bool  // the first batch has a window of its own
	rows  int64 // of the next window, where the order does not say

	small []read.Access // columns to plan as a whole behind the first batch; nil: none, or done
	large []read.Access // the others

	mixed *order.MixedWindows // nil: no mixture, or one whose windows do not fit
	open  []openWindow        // those of mixed that are needed at the position at
}

// openWindow is the bytes of a shuffle window of a mixture, and the position behind it.
type openWindow struct{ bytes, until int64 }

// The shares of the bound of buffered bytes. At least two windows must fit: the current one and the
// next.
const (
	runShare        = 2 // no window takes more than limit / runShare, but for a single batch
	sequentialShare = 8 // windows in sequence grow to it
	fullShare       = 4 // and in full random order
	maxRunRows      = 1 << 17
	smallShare      = 64  // a small column has at most so small a part of the limit,
	smallPart       = 256 // and of all columns
	// A window in random order is requested batch by batch from this size of rows on. Smaller rows
	// share most requests.
	inTurnRow = 4 << 10
)

// newPrefetchSchedule makes the schedule of a pass. window is the stored bytes of all shuffle
// windows that are open at once.
func newPrefetchSchedule(s *order.Share, cols []read.Access, batch, limit, window int64) *prefetchSchedule {
	r := &prefetchSchedule{share: s, cols: cols, end: s.Length(), batch: batch, limit: limit, rows: 2 * batch}
	total := int64(0)
	for _, c := range cols {
		total += c.StoredBytes
	}
	// in sequence a rank reads the same rows in every epoch
	r.fits = total <= limit || s.Kind() == order.Sequential && total/s.World() <= limit
	r.row = max(total/max(s.Of(), 1), 1)
	if !r.fits && window <= limit/runShare {
		r.mixed = s.MixedWindows()
	}
	return r
}

// separateSmall lets small columns be planned as a whole. Of a large set, a window that slides
// needs a little of each of their blocks in turn: a request for each block of the large columns.
func (r *prefetchSchedule) separateSmall() {
	if r.fits || r.share.Lifetime() == 0 {
		return
	}
	total := int64(0)
	for _, c := range r.cols {
		total += c.StoredBytes
	}
	for _, c := range r.cols {
		if c.StoredBytes <= min(r.limit/smallShare, total/smallPart) {
			r.small = append(r.small, c)
		} else {
			r.large = append(r.large, c)
		}
	}
}

// nextSmall plans the small columns for the rest of the pass. Later windows leave them out.
func (r *prefetchSchedule) nextSmall(ctx context.Context) prefetch.Window {
	r.cols = r.small
	spans, _ := r.spans(ctx, [][2]int64{{0, r.share.Of()}})
	r.cols, r.small = r.large, nil
	return prefetch.Window{Spans: spans, Until: r.end}
}

// next plans more positions: those before to.
func (r *prefetchSchedule) next(ctx context.Context) (to int64, windows []prefetch.Window) {
	if r.mixed != nil {
		return r.nextMixed(ctx)
	}
	to, spans := r.nextPart(ctx)
	windows = []prefetch.Window{{Spans: spans, Until: to}}
	if r.small != nil && to >= r.batch {
		windows = append(windows, r.nextSmall(ctx))
	}
	return to, windows
}

// nextMixed plans the next shuffle windows of the views of a mixture. Windows of views end at
// different positions, and each is requested once. If they take more memory than estimated, the
// rest of the pass is planned by position.
func (r *prefetchSchedule) nextMixed(ctx context.Context) (to int64, windows []prefetch.Window) {
	to, parts := r.mixed.Next(r.batch)
	for _, p := range parts {
		spans, bytes := r.spans(ctx, p.Runs)
		windows = append(windows, prefetch.Window{Spans: spans, Until: p.Until})
		r.open = append(r.open, openWindow{bytes, p.Until})
	}
	r.at = to
	held := int64(0)
	r.open = slices.DeleteFunc(r.open, func(w openWindow) bool { return w.until <= r.at })
	for _, w := range r.open {
		held += w.bytes
	}
	if held > r.limit {
		r.mixed, r.open = nil, nil
	}
	return to, windows
}

// nextPart returns the next window by position and its spans, the smallest columns first: every
// batch waits for all columns.
func (r *prefetchSchedule) nextPart(ctx context.Context) (to int64, spans [][]chunk.Span) {
	to, runs := r.propose()
	if first := r.firstBatch(ctx, to); first != nil {
		r.at, r.rows, r.early = r.batch, to, true
		return r.batch, first
	}
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
		spans, _ = r.spans(ctx, r.share.Runs(r.at, to))
	}
	if r.share.Kind() == order.Full && !r.fits && r.row >= inTurnRow {
		spans = r.inTurn(ctx, to)
	}
	r.at = to
	return to, spans
}

// inTurn returns the spans of the next window, each listed for the first batch that needs it. In
// the order of addresses, all batches of a window would be complete together at its end.
func (r *prefetchSchedule) inTurn(ctx context.Context, to int64) (lists [][]chunk.Span) {
	for from := r.at; from < to; from += r.batch {
		spans, _ := r.spans(ctx, r.share.Runs(from, min(from+r.batch, to)))
		lists = append(lists, spans...)
	}
	return lists
}

// firstBatch returns the spans of the first batch where it is worth a window of its own: it needs a
// small part of the chunks of the window. Chunks that say themselves where their samples lie, as
// those of Deep Lake 3, are read while spans are made. It returns nil elsewhere.
func (r *prefetchSchedule) firstBatch(ctx context.Context, window int64) [][]chunk.Span {
	const part = 4 // at most one in so many chunks is requested twice
	if r.at > 0 || r.share.Kind() != order.Window || window < part*r.batch {
		return nil
	}
	for _, c := range r.cols {
		if float64(c.Chunks)*float64(window)/float64(r.share.Of()) >= float64(part*r.batch) {
			spans, _ := r.spans(ctx, r.share.Runs(0, r.batch))
			return spans
		}
	}
	return nil
}

// propose chooses the next window by position and estimate.
func (r *prefetchSchedule) propose() (to int64, runs [][2]int64) {
	all := r.share.Everything()
	switch {
	case r.share.Kind() == order.Window:
		begin, end := r.share.Window(r.at)
		if r.at == begin && r.share.Alone() {
			return end, r.share.WindowRuns()
		}
		to = min(end, r.at+8*maxRunRows)
		if r.at != begin { // the rest of a window that was cut, or in which the pass begins
			to = min(end, r.at+r.rows)
		}
		if r.at == 0 {
			r.rows = end
		}
	case all > 0 && r.fits && r.at > 0:
		return r.end, [][2]int64{{0, all}}
	default:
		share := int64(sequentialShare)
		switch r.share.Kind() {
		case order.Full:
			share = fullShare
		case order.Mixed: // windows of several views: as much of them as may be
			share = runShare
		}
		to = min(r.at+r.rows, r.end)
		if 2*r.rows*r.row <= r.limit/share && 2*r.rows <= maxRunRows {
			r.rows *= 2
		}
	}
	return to, r.share.Runs(r.at, to)
}

// spans asks all columns, and counts bytes. Rows that cannot be found are left out: the batch that
// needs them meets the error.
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
