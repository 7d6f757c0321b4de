package prefetch

import (
	"testing"

	"deeplake/core/errs"
	"deeplake/core/slab"
)

func TestBufferSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]int64{
		1:                  smallBuffer,
		smallBuffer:        smallBuffer,
		smallBuffer + 1:    smallBuffer + 4096,
		100_000:            102_400,
		mib:                mib,
		mib + 1:            mib + mib/16,
		MaxRequest - 1:     MaxRequest,
		2*MaxRequest - 100: 2 * MaxRequest,
	} {
		if got := bufferSize(n); got != want {
			t.Errorf("a buffer of %d bytes takes %d, want %d", n, got, want)
		}
	}
	for n := int64(smallBuffer); n < 1<<34; n += n/7 + 1 {
		if got := bufferSize(n); got < n || got > n+n/8 || bufferSize(got) != got {
			t.Errorf("a buffer of %d bytes takes %d", n, got)
		}
	}
}

func TestPoolReuses(t *testing.T) {
	t.Parallel()
	s := NewBufferPool(10 * mib)
	defer s.Close()
	get := func(n int64, wantFresh bool) *slab.Slab {
		t.Helper()
		m, fresh, err := s.get(n)
		if err != nil || int64(len(m.Bytes())) < n || fresh != wantFresh {
			t.Fatalf("%d bytes: fresh %v, %v", n, fresh, err)
		}
		return m
	}
	a := get(mib, true)
	first := &a.Bytes()[0]
	s.put(a, mib)
	b := get(mib-100, false) // it rounds to the same size
	if &b.Bytes()[0] != first {
		t.Error("the pool gives another slab than that put back")
	}
	c := get(mib, true) // the only one is in use
	if s.Mapped() != 2*mib {
		t.Errorf("%d bytes are mapped, want 2 MiB", s.Mapped())
	}
	s.put(b, mib-100)
	s.put(c, mib)
	d := get(mib, false)
	if &d.Bytes()[0] != &c.Bytes()[0] {
		t.Error("the pool prefers memory that left the caches of the processor")
	}
	s.put(d, mib)
	unused(t, s)
}

func TestPoolKeepsToItsLimit(t *testing.T) {
	t.Parallel()
	s := NewBufferPool(4 * mib)
	defer s.Close()
	var held []*slab.Slab
	for range 6 { // more than the limit may be in use
		m, _, err := s.get(mib)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, m)
	}
	if s.Mapped() != 6*mib {
		t.Errorf("%d bytes are mapped, want 6 MiB", s.Mapped())
	}
	for _, m := range held {
		s.put(m, mib)
	}
	if s.Mapped() != 4*mib {
		t.Errorf("%d bytes are kept, want 4 MiB", s.Mapped())
	}
	// Memory in use displaces free memory of other sizes.
	m, _, err := s.get(3 * mib)
	if err != nil {
		t.Fatal(err)
	}
	if s.Mapped() != 4*mib {
		t.Errorf("%d bytes are mapped, want 4 MiB", s.Mapped())
	}
	s.put(m, 3*mib)
	unused(t, s)
}

func TestPoolCloses(t *testing.T) {
	t.Parallel()
	s := NewBufferPool(1 << 30)
	a, _, err := s.get(mib)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := s.get(mib)
	if err != nil {
		t.Fatal(err)
	}
	s.put(b, mib)
	s.Close()
	if s.Mapped() != mib {
		t.Errorf("%d bytes are mapped, want those in use", s.Mapped())
	}
	s.put(a, mib)
	if s.Mapped() != 0 {
		t.Errorf("%d bytes are mapped after the last one came back", s.Mapped())
	}
	if _, _, err := s.get(mib); !errs.Is(err, errs.Closed) || s.Mapped() != 0 {
		t.Errorf("memory of a closed pool: %v, %d bytes are mapped", err, s.Mapped())
	}
}
