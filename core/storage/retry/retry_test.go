package retry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
	"deeplake/go/tests/clock"
)

// pattern is n bytes that differ from place to place.
func pattern(n int) []byte {
	data := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range data {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		data[i] = byte(x)
	}
	return data
}

// remote is a store with faults that holds an object "k" of n bytes, and the decorator around it.
func remote(t *testing.T, n int, s storage.Settings, plan ...faultstore.Fault) (*faultstore.Ranged, storage.Provider, []byte) {
	t.Helper()
	inner := open(t, &mem.Space{})
	data := pattern(n)
	if err := inner.Put(t.Context(), "k", data); err != nil {
		t.Fatal(err)
	}
	below := faultstore.NewRanged(inner, plan)
	p := retry.New(retry.Options{Settings: s, Random: func() float64 { return 0.5 }}).Provider(below)
	t.Cleanup(func() { _ = p.Close() })
	return below, p, data
}

// bubble runs a test under a fake clock. The store is closed before the bubble ends, so that no
// goroutine is left.
func bubble(t *testing.T, n int, s storage.Settings, plan []faultstore.Fault, fn func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		below, p, data := remote(t, n, s, plan...)
		fn(t, below, p, data)
	})
}

func read(t *testing.T, p storage.Provider, data []byte) {
	t.Helper()
	dst := make([]byte, len(data))
	if err := p.ReadAt(t.Context(), "k", dst, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(dst, data) {
		t.Fatal("wrong bytes")
	}
}

type faults = []faultstore.Fault

var always = faultstore.Always

func stats(p storage.Provider) storage.Stats { return storage.StatsOf(p) }

// TestWaits: the number of requests of a read and its waits, by the answers of the store. Half of
// each bound is drawn.
func TestWaits(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name     string
		settings storage.Settings
		plan     faults
		kind     errs.Kind // 0: it succeeds
		requests int
		took     time.Duration
		says     string
	}{
		{name: "no fault", requests: 1},
		{name: "one broken connection", plan: faults{{Do: faultstore.Again(storage.Soon, 0)}}, requests: 2, took: 30 * ms},
		{
			name: "three", plan: faults{{Times: 3, Do: faultstore.Again(storage.Soon, 0)}}, requests: 4,
			took: (10+20)*ms + (10+45)*ms + (10+95)*ms,
		},
		{name: "slow down", plan: faults{{Do: faultstore.Again(storage.Later, 0)}}, requests: 2, took: 25 * ms},
		{name: "slow down three times", plan: faults{{Times: 3, Do: faultstore.Again(storage.Later, 0)}}, requests: 4, took: (25 + 50 + 100) * ms},
		{name: "slow down for so long", plan: faults{{Do: faultstore.Again(storage.Later, 3*time.Second)}}, requests: 2, took: 3 * time.Second},
		{name: "expired credentials", plan: faults{{Do: faultstore.Again(storage.Refresh, 0)}}, requests: 2},
		{
			name: "credentials that stay expired", plan: faults{{Times: always, Do: faultstore.Again(storage.Refresh, 0)}},
			kind: errs.Storage, requests: 2, says: `read "k": tried 2 times in 0.0 s: `,
		},
		{name: "final", plan: faults{{Do: faultstore.Fail(errs.Denied)}}, kind: errs.Denied, requests: 1},
		{
			name: "one attempt", settings: storage.Settings{MaxAttempts: 1}, plan: faults{{Times: always, Do: faultstore.Again(storage.Soon, 0)}},
			kind: errs.Storage, requests: 1, says: "tried once: ",
		},
		{
			name: "a store that says slow down for ever", plan: faults{{Times: always, Do: faultstore.Again(storage.Later, 0)}},
			kind: errs.Storage, requests: 10, took: (25 + 50 + 100 + 200 + 400 + 800 + 1600 + 2500 + 2500) * ms,
			says: "tried 10 times in 8.2 s: ",
		},
		{
			name: "longer than a call may take", settings: storage.Settings{RetryTime: 2}, kind: errs.Storage, requests: 1,
			plan: faults{{Times: always, Do: faultstore.Again(storage.Later, 3*time.Second)}}, says: "tried once",
		},
		{
			name: "a store that never answers", plan: faults{{Times: always, Do: faultstore.Delay(time.Hour)}}, kind: errs.Storage,
			// The second attempt is cut, so that a wrong address is told within ten seconds.
			requests: 2, took: 9 * time.Second, says: "has never answered: check the address",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			no := false
			c.settings.Hedge = &no
			bubble(t, 1000, c.settings, c.plan, func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
				begun := time.Now()
				err := p.ReadAt(t.Context(), "k", make([]byte, 10), 0)
				if c.kind == 0 && err != nil || c.kind != 0 && !errs.Is(err, c.kind) || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want kind %v, saying %q", err, c.kind, c.says)
				}
				if got := len(below.Calls()); got != c.requests {
					t.Errorf("%d requests, want %d", got, c.requests)
				}
				if took := time.Since(begun); took < c.took || took > c.took+5*ms {
					t.Errorf("took %v, want %v", took, c.took)
				}
				s := stats(p)
				if s.Requests != int64(c.requests) || s.Retries != int64(c.requests-1) {
					t.Errorf("stats: %+v", s)
				}
			})
		})
	}
}

// TestEveryCallIsRepeated, and each as if nothing had been.
func TestEveryCallIsRepeated(t *testing.T) {
	t.Parallel()
	for _, do := range []struct {
		name string
		do   faultstore.Action
	}{{"not done", faultstore.Again(storage.Soon, 0)}, {"answer lost", faultstore.LostFault()}} {
		t.Run(do.name, func(t *testing.T) {
			t.Parallel()
			plan := faults{}
			for _, op := range []faultstore.Op{faultstore.Range, faultstore.Put, faultstore.PutIfAbsent, faultstore.List, faultstore.Delete} {
				plan = append(plan, faultstore.Fault{Ops: []faultstore.Op{op}, Times: 2, Do: do.do})
			}
			bubble(t, 1000, storage.Settings{}, plan, func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
				ctx := t.Context()
				if got, err := p.Get(ctx, "k"); err != nil || !bytes.Equal(got, data) {
					t.Errorf("get: %v", err)
				}
				if err := p.Put(ctx, "put", []byte("x")); err != nil {
					t.Errorf("put: %v", err)
				}
				err := p.PutIfAbsent(ctx, "once", []byte("x"))
				if lost := do.name == "answer lost"; lost && !errs.Is(err, errs.Exists) || !lost && err != nil {
					t.Errorf("put-if-absent: %v", err)
				}
				var keys []string
				if err := p.List(ctx, "", "", func(o storage.Object) bool { keys = append(keys, o.Key); return true }); err != nil {
					t.Errorf("list: %v", err)
				}
				if want := []string{"k", "once", "put"}; !slices.Equal(keys, want) {
					t.Errorf("list: got %q, want %q", keys, want)
				}
				if err := p.Delete(ctx, "put", "once"); err != nil {
					t.Errorf("delete: %v", err)
				}
				if s := stats(p); s.Retries != 9 && s.Retries != 10 {
					t.Errorf("%d repetitions, want two of each call", s.Retries)
				}
			})
		})
	}
}

// TestBodies: what breaks goes on where it broke, and nothing is read twice.
func TestBodies(t *testing.T) {
	t.Parallel()
	const size = 100_000
	breaks := func(times int, n int64) faultstore.Fault {
		return faultstore.Fault{Times: times, Do: faultstore.BreakAt(n)}
	}
	for _, c := range []struct {
		name     string
		plan     faults
		requests int
		resumes  int64
	}{
		{"whole", nil, 1, 0},
		{"at the beginning", faults{breaks(1, 0)}, 2, 0},
		{"in the middle", faults{breaks(1, 30_000)}, 2, 1},
		{"four times", faults{breaks(4, 20_000)}, 5, 4},
		{"before the end", faults{breaks(1, size-1)}, 2, 1},
		{"stalls", faults{{Do: faultstore.StallAt(70_000)}}, 2, 1},
		{"stalls twice", faults{{Times: 2, Do: faultstore.StallAt(10_000)}}, 3, 2},
		{"breaks, then a store in trouble", faults{breaks(1, 50), {Skip: 1, Times: 3, Do: faultstore.Again(storage.Later, 0)}}, 5, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, size, storage.Settings{}, c.plan, func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
				for _, how := range []string{"read", "get", "range"} {
					below.SetPlan(c.plan)
					requests, before := len(below.Calls()), stats(p)
					var got []byte
					var err error
					switch how {
					case "read":
						got = make([]byte, size)
						err = p.ReadAt(t.Context(), "k", got, 0)
					case "get":
						got, err = p.Get(t.Context(), "k")
					default:
						var b storage.Body
						if b, err = p.(storage.Ranger).Range(t.Context(), "k", 0, size, ""); err == nil {
							got, err = io.ReadAll(b)
							b.Close()
						}
					}
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("%s: %d bytes, %v", how, len(got), err)
					}
					s := stats(p)
					if n := len(below.Calls()) - requests; n != c.requests || s.Resumes-before.Resumes != c.resumes {
						t.Errorf("%s: %d requests, %d resumed, want %d and %d", how, n, s.Resumes-before.Resumes, c.requests, c.resumes)
					}
					if s.BytesRead-before.BytesRead != size {
						t.Errorf("%s: %d bytes were read, want %d", how, s.BytesRead-before.BytesRead, size)
					}
				}
			})
		})
	}
}

// TestLongBodies: one that breaks more often than a call may be repeated still comes, as long as it
// comes along.
func TestLongBodies(t *testing.T) {
	t.Parallel()
	const size = 40 << 20
	bubble(t, size, storage.Settings{MaxAttempts: 2}, faults{{Times: always, Do: faultstore.BreakAt(1 << 20)}},
		func(t *testing.T, _ *faultstore.Ranged, p storage.Provider, data []byte) {
			read(t, p, data)
		})
	bubble(t, size, storage.Settings{MaxAttempts: 4}, faults{{Times: always, Do: faultstore.BreakAt(1 << 10)}},
		func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
			if err := p.ReadAt(t.Context(), "k", make([]byte, size), 0); !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "tried 4 times") {
				t.Errorf("one that comes in crumbs: %v", err)
			}
		})
}

// TestReplaced: the parts of two objects are never put together.
func TestReplaced(t *testing.T) {
	t.Parallel()
	plan := faults{{Do: faultstore.BreakAt(500)}}
	synctest.Test(t, func(t *testing.T) {
		below, p, _ := remote(t, 1000, storage.Settings{}, plan...)
		b, err := p.(storage.Ranger).Range(t.Context(), "k", 0, -1, "")
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := io.ReadFull(b, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		fresh := bytes.Repeat([]byte("new"), 333)
		if err := below.Put(t.Context(), "k", fresh); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(b); !errs.Is(err, errs.Conflict) {
			t.Errorf("range: got %v, want a conflict", err)
		}
		// A Get owns all of it, and can begin again.
		below.SetPlan(plan)
		if got, err := p.Get(t.Context(), "k"); err != nil || !bytes.Equal(got, fresh) {
			t.Errorf("get: %d bytes, %v", len(got), err)
		}
	})
}

// TestSources go on only where a tag says that the content is the same.
func TestSources(t *testing.T) {
	t.Parallel()
	for _, untagged := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			inner := open(t, &mem.Space{})
			data := pattern(1000)
			for _, key := range []string{"a", "b", "c", "d"} {
				if err := inner.Put(t.Context(), key, data); err != nil {
					t.Fatal(err)
				}
			}
			below := faultstore.NewRanged(inner, faults{
				{Do: faultstore.Again(storage.Soon, 0)}, {Ops: []faultstore.Op{faultstore.Range}, Skip: 1, Do: faultstore.BreakAt(10)},
			})
			s := retry.New(retry.Options{}).Source(&faultstore.Source{Ranged: below, Untagged: untagged})
			defer s.Close()
			b, err := s.Range(t.Context(), "a", 0, -1, "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			b.Close()
			if untagged && !errs.Is(err, errs.Storage) || !untagged && (err != nil || !bytes.Equal(got, data)) {
				t.Errorf("untagged %v: %d bytes, %v", untagged, len(got), err)
			}
		})
	}
}

// unordered is a source that lists as its file does, and breaks off after some names.
type unordered struct {
	*faultstore.Source
	names []string
	after int // names, at which it breaks, twice
	broke int
}

func (u *unordered) Objects(_ context.Context, _, _ string, fn func(storage.Entry) bool) error {
	for i, name := range u.names {
		if i == u.after && u.broke < 2 {
			u.broke++
			return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "broke")}
		}
		if !fn(storage.Entry{Key: name}) {
			return nil
		}
	}
	return nil
}

// TestListingsGoOn: repeated listings continue behind the last shown entry, and show none twice.
func TestListingsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := open(t, &mem.Space{})
		u := &unordered{&faultstore.Source{Ranged: faultstore.NewRanged(inner, nil)}, []string{"z", "b", "y", "a"}, 3, 0}
		s := retry.New(retry.Options{}).Source(u)
		defer s.Close()
		var got []string
		if err := s.Objects(t.Context(), "", "", func(e storage.Entry) bool { got = append(got, e.Key); return true }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, u.names) {
			t.Errorf("got %q, want %q", got, u.names)
		}
	})
}

// TestHedges: a first byte that is late is requested again, and the first to answer is taken.
func TestHedges(t *testing.T) {
	t.Parallel()
	const usual, tail = 20 * time.Millisecond, 5 * time.Second
	plan := faults{}
	for i := range 20 { // one in a hundred stands still; what asks again does not
		plan = append(plan, faultstore.Fault{Skip: 100 + i*100, Do: faultstore.Delay(tail)})
	}
	plan = append(plan, faultstore.Fault{Times: always, Do: faultstore.Delay(usual)})
	bubble(t, 1000, storage.Settings{Timeout: 20}, plan, func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
		var slowest time.Duration
		const reads = 1500
		for range reads {
			begun := time.Now()
			read(t, p, data)
			slowest = max(slowest, time.Since(begun))
		}
		s := stats(p)
		if slowest > 100*time.Millisecond {
			t.Errorf("the slowest read took %v", slowest)
		}
		if s.Hedges == 0 || s.Hedges > reads/20+8 || s.HedgeWins != s.Hedges || s.Requests != reads+s.Hedges {
			t.Errorf("stats: %+v", s)
		}
	})
}

// TestHedgesAreFew: where everything is late, it is not the request that is.
func TestHedgesAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		below, p, data := remote(t, 1000, storage.Settings{Timeout: 20})
		below.SetPlan(faults{{Times: 30, Do: faultstore.Delay(10 * time.Millisecond)}, {Times: always, Do: faultstore.Delay(time.Second)}})
		const reads = 400
		for range reads {
			read(t, p, data)
		}
		if s := stats(p); s.Hedges > reads/10 {
			t.Errorf("%d hedges for %d reads", s.Hedges, reads)
		}
	})
}

// TestNoHedges: no hedge is sent if the settings exclude hedges, or if the store is busy.
func TestNoHedges(t *testing.T) {
	t.Parallel()
	no := false
	late := faultstore.Fault{Times: always, Do: faultstore.Delay(800 * time.Millisecond)}
	for _, c := range []struct {
		name     string
		settings storage.Settings
		plan     faults
		hedges   int64
	}{
		{"allowed", storage.Settings{}, faults{late}, 1},
		{"switched off", storage.Settings{Hedge: &no}, faults{late}, 0},
		{"another waits, as it was told to", storage.Settings{}, faults{{Ops: []faultstore.Op{faultstore.Put}, Do: faultstore.Again(storage.Later, 3*time.Second)}, late}, 0},
		{"another has waited", storage.Settings{}, faults{{Ops: []faultstore.Op{faultstore.Put}, Do: faultstore.Again(storage.Later, 100*time.Millisecond)}, late}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1000, c.settings, c.plan, func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
				g := task.New(t.Context(), 0)
				g.Go(func(ctx context.Context) error { return p.Put(ctx, "other", nil) })
				synctest.Wait()
				read(t, p, data)
				if s := stats(p); s.Hedges != c.hedges {
					t.Errorf("%d hedges, want %d", s.Hedges, c.hedges)
				}
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestErrorsInARace: a final answer ends it; a failure waits for the other.
func TestErrorsInARace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hedge faultstore.Action
		kind  errs.Kind
		took  time.Duration
	}{
		{"the second fails for good", faultstore.Fail(errs.Denied), errs.Denied, 500 * time.Millisecond},
		{"the second breaks", faultstore.Again(storage.Soon, 0), 0, 2 * time.Second},
		{"the second is later still", faultstore.Delay(time.Minute), 0, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := faults{{Do: faultstore.Delay(2 * time.Second)}, {Skip: 1, Times: always, Do: c.hedge}}
			bubble(t, 1000, storage.Settings{}, plan, func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
				begun := time.Now()
				err := p.ReadAt(t.Context(), "k", make([]byte, 1000), 0)
				if c.kind == 0 && err != nil || c.kind != 0 && !errs.Is(err, c.kind) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(begun); took < c.took || took > c.took+time.Millisecond {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// TestSlowBodies are given up once; where nothing better is to be had they are borne with.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	slow := faultstore.Slow(200 << 10)
	for _, c := range []struct {
		name   string
		times  int
		stalls int64
		most   time.Duration
	}{
		{"one connection", 1, 1, 7 * time.Second},
		{"the line", always, 1, 25 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, size, storage.Settings{}, faults{{Times: c.times, Do: slow}},
				func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
					begun := time.Now()
					read(t, p, data)
					if took := time.Since(begun); took > c.most || took < 5*time.Second {
						t.Errorf("took %v, want up to %v", took, c.most)
					}
					if s := stats(p); s.Stalls != c.stalls || s.Resumes != c.stalls {
						t.Errorf("stats: %+v", s)
					}
				})
		})
	}
}

// TestSilentBodies: one that stalls is continued elsewhere long before the timeout, also while the
// store throttles.
func TestSilentBodies(t *testing.T) {
	t.Parallel()
	plan := faults{{Do: faultstore.Again(storage.Later, 0)}, {Skip: 1, Do: faultstore.StallAt(1000)}}
	bubble(t, 100_000, storage.Settings{}, plan, func(t *testing.T, _ *faultstore.Ranged, p storage.Provider, data []byte) {
		begun := time.Now()
		read(t, p, data)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		if s := stats(p); s.Stalls != 1 || s.Resumes != 1 {
			t.Errorf("stats: %+v", s)
		}
	})
}

// TestSlowReader: the time that the reader takes is not the store's.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	// It breaks when far more time has gone by than a call may take with its repetitions.
	plan := faults{{Do: faultstore.BreakAt(75_000)}}
	bubble(t, 100_000, storage.Settings{}, plan, func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
		b, err := p.(storage.Ranger).Range(t.Context(), "k", 0, -1, "")
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for range 10 {
			if _, err := io.ReadFull(b, make([]byte, 10_000)); err != nil {
				t.Fatal(err)
			}
			clock.Pass(time.Minute)
		}
		if s := stats(p); s.Stalls != 0 || s.Requests != 2 {
			t.Errorf("stats: %+v", s)
		}
	})
}

// TestCancellation returns at once, wherever the call is.
func TestCancellation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   faultstore.Action
	}{
		{"no answer", faultstore.Delay(time.Hour)},
		{"body stands still", faultstore.StallAt(10)},
		{"between attempts", faultstore.Again(storage.Later, 30*time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1000, storage.Settings{Timeout: 100}, faults{{Times: always, Do: c.do}},
				func(t *testing.T, below *faultstore.Ranged, p storage.Provider, data []byte) {
					cause := errors.New("the user left")
					ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, cause)
					defer cancel()
					begun := time.Now()
					err := p.ReadAt(ctx, "k", make([]byte, 1000), 0)
					if !errs.Is(err, errs.Canceled) || time.Since(begun) != 10*time.Millisecond {
						t.Errorf("after %v: %v", time.Since(begun), err)
					}
				})
		})
	}
}

// TestClose ends what waits.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, do := range []faultstore.Action{faultstore.Delay(time.Hour), faultstore.Again(storage.Later, 30*time.Second)} {
		synctest.Test(t, func(t *testing.T) {
			_, p, _ := remote(t, 1000, storage.Settings{Timeout: 1000, RetryTime: 1000}, faultstore.Fault{Times: always, Do: do})
			g := task.New(t.Context(), 0)
			g.Go(func(ctx context.Context) error { return p.ReadAt(ctx, "k", make([]byte, 10), 0) })
			synctest.Wait()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if err := g.Wait(); !errs.Is(err, errs.Closed) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOutage: many calls that fail together ask no more than the budget gives, and all come through
// when it is over.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		below, p, data := remote(t, 1000, storage.Settings{MaxAttempts: 1000})
		read(t, p, data) // it has answered
		below.SetPlan(faults{{Times: always, Do: faultstore.Again(storage.Soon, 0)}})
		g := task.New(t.Context(), 0)
		for range 200 {
			g.Go(func(ctx context.Context) error { return p.ReadAt(ctx, "k", make([]byte, 1000), 0) })
		}
		before := len(below.Calls())
		clock.Pass(20 * time.Second)
		if got := len(below.Calls()) - before; got > 200+128+20*20+5 {
			t.Errorf("%d requests in 20 s of outage", got)
		}
		below.SetPlan(nil)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestStorm: where three of ten requests are refused, all come through, and soon.
func TestStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := faults{}
		for i := range 3000 {
			if i%10 < 3 {
				plan = append(plan, faultstore.Fault{Skip: i * 7 % 3000, Do: faultstore.Again(storage.Later, 0)})
			}
		}
		_, p, data := remote(t, 1000, storage.Settings{}, plan...)
		begun := time.Now()
		g := task.New(t.Context(), 0)
		for range 16 {
			g.Go(func(ctx context.Context) error {
				for range 25 {
					dst := make([]byte, 1000)
					if err := p.ReadAt(ctx, "k", dst, 0); err != nil || !bytes.Equal(dst, data) {
						return errors.Join(errors.New("wrong bytes"), err)
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if s := stats(p); s.Throttles < 100 || s.GaveUp != 0 {
			t.Errorf("stats: %+v", s)
		}
	})
}

// TestQueuesAreNotLatency: the time in which the limiter holds a request back is neither late nor a
// stall.
func TestQueuesAreNotLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := open(t, &mem.Space{})
		data := pattern(1000)
		if err := inner.Put(t.Context(), "k", data); err != nil {
			t.Fatal(err)
		}
		below := faultstore.NewRanged(inner, faults{{Times: always, Do: faultstore.Delay(400 * time.Millisecond)}})
		p := retry.New(retry.Options{}).Provider(limit.New(storage.Settings{MaxConnections: 1}).Provider(below))
		defer p.Close()
		g := task.New(t.Context(), 0)
		for range 30 { // the last one waits for 12 s
			g.Go(func(ctx context.Context) error { return p.ReadAt(ctx, "k", make([]byte, 1000), 0) })
		}
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		if s := stats(p); s.Hedges != 0 || s.Stalls != 0 || s.Requests != 30 || s.Waits != 29 || s.WaitTime < time.Minute {
			t.Errorf("stats: %+v", s)
		}
	})
}

// parts is a provider whose streams send every Write as a request of its own.
type parts struct {
	storage.Provider
	fail int // that many requests
}

type partStream struct {
	p        *parts
	key      string
	attempts storage.Attempts
	data     []byte
}

func (p *parts) Create(ctx context.Context, key string) (storage.Stream, error) {
	return &partStream{p: p, key: key, attempts: storage.AttemptsOf(ctx)}, nil
}

func (w *partStream) send(ctx context.Context, n int, fn func()) error {
	return w.attempts(ctx, "put part", w.key, int64(n), func(context.Context) error {
		if w.p.fail > 0 {
			w.p.fail--
			return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "broke")}
		}
		fn()
		return nil
	})
}

func (w *partStream) Write(p []byte) (int, error) {
	return len(p), w.send(context.Background(), len(p), func() { w.data = append(w.data, p...) })
}

func (w *partStream) Finish(ctx context.Context) (err error) {
	if err := w.send(ctx, 0, func() { err = w.p.Put(ctx, w.key, w.data) }); err != nil {
		return err
	}
	return err
}
func (w *partStream) Abort() {}

// TestStreams: small objects are put as a whole; the requests of large ones are repeated one by
// one.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1000, 16 << 20, 16<<20 + 1, 40 << 20} {
		synctest.Test(t, func(t *testing.T) {
			below := &parts{Provider: open(t, &mem.Space{}), fail: 3}
			p := retry.New(retry.Options{}).Provider(limit.New(storage.Settings{}).Provider(below))
			defer p.Close()
			w, err := storage.Create(t.Context(), p, "s")
			if err != nil {
				t.Fatal(err)
			}
			data := pattern(size)
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 1<<20)
				if _, err := w.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := w.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := below.Get(t.Context(), "s")
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("size %d: %d bytes, %v", size, len(got), err)
			}
			if streamed := below.fail == 0; streamed != (size > 16<<20) {
				t.Errorf("size %d: streamed is %v", size, streamed)
			}
		})
	}
}

// breaking is a Ranger with a bug.
type breaking struct{ storage.Provider }

func (breaking) Range(context.Context, string, int64, int64, string) (storage.Body, error) {
	panic("boom")
}

func TestPanicIsTheErrorOfTheCall(t *testing.T) {
	t.Parallel()
	p := retry.New(retry.Options{}).Provider(breaking{open(t, &mem.Space{})})
	err := p.ReadAt(t.Context(), "k", make([]byte, 1), 0)
	var bug *task.Panic
	if !errors.As(err, &bug) || !errs.Is(err, errs.Internal) {
		t.Errorf("got %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
