package scan

import (
	"context"
	"math"

	"deeplake/core/ahead"
	"deeplake/core/chunk"
	"deeplake/core/internal/task"
)

// aheadBytes bounds what is held for one read.
const aheadBytes = 256 << 20

// oneRequest is how much the worker asks for at once by itself.
const oneRequest = 512 << 10

// ahead begins to fetch what stretches take, where they lie behind a network, in requests of many blocks, all at once. What
// is a single request anyway is left to the worker. done ends it.
func (v *values) ahead(ctx context.Context, stretches []stretch) (done func()) {
	if !v.f.view.Remote() {
		return func() {}
	}
	var spans []chunk.Span
	for i := range stretches {
		spans = stretches[i].spans(spans)
	}
	return fetch(ctx, v.r.worker, spans)
}

// fetch begins to fetch spans for a worker, until done is called.
func fetch(ctx context.Context, w *chunk.Worker, spans []chunk.Span) (done func()) {
	if len(spans) == 0 || len(spans) == 1 && spans[0].Bytes <= oneRequest {
		return func() {}
	}
	g := task.New(ctx, 0)
	memory := ahead.NewShelf(aheadBytes)
	h := ahead.New(g, memory, ahead.Options{Limit: aheadBytes, Batch: 1, Lead: math.MaxInt64})
	h.Join(math.MaxInt)
	g.Go(func(ctx context.Context) error { // wakes the worker when the read is given up
		<-ctx.Done()
		h.Stop()
		return nil
	})
	h.Plan(1, [][]chunk.Span{spans})
	h.Open(0)
	h.End()
	w.Hold(h.Hand(patient{}))
	return func() {
		w.Hold(nil)
		g.Stop()
		_ = g.Wait() // a failure was met by the worker
		h.Close()
		memory.Close()
	}
}

// patient does not care how long it waits.
type patient struct{}

func (patient) Pause()  {}
func (patient) Resume() {}
