package limit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
	"deeplake/go/tests/clock"
)

func open(t *testing.T, space *mem.Space) storage.Provider {
	t.Helper()
	p, err := space.Open(t.Context(), "place", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConformance runs the suite with a single slot: no request may hold one while waiting for
// another.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, ranged := range []bool{false, true} {
		storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
			var space mem.Space
			l := limit.New(storage.Settings{MaxConnections: 1, MaxBytesInFlight: 1000})
			next := func() storage.Provider {
				p := open(t, &space)
				if ranged {
					p = faultstore.NewRanged(p, nil)
				}
				p = l.Provider(p)
				t.Cleanup(func() { _ = p.Close() })
				return p
			}
			return next(), next
		})
	}
}

// slow is a store of an object "k" of n bytes, of which every request takes a second.
func slow(t *testing.T, s storage.Settings, n int, plan ...faultstore.Fault) (*limit.Limiter, storage.Provider, *faultstore.Ranged) {
	t.Helper()
	inner := open(t, &mem.Space{})
	if err := inner.Put(t.Context(), "k", make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	below := faultstore.NewRanged(inner, append(plan, faultstore.Fault{Times: faultstore.Always, Do: faultstore.Delay(time.Second)}))
	l := limit.New(s)
	return l, l.Provider(below), below
}

// TestPlaces: no more than so many run at once, by whatever call, and each starts as soon as one is
// free.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		call func(ctx context.Context, p storage.Provider) error
	}{
		{"get", func(ctx context.Context, p storage.Provider) error { _, err := p.Get(ctx, "k"); return err }},
		{"read", func(ctx context.Context, p storage.Provider) error { return p.ReadAt(ctx, "k", make([]byte, 10), 0) }},
		{"put", func(ctx context.Context, p storage.Provider) error { return p.Put(ctx, "x", nil) }},
		{"delete", func(ctx context.Context, p storage.Provider) error { return p.Delete(ctx, "x") }},
		{"list", func(ctx context.Context, p storage.Provider) error {
			return p.List(ctx, "none/", "", func(storage.Object) bool { return true })
		}},
		{"range", func(ctx context.Context, p storage.Provider) error {
			b, err := p.(storage.Ranger).Range(ctx, "k", 0, 10, "")
			if err != nil {
				return err
			}
			defer b.Close()
			_, err = io.ReadAll(b)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, p, _ := slow(t, storage.Settings{MaxConnections: 4}, 10)
				begun := time.Now()
				g := task.New(t.Context(), 0)
				for range 20 {
					g.Go(func(ctx context.Context) error { return c.call(ctx, p) })
				}
				synctest.Wait()
				if n, _ := l.Load(); n != 4 {
					t.Errorf("%d requests at once, want 4", n)
				}
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != 5*time.Second {
					t.Errorf("20 requests of a second took %v, want 5s", took)
				}
				if n, bytes := l.Load(); n != 0 || bytes != 0 {
					t.Errorf("%d requests and %d bytes are left", n, bytes)
				}
				s := storage.StatsOf(p)
				if s.Requests != 20 || s.Waits != 16 || s.WaitTime != (4*1+4*2+4*3+4*4)*time.Second || s.Connections != 4 {
					t.Errorf("stats: %+v", s)
				}
			})
		})
	}
}

// TestBytes: bytes in flight are bounded, a request above the bound runs alone, and bytes that were
// read free the bound.
func TestBytes(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		l, p, _ := slow(t, storage.Settings{MaxBytesInFlight: 4 * mib}, 10*mib)
		r := p.(storage.Ranger)
		ask := func(n int64) (storage.Body, time.Duration) {
			begun := time.Now()
			b, err := r.Range(t.Context(), "k", 0, n, "")
			if err != nil {
				t.Fatal(err)
			}
			return b, time.Since(begun)
		}
		a, _ := ask(3 * mib)
		if _, got := l.Load(); got != 3*mib {
			t.Fatalf("%d bytes, want 3 MiB", got)
		}
		g := task.New(t.Context(), 0)
		g.Go(func(context.Context) error {
			b, took := ask(2 * mib)
			defer b.Close()
			if took != 10*time.Second+time.Second {
				t.Errorf("the second waited for %v", took)
			}
			return nil
		})
		clock.Pass(5 * time.Second)
		if _, err := io.ReadFull(a, make([]byte, mib/2)); err != nil {
			t.Fatal(err)
		}
		clock.Pass(5 * time.Second)
		if _, err := io.ReadFull(a, make([]byte, mib/2)); err != nil { // now there are 2 MiB
			t.Fatal(err)
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		g = task.New(t.Context(), 0)
		g.Go(func(context.Context) error {
			b, took := ask(9 * mib)
			defer b.Close()
			if took != 3*time.Second+time.Second {
				t.Errorf("the large one waited for %v", took)
			}
			return nil
		})
		clock.Pass(3 * time.Second)
		a.Close()
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if n, got := l.Load(); n != 0 || got != 0 {
			t.Errorf("%d requests and %d bytes are left", n, got)
		}
	})
}

// TestFirstComesFirst, also where a later one would fit.
func TestFirstComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p, _ := slow(t, storage.Settings{MaxConnections: 3, MaxBytesInFlight: 1000}, 2000)
		var mu sync.Mutex
		var order []int
		g := task.New(t.Context(), 0)
		for i, n := range []int{600, 600, 10, 900, 10} {
			g.Go(func(ctx context.Context) error {
				err := p.ReadAt(ctx, "k", make([]byte, n), 0)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				return err
			})
			synctest.Wait() // so that they come in this order
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if len(order) == 5 && order[1] > order[2] { // these two run together
			order[1], order[2] = order[2], order[1]
		}
		if len(order) == 5 && order[3] > order[4] {
			order[3], order[4] = order[4], order[3]
		}
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}

// TestLeavingTheQueue is at once, and lets those behind go.
func TestLeavingTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, p, below := slow(t, storage.Settings{MaxConnections: 2, MaxBytesInFlight: 1000}, 2000)
		g := task.New(t.Context(), 0)
		g.Go(func(ctx context.Context) error { return p.ReadAt(ctx, "k", make([]byte, 500), 0) })
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		left := make(chan error, 1)
		g.Go(func(context.Context) error { left <- p.ReadAt(ctx, "k", make([]byte, 900), 0); return nil })
		synctest.Wait()
		g.Go(func(ctx context.Context) error { return p.ReadAt(ctx, "k", make([]byte, 500), 0) })
		synctest.Wait()
		if n, _ := l.Load(); n != 1 {
			t.Fatalf("%d requests, want 1 and two that wait", n)
		}
		begun := time.Now()
		cause := errors.New("the user left")
		cancel(cause)
		if err := <-left; !errs.Is(err, errs.Canceled) || !errors.Is(err, cause) || time.Since(begun) != 0 {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		synctest.Wait()
		if n, _ := l.Load(); n != 2 {
			t.Errorf("%d requests, want 2: the one behind can go", n)
		}
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		if n := len(below.Calls()); n != 2 {
			t.Errorf("%d requests were sent, want 2", n)
		}
	})
}

// TestAdaption: a store that refuses gets half the requests, once for those in flight, and more
// again in time.
func TestAdaption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, p, below := slow(t, storage.Settings{}, 1000)
		refused(t, p, below, 32)
		if got := l.Connections(); got != 16 {
			t.Errorf("%d places after 32 requests were refused together, want 16", got)
		}
		clock.Pass(time.Second)
		refused(t, p, below, 16)
		if got := l.Connections(); got != 8 {
			t.Errorf("%d places after 16 more, want 8", got)
		}

		// All places in use for so many seconds.
		below.SetPlan([]faultstore.Fault{{Times: faultstore.Always, Do: faultstore.Delay(time.Second)}})
		g := task.New(t.Context(), 0)
		for range 100 {
			g.Go(func(ctx context.Context) error { return p.ReadAt(ctx, "k", make([]byte, 1), 0) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		grown := l.Connections()
		if grown < 12 || grown > 18 {
			t.Errorf("%d places after 100 requests of a second, want 8 and one for each round or two", grown)
		}
		clock.Pass(time.Hour)
		if err := p.ReadAt(t.Context(), "k", make([]byte, 1), 0); err != nil {
			t.Fatal(err)
		}
		if got := l.Connections(); got != grown {
			t.Errorf("%d places after an hour without use, want %d", got, grown)
		}
		for range 20 {
			clock.Pass(time.Second)
			refused(t, p, below, 3)
		}
		if got := l.Connections(); got != 1 {
			t.Errorf("%d places, want one at the least", got)
		}
		if s := storage.StatsOf(p); s.Throttles != 32+16+60 || s.Connections != 1 {
			t.Errorf("stats: %+v", s)
		}
	})
}

// refused sends n requests together, which take a second each to be refused.
func refused(t *testing.T, p storage.Provider, below *faultstore.Ranged, n int) {
	t.Helper()
	below.SetPlan([]faultstore.Fault{{Times: faultstore.Always, Do: faultstore.AgainAfter(time.Second, storage.Later)}})
	g := task.New(t.Context(), 0)
	for range n {
		g.Go(func(ctx context.Context) error {
			err := p.ReadAt(ctx, "k", make([]byte, 1), 0)
			var f *storage.Fault
			if !errors.As(err, &f) {
				return errors.Join(errors.New("no fault"), err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSource counts as a provider does.
func TestSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, below := slow(t, storage.Settings{}, 100)
		l := limit.New(storage.Settings{MaxConnections: 1})
		s := l.Source(&faultstore.Source{Ranged: below})
		names := 0
		if err := s.Objects(t.Context(), "", "", func(storage.Entry) bool {
			b, err := s.Range(t.Context(), "k", 0, -1, "") // the only place is free in here
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			data, err := io.ReadAll(b)
			if err != nil || !bytes.Equal(data, make([]byte, 100)) {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			names++
			return true
		}); err != nil || names != 1 {
			t.Errorf("%d names, %v", names, err)
		}
		if got := s.Stats(); got.Requests != 2 || got.BytesRead != 100 {
			t.Errorf("stats: %+v", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
