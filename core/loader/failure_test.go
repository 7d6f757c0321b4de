package loader

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/tensor"
)

// damaged makes reading the given rows of a column fail.
func damaged(kind errs.Kind, rows ...int64) func(context.Context, int64) error {
	return func(_ context.Context, row int64) error {
		if slices.Contains(rows, row) {
			return errs.New(kind, "sample is damaged")
		}
		return nil
	}
}

func TestErrorComesInItsPlace(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 8; workers++ {
		src := fakeSet(100)
		src.columns["images"].read = damaged(errs.Corrupt, 47, 44, 83)
		src.columns["labels"].read = damaged(errs.Corrupt, 45)
		o := Options{BatchSize: 10, Workers: workers, Prefetch: 6, CollateOf: fakeCollate(), ReturnIndex: true}
		e := start(t, open(t, src, o), 0)
		for range 4 {
			b := next(t, e)
			verify(t, src, o, b)
			b.Release()
		}
		for range 2 { // the error stays
			_, err := e.Next(context.Background())
			if !errs.Is(err, errs.Corrupt) || err.Error() != `read row 1044 of tensor "images": sample is damaged` {
				t.Fatalf("%d workers: %v, want row 1044 of images, corrupt", workers, err)
			}
		}
	}
}

func TestResolveErrorNamesRow(t *testing.T) {
	t.Parallel()
	src := fakeSet(100)
	src.columns["text"].find = func(row int64) error {
		if row == 33 {
			return errs.New(errs.Storage, "disk is gone")
		}
		return nil
	}
	for _, mode := range []string{Raise, Skip} {
		o := Options{BatchSize: 10, CollateOf: fakeCollate(), ReturnIndex: true, OnError: mode}
		e := start(t, open(t, src, o), 0)
		for range 3 {
			next(t, e).Release()
		}
		_, err := e.Next(context.Background())
		if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), `read row 33 of tensor "text": disk is gone`) {
			t.Errorf("%s: %v, want row 33 of text", mode, err)
		}
	}
}

// TestSkipEverything: an epoch of which no row can be read is an error, and so is one that this
// machine cannot read. The rest of an epoch may be damaged.
func TestSkipEverything(t *testing.T) {
	t.Parallel()
	all := make([]int64, 30)
	for i := range all {
		all[i] = int64(i)
	}
	o := Options{BatchSize: 10, CollateOf: fakeCollate(), ReturnIndex: true, OnError: Skip}
	src := fakeSet(30)
	src.columns["labels"].read = damaged(errs.Corrupt, all...)
	e := start(t, open(t, src, o), 0)
	_, err := e.Next(t.Context())
	if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), `none of its 30 rows can be read, and all were skipped; the first: read row 1000 of tensor "labels"`) {
		t.Error(err)
	}
	src.columns["labels"].read = damaged(errs.Corrupt, all[10:]...)
	e = start(t, open(t, src, o), 0)
	next(t, e).Release()
	if b, err := e.Next(t.Context()); b != nil || err != nil {
		t.Errorf("a damaged rest: %v, %v", b, err)
	}
	src.columns["labels"].read = func(_ context.Context, row int64) error {
		if row == 15 {
			return errs.OfMachine(errs.New(errs.Unsupported, "there is no decoder"))
		}
		return nil
	}
	e = start(t, open(t, src, o), 0)
	next(t, e).Release()
	if _, err := e.Next(t.Context()); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), `row 1015 of tensor "labels": there is no decoder`) {
		t.Error(err)
	}
}

func TestSkip(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 4; workers++ {
		src := fakeSet(103)
		src.columns["images"].read = damaged(errs.Corrupt, 0, 12, 13, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 100, 101, 102)
		src.columns["labels"].read = damaged(errs.Corrupt, 13, 14)
		src.columns["boxes"].read = damaged(errs.Unsupported, 23)
		src.columns["text"].read = damaged(errs.Type, 31)
		// 42 has no items, hence nothing to fail
		src.columns["frames"].read = damaged(errs.Corrupt, 41, 42, 44)
		src.columns["maybe"].find = func(row int64) error {
			if row == 29 {
				return errs.New(errs.Corrupt, "index page is damaged")
			}
			return nil
		}
		bad := []int64{0, 12, 13, 14, 23, 29, 31, 41, 44, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 100, 101, 102}
		for _, tensors := range [][]string{nil} {
			o := Options{BatchSize: 10, Workers: workers, CollateOf: fakeCollate(), ReturnIndex: true, OnError: Skip, Tensors: tensors}
			l := open(t, src, o)
			e := start(t, l, 0)
			batches := drain(t, src, o, e)
			got := flat(batches)
			var want []int64
			for row := range int64(103) {
				if !slices.Contains(bad, row) {
					want = append(want, row)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d workers: rows %v, want %v", workers, got, want)
			}
			if len(batches) != 9 { // batches of rows 50 to 59 and 100 to 102 are skipped
				t.Errorf("%d batches, want 9", len(batches))
			}
			s := l.Stats()
			if s.Skipped != int64(len(bad)) || len(s.FirstSkips) != maxSkipNotes || s.Rows != int64(len(want)) || s.Batches != 9 {
				t.Errorf("%d skipped, %d notes, %d rows, %d batches, want %d, %d, %d, 9", s.Skipped, len(s.FirstSkips), s.Rows, s.Batches, len(bad), maxSkipNotes, len(want))
			}
			if n := s.FirstSkips[0]; n.Row != 1000 || n.Tensor != "images" || !strings.Contains(n.Error, "sample is damaged") {
				t.Errorf("first note %+v", n)
			}
		}
	}
}

func TestSkipHoles(t *testing.T) {
	t.Parallel()
	src := newFake(12, &fakeColumn{name: "x", dtype: tensor.Uint8, shape: func(r int64) tensor.Shape {
		if r%3 == 1 {
			return nil
		}
		return tensor.Shape{2}
	}}, &fakeColumn{name: "s", dtype: tensor.Uint8, seq: true, items: func(r int64) int64 { return r%2*3 - 1 }, shape: fixedShape(1)})
	for name, c := range map[string]struct {
		collate string
		want    []int64
	}{
		"stack": {Stack, []int64{3, 5, 9, 11}}, // s has holes in even rows
		"list":  {List, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	} {
		o := Options{BatchSize: 4, Collate: c.collate, OnError: Skip, ReturnIndex: true}
		if got := flat(drain(t, src, o, start(t, open(t, src, o), 0))); !slices.Equal(got, c.want) {
			t.Errorf("%s: rows %v, want %v", name, got, c.want)
		}
	}
}

func TestSkipDoesNotHideTheStore(t *testing.T) {
	t.Parallel()
	src := fakeSet(30)
	src.columns["images"].read = damaged(errs.Storage, 15)
	e := start(t, open(t, src, Options{BatchSize: 10, CollateOf: fakeCollate(), OnError: Skip}), 0)
	next(t, e).Release()
	if _, err := e.Next(context.Background()); !errs.Is(err, errs.Storage) {
		t.Errorf("%v, want the storage error", err)
	}
}

func TestPanicBecomesError(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*fakeColumn){
		"in a worker":    func(c *fakeColumn) { c.read = func(context.Context, int64) error { panic("bug") } },
		"in the planner": func(c *fakeColumn) { c.find = func(int64) error { panic("bug") } },
	} {
		src := fakeSet(30)
		set(src.columns["images"])
		e := start(t, open(t, src, Options{BatchSize: 10, CollateOf: fakeCollate(), OnError: Skip}), 0)
		if _, err := e.Next(context.Background()); !errs.Is(err, errs.Internal) || !strings.Contains(err.Error(), "panic: bug") {
			t.Errorf("%s: %v, want an internal error", name, err)
		}
	}
}

// gate makes the reads of a column wait until it is opened, or until they are canceled.
type gate struct{ open chan struct{} }

func (g gate) read(ctx context.Context, _ int64) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestNextGivesUpWithoutLoss(t *testing.T) {
	t.Parallel()
	src := fakeSet(20)
	g := gate{make(chan struct{})}
	src.columns["images"].read = g.read
	o := Options{BatchSize: 10, CollateOf: fakeCollate(), ReturnIndex: true, Workers: 2}
	e := start(t, open(t, src, o), 0)
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if b, err := e.Next(ctx); b != nil || !errs.Is(err, errs.Canceled) {
			t.Fatalf("%v, %v, want canceled", b, err)
		}
		cancel()
	}
	close(g.open)
	if got := flat(drain(t, src, o, e)); len(got) != 20 || got[0] != 0 {
		t.Errorf("rows %v, want all 20 from 0", got)
	}
}

func TestCanceledEpoch(t *testing.T) {
	t.Parallel()
	src := fakeSet(20)
	src.columns["images"].read = gate{make(chan struct{})}.read
	ctx, cancel := context.WithCancel(context.Background())
	e, err := open(t, src, Options{BatchSize: 10, CollateOf: fakeCollate()}).Start(ctx, order.Pass{})
	if err != nil {
		t.Fatal(err)
	}
	g := task.New(context.Background(), 0)
	g.Go(func(context.Context) error {
		_, err := e.Next(context.Background())
		return err
	})
	cancel()
	if err := g.Wait(); !errs.Is(err, errs.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	e.Close()
}

func TestCloseWakesNext(t *testing.T) {
	t.Parallel()
	src := fakeSet(20)
	src.columns["images"].read = gate{make(chan struct{})}.read
	l := open(t, src, Options{BatchSize: 10, CollateOf: fakeCollate()})
	e := start(t, l, 0)
	g := task.New(context.Background(), 0)
	g.Go(func(context.Context) error {
		_, err := e.Next(context.Background())
		return err
	})
	l.Close()
	if err := g.Wait(); !errs.Is(err, errs.Closed) {
		t.Errorf("%v, want closed", err)
	}
	if _, err := e.Next(context.Background()); !errs.Is(err, errs.Closed) {
		t.Errorf("after Close: %v, want closed", err)
	}
	if _, err := l.Start(context.Background(), order.Pass{}); !errs.Is(err, errs.Closed) {
		t.Errorf("start after Close: %v, want closed", err)
	}
	e.Close()
	l.Close()
}

// Parallel callers of Next share the batches, each exactly once.
func TestNextInParallel(t *testing.T) {
	t.Parallel()
	src := fakeSet(500)
	o := Options{BatchSize: 5, CollateOf: fakeCollate(), ReturnIndex: true}
	e := start(t, open(t, src, o), 0)
	var rows atomic.Int64
	g := task.New(context.Background(), 0)
	for range 4 {
		g.Go(func(ctx context.Context) error {
			for {
				b, err := e.Next(ctx)
				if b == nil || err != nil {
					return err
				}
				rows.Add(int64(b.Rows))
				b.Release()
			}
		})
	}
	if err := g.Wait(); err != nil || rows.Load() != 500 {
		t.Errorf("%d rows, %v, want 500", rows.Load(), err)
	}
}

// Not parallel: it counts the goroutines of the process.
func TestEarlyCloseLeavesNothing(t *testing.T) {
	// Goroutines that have returned take a moment to disappear.
	settle := func(most int) int {
		n := runtime.NumGoroutine()
		for from := time.Now(); n > most && time.Since(from) < 5*time.Second; n = runtime.NumGoroutine() {
			runtime.Gosched()
		}
		return n
	}
	before := runtime.NumGoroutine()
	r := rand.New(rand.NewPCG(7, 7))
	src := fakeSet(200)
	l := open(t, src, Options{BatchSize: 8, Shuffle: order.Full, Workers: 3, Prefetch: 3, CollateOf: fakeCollate(), ReturnIndex: true})
	for round := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		e, err := l.Start(ctx, order.Pass{Epoch: int64(round)})
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(28) {
			b, err := e.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if b != nil {
				b.Release()
			}
		}
		for range r.IntN(2000) {
			runtime.Gosched()
		}
		if round%3 == 0 {
			cancel()
		}
		e.Close()
		cancel()
		if s := l.ring.Stats(); s.Slabs != s.FreeSlabs {
			t.Fatalf("round %d: slabs %+v, some are not back", round, s)
		}
	}
	if n := settle(before); n > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
	}
	if len(l.epochs) != 0 {
		t.Errorf("%d epochs remembered", len(l.epochs))
	}
}

// After the last batch the goroutines have ended, even if no caller reads the end.
func TestLastBatchEndsGoroutines(t *testing.T) {
	src := fakeSet(20)
	e := start(t, open(t, src, Options{BatchSize: 10, CollateOf: fakeCollate()}), 0)
	next(t, e).Release()
	next(t, e).Release()
	if err := e.group.Wait(); err != nil {
		t.Error(err)
	}
}
