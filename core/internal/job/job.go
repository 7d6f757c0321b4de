// Package job owns work that runs in the background and tells how far it has come. It knows nothing
// of the work.
package job

import (
	"context"
	"sync"

	"deeplake/core/internal/task"
)

// Job is work in the background with progress P, which is never changed once it is shown. All
// methods may be called in parallel.
type Job[P any] struct {
	group  *task.Group
	cancel context.CancelFunc

	mu       sync.Mutex
	progress P
	done     bool
	news     chan struct{} // closed and replaced at every change
	err      error
}

// New makes a job without work. Its context ends with Cancel.
func New[P any]() *Job[P] {
	ctx, cancel := context.WithCancel(context.Background())
	return &Job[P]{group: task.New(ctx, 0), cancel: cancel, news: make(chan struct{})}
}

// Context ends with Cancel.
func (j *Job[P]) Context() context.Context { return j.group.Context() }

// Run does the work in the background. At its end, finish sees the progress, before the error of
// the work is shown.
func (j *Job[P]) Run(work func(ctx context.Context) error, finish func(p *P)) {
	j.group.Go(func(ctx context.Context) error {
		err := task.Call(func() error { return work(ctx) })
		j.Update(func(p *P) {
			finish(p)
			j.done, j.err = true, err
		})
		return nil
	})
}

// Update changes the progress and wakes waiting callers.
func (j *Job[P]) Update(fn func(p *P)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fn(&j.progress)
	close(j.news)
	j.news = make(chan struct{})
}

// Poll waits until there is news or ctx is done, and returns the progress. Once the work is done it
// also returns its error.
func (j *Job[P]) Poll(ctx context.Context) (P, error) {
	p, _, err := j.poll(ctx)
	return p, err
}

// poll is Poll, which also tells whether the work was done at the moment of p.
func (j *Job[P]) poll(ctx context.Context) (p P, done bool, err error) {
	j.mu.Lock()
	p, done, err, news := j.progress, j.done, j.err, j.news
	j.mu.Unlock()
	if done {
		return p, done, err
	}
	select {
	case <-news:
	case <-ctx.Done():
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.progress, j.done, j.err
}

// Wait returns when the work is done, or ctx is.
func (j *Job[P]) Wait(ctx context.Context) (p P, done bool, err error) {
	for {
		if p, done, err = j.poll(ctx); done || ctx.Err() != nil {
			return p, done, err
		}
	}
}

// Cancel tells the work to stop.
func (j *Job[P]) Cancel() { j.cancel() }

// Close cancels the work and returns when it has stopped.
func (j *Job[P]) Close() {
	j.cancel()
	_ = j.group.Wait()
}
