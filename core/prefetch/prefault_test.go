//go:build linux && cgo

package prefetch

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"deeplake/core/chunk"
)

// TestPrefault: new memory is faulted in while its bytes are in flight, and only new memory.
func TestPrefault(t *testing.T) {
	t.Parallel()
	for name, skip := range map[string]bool{"prefault": false, "skip": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 4 * mib
				store := &fakeStore{delay: time.Second, blank: true}
				b := newRig(t, store, Options{Limit: 1 << 30, SkipPrefault: skip})
				b.plan([]chunk.Span{span("a", 0, size), span("b", 0, size)})
				b.Open(0)
				pass(time.Second / 2)
				for object, o := range b.objects {
					if got, all := resident(t, o.extents[0].buffer.mem); skip && got != 0 || !skip && got != all {
						t.Errorf("%s: %d of %d pages are there while the bytes are in flight", object, got, all)
					}
				}
				if b.prefaulting || len(b.cold) != 0 {
					t.Errorf("%d buffers await prefaulting", len(b.cold))
				}
				b.settle()
				b.Done(0)
				b.plan([]chunk.Span{span("c", 0, size)})
				if b.prefaulting || len(b.cold) != 0 {
					t.Error("memory is prefaulted again")
				}
				b.settle()
				b.end()
				unused(t, b.memory)
				noSlabs(t, b.memory)
			})
		})
	}
}

// resident returns how many pages of memory the system has found, and how many there are.
func resident(t *testing.T, mem []byte) (got, all int) {
	t.Helper()
	page := unix.Getpagesize()
	pages := make([]byte, (len(mem)+page-1)/page)
	_, _, failed := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&pages[0])))
	if failed != 0 {
		t.Fatal(failed)
	}
	for _, p := range pages {
		got += int(p & 1)
	}
	return got, len(pages)
}

// TestClosedBeforePrefault: Close drops the references to memory that was not prefaulted.
func TestClosedBeforePrefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{delay: time.Second}
		b := newRig(t, store, Options{Limit: 1 << 30})
		b.plan([]chunk.Span{span("a", 0, 2*mib), span("b", 0, 2*mib)})
		b.prefaulting = true // as if its goroutine were late
		b.Open(0)
		pass(time.Minute)
		if len(b.cold) != 2 {
			t.Errorf("%d buffers await prefaulting, want 2", len(b.cold))
		}
		b.end()
		unused(t, b.memory)
		noSlabs(t, b.memory)
	})
}

// noSlabs closes the pool and checks that the ring has unmapped all memory: a reference that is
// never dropped would keep it.
func noSlabs(t *testing.T, s *BufferPool) {
	t.Helper()
	s.mu.Lock()
	s.limit = 0
	s.trim()
	s.mu.Unlock()
	if st := s.ring.Stats(); st.Slabs != st.FreeSlabs {
		t.Errorf("%d slabs are in use: %+v", st.Slabs-st.FreeSlabs, st)
	}
}
