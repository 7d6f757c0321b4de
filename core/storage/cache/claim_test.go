package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/faultstore"
)

// ways to read bytes through a cache.
var ways = map[string]func(ctx context.Context, p storage.Provider, off, n int) ([]byte, error){
	"read": func(ctx context.Context, p storage.Provider, off, n int) ([]byte, error) {
		dst := make([]byte, n)
		return dst, p.ReadAt(ctx, "k", dst, int64(off))
	},
	"range": func(ctx context.Context, p storage.Provider, off, n int) ([]byte, error) {
		b, err := p.(storage.Ranger).Range(ctx, "k", int64(off), int64(n), "")
		if err != nil {
			return nil, err
		}
		defer b.Close()
		return io.ReadAll(b)
	},
	"get": func(ctx context.Context, p storage.Provider, off, n int) ([]byte, error) {
		data, err := p.Get(ctx, "k")
		return data[min(off, len(data)):min(off+n, len(data))], err
	},
}

// machine is processes that share a directory, before one store.
type machine struct {
	locks  cache.LockTable
	stores []*faultstore.Ranged
	caches []storage.Provider
	data   []byte
}

const slowAnswer = 50 * time.Millisecond

// newMachine starts processes whose requests take slowAnswer; plan hits those of the first.
func newMachine(t *testing.T, processes, size int, plan ...faultstore.Fault) *machine {
	t.Helper()
	m := &machine{}
	dir := t.TempDir()
	for pid := range processes {
		faults := []faultstore.Fault{{Ops: faultstore.Reading(), Times: 1 << 30, Do: faultstore.Delay(slowAnswer)}}
		if pid == 0 {
			faults = append(plan, faults...)
		}
		store, data := remote(t, size, faults...)
		m.data = data
		m.stores = append(m.stores, store)
		m.caches = append(m.caches, cache.New(store, cache.NewDiskOf(dir, 1<<30, &m.locks, pid+1), nil))
	}
	return m
}

// requests counts what all processes asked of the store.
func (m *machine) requests() (requests, asked int) {
	for _, s := range m.stores {
		for _, c := range s.Calls() {
			if c.Op == faultstore.Get || c.Op == faultstore.ReadAt || c.Op == faultstore.Range {
				requests, asked = requests+1, asked+c.Bytes
			}
		}
	}
	return requests, asked
}

// read starts a read of one process.
func (m *machine) read(g *task.Group, pid int, way string, off, n int) {
	g.Go(func(ctx context.Context) error {
		got, err := ways[way](ctx, m.caches[pid], off, n)
		if err == nil && !bytes.Equal(got, m.data[off:off+n]) {
			err = errors.New("wrong bytes")
		}
		return err
	})
}

// stuck is a request without an answer. A test with a clock of its own makes one of its own.
func stuck() faultstore.Action { return faultstore.Block(nil, make(chan struct{})) }

// TestProcessesFetchOnce: of the pages that several processes want at once, each is requested once.
func TestProcessesFetchOnce(t *testing.T) {
	t.Parallel()
	const size = 40*cache.PageBytes + 77
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t, 8, size)
				g := task.New(t.Context(), 0)
				for pid := range m.caches {
					m.read(g, pid, way, 0, size)
				}
				if err := g.Wait(); err != nil {
					t.Fatal(err)
				}
				if n, _ := m.requests(); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}
				if n := m.locks.Held(); n != 0 {
					t.Errorf("%d pages are claimed at the end", n)
				}
			})
		})
	}
}

// TestOverlappingRanges: processes that want neighbouring parts of an object divide it.
func TestOverlappingRanges(t *testing.T) {
	t.Parallel()
	const step = 10*cache.PageBytes + 1000
	const size = 9 * step
	for _, way := range []string{"read", "range"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t, 8, size)
				g := task.New(t.Context(), 0)
				for pid := range m.caches {
					m.read(g, pid, way, pid*step, 2*step)
					m.read(g, pid, way, pid*step+step/2, step)
				}
				if err := g.Wait(); err != nil {
					t.Fatal(err)
				}
				want := (size + cache.PageBytes - 1) / cache.PageBytes * cache.PageBytes
				if n, asked := m.requests(); asked > want {
					t.Errorf("%d requests for %d bytes, want at most %d", n, asked, want)
				}
				if n := m.locks.Held(); n != 0 {
					t.Errorf("%d pages are claimed at the end", n)
				}
			})
		})
	}
}

// TestHolders: a process that ends, stops, fails or leaves does not keep others from their bytes.
func TestHolders(t *testing.T) {
	t.Parallel()
	const size = 8 * cache.PageBytes
	fail := func() faultstore.Action { return faultstore.FailWith(errors.New("broken")) }
	for _, c := range []struct {
		name     string
		answer   func() faultstore.Action // to the first process
		then     func(m *machine, cancel func())
		requests int // of all processes
		least    time.Duration
		most     time.Duration
	}{
		{"is killed", stuck, func(m *machine, _ func()) { m.locks.Kill(1) }, 2, 0, 2 * slowAnswer},
		{"stops", stuck, func(*machine, func()) {}, 8, cache.ClaimPatience, cache.ClaimPatience + 2*slowAnswer},
		{"leaves", stuck, func(_ *machine, cancel func()) { cancel() }, 2, 0, 2 * slowAnswer},
		{"fails", fail, func(*machine, func()) {}, 2, 0, 2 * slowAnswer},
	} {
		for _, way := range []string{"read", "range", "get"} {
			t.Run(c.name+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newMachine(t, 8, size, faultstore.Fault{Ops: faultstore.Reading(), Do: c.answer()})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					first, others := task.New(ctx, 0), task.New(t.Context(), 0)
					m.read(first, 0, way, 0, size)
					synctest.Wait()
					began := time.Now()
					for pid := 1; pid < len(m.caches); pid++ {
						m.read(others, pid, way, 0, size)
					}
					c.then(m, cancel)
					if err := others.Wait(); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); took < c.least || took > c.most {
						t.Errorf("the others took %v, want %v to %v", took, c.least, c.most)
					}
					if n, _ := m.requests(); n != c.requests {
						t.Errorf("%d requests, want %d", n, c.requests)
					}
					cancel()
					if err := first.Wait(); err == nil {
						t.Error("the first process had its bytes")
					}
				})
			})
		}
	}
}

// TestStoppedProcessCostsOneWait: later pages of a process that has stopped are not waited for.
func TestStoppedProcessCostsOneWait(t *testing.T) {
	t.Parallel()
	const size = 64 * cache.PageBytes
	synctest.Test(t, func(t *testing.T) {
		plan := faultstore.Fault{Ops: faultstore.Reading(), Times: 8, Do: stuck()}
		m := newMachine(t, 2, size, plan)
		ctx, cancel := context.WithCancel(t.Context())
		first := task.New(ctx, 0)
		for i := range 8 {
			m.read(first, 0, "range", 8*i*cache.PageBytes, 4*cache.PageBytes)
		}
		synctest.Wait()
		began := time.Now()
		if _, err := ways["range"](t.Context(), m.caches[1], 0, size); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < cache.ClaimPatience || took > cache.ClaimPatience+time.Second {
			t.Errorf("took %v, want %v and a little", took, cache.ClaimPatience)
		}
		cancel()
		_ = first.Wait() // it was cancelled
	})
}

// wantOneRequest reads all pages in one process, whose first request has a fault, and then each of
// the named ones in another process or the same. One request brings them all.
func wantOneRequest(t *testing.T, way string, pages, other int, then []int, do faultstore.Action) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, 2, pages*cache.PageBytes, faultstore.Fault{Ops: faultstore.Reading(), Do: do})
		g := task.New(t.Context(), 0)
		m.read(g, 0, way, 0, pages*cache.PageBytes)
		synctest.Wait()
		for _, page := range then {
			m.read(g, other, way, page*cache.PageBytes, cache.PageBytes)
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if n, _ := m.requests(); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// TestProgressIsWaitedFor: a process on a slow link gives signs of life, so that others wait longer
// than they would for one that has stopped.
func TestProgressIsWaitedFor(t *testing.T) {
	t.Parallel()
	const pages = 20 // in whole segments and single pages, of which one comes each second
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			wantOneRequest(t, way, pages, 1, []int{pages - 1}, faultstore.Slow(cache.PageBytes))
		})
	}
}

// TestSlowAnswersAreWaitedFor: others do not send a request again whose first byte takes long, be
// they of another process or of the same one.
func TestSlowAnswersAreWaitedFor(t *testing.T) {
	t.Parallel()
	for way := range ways {
		for other := range 2 {
			t.Run(fmt.Sprintf("%s/%d", way, other), func(t *testing.T) {
				wantOneRequest(t, way, 20, other, []int{0, 1, 7, 15, 16, 19}, faultstore.Delay(6*time.Second))
			})
		}
	}
}

// TestReaderThatTakesItsTime: a body that nothing is read from holds up the others of its process
// for a short time.
func TestReaderThatTakesItsTime(t *testing.T) {
	t.Parallel()
	const pages = 20
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, 1, pages*cache.PageBytes)
		b, err := m.caches[0].(storage.Ranger).Range(t.Context(), "k", 0, pages*cache.PageBytes, "")
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		began := time.Now()
		got, err := ways["read"](t.Context(), m.caches[0], 5*cache.PageBytes, cache.PageBytes)
		if err != nil || !bytes.Equal(got, m.data[5*cache.PageBytes:6*cache.PageBytes]) {
			t.Fatalf("%d bytes: %v", len(got), err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("a read beside a body took %v", took)
		}
	})
}

// TestWaitingIsCancelled: a context, or the end of the store, ends the wait for another process.
func TestWaitingIsCancelled(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"read", "range", "get"} {
		for _, end := range []string{"context", "close"} {
			t.Run(way+"/"+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newMachine(t, 2, cache.PageBytes, faultstore.Fault{Ops: faultstore.Reading(), Do: stuck()})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					g := task.New(ctx, 0)
					m.read(g, 0, way, 0, 100)
					synctest.Wait()
					began, waiting := time.Now(), make(chan error, 1)
					mine, leave := context.WithCancel(t.Context())
					defer leave()
					others := task.New(t.Context(), 0)
					others.Go(func(context.Context) error {
						_, err := ways[way](mine, m.caches[1], 0, 100)
						waiting <- err
						return nil
					})
					synctest.Wait()
					want := errs.Canceled
					if end == "context" {
						leave()
					} else {
						want = errs.Closed
						if err := m.caches[1].Close(); err != nil {
							t.Fatal(err)
						}
					}
					if err := <-waiting; !errs.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
					if took := time.Since(began); took > 100*time.Millisecond {
						t.Errorf("it took %v", took)
					}
					cancel()
					_, _ = g.Wait(), others.Wait() // the first was cancelled
				})
			})
		}
	}
}

// TestWithoutLocks: where locks fail, each process reads for itself, and waits for none.
func TestWithoutLocks(t *testing.T) {
	t.Parallel()
	const size = 8 * cache.PageBytes
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t, 4, size)
				m.locks.Break(errors.New("no locks available"))
				began := time.Now()
				g := task.New(t.Context(), 0)
				for pid := range m.caches {
					m.read(g, pid, way, 0, size)
				}
				if err := g.Wait(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 2*slowAnswer {
					t.Errorf("took %v", took)
				}
				if n, _ := m.requests(); n != len(m.caches) {
					t.Errorf("%d requests, want one for each of %d processes", n, len(m.caches))
				}
				if s := storage.StatsOf(m.caches[0]); s.CacheFaults != 0 {
					t.Errorf("a fault: %s", s.CacheFault)
				}
			})
		})
	}
}
