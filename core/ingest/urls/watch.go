package urls

import (
	"context"
	"errors"
	"sync"
	"time"
)

// pool is the goroutines that fetch. Fetcher.mu guards it.
type pool struct {
	wake    sync.Cond
	workers int // goroutines
	idle    int // of them: without a job
	late    int // of them: with a job that is late
	active  map[*job]struct{}
	usual   time.Duration // that an answer takes: a moving mean
}

const (
	// tick is the precision of Timeout and Silence.
	tick = 25 * time.Millisecond
	// A request is late after lateFactor times the usual time without a byte. Then it does not
	// count as one of the workers, and another worker goes on for it.
	lateFactor = 4
	lateLeast  = 100 * time.Millisecond
	lateMost   = 2 * time.Second
	// mostLate times Workers bounds the late requests.
	mostLate = 16
)

var (
	errTimeout  = errors.New("the time of the object is over")
	errSilence  = errors.New("the host is silent")
	errReleased = errors.New("the batch was released")
)

func (p *pool) start(mu *sync.Mutex) {
	p.wake.L = mu
	p.active = map[*job]struct{}{}
	p.usual = lateMost / lateFactor
}

// stop ends the requests of a batch.
func (p *pool) stop(b *Batch) {
	for j := range p.active {
		if j.batch == b {
			j.cancel(errReleased)
		}
	}
}

// now is a monotonic time.
func (f *Fetcher) now() time.Duration { return time.Since(f.began) }

// hire starts up to n workers, as far as the bounds allow.
func (f *Fetcher) hire(n int) {
	p := &f.pool
	for range min(n, f.o.Workers-(p.workers-p.late), (1+mostLate)*f.o.Workers-p.workers) {
		p.workers++
		f.group.Go(f.work)
	}
}

// take returns the next job, waiting for one, with its context. It returns nil if the worker is to
// end.
func (f *Fetcher) take(ctx context.Context) (*job, context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.pool
	for ctx.Err() == nil && p.workers-p.late <= f.o.Workers {
		if j := f.pick(); j != nil {
			ctx, cancel := context.WithCancelCause(ctx)
			j.run = run{cancel: cancel, began: f.now()}
			j.last.Store(int64(j.began))
			p.active[j] = struct{}{}
			if p.idle > 0 {
				p.wake.Signal() // there may be another
			}
			return j, ctx
		}
		p.idle++
		p.wake.Wait()
		p.idle--
	}
	p.workers--
	return nil, nil
}

// leave ends the run of j.
func (f *Fetcher) leave(j *job) {
	p := &f.pool
	delete(p.active, j)
	j.cancel(nil)
	if j.late {
		p.late--
	}
	if j.first > 0 {
		p.usual += (j.first - p.usual) / 32
	}
	j.spent += f.now() - j.began
}

// watch looks after the requests until ctx ends. Then it wakes the workers for their end.
func (f *Fetcher) watch(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			f.mu.Lock()
			f.pool.wake.Broadcast()
			f.mu.Unlock()
			return nil
		case <-t.C:
			f.look()
		}
	}
}

// look ends requests whose time is over, finds late ones, and hires workers for them.
func (f *Fetcher) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.pool
	now, patience := f.now(), min(max(lateFactor*p.usual, lateLeast), lateMost)
	p.late = 0
	for j := range p.active {
		last := time.Duration(j.last.Load())
		switch {
		case now-j.began >= f.o.Timeout-j.spent:
			j.cancel(errTimeout)
		case last != resting && now-last >= f.o.Silence:
			j.cancel(errSilence)
		}
		if j.late = last == resting || now-last > patience; j.late {
			p.late++
		}
	}
	if p.idle == 0 {
		f.hire(f.o.Workers)
	}
}
