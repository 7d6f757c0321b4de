package loader

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// batchesOf is the number of batches of an epoch on one rank.
func batchesOf(t testing.TB, l *Loader) int64 {
	t.Helper()
	n, err := l.Batches(Pass{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// tries is how often a property is tried: n times, or as often as the environment says.
func tries(n int) int {
	if more, err := strconv.Atoi(os.Getenv("DEEPLAKE_ROUNDS")); err == nil {
		return more
	}
	return n
}

// shared is a share as tests make it.
func shared(o Order, p Pass, batch int64, tail string) *share {
	return newShare(newOrderCursor(o, uint64(p.Epoch)), o.positions(), p, batch, tail)
}

// randomOrder draws an order of few rows, of any kind.
func randomOrder(r *rand.Rand) Order {
	rows := r.Int64N(2000)
	if r.IntN(4) == 0 {
		rows = r.Int64N(20)
	}
	switch r.IntN(4) {
	case 0:
		return newOrder(Sequential, rows, r.Uint64(), 0, 0)
	case 1:
		return newOrder(Full, rows, r.Uint64(), 0, 0)
	}
	first := 1 + r.Int64N(8)
	return windowOrder(rows, 1+r.Int64N(9), first, first+r.Int64N(200), r.Uint64())
}

func TestRanksShareGlobalBatches(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 22))
	for range tries(500) {
		o := randomOrder(r)
		batch, world := 1+r.Int64N(40), 1+r.IntN(9)
		if r.IntN(10) == 0 {
			world = 1 + r.IntN(300)
		}
		tail := []string{TailExact, TailDrop, TailPad}[r.IntN(3)]
		p := Pass{Epoch: r.Int64N(3), World: world}
		if r.IntN(2) == 0 && o.Rows > 0 {
			p.Position = r.Int64N(o.Rows + 1)
		}
		checkShares(t, o, p, batch, tail)
	}
}

// checkShares fails unless the shares of all ranks are what they promise.
func checkShares(t *testing.T, o Order, p Pass, batch int64, tail string) {
	t.Helper()
	what := fmt.Sprintf("%+v, pass %+v, batch %d, tail %q", o, p, batch, tail)
	order := rowsOf(o, uint64(p.Epoch))
	place := make(map[int64]int, len(order))
	for pos, row := range order {
		place[row] = pos
	}
	global := batch * int64(p.World)
	left := o.Rows - p.Position
	steps := (left + global - 1) / global
	if tail == TailDrop {
		steps = left / global
	}
	ranks := make([]*share, p.World)
	for i := range ranks {
		p.Rank = i
		ranks[i] = shared(o, p, batch, tail)
		if got := ranks[i].steps(); got != steps {
			t.Fatalf("%s: rank %d has %d steps, want %d", what, i, got, steps)
		}
	}
	for seq := range steps {
		base := p.Position + seq*global
		want := slices.Clone(order[base:min(base+global, o.Rows)])
		var got []int64
		least, most := int64(math.MaxInt64), int64(0)
		for i, s := range ranks {
			rows := make([]int64, s.size(seq))
			s.fill(rows, seq)
			valid := s.valid(seq)
			least, most = min(least, valid), max(most, valid)
			for k := int64(1); k < valid; k++ {
				if place[rows[k-1]] > place[rows[k]] {
					t.Fatalf("%s: step %d of rank %d is not in the order of the epoch", what, seq, i)
				}
			}
			checkRepeats(t, what, s, order, rows, seq)
			got = append(got, rows[:valid]...)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: step %d gives rows %v, want %v", what, seq, got, want)
		}
		if tail == TailExact && most-least > 1 {
			t.Fatalf("%s: batches of step %d have %d to %d rows", what, seq, least, most)
		}
		if at := ranks[0].behind(seq); at != base+int64(len(want)) {
			t.Fatalf("%s: step %d ends at %d, want %d", what, seq, at, base+int64(len(want)))
		}
	}
	for _, s := range ranks {
		checkLocal(t, what, s)
	}
}

// checkRepeats looks at the size of a batch and the rows in it that do not count.
func checkRepeats(t *testing.T, what string, s *share, order, rows []int64, seq int64) {
	t.Helper()
	valid, n := s.valid(seq), s.reach(seq)
	base := s.from + seq*s.step()
	switch {
	case n == s.step() && (valid != s.batch || s.size(seq) != s.batch):
		t.Fatalf("%s: a full step of rank %d has %d of %d rows", what, s.rank, valid, s.size(seq))
	case s.tail == TailPad && s.size(seq) != s.batch:
		t.Fatalf("%s: %d rows of rank %d in step %d, want all", what, s.size(seq), s.rank, seq)
	case s.tail == TailExact && s.size(seq) != max(valid, 1):
		t.Fatalf("%s: %d rows of rank %d in step %d, %d valid", what, s.size(seq), s.rank, seq, valid)
	case s.marked(seq) != (s.tail == TailPad || s.tail == TailExact && n < s.world):
		t.Fatalf("%s: marked is %v for %d rows", what, s.marked(seq), n)
	}
	for k := valid; k < int64(len(rows)); k++ {
		// the rows that fill up follow each other over the ranks
		again := (s.rank*s.batch + k - n) % s.total
		if s.tail == TailExact {
			again = base + s.rank%n
		}
		if rows[k] != order[again] {
			t.Fatalf("%s: rank %d repeats row %d, want %d", what, s.rank, rows[k], order[again])
		}
	}
}

// checkLocal compares the runs of local positions with the batches.
func checkLocal(t *testing.T, what string, s *share) {
	t.Helper()
	var all []int64
	for seq := range s.steps() {
		rows := make([]int64, s.size(seq))
		s.fill(rows, seq)
		all = append(all, rows...)
	}
	if int64(len(all)) != s.length() {
		t.Fatalf("%s: rank %d has %d local positions, says %d", what, s.rank, len(all), s.length())
	}
	r := rand.New(rand.NewPCG(1, uint64(len(all))))
	for range min(len(all), 3) {
		from := r.IntN(len(all))
		rows := make([]int64, 1+r.IntN(len(all)-from))
		s.fillFrom(rows, int64(from))
		if !slices.Equal(rows, all[from:from+len(rows)]) {
			t.Fatalf("%s: rank %d has %v from local position %d, want %v", what, s.rank, rows, from, all[from:from+len(rows)])
		}
	}
	if s.cursor.order.Kind != Window {
		return
	}
	for at := int64(0); at < s.length(); {
		begin, end := s.window(at)
		if begin > at || at > 0 && begin != at || end <= at || end > s.length() {
			t.Fatalf("%s: rank %d: the window of local position %d is [%d, %d)", what, s.rank, at, begin, end)
		}
		at = end
	}
	for at := range s.length() { // a window that was cut may begin anywhere
		if begin, end := s.window(at); begin > at || end <= at || end > s.length() {
			t.Fatalf("%s: rank %d: local position %d is said to be in the window [%d, %d)", what, s.rank, at, begin, end)
		}
	}
}

// World sizes that share a global batch see the same global batches, and any of them goes on from
// any other's state.
func TestResumeOnAnyWorldSize(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Sequential, Window, Full} {
		o := newOrder(kind, 1003, 7, 60_000, 6<<20)
		global := func(p Pass, batch int64) (batches [][]int64) {
			for seq := range shared(o, p, batch, TailExact).steps() {
				var rows []int64
				for rank := range p.World {
					p.Rank = rank
					s := shared(o, p, batch, TailExact)
					own := make([]int64, s.size(seq))
					s.fill(own, seq)
					rows = append(rows, own[:s.valid(seq)]...)
				}
				slices.Sort(rows)
				batches = append(batches, rows)
			}
			return batches
		}
		want := global(Pass{World: 1}, 24)
		for _, world := range []int{1, 2, 3, 4, 6, 8, 12, 24} {
			batch := int64(24 / world)
			for done := range want {
				got := global(Pass{World: world, Position: int64(done * 24)}, batch)
				if fmt.Sprint(got) != fmt.Sprint(want[done:]) {
					t.Fatalf("%q from step %d on %d ranks: other batches", kind, done, world)
				}
			}
		}
		for _, c := range []struct{ first, then int }{{7, 2}, {2, 7}, {5, 1}, {1, 13}} {
			// the global batch becomes another
			p := Pass{World: c.first}
			for done := range shared(o, p, 5, TailExact).steps() {
				at := shared(o, p, 5, TailExact).behind(done)
				rows := slices.Concat(append(global(p, 5)[:done+1], global(Pass{World: c.then, Position: at}, 9)...)...)
				if int64(len(rows)) != o.Rows {
					t.Fatalf("%q: %d rows on %d ranks and then %d, want %d", kind, len(rows), c.first, c.then, o.Rows)
				}
				onceEach(t, rows, c)
			}
		}
	}
}

// prefaulted counts the blocks that a rank reads of each full window, as a share of its blocks, and
// the blocks that a batch draws its rows from.
func prefaulted(o Order, world int, batch int64) (part, mixed float64) {
	s := shared(o, Pass{World: world, Rank: world / 2}, batch, TailExact)
	rows := make([]int64, batch)
	windows, batches := 0, 0
	seen, in := map[int64]bool{}, int64(-1)
	for seq := range s.steps() - 1 {
		s.cursor.row(s.from + seq*s.step())
		if w := s.cursor.window; w.index != in {
			if in >= 0 {
				windows++
			}
			in = w.index
		}
		s.fill(rows, seq)
		own := map[int64]bool{}
		for _, row := range rows {
			own[row/o.BlockRows] = true
			seen[row/o.BlockRows] = true
		}
		mixed += float64(len(own))
		batches++
	}
	return float64(len(seen)) / (float64(o.Rows) / float64(o.BlockRows)), mixed / float64(batches)
}

// A rank of a windowed shuffle reads little more than its share of the blocks, not all of them.
func TestRanksShareBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		world int
		batch int64
		most  float64 // of its share
	}{{2, 64, 1.35}, {4, 64, 1.6}, {8, 64, 1.9}, {8, 256, 1.5}, {16, 256, 1.4}, {64, 64, 5}} {
		o := newOrder(Window, 300_000, 3, 110_000, 512<<20)
		part, mixed := prefaulted(o, c.world, c.batch)
		t.Logf("%d ranks of %d rows: a rank reads %.3f of the blocks, %.2f of its share; %.1f blocks in a batch", c.world, c.batch, part, part*float64(c.world), mixed)
		if part*float64(c.world) > c.most {
			t.Errorf("%d ranks of %d rows: a rank reads %.2f of its share of the blocks, want at most %.2f", c.world, c.batch, part*float64(c.world), c.most)
		}
		if mixed < min(float64(c.batch), fewBlocksMix)/2 {
			t.Errorf("%d ranks of %d rows: a batch has rows of %.1f blocks", c.world, c.batch, mixed)
		}
	}
}

func TestPassIsChecked(t *testing.T) {
	t.Parallel()
	l := open(t, fakeSet(10), Options{BatchSize: 2, CollateOf: fakeCollate()})
	for text, p := range map[string]Pass{
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
		"cannot be":       {BatchSize: 1, Tail: TailPad, DropLast: true},
	} {
		if _, err := Open(context.Background(), SourceOf(fakeSet(3)), o); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want invalid with %q", o, err, text)
		}
	}
}

// marks is the column that says which rows count; without one all do.
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
		for _, tail := range []string{TailExact, TailDrop, TailPad} {
			for _, shuffle := range []string{Sequential, Window, Full} {
				const world = 4
				src := fakeSet(rows)
				o := Options{BatchSize: 3, Shuffle: shuffle, Tail: tail, Workers: 2, CollateOf: fakeCollate(), ReturnIndex: true}
				l := open(t, src, o)
				want, err := l.Batches(Pass{World: world, Rank: 2})
				if err != nil {
					t.Fatal(err)
				}
				var seen []int64
				for rank := range world {
					e, err := l.Start(context.Background(), Pass{World: world, Rank: rank})
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
				if full := rows / (world * 3) * world * 3; tail == TailDrop && int64(len(seen)) != full {
					t.Fatalf("%d rows, %q: %d seen, want %d", rows, shuffle, len(seen), full)
				}
				if tail != TailDrop {
					if int64(len(seen)) != rows {
						t.Fatalf("%d rows, %s, %q: %d seen", rows, tail, shuffle, len(seen))
					}
					onceEach(t, seen, o)
				}
			}
		}
	}
}

// A pass that begins at a position reads nothing of what lies before.
func TestPassReadsNothingBefore(t *testing.T) {
	t.Parallel()
	for _, shuffle := range []string{Sequential, Window, Full} {
		var mu sync.Mutex
		read := map[int64]bool{}
		src := newFake(400, &fakeColumn{name: "x", dtype: tensor.Int64, shape: fixedShape(), read: func(_ context.Context, row int64) error {
			mu.Lock()
			defer mu.Unlock()
			read[row] = true
			return nil
		}})
		l := open(t, src, Options{BatchSize: 7, Shuffle: shuffle, Prefetch: 5, ReturnIndex: true})
		e, err := l.Start(context.Background(), Pass{Epoch: 2, Position: 150, Rank: 1, World: 3})
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
		order := make([]int64, 400)
		l.cursor(2).fill(order, 0)
		for _, row := range order[:150] {
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
		e, err := open(t, bad(c.rows...), o).Start(context.Background(), Pass{Rank: c.world - 1, World: c.world})
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
	}{{TailExact, 1, false}, {TailExact, 3, true}, {TailExact, 2, false}, {TailDrop, 3, false}, {TailPad, 1, true}} {
		l := open(t, src, Options{BatchSize: 3, Tail: c.tail})
		e, err := l.Start(context.Background(), Pass{World: c.world})
		if err == nil {
			e.Close()
		}
		if (err != nil) != c.bad || c.bad && (!errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), ValidName)) {
			t.Errorf("tail %q on %d ranks: %v", c.tail, c.world, err)
		}
	}
}

func BenchmarkShare(b *testing.B) {
	for _, world := range []int{1, 8, 64, 1024} {
		b.Run(fmt.Sprint(world), func(b *testing.B) {
			o := newOrder(Window, 100_000_000, 1, 4000, 512<<20)
			s := shared(o, Pass{World: world, Rank: world / 2}, 256, TailExact)
			rows := make([]int64, 256)
			for b.Loop() {
				s.fill(rows, 5)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
		})
	}
}
