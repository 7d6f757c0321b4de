package loader

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/tensor"
)

// batchesOf returns the number of batches of an epoch on one rank.
func batchesOf(t testing.TB, l *Loader) int64 {
	t.Helper()
	n, err := l.Batches(order.Pass{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPassIsChecked(t *testing.T) {
	t.Parallel()
	l := open(t, fakeSet(10), Options{BatchSize: 2, CollateOf: fakeCollate()})
	for text, p := range map[string]order.Pass{
		"epoch is -1":                {Epoch: -1},
		"world_size is -1":           {World: -1},
		"world_size is 2000000":      {World: 2_000_000},
		"rank is 1, want 0 to 0":     {Rank: 1},
		"rank is 4, want 0 to 3":     {Rank: 4, World: 4},
		"rank is -1":                 {Rank: -1, World: 4},
		"position is 11, want 0 to ": {Position: 11},
		"position is -1":             {Position: -1},
	} {
		if _, err := l.Start(context.Background(), p); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("start %+v: %v, want invalid with %q", p, err, text)
		}
		if _, err := l.Batches(p); !errs.Is(err, errs.Invalid) {
			t.Errorf("batches of %+v: %v, want invalid", p, err)
		}
	}
	for text, o := range map[string]Options{
		`tail is "exakt"`: {BatchSize: 1, Tail: "exakt"},
		"cannot be":       {BatchSize: 1, Tail: order.TailPad, DropLast: true},
	} {
		if _, err := Open(context.Background(), SourceOf(fakeSet(3)), o); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want invalid with %q", o, err, text)
		}
	}
}

// marks returns the column that says which rows count; without one all do.
func marks(t *testing.T, b *Batch) []bool {
	t.Helper()
	valid := make([]bool, b.Rows)
	for i := range valid {
		valid[i] = true
	}
	for i := range b.Columns {
		if c := &b.Columns[i]; c.Name == ValidName {
			if c.DType != tensor.Bool || c.Count != b.Rows || c.Size != int64(b.Rows) {
				t.Fatalf("column %+v of %d rows", c, b.Rows)
			}
			for k, v := range b.Data(c) {
				valid[k] = v == 1
			}
		}
	}
	return valid
}

// All ranks at once, as loaders: content, marks and steps.
func TestRanksDeliver(t *testing.T) {
	t.Parallel()
	for _, rows := range []int64{1, 5, 64, 101} {
		for _, tail := range []string{order.TailExact, order.TailDrop, order.TailPad} {
			for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
				const world = 4
				src := fakeSet(rows)
				o := Options{BatchSize: 3, Shuffle: shuffle, Tail: tail, Workers: 2, CollateOf: fakeCollate(), ReturnIndex: true}
				l := open(t, src, o)
				want, err := l.Batches(order.Pass{World: world, Rank: 2})
				if err != nil {
					t.Fatal(err)
				}
				var seen []int64
				for rank := range world {
					e, err := l.Start(context.Background(), order.Pass{World: world, Rank: rank})
					if err != nil {
						t.Fatal(err)
					}
					steps := int64(0)
					for b := next(t, e); b != nil; b = next(t, e) {
						for i, row := range verify(t, src, o, b) {
							if marks(t, b)[i] {
								seen = append(seen, row)
							}
						}
						steps++
						if b.Last != (steps == want) {
							t.Fatalf("batch %d of %d: last is %v", steps, want, b.Last)
						}
						if at := min(steps*world*3, rows); b.Position != at {
							t.Fatalf("batch %d ends at %d, want %d", steps, b.Position, at)
						}
						b.Release()
					}
					e.Close()
					if steps != want {
						t.Fatalf("%d rows, %s, %q: rank %d has %d steps, want %d", rows, tail, shuffle, rank, steps, want)
					}
				}
				if full := rows / (world * 3) * world * 3; tail == order.TailDrop && int64(len(seen)) != full {
					t.Fatalf("%d rows, %q: %d seen, want %d", rows, shuffle, len(seen), full)
				}
				if tail != order.TailDrop {
					if int64(len(seen)) != rows {
						t.Fatalf("%d rows, %s, %q: %d seen", rows, tail, shuffle, len(seen))
					}
					onceEach(t, seen, o)
				}
			}
		}
	}
}

// A pass that begins at a position reads nothing before it.
func TestPassReadsNothingBefore(t *testing.T) {
	t.Parallel()
	for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
		var mu sync.Mutex
		read := map[int64]bool{}
		src := newFake(400, &fakeColumn{name: "x", dtype: tensor.Int64, shape: fixedShape(), read: func(_ context.Context, row int64) error {
			mu.Lock()
			defer mu.Unlock()
			read[row] = true
			return nil
		}})
		l := open(t, src, Options{BatchSize: 7, Shuffle: shuffle, Prefetch: 5, ReturnIndex: true})
		e, err := l.Start(context.Background(), order.Pass{Epoch: 2, Position: 150, Rank: 1, World: 3})
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]bool{}
		for b := next(t, e); b != nil; b = next(t, e) {
			for _, row := range index(t, b) {
				got[row] = true
			}
			b.Release()
		}
		e.Close()
		rows := make([]int64, 400)
		l.order.Cursor(2).Fill(rows, 0)
		for _, row := range rows[:150] {
			if read[row] {
				t.Fatalf("%q: row %d lies before and was read", shuffle, row)
			}
		}
		if len(read) != len(got) || len(got) != 83 {
			t.Errorf("%q: %d rows read and %d delivered, want 83", shuffle, len(read), len(got))
		}
	}
}

// Where the rows of a batch are left out altogether, ranks would lose step: that is an error.
// Single rows are left out.
func TestRanksKeepStepWhenRowsAreSkipped(t *testing.T) {
	t.Parallel()
	bad := func(rows ...int64) *fake {
		return newFake(24, &fakeColumn{name: "x", dtype: tensor.Int64, shape: fixedShape(), read: func(_ context.Context, row int64) error {
			if slices.Contains(rows, row) {
				return errs.New(errs.Corrupt, "damaged")
			}
			return nil
		}})
	}
	o := Options{BatchSize: 3, OnError: Skip, ReturnIndex: true}
	for _, c := range []struct {
		name  string
		rows  []int64
		world int
		want  int // batches; -1: an error
	}{
		{"one row", []int64{4}, 2, 4},
		{"a batch", []int64{3, 4, 5}, 2, -1},
		{"a batch of another rank", []int64{0, 1, 2}, 2, 4},
		{"a batch of one rank of one", []int64{3, 4, 5}, 1, 7},
	} {
		e, err := open(t, bad(c.rows...), o).Start(context.Background(), order.Pass{Rank: c.world - 1, World: c.world})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for {
			b, err := e.Next(context.Background())
			if err != nil {
				got = -1
				if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "rank 1 of 2") || !strings.Contains(err.Error(), `tensor "x"`) {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if b == nil {
				break
			}
			b.Release()
			got++
		}
		e.Close()
		if got != c.want {
			t.Errorf("%s: %d batches, want %d", c.name, got, c.want)
		}
	}
}

func TestValidNameIsTheLoaders(t *testing.T) {
	t.Parallel()
	src := newFake(10, &fakeColumn{name: ValidName, dtype: tensor.Uint8, shape: fixedShape(2)})
	for _, c := range []struct {
		tail  string
		world int
		bad   bool
	}{{order.TailExact, 1, false}, {order.TailExact, 3, true}, {order.TailExact, 2, false}, {order.TailDrop, 3, false}, {order.TailPad, 1, true}} {
		l := open(t, src, Options{BatchSize: 3, Tail: c.tail})
		e, err := l.Start(context.Background(), order.Pass{World: c.world})
		if err == nil {
			e.Close()
		}
		if (err != nil) != c.bad || c.bad && (!errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), ValidName)) {
			t.Errorf("tail %q on %d ranks: %v", c.tail, c.world, err)
		}
	}
}
