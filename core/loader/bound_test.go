package loader

import (
	"fmt"
	"testing"
	"time"

	"deeplake/core/order"
	"deeplake/core/tensor"
	"deeplake/go/tests/clock"
)

// awaitReady waits until n batches lie ready.
func awaitReady(t *testing.T, e *Epoch, n int) {
	t.Helper()
	clock.Await(t, 20*time.Second, fmt.Sprintf("fewer than %d batches are ready", n), func() bool { return e.Stats().Ready >= n })
}

// The memory of a running epoch is bounded: the prefetched batches, the consumer's batch, and the
// one it takes. Once all of these have existed together, no later epoch maps more, for any end of
// it and any work beside it.
func TestMemoryComesOnce(t *testing.T) {
	t.Parallel()
	const prefetch, batches, beside = 3, 12, 2
	src := newFake(batches*8, &fakeColumn{name: "x", dtype: tensor.Uint8, shape: fixedShape(16, 16, 3)})
	l := open(t, src, Options{BatchSize: 8, Workers: 2, Prefetch: prefetch, Shuffle: order.Window})

	// Slow consumers release a batch after taking the next. Between the two all batches exist.
	var running [beside]*Epoch
	var recent [beside]*Batch
	for i := range running {
		running[i] = start(t, l, int64(i))
		recent[i] = next(t, running[i])
	}
	for range 3 {
		var taken [beside]*Batch
		for i, e := range running {
			awaitReady(t, e, prefetch)
			taken[i] = next(t, e)
		}
		for _, e := range running {
			awaitReady(t, e, prefetch)
		}
		for i := range recent {
			recent[i].Release()
		}
		recent = taken
	}
	for i, e := range running {
		recent[i].Release()
		e.Close()
	}
	most := l.ring.Stats().Created
	if most != beside*(prefetch+2) {
		t.Errorf("%d slabs, want %d", most, beside*(prefetch+2))
	}

	for epoch := range int64(200) {
		one, other := start(t, l, epoch), start(t, l, epoch+1)
		last := next(t, other)
		for b, step := next(t, one), int64(0); b != nil; b, step = next(t, one), step+1 {
			last.Release()
			last = b
			if epoch%3 == step {
				break
			}
		}
		last.Release()
		other.Close()
		one.Close()
	}
	if s := l.ring.Stats(); s.Created != most || s.Slabs != s.FreeSlabs {
		t.Errorf("200 epochs later %d slabs, want %d, all free: %+v", s.Created, most, s)
	}
}

// Try is Next without waiting. It distinguishes a missing batch from the end.
func TestTry(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	src := newFake(3, &fakeColumn{name: "x", dtype: tensor.Int64, shape: fixedShape(), find: func(int64) error {
		<-gate
		return nil
	}})
	l := open(t, src, Options{BatchSize: 1, Workers: 1, ReturnIndex: true})
	e := start(t, l, 0)
	if b, ready, err := e.Try(); b != nil || ready || err != nil {
		t.Fatalf("before a batch: %v, %v, %v", b, ready, err)
	}
	close(gate)
	for i := range int64(3) {
		awaitReady(t, e, 1)
		b, ready, err := e.Try()
		if !ready || err != nil || index(t, b)[0] != i || b.Last != (i == 2) {
			t.Fatalf("batch %d: %v, %v, %v", i, b, ready, err)
		}
		b.Release()
	}
	if b, ready, err := e.Try(); b != nil || !ready || err != nil {
		t.Errorf("at the end: %v, %v, %v", b, ready, err)
	}
	e.Close()
	if _, ready, err := e.Try(); !ready || err == nil {
		t.Errorf("closed: %v, %v", ready, err)
	}
}
