package prefetch

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"deeplake/core/errs"
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
	const size = 2 * mib
	s := NewBufferPool(10 * mib)
	defer s.Close()
	get := func(n int64, wantFresh bool) memory {
		t.Helper()
		m, fresh, err := s.get(n)
		if err != nil || int64(len(m.bytes)) != n || (fresh != nil) != wantFresh {
			t.Fatalf("%d bytes: fresh %v, %v", n, fresh, err)
		}
		return m
	}
	a := get(size, true)
	first := &a.bytes[0]
	s.put(a)
	b := get(size-100, false) // it rounds to the same size
	if &b.bytes[0] != first {
		t.Error("the pool gives another slab than that put back")
	}
	c := get(size, true) // the only one is in use
	if s.Mapped() != 2*size {
		t.Errorf("%d bytes are mapped, want 4 MiB", s.Mapped())
	}
	s.put(b)
	s.put(c)
	d := get(size, false)
	if &d.bytes[0] != &c.bytes[0] {
		t.Error("the pool prefers memory that left the caches of the processor")
	}
	s.put(d)
	unused(t, s)
}

func TestPoolKeepsToItsLimit(t *testing.T) {
	t.Parallel()
	const size = 2 * mib
	s := NewBufferPool(4 * size)
	defer s.Close()
	var held []memory
	for range 6 { // more than the limit may be in use
		m, _, err := s.get(size)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, m)
	}
	if s.Mapped() != 6*size {
		t.Errorf("%d bytes are mapped, want 12 MiB", s.Mapped())
	}
	for _, m := range held {
		s.put(m)
	}
	if s.Mapped() != 4*size {
		t.Errorf("%d bytes are kept, want 8 MiB", s.Mapped())
	}
	// Memory in use displaces free memory of other sizes.
	m, _, err := s.get(3 * size)
	if err != nil {
		t.Fatal(err)
	}
	if s.Mapped() != 4*size {
		t.Errorf("%d bytes are mapped, want 8 MiB", s.Mapped())
	}
	s.put(m)
	unused(t, s)
}

func TestPoolCloses(t *testing.T) {
	t.Parallel()
	// a slab, and a part of a region
	for size, mapped := range map[int64]int64{2 * mib: 2 * mib, 200 * kib: leastRegion} {
		s := NewBufferPool(1 << 30)
		a, _, err := s.get(size)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := s.get(size)
		if err != nil {
			t.Fatal(err)
		}
		s.put(b)
		s.Close()
		if s.Mapped() != mapped {
			t.Errorf("%d bytes are mapped, want those in use", s.Mapped())
		}
		s.put(a)
		if s.Mapped() != 0 {
			t.Errorf("%d bytes are mapped after the last one came back", s.Mapped())
		}
		if _, _, err := s.get(size); !errs.Is(err, errs.Closed) || s.Mapped() != 0 {
			t.Errorf("memory of a closed pool: %v, %d bytes are mapped", err, s.Mapped())
		}
	}
}

// Small buffers of many sizes never overlap, and take little more memory than their sizes.
func TestPoolCutsRegions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	s := NewBufferPool(1 << 30)
	defer s.Close()
	var held []memory
	used, most := int64(0), int64(0)
	for i := range 20_000 {
		if used > 64*mib || len(held) > 0 && r.IntN(3) == 0 {
			k := r.IntN(len(held))
			m := held[k]
			if want := m.bytes[0]; bytes.Count(m.bytes, []byte{want}) != len(m.bytes) {
				t.Fatal("another buffer wrote into these bytes")
			}
			used -= bufferSize(int64(len(m.bytes)))
			held[k] = held[len(held)-1]
			held = held[:len(held)-1]
			s.put(m)
			continue
		}
		n := smallBuffer + r.Int64N(300*kib)
		m, _, err := s.get(n)
		if err != nil || int64(len(m.bytes)) != n {
			t.Fatalf("%d of %d bytes: %v", len(m.bytes), n, err)
		}
		for k := range m.bytes {
			m.bytes[k] = byte(i)
		}
		held = append(held, m)
		used += bufferSize(n)
		most = max(most, used)
	}
	if s.Mapped() > most*5/4+mostRegion {
		t.Errorf("%d bytes are mapped for %d", s.Mapped(), most)
	}
	for _, m := range held {
		s.put(m)
	}
	unused(t, s)
}
