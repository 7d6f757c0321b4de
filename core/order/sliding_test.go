package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"deeplake/core/errs"
)

// layouts holds the blocks of sliding orders of tests, by Order.Layout.
var layouts sync.Map

// orderOf returns the order of an epoch, with the blocks that the order only names.
func orderOf(o Order) *EpochOrder {
	c := &EpochOrder{order: o, of: o.Rows}
	if starts, ok := layouts.Load(o.Layout); ok {
		c.blocks = starts.([]int64)
	}
	return c
}

// slidingOrder returns an order of sliding windows over given blocks.
func slidingOrder(open, count int64, seed uint64, starts []int64) Order {
	o := Order{Version: SlidingVersion, Kind: Window, Rows: starts[len(starts)-1], Seed: seed, OpenBlocks: open, Slices: count, Layout: digestOf(starts)}
	layouts.Store(o.Layout, starts)
	return o
}

// randomSliding returns sliding windows over up to 150 blocks, some of them empty.
func randomSliding(r *rand.Rand, rows int64) Order {
	rows = max(rows, 1)
	starts := []int64{0, rows}
	for range r.IntN(150) {
		starts = append(starts, r.Int64N(rows+1))
	}
	slices.Sort(starts)
	return slidingOrder(1+r.Int64N(9), 1<<r.IntN(6), r.Uint64(), starts)
}

// evenBlocks returns the first rows of blocks of equal size.
func evenBlocks(rows, size int64) (starts []int64) {
	for at := int64(0); at < rows; at += size {
		starts = append(starts, at)
	}
	return append(starts, rows)
}

func TestSlidingVisitsEachRowOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(31, 32))
	for range tries(400) {
		o := randomSliding(r, r.Int64N(3000))
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		onceEach(t, rowsOf(o, r.Uint64N(5)), o)
	}
}

// A prefix of the blocks is spread over the view: each of its equal parts has as many, by one or
// two.
func TestSpreadIsEven(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 7, 64, 1000, 4097} {
		blocks := spread(n, 7)
		rows := make([]int64, n)
		for i, b := range blocks {
			rows[i] = int64(b)
		}
		onceEach(t, rows, n)
		for _, first := range []int{n / 7, n / 3, n / 2} {
			const parts = 8
			var counts [parts]int
			for _, b := range blocks[:first] {
				counts[int(b)*parts/n]++
			}
			// The numbers from n on are left out of a power of two, so parts differ a little.
			if first >= 64 && slices.Max(counts[:])-slices.Min(counts[:]) > 4 {
				t.Errorf("%d of %d blocks: %v in each eighth", first, n, counts)
			}
		}
		if other := spread(n, 8); n > 64 && slices.Equal(other, blocks) {
			t.Errorf("%d blocks: two keys give one order", n)
		}
	}
}

// newSlides returns the order of a view with blocks of 8 MB.
func newSlides(t testing.TB, rows, rowBytes, windowBytes int64) *EpochOrder {
	t.Helper()
	c, err := New(Options{Shuffle: Window, Seed: 1, ShuffleBytes: windowBytes, Blocks: evenBlocks(rows, 8_000_000/rowBytes)}, rows, rowBytes)
	if err != nil {
		t.Fatal(err)
	}
	if c.order.Version != SlidingVersion {
		t.Fatalf("%+v does not slide", c.order)
	}
	return c
}

// The bytes that a pass must hold are bounded: those of blocks that a window has opened, as far as
// they are unread, and those of the blocks that the next window opens.
func TestSlidingMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, rowBytes, windowBytes int64 }{
		{1_200_000, 110_000, 512 << 20}, {1_200_000, 110_000, 2 << 30}, {400_000, 15_000, 512 << 20}, {4000, 3_000_000, 512 << 20}, {9_000_000, 400, 512 << 20},
	} {
		o := newSlides(t, c.rows, c.rowBytes, c.windowBytes)
		s := o.slidingOf(0)
		held, most := int64(0), int64(0)
		for w := range s.groups {
			next := int64(0)
			for place := w * s.open; place < min((w+1)*s.open, int64(len(s.blocks))); place++ {
				b := s.blocks[place]
				next += s.starts[b+1] - s.starts[b]
			}
			held += next
			most = max(most, held)
			held -= s.begins[w+1] - s.begins[w]
		}
		if got := most * c.rowBytes; got > slidingMemory*c.windowBytes*21/20 {
			t.Errorf("%+v: %d bytes are held, want %d windows of %d", c, got, slidingMemory, c.windowBytes)
		}
		t.Logf("%+v: %d blocks a window, %d slices, %d windows, %.2f of shuffle_bytes held", c, o.order.OpenBlocks, o.order.Slices, len(s.begins)-1, float64(most*c.rowBytes)/float64(c.windowBytes))
	}
}

// Sliding windows mix a set that is sorted by class as well as windows of smaller blocks do. See
// TestShuffleQuality.
func TestSlidingQuality(t *testing.T) {
	t.Parallel()
	const rows, classes, seen, batch = 1_200_000, 1000, 64_000, 256
	for _, c := range []struct {
		name                 string
		windowBytes          int64
		want, full, atTheEnd int
	}{{"2 GB", 2 << 30, 900, 230, 200}, {"512 MiB", 512 << 20, 820, 170, 115}} {
		o := newSlides(t, rows, 110_000, c.windowBytes)
		order := make([]int64, rows)
		w := o.Cursor(0)
		w.Fill(order, 0)
		met := map[int64]bool{}
		for _, row := range order[:seen] {
			met[row/(rows/classes)] = true
		}
		distinct := func(from, to int64) float64 {
			sum, n := 0, 0
			for ; from+batch <= to; from += batch {
				in := map[int64]bool{}
				for _, row := range order[from : from+batch] {
					in[row/(rows/classes)] = true
				}
				sum, n = sum+len(in), n+1
			}
			return float64(sum) / float64(n)
		}
		first := w.sliding.begins[w.order.Slices] // windows have all their slices from here on
		full, end := distinct(first, rows-seen), distinct(rows-10*batch, rows)
		t.Logf("%s: %d classes in %d rows; %.1f a batch, %.1f at the end; %.1f in the first 10", c.name, len(met), seen, full, end, distinct(0, 10*batch))
		if len(met) < c.want || full < float64(c.full) || end < float64(c.atTheEnd) {
			t.Errorf("%s: %d classes in %d rows, %.1f a batch, %.1f at the end; want %d, %d and %d", c.name, len(met), seen, full, end, c.want, c.full, c.atTheEnd)
		}
	}
}

// A rank takes rows of its own blocks, in all windows of a block.
func TestRanksShareSlidingBlocks(t *testing.T) {
	t.Parallel()
	const rows, rowBytes, block = 300_000, 110_000, 8_000_000 / 110_000
	for _, c := range []struct {
		world int
		batch int64
		most  float64 // blocks that a rank reads, as a multiple of its share
	}{{2, 64, 1.1}, {4, 64, 1.2}, {8, 256, 1.15}, {16, 64, 1.4}} {
		part, _ := readBlocks(newSlides(t, rows, rowBytes, 512<<20), block, c.world, c.batch)
		part *= float64(c.world)
		t.Logf("%d ranks of %d rows: %.2f of its share of blocks", c.world, c.batch, part)
		if part > c.most {
			t.Errorf("%d ranks of %d rows: a rank reads %.2f of its share of the blocks, want at most %.2f", c.world, c.batch, part, c.most)
		}
	}
}

// A rank takes rows of all of the view, also where the numbers of blocks and of ranks are powers of
// two. Of a set that is sorted by class it would miss classes otherwise.
func TestRanksSeeTheWholeView(t *testing.T) {
	t.Parallel()
	const perBlock = 72
	for _, blocks := range []int64{4096, 4095, 4000, 3072} {
		for _, world := range []int{8, 16} {
			o := newSlides(t, blocks*perBlock, 8_000_000/perBlock, 512<<20)
			s := o.Share(Pass{World: world, Rank: world / 2}, 32, TailExact)
			counts, rows := make([]float64, world), make([]int64, 32)
			for seq := range s.Steps() - 1 {
				s.Fill(rows, seq)
				for _, row := range rows {
					counts[row*int64(world)/(blocks*perBlock)]++
				}
			}
			sum := 0.0
			for _, c := range counts {
				sum += c
			}
			most := slices.Max(counts) / sum * float64(world)
			t.Logf("%d blocks, %d ranks: the part of the view that gives most gives %.2f times its share", blocks, world, most)
			if most > 2 {
				t.Errorf("%d blocks, %d ranks: a part of the view gives %.2f times its share of a rank's rows, want at most 2", blocks, world, most)
			}
		}
	}
}

// No window needs a block after its lifetime.
func TestSlidingLifetime(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(33, 34))
	for range tries(200) {
		o := orderOf(randomSliding(r, 5000))
		s, most := o.slidingOf(1), o.Share(Pass{}, 1, TailExact).Lifetime()
		for w := range int64(len(s.begins)) - 1 {
			s.each(w, func(number int64) {
				if age := w - number/s.count/s.open; age < 0 || age > int64(most) {
					t.Fatalf("%+v: window %d needs a block at the age of %d windows, want at most %d", o.order, w, age, most)
				}
			})
		}
	}
}

func TestSlidingIsPinned(t *testing.T) {
	t.Parallel()
	w := orderOf(slidingOrder(3, 4, 42, evenBlocks(1000, 7))).Cursor(3)
	got := fmt.Sprint(w.row(0), w.row(1), w.row(500), w.row(999))
	if want := "833 156 724 394"; got != want {
		t.Errorf("rows %s, want %s: order version 4 must never change", got, want)
	}
}

func TestSlidingOrderCheck(t *testing.T) {
	t.Parallel()
	good := slidingOrder(3, 4, 1, evenBlocks(100, 7))
	for name, change := range map[string]func(*Order){
		"rows": func(o *Order) { o.Rows = -1 }, "kind": func(o *Order) { o.Kind = "random" }, "open": func(o *Order) { o.OpenBlocks = 0 }, "all open": func(o *Order) { o.OpenBlocks = 1 << 59 },
		"slices": func(o *Order) { o.Slices = 3 }, "many slices": func(o *Order) { o.Slices = 64 }, "layout": func(o *Order) { o.Layout = "" },
	} {
		o := good
		change(&o)
		if err := o.Check(); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want %s", name, err, errs.Invalid)
		}
	}
	for name, blocks := range map[string][]int64{"short": {0, 10}, "falling": {0, 90_000, 10, 100_000}, "late": {5, 100_000}} {
		_, err := New(Options{Shuffle: Window, ShuffleBytes: 512 << 20, Blocks: blocks}, 100_000, 110_000)
		if !errs.Is(err, errs.Internal) {
			t.Errorf("%s: %v, want %s", name, err, errs.Internal)
		}
	}
}

func BenchmarkSliding(b *testing.B) {
	o := newSlides(b, 1_200_000, 110_000, 512<<20)
	b.Run("plan", func(b *testing.B) {
		for epoch := uint64(0); b.Loop(); epoch++ {
			o.Cursor(epoch)
		}
	})
	b.Run("fill", func(b *testing.B) {
		w, rows, pos := o.Cursor(0), make([]int64, 256), int64(0)
		for b.Loop() {
			w.Fill(rows, pos)
			if pos += 256; pos > 1_199_000 {
				pos = 0
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
	})
}
