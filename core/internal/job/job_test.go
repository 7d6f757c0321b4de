package job

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/go/tests/clock"
)

type steps struct {
	n    int
	done bool
}

// TestJob: callers see each change, then the end with its error.
func TestJob(t *testing.T) {
	t.Parallel()
	failed := errors.New("the work has failed")
	j := New[steps]()
	defer j.Close()
	proceed := make(chan struct{})
	j.Run(func(context.Context) error {
		j.Update(func(p *steps) { p.n = 1 })
		<-proceed
		j.Update(func(p *steps) { p.n = 2 })
		return failed
	}, func(p *steps) { p.done = true })
	for p, err := j.Poll(t.Context()); p.n != 1; p, err = j.Poll(t.Context()) {
		if err != nil || p.done {
			t.Fatal(p, err)
		}
	}
	brief, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, done, err := j.Wait(brief); done || err != nil {
		t.Errorf("the work waits: done is %v, %v", done, err)
	}
	close(proceed)
	if p, done, err := j.Wait(t.Context()); !done || p != (steps{2, true}) || !errors.Is(err, failed) {
		t.Errorf("at the end: %+v, %v, %v", p, done, err)
	}
}

// TestWaitSeesTheEnd: the progress that Wait returns is that of the end. More threads than cores
// are stopped between any two instructions.
func TestWaitSeesTheEnd(t *testing.T) { //nolint:paralleltest // changes the number of threads
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	for range 10_000 {
		j := New[steps]()
		var waiting sync.WaitGroup
		for range 64 {
			waiting.Go(func() {
				if p, done, err := j.Wait(t.Context()); !done || !p.done || err != nil {
					t.Errorf("%+v, %v, %v", p, done, err)
				}
			})
		}
		j.Run(func(context.Context) error {
			for n := range 20 {
				j.Update(func(p *steps) { p.n = n })
			}
			return nil
		}, func(p *steps) { p.done = true })
		waiting.Wait()
		j.Close()
	}
}

// TestEnds: Close cancels the work and waits for it, and a panic becomes an error.
func TestEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		j := New[steps]()
		j.Run(func(ctx context.Context) error {
			<-ctx.Done()
			clock.Pass(time.Second)
			ended.Store(true)
			return ctx.Err()
		}, func(*steps) {})
		if j.Close(); !ended.Load() {
			t.Error("Close returned before the work")
		}
		j = New[steps]()
		defer j.Close()
		j.Run(func(context.Context) error { panic("a fault") }, func(*steps) {})
		if _, done, err := j.Wait(t.Context()); !done || err == nil {
			t.Errorf("a panic: %v, %v", done, err)
		}
	})
}
