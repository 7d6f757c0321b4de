package read

import (
	"context"
	"sync"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
)

// Jobs is a read in parts that workers do in parallel.
type Jobs struct {
	Count   int
	Threads int // goroutines, at most
	// Run does a job. An error ends the others.
	Run func(ctx context.Context, job int, w *chunk.Worker) error
	// Spans appends the bytes of a job, which are prefetched; nil: workers read by themselves.
	Spans func(job int, out []chunk.Span) []chunk.Span

	next  atomic.Int64
	ahead OneShot
}

// Do does all jobs, unless ctx ends. A panic in a job becomes an error.
func (j *Jobs) Do(ctx context.Context, workers *Pool[*chunk.Worker]) error {
	if j.Spans != nil {
		j.ahead = Prefetch(ctx, j.Count, AnyBytes, j.Spans)
		defer j.ahead.Close()
	}
	threads := min(j.Threads, j.Count)
	if threads < 2 {
		return task.Call(func() error { return j.loop(ctx, workers) })
	}
	g := task.New(ctx, 0)
	for range threads {
		g.Go(func(ctx context.Context) error { return j.loop(ctx, workers) })
	}
	return g.Wait()
}

// loop does jobs until none is left.
func (j *Jobs) loop(ctx context.Context, workers *Pool[*chunk.Worker]) error {
	w := workers.Borrow()
	defer workers.Return(w)
	defer w.SetReadAhead(nil)
	for k := int(j.next.Add(1)) - 1; k < j.Count && ctx.Err() == nil; k = int(j.next.Add(1)) - 1 {
		j.ahead.Use(w)
		if err := j.Run(ctx, k, w); err != nil {
			return err
		}
		j.ahead.Done(k)
	}
	return nil
}

// Pool keeps the scratch values of goroutines between jobs: as many as were in use at once. All
// methods may be called in parallel.
type Pool[T interface{ Close() }] struct {
	New func() T

	mu     sync.Mutex
	free   []T
	closed bool
}

// Borrow gives a value, which goes back by Return.
func (p *Pool[T]) Borrow() T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		one := p.free[n-1]
		p.free = p.free[:n-1]
		return one
	}
	return p.New()
}

// Return takes a value back. After Close, it closes the value.
func (p *Pool[T]) Return(one T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		one.Close()
		return
	}
	p.free = append(p.free, one)
}

// Closed reports whether Close was called.
func (p *Pool[T]) Closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close closes the values that are not in use.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.free {
		one.Close()
	}
	p.free, p.closed = nil, true
}
