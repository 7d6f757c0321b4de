package read

import (
	"context"
	"math"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/prefetch"
)

// oneShotBytes bounds the bytes buffered for one read.
const oneShotBytes = 256 << 20

// Lone spans that Prefetch leaves to the worker, by their size.
const (
	// OneRequest is the size that a worker reads in one request by itself.
	OneRequest = 512 << 10
	// AnyBytes leaves every lone span to the worker.
	AnyBytes = math.MaxInt64
)

// OneShot prefetches the bytes of jobs that are known from the start. The zero value prefetches
// nothing. All methods may be called in parallel.
type OneShot struct {
	prefetcher *prefetch.Prefetcher
	memory     *prefetch.BufferPool
	group      *task.Group
}

// Prefetch begins to request the bytes of jobs, the first jobs first. spans appends the spans of
// one job. A lone span of at most lone bytes is left to the worker. The OneShot must be closed.
func Prefetch(ctx context.Context, jobs int, lone int64, spans func(job int, out []chunk.Span) []chunk.Span) OneShot {
	needs := make([][]chunk.Span, jobs)
	var last chunk.Span
	some, several := false, false
	for k := range needs {
		needs[k] = spans(k, nil)
		for _, s := range needs[k] {
			several = several || some && (s.Object != last.Object || s.Offset != last.Offset)
			some, last = true, s
		}
	}
	if !some || !several && last.Bytes <= lone {
		return OneShot{}
	}
	g, memory := task.New(ctx, 0), prefetch.NewBufferPool(oneShotBytes)
	p := prefetch.New(g, memory, prefetch.Options{Limit: oneShotBytes, Batch: 1, Lead: math.MaxInt64})
	p.JoinWithin(math.MaxInt)
	g.Go(func(ctx context.Context) error {
		// Wakes the workers that wait for bytes when the read is given up.
		<-ctx.Done()
		p.Stop()
		return nil
	})
	for k := range needs {
		p.Plan(int64(k)+1, needs[k:k+1])
	}
	p.Open(0)
	p.End()
	return OneShot{p, memory, g}
}

// Use lets a worker read the prefetched bytes, until SetReadAhead(nil).
func (o *OneShot) Use(w *chunk.Worker) {
	if o.prefetcher != nil {
		w.SetReadAhead(o.prefetcher.ReadAhead(unmetered{}))
	}
}

// Done declares that a job needs its bytes no more.
func (o *OneShot) Done(job int) {
	if o.prefetcher != nil {
		o.prefetcher.Done(int64(job))
	}
}

// Close drops the requests that nothing waits for, and frees the bytes.
func (o *OneShot) Close() {
	if o.prefetcher == nil {
		return
	}
	o.group.Stop()
	_ = o.group.Wait() // a failure was met by the job that needed the bytes
	o.prefetcher.Close()
	o.memory.Close()
}

// unmetered is a prefetch.Waiter that measures nothing.
type unmetered struct{}

func (unmetered) Pause()  {}
func (unmetered) Resume() {}
