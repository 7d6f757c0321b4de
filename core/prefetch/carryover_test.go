package prefetch

import (
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
)

// TestCarryOver: the second pass over bytes that have room requests nothing.
func TestCarryOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := NewBufferPool(1 << 30)
		defer memory.Close()
		o := Options{Limit: 1 << 30, SkipPrefault: true}
		windows := list(span("a", 0, 300*kib), span("a", 300*kib, 300*kib), span("b", 0, 1000))
		pass := func(store *fakeStore, from CarryOver, order []int64) CarryOver {
			b := overPool(t, store, o, memory)
			b.TakeOver(from)
			if want := bufferSize(600*kib) + 1000; !from.Empty() && (b.Figures().Buffered != want || b.Figures().PeakBuffered != want) {
				t.Errorf("%d bytes are held at the start, want %d", b.Figures().Buffered, want)
			}
			for _, i := range order {
				b.plan(windows[i])
			}
			b.KeepAll()
			b.Open(0)
			b.End()
			for k, i := range order {
				s := windows[i][0]
				b.read(s.Object, s.Offset, s.Bytes)
				b.Done(int64(k))
			}
			b.settle()
			if f := b.Figures(); f.Direct != 0 {
				t.Errorf("%d reads were not served", f.Direct)
			}
			return b.end()
		}
		first := &fakeStore{delay: time.Second}
		kept := pass(first, CarryOver{}, []int64{0, 1, 2})
		if kept.Empty() || first.count() == 0 {
			t.Fatalf("%d requests, kept %v", first.count(), kept)
		}
		for range 2 {
			later := &fakeStore{delay: time.Second}
			kept = pass(later, kept, []int64{2, 0, 1})
			if later.count() != 0 || kept.Empty() {
				t.Fatalf("%d requests of a later pass; kept %v", later.count(), kept)
			}
		}
		kept.Drop(memory)
		unused(t, memory)
	})
}

// TestCarryOverOfAPart: a pass takes over some of its bytes and requests the others.
func TestCarryOverOfAPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := NewBufferPool(1 << 30)
		defer memory.Close()
		o := Options{Limit: 1 << 30}
		a := overPool(t, &fakeStore{}, o, memory)
		a.plan([]chunk.Span{span("o", 100*kib, 100*kib)})
		a.KeepAll()
		a.Open(0)
		a.settle()
		kept := a.end()

		store := &fakeStore{}
		b := overPool(t, store, o, memory)
		b.TakeOver(kept)
		if b.planned != 100*kib || b.useful != 100*kib || b.objects["o"].bytes != 100*kib {
			t.Errorf("%d bytes are planned, %d in buffers, want 100 KiB", b.planned, b.useful)
		}
		b.plan([]chunk.Span{span("o", 0, 300*kib)})
		b.Open(0)
		b.read("o", 0, 100*kib)
		b.read("o", 100*kib, 100*kib)
		b.read("o", 200*kib, 100*kib)
		if f := b.Figures(); f.Used != 200*kib {
			t.Errorf("%d planned bytes were requested, want 200 KiB", f.Used)
		}
		// This pass keeps nothing: the bytes go with their window.
		b.Done(0)
		if f := b.Figures(); f.Buffered != 0 || b.planned != 0 || b.useful != 0 {
			t.Errorf("%d bytes are held, %d planned, %d in buffers", f.Buffered, b.planned, b.useful)
		}
		if left := b.end(); !left.Empty() {
			t.Errorf("kept %v, want nothing", left)
		}
		unused(t, memory)
	})
}

// TestNoCarryOver: bytes of a plan beyond the limit, failed ones and those in flight are not kept.
func TestNoCarryOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store *fakeStore
		limit int64
		keep  bool
	}{
		"not asked for":    {&fakeStore{}, 1 << 30, false},
		"beyond the limit": {&fakeStore{}, 150 * kib, true},
		"failed":           {&fakeStore{fail: func(chunk.Span) error { return errs.New(errs.Storage, "no") }}, 1 << 30, true},
		"in flight":        {&fakeStore{delay: 2 * time.Hour}, 1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newRig(t, c.store, Options{Limit: c.limit, Lead: 2})
				b.plan(list(span("a", 0, 100*kib), span("b", 0, 100*kib))...)
				if c.keep {
					b.KeepAll()
				}
				b.Open(0)
				if name != "in flight" {
					b.settle()
				}
				if kept := b.end(); !kept.Empty() {
					t.Errorf("kept %v", kept)
				}
				unused(t, b.memory)
			})
		})
	}
}

// TestKeepAllKeeps: no batch ends the life of the bytes, within the pass either.
func TestKeepAllKeeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		b := newRig(t, store, Options{Limit: 1 << 30})
		b.plan(list(span("a", 0, 1000), span("b", 0, 1000))...)
		b.KeepAll()
		b.Open(0)
		b.settle()
		b.Done(0)
		b.Done(1)
		b.read("a", 0, 1000)
		if f := b.Figures(); f.Buffered != 2000 || store.count() != 2 {
			t.Errorf("%d bytes are held after %d requests", f.Buffered, store.count())
		}
		kept := b.end()
		if data, err := b.ReadAhead(still{}).Bytes(t.Context(), "a", 0, 1000); data != nil || err != nil {
			t.Errorf("a closed prefetcher: %d bytes, %v", len(data), err)
		}
		kept.Drop(b.memory)
	})
}
