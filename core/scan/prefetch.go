package scan

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/read"
)

// prefetch begins to request the bytes of runs over a network, all at once. done ends it.
func (v *values) prefetch(ctx context.Context, runs []read.Values) (done func()) {
	if !v.f.remote() {
		return func() {}
	}
	var spans []chunk.Span
	for i := range runs {
		spans = runs[i].Spans(spans)
	}
	return prefetch(ctx, v.r.io.Worker, spans)
}

// prefetch begins to request spans for a worker, until done is called.
func prefetch(ctx context.Context, w *chunk.Worker, spans []chunk.Span) (done func()) {
	o := read.Prefetch(ctx, 1, read.OneRequest, func(_ int, out []chunk.Span) []chunk.Span { return append(out, spans...) })
	o.Use(w)
	return func() {
		w.SetReadAhead(nil)
		o.Close()
	}
}
