package retry_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
)

// tailed answers after a time of its own for each request: 15 to 35 ms, one in a hundred 20 times
// as late as the others, and one in a thousand never.
type tailed struct {
	storage.Provider
	size int64

	mu     sync.Mutex
	random *rand.Rand
	asked  int
}

const usualAnswer = 25 * time.Millisecond

func (s *tailed) Range(ctx context.Context, _ string, _, n int64, _ string) (storage.Body, error) {
	s.mu.Lock()
	after := time.Duration((0.6 + 0.8*s.random.Float64()) * float64(usualAnswer))
	switch s.asked++; {
	case s.asked%1000 == 500:
		after = time.Hour
	case s.asked%100 == 50:
		after = 20 * usualAnswer
	}
	s.mu.Unlock()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return &nothing{n, s.size}, nil
	case <-ctx.Done():
		return nil, errs.New(errs.Canceled, "%w", context.Cause(ctx))
	}
}

// TestTails: requests that are slow or silent do not show, also among the first ones, and few
// others are requested twice.
func TestTails(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 16, 64} {
		synctest.Test(t, func(t *testing.T) {
			const reads, n = 4000, 2_000_000
			below := &tailed{Provider: open(t, &mem.Space{}), size: 1 << 40, random: rand.New(rand.NewPCG(1, 2))}
			p := retry.New(retry.Options{}).Provider(below)
			defer p.Close()
			took := make([]time.Duration, reads)
			g := task.New(t.Context(), parallel)
			for i := range took {
				g.Go(func(ctx context.Context) error {
					began := time.Now()
					b, err := p.(storage.Ranger).Range(ctx, "k", 0, n, "")
					took[i] = time.Since(began)
					if err != nil {
						return err
					}
					return b.Close()
				})
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			slices.Sort(took)
			if p99, most := took[reads*99/100], took[reads-1]; p99 > 3*usualAnswer || most > 5*usualAnswer {
				t.Errorf("%d at once: the 99th of 100 took %v, the slowest %v; half took %v", parallel, p99, most, took[reads/2])
			}
			if s := stats(p); s.Hedges < reads/100 || s.Hedges > reads/50 || s.HedgeWins < s.Hedges*9/10 {
				t.Errorf("%d at once: %d hedges of %d requests, %d won", parallel, s.Hedges, reads, s.HedgeWins)
			}
		})
	}
}

// TestHedgesOfAStandstill: a caller that sends nothing more until all its requests are answered
// does not run out of hedges.
func TestHedgesOfAStandstill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 8 // more than the budget has at first
		answers := make([]answer, 2*slow)
		for i := range slow {
			answers[i].after = 4 * time.Second
		}
		s := &scripted{Provider: open(t, &mem.Space{}), answers: answers}
		p := retry.New(retry.Options{}).Provider(s)
		defer p.Close()
		began := time.Now()
		g := task.New(t.Context(), 0)
		for range slow {
			g.Go(func(ctx context.Context) error { return p.ReadAt(ctx, "k", make([]byte, 10), 0) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 3500*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}
