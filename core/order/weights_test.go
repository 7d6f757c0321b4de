package order

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

func weigh(t testing.TB, values ...float64) *Weights {
	t.Helper()
	w, err := NewWeights(values)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// weighted returns the epoch order of draws from a view of so many rows, with samples of 40 kB.
func weighted(t testing.TB, o Options) *EpochOrder {
	t.Helper()
	o.ShuffleBytes = cmp.Or(o.ShuffleBytes, defaultShuffleBytes)
	c, err := New(o, o.Weights.Rows(), 40_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.order.Check(); err != nil {
		t.Fatalf("%+v: %v", c.order, err)
	}
	return c
}

func drawsOf(c *EpochOrder, epoch uint64) []int64 {
	rows := make([]int64, c.order.Rows)
	c.Cursor(epoch).Fill(rows, 0)
	return rows
}

func TestWeightsRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   string
	}{
		"negative":  {[]float64{1, -0.5}, "weight of row 1 is -0.5"},
		"nan":       {[]float64{math.NaN()}, "weight of row 0 is NaN"},
		"infinite":  {[]float64{1, 1, math.Inf(1)}, "weight of row 2 is +Inf"},
		"all zeros": {[]float64{0, 0, 0}, "all 3 weights are 0"},
	} {
		_, err := NewWeights(c.values)
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	one := weigh(t, 1, 0, 1)
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"too few":            {Options{Weights: weigh(t, 1, 1)}, "2 weights for 3 rows"},
		"length of nothing":  {Options{Length: 4}, "give weights"},
		"distinct":           {Options{Distinct: true}, "give weights"},
		"negative length":    {Options{Weights: one, Length: -1}, "length is -1"},
		"more than there is": {Options{Weights: one, Length: 3, Distinct: true}, "only 2 rows have a weight above 0"},
	} {
		if _, err := New(c.o, 3, 40_000); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Independent draws must have the frequencies of the weights, by a chi square test, in each epoch.
// Pairs of positions must, too: one draw must not depend on another.
func TestDrawsFollowWeights(t *testing.T) {
	t.Parallel()
	values := []float64{0, 1, 2, 3, 0.5, 0, 10, 1e-9, 3.5, 7}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	for _, shuffle := range []string{Sequential, Full} {
		c := weighted(t, Options{Weights: weigh(t, values...), Shuffle: shuffle, Length: 400_000, Seed: 5})
		for epoch := range uint64(2) {
			rows := drawsOf(c, epoch)
			count, pairs := make([]float64, len(values)), make([]float64, len(values)*len(values))
			for i, r := range rows {
				count[r]++
				pairs[int(r)*len(values)+int(rows[(i+1)%len(rows)])]++
			}
			chi, free := 0.0, 0.0
			for r, v := range values {
				want := v / sum * float64(len(rows))
				if v == 0 && count[r] > 0 {
					t.Fatalf("row %d of weight 0 was drawn %v times", r, count[r])
				}
				if want > 5 {
					chi += (count[r] - want) * (count[r] - want) / want
					free++
				}
			}
			if limit := free + 5*math.Sqrt(2*free); chi > limit {
				t.Errorf("%q, epoch %d: chi square %.1f, want at most %.1f: %v", shuffle, epoch, chi, limit, count)
			}
			chi, free = 0, 0
			for i, got := range pairs {
				if want := values[i/len(values)] * values[i%len(values)] / sum / sum * float64(len(rows)); want > 5 {
					chi += (got - want) * (got - want) / want
					free++
				}
			}
			if limit := free + 5*math.Sqrt(2*free); chi > limit {
				t.Errorf("%q, epoch %d: chi square of pairs %.1f, want at most %.1f", shuffle, epoch, chi, limit)
			}
		}
	}
}

// The table must hold exactly the shares that it was made of.
func TestAliasIsExact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 8))
	for range 200 {
		values := make([]float64, 1+r.IntN(300))
		for i := range values {
			values[i] = math.Exp(r.NormFloat64() * 8)
			if r.IntN(4) == 0 {
				values[i] = 0
			}
		}
		values[r.IntN(len(values))] = 1
		w := weigh(t, values...)
		a := newAlias(w)
		held := make([]float64, len(values))
		for bin := range a.cut {
			if a.cut[bin] > a.size {
				t.Fatalf("bin %d is cut at %d of %d", bin, a.cut[bin], a.size)
			}
			held[bin] += float64(a.cut[bin])
			held[a.other[bin]] += float64(a.size - a.cut[bin])
		}
		sum := 0.0
		for _, v := range w.values {
			sum += v
		}
		for i, v := range w.values {
			want, got := v/sum, held[i]/float64(a.size)/float64(len(values))
			if v == 0 && got != 0 || math.Abs(got-want) > 1e-12*want+1e-15 {
				t.Fatalf("row %d of %d has %v of the table, want %v", i, len(values), got, want)
			}
		}
	}
}

// Drawn in windows, a row comes as often as its weight says, to a whole number or its neighbour.
func TestWindowedDrawsAreStratified(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 8))
	values := make([]float64, 20_000)
	sum := 0.0
	for i := range values {
		values[i] = float64(r.IntN(5)) * r.Float64()
		sum += values[i]
	}
	c := weighted(t, Options{Weights: weigh(t, values...), Shuffle: Window, ShuffleBytes: 64 << 20, Length: 50_000})
	if c.order.Kind != Window || c.order.BlockRows < 2 {
		t.Fatalf("order %+v, want blocks", c.order)
	}
	total := make([]int, len(values))
	const epochs = 20
	for epoch := range uint64(epochs) {
		count := make([]int, len(values))
		for _, row := range drawsOf(c, epoch) {
			count[row]++
			total[row]++
		}
		for row, n := range count {
			// Parts that only touch a row's share add to both sides.
			if want := values[row] / sum * 50_000; math.Abs(float64(n)-want) > 2 || values[row] == 0 && n > 0 {
				t.Fatalf("epoch %d: row %d came %d times, want %.2f", epoch, row, n, want)
			}
		}
	}
	chi := 0.0
	for row, n := range total {
		if want := values[row] / sum * 50_000 * epochs; want > 0 {
			chi += (float64(n) - want) * (float64(n) - want) / want
		}
	}
	if chi > 20_000 { // strata leave less than the variance of independent draws
		t.Errorf("chi square over %d epochs is %.0f, want below the %d of independent draws", epochs, chi, len(values))
	}
}

func TestDrawsOnce(t *testing.T) {
	t.Parallel()
	values := []float64{5, 0, 1, 2, 0, 8, 3, 1, 4, 0.25}
	for _, shuffle := range []string{Sequential, Window} {
		for _, length := range []int64{0, 1, 5, 8} {
			c := weighted(t, Options{Weights: weigh(t, values...), Distinct: true, Length: length, Shuffle: shuffle})
			if want := cmp.Or(length, 8); c.order.Rows != want {
				t.Fatalf("%d draws, want %d", c.order.Rows, want)
			}
			for epoch := range uint64(50) {
				rows := drawsOf(c, epoch)
				slices.Sort(rows)
				for i, row := range rows {
					if values[row] == 0 || i > 0 && rows[i-1] == row {
						t.Fatalf("rows %v: one of weight 0, or twice", rows)
					}
				}
			}
		}
	}
}

// Without replacement the first row has the odds of the weights, and the second the odds among the
// remaining rows.
func TestDrawsOnceFollowWeights(t *testing.T) {
	t.Parallel()
	values := []float64{1, 2, 3, 4}
	c := weighted(t, Options{Weights: weigh(t, values...), Distinct: true, Length: 2})
	const epochs = 60_000
	count := map[[2]int64]float64{}
	for epoch := range uint64(epochs) {
		rows := drawsOf(c, epoch)
		count[[2]int64{rows[0], rows[1]}]++
	}
	chi := 0.0
	for a, va := range values {
		for b, vb := range values {
			if a == b {
				continue
			}
			want := va / 10 * vb / (10 - va) * epochs
			d := count[[2]int64{int64(a), int64(b)}] - want
			chi += d * d / want
		}
	}
	if chi > 11+5*math.Sqrt(22) {
		t.Errorf("chi square of ordered pairs is %.1f over 11 degrees: %v", chi, count)
	}
}

// Any position gives the same row by itself as in a run, and epochs and seeds differ.
func TestDrawsAreRandomAccess(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 8))
	values := make([]float64, 3000)
	for i := range values {
		values[i] = r.Float64()
	}
	for _, o := range []Options{{}, {Shuffle: Full, Length: 7000}, {Shuffle: Window, ShuffleBytes: 8 << 20}, {Distinct: true}, {Distinct: true, Shuffle: Window, Length: 1000}} {
		o.Weights = weigh(t, values...)
		c := weighted(t, o)
		all := drawsOf(c, 3)
		w := c.Cursor(3)
		for range 2000 {
			pos := r.Int64N(c.order.Rows)
			if got := w.row(pos); got != all[pos] {
				t.Fatalf("%+v: row at %d is %d, in a run %d", c.order, pos, got, all[pos])
			}
		}
		if got := drawsOf(c, 3); !slices.Equal(got, all) {
			t.Errorf("%+v: the same epoch twice differs", c.order)
		}
		o.Seed = 1
		for what, b := range map[string][]int64{"epoch": drawsOf(c, 4), "seed": drawsOf(weighted(t, o), 3)} {
			same := 0
			for i := range b {
				if b[i] == all[i] {
					same++
				}
			}
			if same > 40 {
				t.Errorf("%+v: another %s leaves %d of %d in place", c.order, what, same, len(b))
			}
		}
	}
}

// States must differ if, and only if, the draws differ.
func TestOrderPinsWeights(t *testing.T) {
	t.Parallel()
	base := weighted(t, Options{Weights: weigh(t, 1, 2, 3)}).order
	if again := weighted(t, Options{Weights: weigh(t, 1, 2, 3)}).order; again != base {
		t.Errorf("the same weights give %+v and %+v", base, again)
	}
	for name, o := range map[string]Options{
		"weights": {Weights: weigh(t, 1, 2, 4)},
		"once":    {Weights: weigh(t, 1, 2, 3), Distinct: true},
		"length":  {Weights: weigh(t, 1, 2, 3), Length: 4},
		"windows": {Weights: weigh(t, 1, 2, 3), Shuffle: Window},
	} {
		if other := weighted(t, o).order; other == base {
			t.Errorf("%s: %+v is not told from %+v", name, other, base)
		}
	}
	if len(base.Weights) != 24 {
		t.Errorf("digest %q, want 24 digits", base.Weights)
	}
}

func TestDrawsArePinned(t *testing.T) {
	t.Parallel()
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(i%7) / 3
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "[16 30 65 75 61 24]"},
		{Options{Shuffle: Window}, "[69 22 89 41 61 24]"},
		{Options{Distinct: true}, "[85 20 19 23 75 61]"},
		{Options{Distinct: true, Shuffle: Window}, "[20 68 32 92 1 52]"},
	} {
		c.o.Weights, c.o.Seed = weigh(t, values...), 42
		if got := fmt.Sprint(drawsOf(weighted(t, c.o), 3)[:6]); got != c.want {
			t.Errorf("%+v: rows %s, want %s: the order must never change", c.o.Shuffle, got, c.want)
		}
	}
}

func TestLogarithm(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 8))
	for range 100_000 {
		x := math.Exp(-40 * r.Float64())
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-15*math.Max(math.Abs(want), 0.5) {
			t.Fatalf("ln %v is %v, want %v", x, got, want)
		}
	}
	for x, want := range map[float64]float64{1: 0, 0.5: -math.Ln2, 0x1p-54: -54 * math.Ln2} {
		if got := logarithm(x); got != want {
			t.Errorf("ln %v is %v, want %v", x, got, want)
		}
	}
}

// BenchmarkDraw reports the cost of a draw, and of beginning an epoch without replacement.
func BenchmarkDraw(b *testing.B) {
	values := make([]float64, 1_281_167)
	for i := range values {
		values[i] = 1 + float64(i%1000)
	}
	for name, o := range map[string]Options{"again": {}, "windows": {Shuffle: Window}, "once": {Distinct: true}} {
		b.Run(name, func(b *testing.B) {
			o.Weights = weigh(b, values...)
			w := weighted(b, o).Cursor(0)
			rows := make([]int64, 256)
			pos := int64(0)
			for b.Loop() {
				w.Fill(rows, pos)
				if pos += 256; pos > 1_200_000 {
					pos = 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
		})
	}
	for name, o := range map[string]Options{"again": {}, "windows": {Shuffle: Window}, "once": {Distinct: true}} {
		b.Run("begin-"+name, func(b *testing.B) {
			o.Weights = weigh(b, values...)
			b.ReportAllocs()
			for i := uint64(0); b.Loop(); i++ {
				weighted(b, o).Cursor(i)
			}
		})
	}
}
