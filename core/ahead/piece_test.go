package ahead

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// nobody waits unseen.
type nobody struct{}

func (nobody) Pause()  {}
func (nobody) Resume() {}

// What has come of a piece is used at once; who needs what never comes learns why.
func TestPiecesAreUsedAsTheyCome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error // of the request, after half of it
		kind errs.Kind
		data bool // of the second half
	}{
		"all of it comes": {data: true},
		"the store fails": {err: errs.New(errs.Storage, "it is gone"), kind: errs.Storage},
		"it is damaged":   {err: errs.New(errs.Corrupt, "it is cut short")}, // the sample is to read its own
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const half = 100_000
				g := task.New(t.Context(), 0)
				memory := NewShelf(1 << 30)
				defer memory.Close()
				fetch := func(_ chunk.Span, _ context.Context, dst []byte, landed func(n int64)) error {
					for part := range 2 {
						time.Sleep(time.Second)
						if part == 1 && c.err != nil {
							return c.err
						}
						dst[part*half] = byte(part + 1)
						landed(half)
					}
					return nil
				}
				h := New(g, memory, Options{Limit: 1 << 30, Batch: 1, Fetch: fetch})
				h.Plan(1, [][]chunk.Span{{{Object: "o", Bytes: 2 * half}}})
				h.Open(0)
				h.End()
				began := time.Now()
				m := nobody{}
				data, err := h.bytes(t.Context(), "o", 0, half, m)
				if err != nil || len(data) != half || data[0] != 1 || time.Since(began) != time.Second {
					t.Errorf("first half: %d bytes, %v after %v", len(data), err, time.Since(began))
				}
				data, err = h.bytes(t.Context(), "o", half, half, m)
				if c.kind != 0 && !errs.Is(err, c.kind) || c.kind == 0 && err != nil || c.data != (len(data) == half && data[0] == 2) || time.Since(began) != 2*time.Second {
					t.Errorf("second half: %d bytes, %v after %v", len(data), err, time.Since(began))
				}
				_ = g.Wait()
				if h.flying != 0 || h.running != 0 || h.head.flying != 0 {
					t.Errorf("%d bytes of %d requests are on their way at the end, %d of the first batch", h.flying, h.running, h.head.flying)
				}
				h.Close()
			})
		})
	}
}

// Who gives up waiting gets away at once.
func TestWaitingForAPieceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := task.New(t.Context(), 0)
		memory := NewShelf(1 << 30)
		defer memory.Close()
		fetch := func(_ chunk.Span, ctx context.Context, _ []byte, _ func(n int64)) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		h := New(g, memory, Options{Limit: 1 << 30, Batch: 1, Fetch: fetch})
		h.Plan(1, [][]chunk.Span{{{Object: "o", Bytes: 1000}}})
		h.Open(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := h.bytes(ctx, "o", 0, 1000, nobody{}); !errs.Is(err, errs.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		g.Stop()
		_ = g.Wait()
		h.Close()
	})
}

// Until the first batch is decoded a wide line brings little else, since that takes the processors that decode; then it
// brings what it can.
func TestFirstBatchHasTheProcessors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size, rest, decoding = 1 << 20, 500, 400 * time.Millisecond
		g := task.New(t.Context(), 0)
		memory := NewShelf(2 << 30)
		defer memory.Close()
		fetch := func(_ chunk.Span, _ context.Context, dst []byte, landed func(n int64)) error {
			time.Sleep(25 * time.Millisecond)
			landed(int64(len(dst)))
			return nil
		}
		h := New(g, memory, Options{Limit: 2 << 30, Batch: 1, Fetch: fetch, Untouched: true})
		h.Plan(1, [][]chunk.Span{{{Object: "first", Bytes: size}}})
		var later []chunk.Span
		for i := range rest {
			later = append(later, chunk.Span{Object: fmt.Sprint(i), Bytes: size})
		}
		h.Plan(2, [][]chunk.Span{later})
		h.End()
		h.Open(0)
		if _, err := h.bytes(t.Context(), "first", 0, size, nobody{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(decoding)
		if got := h.Figures().Bytes - size; got < earlyBytes || got > earlyBytes+size {
			t.Errorf("%d bytes were asked for beside the first batch before it is decoded, want %d", got, earlyBytes)
		}
		h.Done(0)
		time.Sleep(decoding)
		if got := h.Figures().Bytes; got != (rest+1)*size {
			t.Errorf("%d bytes were asked for after it, want all %d", got, (rest+1)*size)
		}
		h.Stop()
		g.Stop()
		_ = g.Wait()
		h.Close()
	})
}
