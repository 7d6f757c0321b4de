package loader

import "context"

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
	end := min(e.batches*int64(o.BatchSize), e.loader.order.Rows)
	r := newRoute(newWalk(e.loader.order, uint64(e.number)), cols, end, int64(o.BatchSize), e.hoard.limit)
	for r.at < r.end && e.hoard.awaitRoom() {
		to, spans := r.next(ctx)
		e.hoard.plan(to, spans)
		if !r.fits || e.hoard.full() {
			e.hoard.open(false)
		}
	}
	e.hoard.open(r.fits)
	e.hoard.end()
	return nil
}
