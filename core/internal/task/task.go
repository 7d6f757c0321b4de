// Package task owns the only `go` statement of the library: groups of goroutines that their owner
// waits for. A panic in one becomes an error, so that a bug met in one sample does not end the host
// process.
package task

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"deeplake/core/errs"
)

// Group runs functions in goroutines and collects the first error. The zero value is not usable;
// see New.
type Group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error
	slots  chan struct{}

	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when nothing runs; nil: WaitFor does not wait
}

// New makes a group whose context ends with parent, with Wait, or with the first error. limit
// bounds the goroutines that run at once; 0 means no bound.
func New(parent context.Context, limit int) *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancelCause(parent)
	if limit > 0 {
		g.slots = make(chan struct{}, limit)
	}
	return g
}

// Context is done when the group has failed, was stopped or was waited for.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs fn in a goroutine of its own, after waiting for a free place under the limit. A panic in
// fn becomes an errs.Internal error with its stack.
func (g *Group) Go(fn func(ctx context.Context) error) { g.GoFor(context.Background(), fn) }

// GoFor is Go for a caller with a context. When ctx ends, the goroutine itself waits for its place,
// so that fn still runs.
func (g *Group) GoFor(ctx context.Context, fn func(ctx context.Context) error) {
	placed := true
	if g.slots != nil {
		select {
		case g.slots <- struct{}{}:
		case <-ctx.Done():
			placed = false
		}
	}
	g.wg.Add(1)
	g.began()
	go func() {
		defer g.wg.Done()
		defer g.ended()
		if !placed {
			g.slots <- struct{}{}
		}
		defer func() {
			if g.slots != nil {
				<-g.slots
			}
		}()
		if err := Call(func() error { return fn(g.ctx) }); err != nil {
			g.fail(err)
		}
	}()
}

// Stop cancels the context of the group; Wait then returns nil unless something failed before.
func (g *Group) Stop() {
	g.once.Do(func() {})
	g.cancel(context.Canceled)
}

// Wait returns when every goroutine has, with the first error.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.cancel(context.Canceled)
	return g.err
}

// WaitFor is Wait for a caller with a context. If ctx ends first, it returns errs.Canceled. The
// goroutines continue, and the group stays usable.
func (g *Group) WaitFor(ctx context.Context) error {
	g.mu.Lock()
	if g.running == 0 {
		g.mu.Unlock()
		return g.Wait()
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return g.Wait()
	case <-ctx.Done():
		return errs.Op("wait", "").New(errs.Canceled, "%w", context.Cause(ctx))
	}
}

func (g *Group) began() {
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
}

func (g *Group) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

func (g *Group) fail(err error) {
	g.once.Do(func() {
		g.err = err
		g.cancel(err)
	})
}

// Call runs fn and converts a panic to an errs.Internal error with its stack.
func Call(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errs.New(errs.Internal, "%w", &Panic{Value: p, Stack: debug.Stack()})
		}
	}()
	return fn()
}

// Panic is a panic that became an error. It stays in the chain of errors, so that the C interface
// can tell that the library is no longer to be trusted.
type Panic struct {
	Value any
	Stack []byte
}

// Error shows the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Panicked returns the argument of panic. Packages that may not import this one use it to recognize
// a Panic.
func (p *Panic) Panicked() any { return p.Value }

// Cores returns the number of goroutines that can compute at once: no more than the machine has
// processors, where GOMAXPROCS leaves some to spare.
func Cores() int { return min(runtime.GOMAXPROCS(0), runtime.NumCPU()) }
