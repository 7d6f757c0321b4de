package task

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"deeplake/core/errs"
)

func TestFirstErrorStopsTheOthers(t *testing.T) {
	t.Parallel()
	g := New(context.Background(), 0)
	bad := errors.New("bad")
	for range 4 {
		g.Go(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
	}
	g.Go(func(context.Context) error { return bad })
	if err := g.Wait(); err != bad {
		t.Fatalf("Wait = %v, want the first error", err)
	}
	if context.Cause(g.Context()) != bad {
		t.Fatalf("cause = %v, want the first error", context.Cause(g.Context()))
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	const limit = 3
	g := New(context.Background(), limit)
	var running, most atomic.Int64
	for range 50 {
		g.Go(func(context.Context) error {
			n := running.Add(1)
			defer running.Add(-1)
			for {
				old := most.Load()
				if n <= old || most.CompareAndSwap(old, n) {
					return nil
				}
			}
		})
	}
	if err := g.Wait(); err != nil || most.Load() > limit || most.Load() == 0 {
		t.Fatalf("%d ran at once, want at most %d (%v)", most.Load(), limit, err)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	t.Parallel()
	g := New(context.Background(), 1)
	g.Go(func(context.Context) error { panic("boom") })
	err := g.Wait()
	var p *Panic
	if !errs.Is(err, errs.Internal) || !errors.As(err, &p) || p.Panicked() != "boom" {
		t.Fatalf("Wait = %v", err)
	}
	if !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "task_test.go") {
		t.Fatalf("the error does not say what panicked and where: %v", err)
	}
	if err := Call(func() error { panic(errors.New("inner")) }); !errors.As(err, &p) {
		t.Fatalf("Call = %v", err)
	}
	if err := Call(func() error { return nil }); err != nil {
		t.Fatalf("Call = %v", err)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	g := New(context.Background(), 0)
	g.Go(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	g.Stop()
	if err := g.Wait(); err != nil {
		t.Fatalf("Wait after Stop = %v", err)
	}

	failed := New(context.Background(), 0)
	bad := errors.New("bad")
	failed.Go(func(context.Context) error { return bad })
	<-failed.Context().Done()
	failed.Stop()
	if err := failed.Wait(); err != bad {
		t.Fatalf("Wait after an error and Stop = %v", err)
	}
}

func TestParentEndsTheGroup(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithCancel(context.Background())
	g := New(parent, 1)
	g.Go(func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("Wait = %v", err)
	}
}
