package order

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"deeplake/core/errs"
)

func windowOrder(rows, block, first, full int64, seed uint64) Order {
	return Order{Version: WindowVersion, Kind: Window, Rows: rows, Seed: seed, BlockRows: block, FirstBlocks: first, WindowBlocks: full}
}

func rowsOf(o Order, epoch uint64) []int64 {
	rows := make([]int64, o.Rows)
	orderOf(o).Cursor(epoch).Fill(rows, 0)
	return rows
}

// onceEach fails unless rows holds each of [0, len(rows)) once.
func onceEach(t *testing.T, rows []int64, what any) {
	t.Helper()
	seen := make([]bool, len(rows))
	for pos, r := range rows {
		if r < 0 || r >= int64(len(rows)) || seen[r] {
			t.Fatalf("%+v: position %d gives row %d, outside or a second time", what, pos, r)
		}
		seen[r] = true
	}
}

func TestOrderVisitsEachRowOnce(t *testing.T) {
	t.Parallel()
	for rows := int64(0); rows <= 300; rows++ {
		for _, block := range []int64{1, 2, 3, 7, 64, 1000} {
			for _, w := range [][2]int64{{1, 1}, {1, 4}, {2, 5}, {3, 3}, {8, 64}} {
				o := windowOrder(rows, block, w[0], w[1], uint64(rows))
				onceEach(t, rowsOf(o, 5), o)
			}
		}
		for _, kind := range []string{Sequential, Full} {
			o := newOrder(kind, rows, 3, 1, 1)
			onceEach(t, rowsOf(o, 5), o)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		first := 1 + r.Int64N(20)
		o := windowOrder(r.Int64N(60_000), 1+r.Int64N(50), first, first+r.Int64N(100), r.Uint64())
		onceEach(t, rowsOf(o, r.Uint64()), o)
	}
}

// Any position gives the same row by itself as in a run, from any position before.
func TestOrderIsRandomAccess(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		first := 1 + r.Int64N(4)
		o := windowOrder(1+r.Int64N(20_000), 1+r.Int64N(9), first, first+r.Int64N(30), r.Uint64())
		if r.IntN(2) == 0 {
			o = randomSliding(r, 20_000)
		}
		all := rowsOf(o, 2)
		w := orderOf(o).Cursor(2)
		for range 500 {
			pos := r.Int64N(o.Rows)
			if got := w.row(pos); got != all[pos] {
				t.Fatalf("%+v: row at %d is %d, in a run %d", o, pos, got, all[pos])
			}
		}
	}
}

func TestOrderDiffers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Window, Full} {
		base := newOrder(kind, 5000, 1, 40_000, 8<<20)
		other := base
		other.Seed = 2
		a := rowsOf(base, 0)
		if got := rowsOf(base, 0); fmt.Sprint(got) != fmt.Sprint(a) {
			t.Errorf("%s: the same order twice differs", kind)
		}
		for name, b := range map[string][]int64{"epoch": rowsOf(base, 1), "seed": rowsOf(other, 0)} {
			same := 0
			for i := range a {
				if a[i] == b[i] {
					same++
				}
			}
			if same > 30 { // one in 5000 places agrees by chance
				t.Errorf("%s: another %s leaves %d of 5000 rows in place", kind, name, same)
			}
		}
	}
}

func TestWindowsRampUp(t *testing.T) {
	t.Parallel()
	o := windowOrder(100_000, 10, 4, 64, 9)
	w := newCursor(o, 0)
	var sizes []int64
	for pos := int64(0); pos < o.Rows; pos += w.window.rows {
		w.row(pos)
		if w.window.begin != pos {
			t.Fatalf("window of position %d begins at %d", pos, w.window.begin)
		}
		sizes = append(sizes, w.window.blocks)
	}
	for i, want := range []int64{4, 8, 16, 32, 64, 64} {
		if sizes[i] != want {
			t.Fatalf("windows of %v blocks, want 4, 8, 16, 32, 64 ...", sizes)
		}
	}
	for _, s := range sizes[5:] {
		if s > 64 || s < 32 {
			t.Errorf("windows of %v blocks: want 32 to 64 after the ramp", sizes)
		}
	}
}

func TestWindowIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	for _, rowBytes := range []int64{0, 8, 500, 40_000, 3 << 20, 1 << 33} {
		o := newOrder(Window, 1_000_000, 0, rowBytes, 512<<20)
		if err := o.Check(); err != nil {
			t.Fatalf("rows of %d bytes: %v", rowBytes, err)
		}
		if got := o.WindowBlocks * o.BlockRows * rowBytes; got > 512<<20 && o.WindowBlocks*o.BlockRows > 1 {
			t.Errorf("rows of %d bytes: a window holds %d bytes", rowBytes, got)
		}
	}
}

func TestOrderCheck(t *testing.T) {
	t.Parallel()
	good := windowOrder(10, 2, 1, 4, 0)
	for name, c := range map[string]struct {
		change func(*Order)
		want   errs.Kind
	}{
		"version":         {func(o *Order) { o.Version = 5 }, errs.Unsupported},
		"retired":         {func(o *Order) { o.Version = 1 }, errs.Unsupported},
		"other kind":      {func(o *Order) { o.Kind = Full }, errs.Unsupported},
		"rows":            {func(o *Order) { o.Rows = -1 }, errs.Invalid},
		"kind":            {func(o *Order) { o.Kind = "random" }, errs.Invalid},
		"empty block":     {func(o *Order) { o.BlockRows = 0 }, errs.Invalid},
		"falling windows": {func(o *Order) { o.FirstBlocks = 9 }, errs.Invalid},
		"huge windows":    {func(o *Order) { o.WindowBlocks = 1 << 62 }, errs.Invalid},
	} {
		o := good
		c.change(&o)
		if err := o.Check(); !errs.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

// A set sorted by class, as folders of images are: 1,000 classes, 1.2 M rows of 110 KB. Random
// order shows every class within 64 k rows; the bar is 870 with a window of 2 GB.
func TestShuffleQuality(t *testing.T) {
	t.Parallel()
	const rows, classes, seen = 1_200_000, 1000, 64_000
	for _, c := range []struct {
		name        string
		windowBytes int64
		want        int
		// mean distinct classes in a batch of 256 once windows are full; random order gives 226
		wantBatch int
	}{{"2 GB", 2 << 30, 950, 215}, {"512 MiB", 512 << 20, 950, 180}} {
		o := newOrder(Window, rows, 1, 110_000, c.windowBytes)
		w := newCursor(o, 0)
		met := map[int64]bool{}
		batches, distinct := 0, 0
		for pos := int64(0); pos < seen; pos += 256 {
			batch := map[int64]bool{}
			for i := pos; i < min(pos+256, seen); i++ {
				class := w.row(i) / (rows / classes)
				met[class], batch[class] = true, true
			}
			if w.window.blocks == o.WindowBlocks {
				batches++
				distinct += len(batch)
			}
		}
		if len(met) < c.want {
			t.Errorf("%s: %d classes in %d rows, want %d", c.name, len(met), seen, c.want)
		}
		if batches == 0 || distinct/batches < c.wantBatch {
			t.Errorf("%s: %d classes in %d full batches, want %d each", c.name, distinct, batches, c.wantBatch)
		}
		t.Logf("%s: %d classes in %d rows; %.1f a batch; blocks of %d rows, window %d blocks", c.name, len(met), seen, float64(distinct)/float64(batches), o.BlockRows, o.WindowBlocks)
	}
}

// The position of a row must say nothing about where in the epoch it comes.
func TestShuffleRankCorrelation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		o := newOrder(Window, 300_000, seed, 40_000, 512<<20)
		rows := rowsOf(o, 0)
		pos := make([]int64, len(rows))
		for i := range pos {
			pos[i] = int64(i)
		}
		// blocks are the independent draws
		limit := 5 / math.Sqrt(float64(o.Rows)/float64(o.BlockRows))
		if rho := correlation(rows, pos); math.Abs(rho) > limit {
			t.Errorf("seed %d: rank correlation %.4f, want below %.4f", seed, rho, limit)
		}
	}
}

func TestOrderIsPinned(t *testing.T) {
	t.Parallel()
	w := newCursor(windowOrder(1000, 7, 4, 16, 42), 3)
	got := fmt.Sprint(w.row(0), w.row(1), w.row(500), w.row(999))
	if want := "860 187 544 819"; got != want {
		t.Errorf("rows %s, want %s: order version 3 must never change", got, want)
	}
}

func BenchmarkOrder(b *testing.B) {
	for _, kind := range []string{Full, Window} {
		b.Run(kind, func(b *testing.B) {
			w := newCursor(newOrder(kind, 1_300_000, 1, 110_000, 512<<20), 0)
			rows := make([]int64, 256)
			pos := int64(0)
			for b.Loop() {
				w.Fill(rows, pos)
				if pos += 256; pos > 1_299_000 {
					pos = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
		})
	}
}
