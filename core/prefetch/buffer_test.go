package prefetch

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/go/tests/clock"
)

// TestBuffersAreUsedAsTheyArrive: readers get bytes before the rest of their buffer arrives. After
// a failure, readers of the missing bytes get its error.
func TestBuffersAreUsedAsTheyArrive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error // of the request, after half of it
		kind errs.Kind
		data bool // of the second half
	}{
		"all of it comes": {data: true},
		"the store fails": {err: errs.New(errs.Storage, "it is gone"), kind: errs.Storage},
		// the sample reads its own bytes
		"it is damaged": {err: errs.New(errs.Corrupt, "it is cut short")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const half = 100_000
				g := task.New(t.Context(), 0)
				memory := NewBufferPool(1 << 30)
				defer memory.Close()
				fetch := func(_ chunk.Span, _ context.Context, dst []byte, landed func(n int64)) error {
					for part := range 2 {
						clock.Pass(time.Second)
						if part == 1 && c.err != nil {
							return c.err
						}
						dst[part*half] = byte(part + 1)
						landed(half)
					}
					return nil
				}
				p := New(g, memory, Options{Limit: 1 << 30, Batch: 1, Fetch: fetch})
				p.Plan(1, [][]chunk.Span{{{Object: "o", Bytes: 2 * half}}})
				p.Open(0)
				p.End()
				began := time.Now()
				m := still{}
				data, err := p.bytes(t.Context(), "o", 0, half, m)
				if err != nil || len(data) != half || data[0] != 1 || time.Since(began) != time.Second {
					t.Errorf("first half: %d bytes, %v after %v", len(data), err, time.Since(began))
				}
				data, err = p.bytes(t.Context(), "o", half, half, m)
				if c.kind != 0 && !errs.Is(err, c.kind) || c.kind == 0 && err != nil || c.data != (len(data) == half && data[0] == 2) || time.Since(began) != 2*time.Second {
					t.Errorf("second half: %d bytes, %v after %v", len(data), err, time.Since(began))
				}
				_ = g.Wait()
				if p.flying != 0 || p.running != 0 || p.head.flying != 0 {
					t.Errorf("%d bytes of %d requests are on their way at the end, %d of the first batch", p.flying, p.running, p.head.flying)
				}
				p.Close()
			})
		})
	}
}

// TestWaitingForABufferEnds with the context of the reader.
func TestWaitingForABufferEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := task.New(t.Context(), 0)
		memory := NewBufferPool(1 << 30)
		defer memory.Close()
		fetch := func(_ chunk.Span, ctx context.Context, _ []byte, _ func(n int64)) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		p := New(g, memory, Options{Limit: 1 << 30, Batch: 1, Fetch: fetch})
		p.Plan(1, [][]chunk.Span{{{Object: "o", Bytes: 1000}}})
		p.Open(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := p.bytes(ctx, "o", 0, 1000, still{}); !errs.Is(err, errs.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		g.Stop()
		_ = g.Wait()
		p.Close()
	})
}

// TestFirstBatchHasTheProcessors: until the first batch is decoded, a wide link delivers little
// else. Receiving takes the same processors as decoding. Afterwards the link delivers all it can.
func TestFirstBatchHasTheProcessors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size, rest, decoding = 1 << 20, 500, 400 * time.Millisecond
		g := task.New(t.Context(), 0)
		memory := NewBufferPool(2 << 30)
		defer memory.Close()
		fetch := func(_ chunk.Span, _ context.Context, dst []byte, landed func(n int64)) error {
			clock.Pass(25 * time.Millisecond)
			landed(int64(len(dst)))
			return nil
		}
		p := New(g, memory, Options{Limit: 2 << 30, Batch: 1, Fetch: fetch, SkipPrefault: true})
		p.Plan(1, [][]chunk.Span{{{Object: "first", Bytes: size}}})
		var later []chunk.Span
		for i := range rest {
			later = append(later, chunk.Span{Object: fmt.Sprint(i), Bytes: size})
		}
		p.Plan(2, [][]chunk.Span{later})
		p.End()
		p.Open(0)
		if _, err := p.bytes(t.Context(), "first", 0, size, still{}); err != nil {
			t.Fatal(err)
		}
		clock.Pass(decoding)
		if got := p.Figures().Bytes - size; got < earlyBytes || got > earlyBytes+size {
			t.Errorf("%d bytes were asked for beside the first batch before it is decoded, want %d", got, earlyBytes)
		}
		p.Done(0)
		clock.Pass(decoding)
		if got := p.Figures().Bytes; got != (rest+1)*size {
			t.Errorf("%d bytes were asked for after it, want all %d", got, (rest+1)*size)
		}
		p.Stop()
		g.Stop()
		_ = g.Wait()
		p.Close()
	})
}
