package slab

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/go/tests/clock"
)

const mib = 1 << 20

func get(t *testing.T, r *Ring, size int64) *Slab {
	t.Helper()
	s, err := r.Get(size)
	if err != nil {
		t.Fatalf("Get(%d): %v", size, err)
	}
	if int64(len(s.Bytes())) < size {
		t.Fatalf("Get(%d) gave %d bytes", size, len(s.Bytes()))
	}
	return s
}

func TestReuse(t *testing.T) {
	t.Parallel()
	r := NewRing(64 * mib)
	defer r.Close()
	a := get(t, r, 8*mib)
	first := unsafe.SliceData(a.Bytes())
	if uintptr(unsafe.Pointer(first))%64 != 0 {
		t.Errorf("memory at %p is not aligned to 64 bytes", first)
	}
	a.Bytes()[8*mib-1] = 7
	a.Release()
	b := get(t, r, 8*mib)
	if unsafe.SliceData(b.Bytes()) != first {
		t.Error("a released slab was not reused")
	}
	b.Release()
	if s := r.Stats(); s.Created != 1 || s.Reused != 1 || s.FreeSlabs != 1 || s.Slabs != 1 {
		t.Errorf("stats %+v, want 1 created, 1 reused, 1 free", s)
	}
}

func TestBestFit(t *testing.T) {
	t.Parallel()
	r := NewRing(64 * mib)
	defer r.Close()
	large, small := get(t, r, 16*mib), get(t, r, 4*mib)
	want := unsafe.SliceData(small.Bytes())
	small.Release()
	large.Release()
	s := get(t, r, 3*mib)
	if unsafe.SliceData(s.Bytes()) != want {
		t.Error("the larger slab was taken although the smaller one fits")
	}
	s.Release()
}

func TestRetainKeepsSlab(t *testing.T) {
	t.Parallel()
	r := NewRing(64 * mib)
	defer r.Close()
	a := get(t, r, mib)
	a.Retain()
	a.Release()
	b := get(t, r, mib)
	if unsafe.SliceData(a.Bytes()) == unsafe.SliceData(b.Bytes()) {
		t.Fatal("a slab with a reference left was handed out")
	}
	a.Release()
	b.Release()
	if s := r.Stats(); s.FreeSlabs != 2 {
		t.Errorf("%d free slabs, want 2", s.FreeSlabs)
	}
}

func TestGrowthAndTrim(t *testing.T) {
	t.Parallel()
	r := NewRing(8 * mib)
	defer r.Close()
	var held []*Slab
	for range 5 {
		held = append(held, get(t, r, 4*mib))
	}
	if s := r.Stats(); s.Grown != 3 || s.Bytes < 20*mib {
		t.Errorf("stats %+v, want 3 grown and 20 MiB", s)
	}
	for _, s := range held {
		s.Release()
	}
	if s := r.Stats(); s.Bytes > 8*mib || s.FreeSlabs != 2 || s.PeakBytes < 20*mib {
		t.Errorf("stats %+v after release, want 2 free slabs within the budget", s)
	}
	r.SetBudget(4 * mib)
	if s := r.Stats(); s.Bytes > 4*mib || s.FreeSlabs != 1 {
		t.Errorf("stats %+v after a smaller budget, want 1 slab", s)
	}
	get(t, r, 3*mib+600<<10).Release()
	if s := r.Stats(); s.Created != 5 {
		t.Errorf("%d created, want the free slab reused", s.Created)
	}
	get(t, r, 6*mib).Release() // free slab too small and the budget full: it makes room
	if s := r.Stats(); s.Slabs != 0 {
		t.Errorf("stats %+v, want nothing kept: 6 MiB are over the budget", s)
	}
}

func TestCloseWhileHeld(t *testing.T) {
	t.Parallel()
	r := NewRing(64 * mib)
	a, b := get(t, r, mib), get(t, r, mib)
	b.Release()
	r.Close()
	r.Close()
	a.Bytes()[0], a.Bytes()[mib-1] = 1, 2
	a.Retain()
	a.Release()
	a.Release()
	if _, err := r.Get(1); !errs.Is(err, errs.Closed) {
		t.Errorf("Get after Close: %v, want closed", err)
	}
	if s := r.Stats(); s != (Stats{}) {
		t.Errorf("stats after Close %+v, want zero", s)
	}
	r.SetBudget(1)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := NewRing(mib)
	defer r.Close()
	for name, size := range map[string]int64{"negative": -1, "beyond any memory": 1 << 50} {
		if _, err := r.Get(size); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	s := get(t, r, 0)
	s.Release()
}

func TestParallelRelease(t *testing.T) {
	t.Parallel()
	r := NewRing(4 * mib)
	defer r.Close()
	const holders = 8
	for round := range 200 {
		s := get(t, r, int64(1+round%7)*mib/4)
		s.Bytes()[0] = byte(round)
		for range holders {
			s.Retain()
		}
		g := task.New(context.Background(), 0)
		for range holders {
			g.Go(func(context.Context) error {
				s.Retain()
				s.Release()
				if s.Bytes()[0] != byte(round) {
					return errs.New(errs.Internal, "slab was recycled while held")
				}
				s.Release()
				return nil
			})
		}
		s.Release()
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.Stats(); s.Slabs != s.FreeSlabs || s.Bytes > 4*mib {
		t.Errorf("stats %+v: a slab leaked", s)
	}
}

func BenchmarkGetRelease(b *testing.B) {
	r := NewRing(64 * mib)
	defer r.Close()
	for b.Loop() {
		s, err := r.Get(8 * mib)
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}

func BenchmarkFill(b *testing.B) {
	src := make([]byte, 48*mib)
	for _, c := range []struct {
		name   string
		budget int64
	}{{"reused", 64 * mib}, {"fresh", 0}} {
		b.Run(c.name, func(b *testing.B) {
			r := NewRing(c.budget)
			defer r.Close()
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				s, err := r.Get(int64(len(src)))
				if err != nil {
					b.Fatal(err)
				}
				copy(s.Bytes(), src)
				s.Release()
			}
		})
	}
}

// Touching a slab while others write to it loses nothing, and memory of a local ring is reused like
// any other.
func TestLocal(t *testing.T) {
	t.Parallel()
	r := NewLocalRing(1 << 20)
	defer r.Close()
	s, err := r.Get(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	mem := s.Bytes()
	g := task.New(t.Context(), 0)
	g.Go(func(context.Context) error {
		for i := range mem {
			mem[i] = byte(i % 251)
		}
		return nil
	})
	s.Prefault()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	s.Prefault()
	for i := range mem {
		if mem[i] != byte(i%251) {
			t.Fatalf("byte %d is %d, want %d", i, mem[i], byte(i%251))
		}
	}
	s.Release()
	if s, err = r.Get(1 << 20); err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if got := r.Stats(); got.Reused != 1 || got.Created != 1 {
		t.Errorf("stats %+v, want 1 slab created and used again", got)
	}
}

// TestSpare passes a ring from one user to the next.
func TestSpare(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		s := NewSpare(NewLocalRing)
		first := s.Get(4 * size)
		free, late := get(t, first, size), get(t, first, size)
		free.Release()
		s.Put(first)

		next := s.Get(4 * size)
		if next != first {
			t.Fatal("a ring that was put back is not used again")
		}
		if got := next.Stats(); got.Slabs != 2 || got.FreeSlabs != 1 || got.Created != 0 || got.PeakBytes != got.Bytes {
			t.Errorf("the second user begins with %+v", got)
		}
		late.Release() // of the first user
		a, b := get(t, next, size), get(t, next, size)
		if got := next.Stats(); got.Created != 0 || got.Reused != 2 {
			t.Errorf("two slabs of two that were there: %+v", got)
		}
		a.Release()
		b.Release()

		other := s.Get(size)
		if other == next {
			t.Fatal("two users share a ring")
		}
		s.Put(next)
		s.Put(other) // takes its place
		if got := next.Stats(); got.Slabs != 0 {
			t.Errorf("a ring beside another: %+v", got)
		}

		large := s.Get(4 * spareBytes)
		for _, held := range []*Slab{get(t, large, spareBytes), get(t, large, spareBytes)} {
			held.Release()
		}
		s.Put(large)
		if got := large.Stats(); got.Bytes > spareBytes {
			t.Errorf("%d bytes are kept, want at most %d", got.Bytes, int64(spareBytes))
		}
		clock.Pass(spareTime - time.Millisecond)
		synctest.Wait()
		// Memory that the first user holds does not raise the budget of the second one.
		one, two := get(t, large, spareBytes), get(t, large, spareBytes)
		if s.Get(spareBytes) != large {
			t.Error("the ring is gone before its time")
		}
		one.Release()
		two.Release()
		if got := large.Stats(); got.Bytes > spareBytes {
			t.Errorf("%d bytes stay once the first user is done, want at most %d", got.Bytes, int64(spareBytes))
		}
		s.Put(large)
		clock.Pass(spareTime - time.Millisecond) // the timer of the first time has fired
		synctest.Wait()
		if s.kept == nil {
			t.Error("a timer of an earlier time closed the ring")
		}
		clock.Pass(time.Millisecond)
		synctest.Wait()
		if got := large.Stats(); s.kept != nil || got.Bytes != 0 {
			t.Errorf("an idle ring stays: %+v", got)
		}

		s.Off()
		last := s.Get(size)
		get(t, last, size).Release()
		s.Put(last)
		if got := last.Stats(); got.Slabs != 0 {
			t.Errorf("switched off: %+v", got)
		}
	})
}
