package prefetch

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/go/tests/clock"
)

// TestOneShot runs a read whose jobs are known from the start, as two callers do: all of it is the
// first batch, and only the limit bounds it.
func TestOneShot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const jobs, size = 64, 256 * kib
		store := &fakeStore{delay: 25 * time.Millisecond}
		b := newRig(t, store, Options{Limit: 8 * mib, Batch: 1, Lead: math.MaxInt64})
		b.JoinWithin(math.MaxInt)
		for k := range int64(jobs) {
			b.Plan(k+1, [][]chunk.Span{{span("o", k*size, size), span("p", k*size, 100)}})
		}
		b.Open(0)
		b.End()
		began := time.Now()
		for k := range int64(jobs) {
			b.Await(k+1, still{})
			b.read("o", k*size, size)
			b.read("p", k*size, 100)
			b.Done(k)
		}
		f := b.Figures()
		// 16 MiB in requests of 4 MiB, and 64 short ones.
		if f.Requests > 4+jobs+1 || f.Direct != 0 || f.Buffered != 0 || f.PeakBuffered > 8*mib+firstRequest {
			t.Errorf("figures %+v", f)
		}
		if took := time.Since(began); took > 5*store.delay {
			t.Errorf("the read took %v, want a few round trips", took)
		}
		b.end()
		unused(t, b.memory)
	})
}

// TestRandomPlans runs random plans with several readers over a store that fails now and then.
// Every reader must get its bytes or the error of its buffer, and nothing may be left.
func TestRandomPlans(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			store := &fakeStore{delay: time.Duration(r.IntN(50)) * time.Millisecond, rate: float64(r.IntN(3)) * 20e6}
			if seed%3 == 0 {
				store.fail = func(s chunk.Span) error {
					if s.Offset%7 == 0 {
						return errs.New(errs.Corrupt, "it is damaged")
					}
					return nil
				}
			}
			b := newRig(t, store, Options{Limit: int64(1+r.IntN(40)) * 100 * kib, Batch: int64(1 + r.IntN(3)), Lead: int64(r.IntN(4))})
			if seed%4 == 1 {
				b.Slide(1+r.IntN(6), int64(1+r.IntN(900))*kib)
			} else {
				b.JoinWithin([]int{0, 1, 5, math.MaxInt}[r.IntN(4)])
			}
			windows := make([][]chunk.Span, 10+r.IntN(30))
			for i := range windows {
				for range 1 + r.IntN(4) {
					windows[i] = append(windows[i], span(string(rune('a'+r.IntN(3))), int64(r.IntN(3000))*kib, int64(1+r.IntN(200*kib))))
				}
			}
			batches := (int64(len(windows)) + b.options.Batch - 1) / b.options.Batch
			b.group.Go(func(context.Context) error {
				for i := range windows {
					if !b.AwaitSpace() {
						return nil
					}
					b.Plan(int64(i)+1, [][]chunk.Span{windows[i]})
					if i == 3 || b.Over() {
						b.Open(r.IntN(3))
					}
				}
				b.Open(b.Sparse())
				b.End()
				return nil
			})
			next := make(chan int64)
			done := make(chan bool)
			for range 3 {
				b.group.Go(func(ctx context.Context) error {
					for seq := range next {
						from := seq * b.options.Batch
						to := min(from+b.options.Batch, int64(len(windows)))
						b.Await(to, still{})
						for _, spans := range windows[from:to] {
							for _, s := range spans {
								b.check(ctx, s)
							}
						}
						b.Done(seq)
					}
					done <- true
					return nil
				})
			}
			for seq := range batches {
				next <- seq
			}
			close(next)
			for range 3 {
				<-done
			}
			b.settle()
			if f := b.Figures(); f.Buffered != 0 || b.planned != 0 || b.useful != 0 || len(b.objects) != 0 {
				t.Errorf("seed %d: %d bytes are held after the last batch, %d planned, %d useful", seed, f.Buffered, b.planned, b.useful)
			}
			b.end()
			unused(t, b.memory)
		})
	}
}

// check reads a span, each part of it that one extent holds. Bytes may be left to the reader, and
// must be right otherwise.
func (b *rig) check(ctx context.Context, s chunk.Span) {
	const step = 10_000
	for off := s.Offset; off < s.Offset+s.Bytes; off += step {
		n := min(step, s.Offset+s.Bytes-off)
		data, err := b.ReadAhead(still{}).Bytes(ctx, s.Object, off, n)
		if err != nil {
			b.t.Errorf("%s at %d: %v", s.Object, off, err)
			return
		}
		for i := range data {
			if data[i] != content(s.Object, off+int64(i)) {
				b.t.Errorf("%s: the byte at %d is wrong", s.Object, off+int64(i))
				return
			}
		}
	}
}

// TestSlide reads blocks of which each of the next windows needs a slice. A block is one request,
// and its slices are released window by window.
func TestSlide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const blocks, slices, size, open = 120, 8, 512 * kib, 3
		store := &fakeStore{delay: 25 * time.Millisecond, rate: 1e9}
		// Three new blocks a window: 3 * 8 are open, of which 4.5 slices are unread on average.
		b := newRig(t, store, Options{Limit: 96 * mib, Batch: 1, Lead: 1})
		b.Slide(slices, slices*size)
		windows := int64(blocks/open + slices - 1)
		b.group.Go(func(context.Context) error {
			for w := range windows {
				if !b.AwaitSpace() {
					return nil
				}
				var spans []chunk.Span
				for k := max(0, w-slices+1) * open; k < min((w+1)*open, blocks); k++ {
					spans = append(spans, span(fmt.Sprint(k), (w-k/open)*size, size))
				}
				b.Plan(w+1, [][]chunk.Span{spans})
				if w == 0 {
					b.Open(1)
				}
			}
			b.End()
			return nil
		})
		for w := range windows {
			b.Await(w+1, still{})
			for k := max(0, w-slices+1) * open; k < min((w+1)*open, blocks); k++ {
				b.read(fmt.Sprint(k), (w-k/open)*size, size)
			}
			clock.Pass(10 * time.Millisecond)
			b.Done(w)
		}
		f := b.Figures()
		// The blocks of the first window come in two requests each.
		if f.Requests > blocks+open+2 || f.Direct != 0 || f.Buffered != 0 || f.Bytes != blocks*slices*size {
			t.Errorf("figures %+v", f)
		}
		if f.PeakBuffered > 96*mib+MaxRequest {
			t.Errorf("%d MiB were held", f.PeakBuffered/mib)
		}
		b.end()
		unused(t, b.memory)
	})
}
