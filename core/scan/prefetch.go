package scan

import (
	"context"
	"math"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/prefetch"
)

// aheadBytes bounds what is held for one read.
const aheadBytes = 256 << 20

// oneRequest is how much the worker asks for at once by itself.
const oneRequest = 512 << 10

// ahead begins to fetch what runs take, where they lie behind a network, in requests of many
// blocks, all at once. What is a single request anyway is left to the worker. done ends it.
func (v *values) ahead(ctx context.Context, runs []segmentRun) (done func()) {
	if !v.f.view.Remote() {
		return func() {}
	}
	var spans []chunk.Span
	for i := range runs {
		spans = runs[i].spans(spans)
	}
	return fetch(ctx, v.r.worker, spans)
}

// fetch begins to fetch spans for a worker, until done is called.
func fetch(ctx context.Context, w *chunk.Worker, spans []chunk.Span) (done func()) {
	if len(spans) == 0 || len(spans) == 1 && spans[0].Bytes <= oneRequest {
		return func() {}
	}
	g := task.New(ctx, 0)
	memory := prefetch.NewBufferPool(aheadBytes)
	h := prefetch.New(g, memory, prefetch.Options{Limit: aheadBytes, Batch: 1, Lead: math.MaxInt64})
	h.JoinWithin(math.MaxInt)
	g.Go(func(ctx context.Context) error { // wakes the worker when the read is given up
		<-ctx.Done()
		h.Stop()
		return nil
	})
	h.Plan(1, [][]chunk.Span{spans})
	h.Open(0)
	h.End()
	w.SetReadAhead(h.ReadAhead(patient{}))
	return func() {
		w.SetReadAhead(nil)
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
