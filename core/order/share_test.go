package order

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// tries is the number of trials of a property: n, or the environment's number.
func tries(n int) int {
	if more, err := strconv.Atoi(os.Getenv("DEEPLAKE_ROUNDS")); err == nil {
		return more
	}
	return n
}

// shared returns a share as tests make it.
func shared(o Order, p Pass, batch int64, tail string) *Share {
	return orderOf(o).Share(p, batch, tail)
}

// randomOrder draws an order of few rows, of any kind.
func randomOrder(r *rand.Rand) Order {
	rows := r.Int64N(2000)
	if r.IntN(4) == 0 {
		rows = r.Int64N(20)
	}
	switch r.IntN(5) {
	case 0:
		return newOrder(Sequential, rows, r.Uint64(), 0, 0)
	case 1:
		return newOrder(Full, rows, r.Uint64(), 0, 0)
	case 2:
		return randomSliding(r, rows+1)
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

// checkShares fails unless the shares of all ranks satisfy their contract.
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
	ranks := make([]*Share, p.World)
	for i := range ranks {
		p.Rank = i
		ranks[i] = shared(o, p, batch, tail)
		if got := ranks[i].Steps(); got != steps {
			t.Fatalf("%s: rank %d has %d steps, want %d", what, i, got, steps)
		}
	}
	for seq := range steps {
		base := p.Position + seq*global
		want := slices.Clone(order[base:min(base+global, o.Rows)])
		var got []int64
		least, most := int64(math.MaxInt64), int64(0)
		for i, s := range ranks {
			rows := make([]int64, s.Size(seq))
			s.Fill(rows, seq)
			valid := s.Valid(seq)
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
		if at := ranks[0].Behind(seq); at != base+int64(len(want)) {
			t.Fatalf("%s: step %d ends at %d, want %d", what, seq, at, base+int64(len(want)))
		}
	}
	for _, s := range ranks {
		checkLocal(t, what, s)
	}
}

// checkRepeats looks at the size of a batch and the rows in it that do not count.
func checkRepeats(t *testing.T, what string, s *Share, order, rows []int64, seq int64) {
	t.Helper()
	valid, n := s.Valid(seq), s.reach(seq)
	base := s.from + seq*s.step()
	switch {
	case n == s.step() && (valid != s.batch || s.Size(seq) != s.batch):
		t.Fatalf("%s: a full step of rank %d has %d of %d rows", what, s.rank, valid, s.Size(seq))
	case s.tail == TailPad && s.Size(seq) != s.batch:
		t.Fatalf("%s: %d rows of rank %d in step %d, want all", what, s.Size(seq), s.rank, seq)
	case s.tail == TailExact && s.Size(seq) != max(valid, 1):
		t.Fatalf("%s: %d rows of rank %d in step %d, %d valid", what, s.Size(seq), s.rank, seq, valid)
	case s.Marked(seq) != (s.tail == TailPad || s.tail == TailExact && n < s.world):
		t.Fatalf("%s: marked is %v for %d rows", what, s.Marked(seq), n)
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
func checkLocal(t *testing.T, what string, s *Share) {
	t.Helper()
	var all []int64
	for seq := range s.Steps() {
		rows := make([]int64, s.Size(seq))
		s.Fill(rows, seq)
		all = append(all, rows...)
	}
	if int64(len(all)) != s.Length() {
		t.Fatalf("%s: rank %d has %d local positions, says %d", what, s.rank, len(all), s.Length())
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
	for at := int64(0); at < s.Length(); {
		begin, end := s.Window(at)
		if begin > at || at > 0 && begin != at || end <= at || end > s.Length() {
			t.Fatalf("%s: rank %d: the window of local position %d is [%d, %d)", what, s.rank, at, begin, end)
		}
		at = end
	}
	for at := range s.Length() { // a window that was cut may begin anywhere
		if begin, end := s.Window(at); begin > at || end <= at || end > s.Length() {
			t.Fatalf("%s: rank %d: local position %d is said to be in the window [%d, %d)", what, s.rank, at, begin, end)
		}
	}
}

// World sizes with equal global batches take the same ones, and each resumes from any other's
// state.
func TestResumeOnAnyWorldSize(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Sequential, Window, Full} {
		o := newOrder(kind, 1003, 7, 60_000, 6<<20)
		global := func(p Pass, batch int64) (batches [][]int64) {
			for seq := range shared(o, p, batch, TailExact).Steps() {
				var rows []int64
				for rank := range p.World {
					p.Rank = rank
					s := shared(o, p, batch, TailExact)
					own := make([]int64, s.Size(seq))
					s.Fill(own, seq)
					rows = append(rows, own[:s.Valid(seq)]...)
				}
				slices.Sort(rows)
				batches = append(batches, rows)
			}
			return batches
		}
		want, every := global(Pass{World: 1}, 24), 1
		if testing.Short() {
			every = 5
		}
		for _, world := range []int{1, 2, 3, 4, 6, 8, 12, 24} {
			batch := int64(24 / world)
			for done := 0; done < len(want); done += every {
				got := global(Pass{World: world, Position: int64(done * 24)}, batch)
				if fmt.Sprint(got) != fmt.Sprint(want[done:]) {
					t.Fatalf("%q from step %d on %d ranks: other batches", kind, done, world)
				}
			}
		}
		for _, c := range []struct{ first, then int }{{7, 2}, {2, 7}, {5, 1}, {1, 13}} {
			// the global batch becomes another
			p := Pass{World: c.first}
			for done := range shared(o, p, 5, TailExact).Steps() {
				at := shared(o, p, 5, TailExact).Behind(done)
				rows := slices.Concat(append(global(p, 5)[:done+1], global(Pass{World: c.then, Position: at}, 9)...)...)
				if int64(len(rows)) != o.Rows {
					t.Fatalf("%q: %d rows on %d ranks and then %d, want %d", kind, len(rows), c.first, c.then, o.Rows)
				}
				onceEach(t, rows, c)
			}
		}
	}
}

// readBlocks counts the blocks that a rank reads of an epoch, as a share of all. It also counts the
// blocks behind the rows of a batch.
func readBlocks(c *EpochOrder, blockRows int64, world int, batch int64) (part, mixed float64) {
	s := c.Share(Pass{World: world, Rank: world / 2}, batch, TailExact)
	rows := make([]int64, batch)
	batches := 0
	seen := map[int64]bool{}
	for seq := range s.Steps() - 1 {
		s.Fill(rows, seq)
		own := map[int64]bool{}
		for _, row := range rows {
			own[row/blockRows] = true
			seen[row/blockRows] = true
		}
		mixed += float64(len(own))
		batches++
	}
	return float64(len(seen)) / (float64(c.of) / float64(blockRows)), mixed / float64(batches)
}

// A rank of a windowed shuffle reads little more than its share of the blocks, not all of them.
func TestRanksShareBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		world int
		batch int64
		most  float64 // of its share
	}{{2, 64, 1.05}, {4, 64, 1.1}, {8, 64, 1.15}, {8, 256, 1.1}, {16, 256, 1.15}, {64, 64, 2.2}} {
		o := newOrder(Window, 300_000, 3, 110_000, 512<<20)
		part, mixed := readBlocks(orderOf(o), o.BlockRows, c.world, c.batch)
		t.Logf("%d ranks of %d rows: a rank reads %.3f of the blocks, %.2f of its share; %.1f blocks in a batch", c.world, c.batch, part, part*float64(c.world), mixed)
		if part*float64(c.world) > c.most {
			t.Errorf("%d ranks of %d rows: a rank reads %.2f of its share of the blocks, want at most %.2f", c.world, c.batch, part*float64(c.world), c.most)
		}
		if mixed < min(float64(c.batch), fewBlocksMix) {
			t.Errorf("%d ranks of %d rows: a batch has rows of %.1f blocks", c.world, c.batch, mixed)
		}
	}
}

// nodeBytes counts what nodes fetch of an epoch, as a multiple of their share of the rows. The
// ranks of a node share a cache of pages of 256 KiB.
func nodeBytes(c *EpochOrder, rowBytes int64, world, local int, batch int64) float64 {
	const page = 256 << 10
	pages, nodes := 0, 0
	for node := 0; node < world/local; node += max(world/local/3, 1) {
		seen := map[int64]bool{}
		for rank := range local {
			s := c.Share(Pass{World: world, Rank: node*local + rank}, batch, TailExact)
			rows := make([]int64, batch)
			for seq := range s.Steps() {
				rows = rows[:s.Size(seq)]
				s.Fill(rows, seq)
				for _, row := range rows {
					for p := row * rowBytes / page; p*page < (row+1)*rowBytes; p++ {
						seen[p] = true
					}
				}
			}
		}
		pages, nodes = pages+len(seen), nodes+1
	}
	return float64(pages*page) / float64(c.of*rowBytes) / float64(nodes) * float64(world/local)
}

// Nodes with a cache each fetch hardly more than the dataset, all together. Windows that rise from
// few blocks, and pages that the edges of two blocks share, cost more of a small dataset.
func TestNodesFetchTheirShare(t *testing.T) {
	t.Parallel()
	const rowBytes = 110_000
	for _, c := range []struct {
		rows         int64
		world, local int
		batch        int64
		most         float64
	}{
		{90_000, 32, 2, 32, 1.12}, {90_000, 32, 2, 64, 1.08}, {90_000, 64, 8, 32, 1.06}, {90_000, 16, 1, 64, 1.14}, {90_000, 16, 4, 32, 1.07},
		{30_000, 32, 2, 32, 1.16}, {30_000, 64, 8, 32, 1.08}, {9000, 16, 4, 32, 1.21}, {9000, 32, 2, 8, 1.4},
	} {
		o := Options{Shuffle: Window, Seed: 1, ShuffleBytes: defaultShuffleBytes}
		if o.Slides(c.rows, rowBytes) {
			o.Blocks = evenBlocks(c.rows, 8_000_000/rowBytes)
		}
		made, err := New(o, c.rows, rowBytes)
		if err != nil {
			t.Fatal(err)
		}
		got := nodeBytes(made, rowBytes, c.world, c.local, c.batch)
		t.Logf("%d rows, %d ranks of %d rows, %d a node: %.3f times the dataset", c.rows, c.world, c.batch, c.local, got)
		if got > c.most {
			t.Errorf("%d rows, %d ranks of %d rows, %d a node: nodes fetch %.3f times the dataset, want at most %.2f", c.rows, c.world, c.batch, c.local, got, c.most)
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
				s.Fill(rows, 5)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
		})
	}
}

// BenchmarkRanksRead counts blocks instead of time, for 300,000 rows of 110 kB. It reports the
// blocks that a rank reads in an epoch, as a multiple of its share, and the blocks behind one of
// its batches.
func BenchmarkRanksRead(b *testing.B) {
	for _, c := range []struct{ window, batch int64 }{{512, 32}, {512, 256}, {2048, 256}} {
		for world := 1; world <= 64; world *= 2 {
			b.Run(fmt.Sprintf("%d/%d/%d", c.window, c.batch, world), func(b *testing.B) {
				o := newSlides(b, 300_000, 110_000, c.window<<20)
				var part, mixed float64
				for b.Loop() {
					part, mixed = readBlocks(o, 8_000_000/110_000, world, c.batch)
				}
				b.ReportMetric(part*float64(world), "shares")
				b.ReportMetric(mixed, "blocks")
			})
		}
	}
}

// Ranks keep their shares, for all tails, in the middle of an epoch.
func TestSharesArePinned(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]uint64{Sequential: 0xdb8bb831f1cded2a, Window: 0xd4b1cae12a559b28, Full: 0x4b4390c5f37ab868} {
		sum := fnv.New64a()
		o := newOrder(kind, 10_003, 7, 60_000, 6<<20)
		for _, world := range []int{1, 3, 8, 64} {
			for _, tail := range []string{TailExact, TailDrop, TailPad} {
				for rank := range world {
					s := shared(o, Pass{Epoch: 2, Position: 100, Rank: rank, World: world}, 5, tail)
					for seq := range s.Steps() {
						rows := make([]int64, s.Size(seq))
						s.Fill(rows, seq)
						_, _ = fmt.Fprintln(sum, rows, s.Valid(seq))
					}
				}
			}
		}
		if got := sum.Sum64(); got != want {
			t.Errorf("%q: %#x, want %#x: order version %d must never change", kind, got, want, o.Version)
		}
	}
}
