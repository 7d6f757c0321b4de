package order

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// views is a mixture of views with 40 kB a row.
type views struct {
	policy MixPolicy
	parts  []Part
	starts []int64
}

func mixed(t testing.TB, b MixPolicy, rows ...int64) *views {
	t.Helper()
	if err := b.Check(len(rows)); err != nil {
		t.Fatal(err)
	}
	m := &views{policy: b, starts: make([]int64, 1)}
	for i, n := range rows {
		m.parts, m.starts = append(m.parts, Part{Rows: n, RowBytes: 40_000}), append(m.starts, m.starts[i]+n)
	}
	return m
}

// Len returns the number of rows of all views.
func (m *views) Len() int64 { return m.starts[len(m.parts)] }

// part returns the view of a row.
func (m *views) part(row int64) int {
	return sort.Search(len(m.parts)-1, func(i int) bool { return m.starts[i+1] > row })
}

// defaultShuffleBytes is the default of loaders.
const defaultShuffleBytes = 512 << 20

func epochOrderOf(t testing.TB, m *views, o Options) *EpochOrder {
	t.Helper()
	o.ShuffleBytes = cmp.Or(o.ShuffleBytes, defaultShuffleBytes)
	c, err := NewMixed(o, m.policy, m.parts)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.order.Check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// split returns the rows of each view in the order of an epoch.
func split(m *views, rows []int64) [][]int64 {
	out := make([][]int64, len(m.parts))
	for _, row := range rows {
		p := m.part(row)
		out[p] = append(out[p], row-m.starts[p])
	}
	return out
}

// Mixtures keep the numbers of their orders, far into several epochs.
func TestMixturesArePinned(t *testing.T) {
	t.Parallel()
	m := mixed(t, MixPolicy{Weights: []float64{0.6, 0.3, 0.1}, Length: 20000}, 3000, 9000, 250)
	for shuffle, want := range map[string]string{
		Sequential: "5565ded50316cc29 1f9eda5ec51a29ca322bc725",
		Window:     "58710b440dcc98cf 91de748dde036296dd99aa1a",
		Full:       "f55b0adc24f67799 4ddb78eabe7517763780d138",
	} {
		sum := fnv.New64a()
		c := epochOrderOf(t, m, Options{Shuffle: shuffle, ShuffleBytes: 16 << 20, Seed: 42})
		for epoch := range uint64(3) {
			_, _ = fmt.Fprintln(sum, drawsOf(c, epoch))
		}
		if got := fmt.Sprintf("%x %s", sum.Sum64(), c.order.Parts); got != want {
			t.Errorf("%q: %s, want %s: the order must never change", shuffle, got, want)
		}
	}
}

func TestApportionmentOneByOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		weights, rows := make([]float64, 1+r.IntN(12)), make([]int64, 0, 12)
		for i := range weights {
			weights[i] = math.Exp(2 * r.NormFloat64())
			if i > 0 && r.IntN(3) == 0 {
				weights[i] = weights[i-1] // ties
			}
			rows = append(rows, 1+r.Int64N(50))
		}
		seats := newApportionment(weights, rows)
		if r.IntN(3) == 0 {
			seats = newApportionment(nil, rows)
		}
		had, got := make([]int64, len(rows)), make([]int64, len(rows))
		for total := range int64(400) {
			seats.counts(got, total)
			if !slices.Equal(got, had) {
				t.Fatalf("seats %v: after %d turns %v at once, one by one %v", seats.of, total, got, had)
			}
			had[seats.next(had)]++
		}
	}
}

// Without weights an epoch is every row of every view once, in every mode and order.
func TestMixVisitsEachRowOnce(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]int64{{1}, {5, 5}, {1, 2, 300}, {9000, 17, 4500, 1}, {4096, 4096}} {
		for _, mode := range []string{"", MixExact, MixSequential} {
			for _, shuffle := range []string{Sequential, Window, Full} {
				m := mixed(t, MixPolicy{Mode: mode}, rows...)
				c := epochOrderOf(t, m, Options{Shuffle: shuffle, ShuffleBytes: 16 << 20})
				for epoch := range uint64(2) {
					got := drawsOf(c, epoch)
					if int64(len(got)) != m.Len() {
						t.Fatalf("%v %q %q: %d rows, want %d", rows, mode, shuffle, len(got), m.Len())
					}
					onceEach(t, got, c.order)
					for p, own := range split(m, got) {
						if shuffle == Sequential && !slices.IsSorted(own) {
							t.Fatalf("%v %q: rows of view %d out of order", rows, mode, p)
						}
					}
					if mode == MixSequential && !slices.IsSortedFunc(got, func(a, b int64) int { return m.part(a) - m.part(b) }) {
						t.Fatalf("%v: views take turns in sequence", rows)
					}
				}
			}
		}
	}
}

// Exact: every batch, wherever it begins, has the shares of the weights to within two rows, and a
// whole batch of whole shares has just these.
func TestExactBatches(t *testing.T) {
	t.Parallel()
	weights := []float64{0.5, 0.3, 0.2}
	m := mixed(t, MixPolicy{Mode: MixExact, Weights: weights}, 5000, 8000, 700)
	rows := drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 1)
	for _, size := range []int{10, 20, 50, 64, 7} {
		for from := 0; from+size <= len(rows); from += size {
			count := make([]int, 3)
			for _, row := range rows[from : from+size] {
				count[m.part(row)]++
			}
			for p, n := range count {
				want := weights[p] * float64(size)
				if off := math.Abs(float64(n) - want); off >= 2 || size%10 == 0 && off > 1e-9 {
					t.Fatalf("rows %d to %d have %v of the views, want shares %v", from, from+size, count, weights)
				}
			}
		}
	}
}

// Random: within a batch the shares vary nearly like independent draws; over a run they are exact.
func TestRandomBatches(t *testing.T) {
	t.Parallel()
	m := mixed(t, MixPolicy{Weights: []float64{0.75, 0.25}}, 900_000, 900_000)
	c := epochOrderOf(t, m, Options{Shuffle: Full})
	w := c.Cursor(0)
	const size, runs = 64, 100
	sum, squares, n := 0.0, 0.0, 0.0
	for run := range int64(runs) {
		inRun := 0
		for b := range int64(mixRows / size) {
			count := 0
			for i := range int64(size) {
				if m.part(w.row(run*mixRows+b*size+i)) == 1 {
					count++
				}
			}
			inRun += count
			sum, squares, n = sum+float64(count), squares+float64(count)*float64(count), n+1
		}
		if inRun != mixRows/4 {
			t.Fatalf("run %d has %d rows of view 1, want %d", run, inRun, mixRows/4)
		}
	}
	variance := squares/n - sum/n*sum/n
	if want := size * 0.75 * 0.25 * (1 - float64(size)/mixRows); math.Abs(variance/want-1) > 0.1 {
		t.Errorf("variance of a batch is %.2f, want about %.2f", variance, want)
	}
}

func TestMixStops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy MixPolicy
		rows   []int64
		want   []int64 // rows of each view in an epoch
	}{
		{MixPolicy{Weights: []float64{1, 1}}, []int64{5, 5}, []int64{5, 5}},
		{MixPolicy{Weights: []float64{1, 1}}, []int64{5, 50}, []int64{5, 5}},
		{MixPolicy{Weights: []float64{3, 1}}, []int64{30, 50}, []int64{30, 10}},
		{MixPolicy{Weights: []float64{1, 1}, Stop: AllExhausted}, []int64{5, 50}, []int64{50, 50}},
		{MixPolicy{Weights: []float64{3, 1}, Stop: AllExhausted}, []int64{7, 10}, []int64{29, 10}},
		{MixPolicy{Weights: []float64{3, 1}, Length: 1000}, []int64{7, 10}, []int64{750, 250}},
		{MixPolicy{Length: 20}, []int64{30, 10}, []int64{15, 5}},
	} {
		for _, mode := range []string{MixRandom, MixExact} {
			c.policy.Mode = mode
			m := mixed(t, c.policy, c.rows...)
			got := split(m, drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 0))
			for p, own := range got {
				if d := int64(len(own)) - c.want[p]; d < -1 || d > 1 {
					t.Errorf("%+v of %v: %d rows of view %d, want %d", c.policy, c.rows, len(own), p, c.want[p])
				}
				if c.policy.Stop == "" && c.policy.Length == 0 && int64(len(own)) > c.rows[p] {
					t.Errorf("%+v of %v: view %d gave a row twice", c.policy, c.rows, p)
				}
				if c.policy.Stop == AllExhausted && int64(len(own)) < c.rows[p] {
					t.Errorf("%+v of %v: view %d was not exhausted", c.policy, c.rows, p)
				}
				for begin := 0; begin+int(c.rows[p]) <= len(own); begin += int(c.rows[p]) {
					onceEach(t, own[begin:begin+int(c.rows[p])], c.policy)
				}
			}
		}
	}
}

// If an epoch takes a part of a shuffled view, the next epoch continues: no row repeats before all
// have come. A sequential view begins again.
func TestMixGoesOn(t *testing.T) {
	t.Parallel()
	m := mixed(t, MixPolicy{Weights: []float64{1, 1}}, 30, 100)
	c := epochOrderOf(t, m, Options{Shuffle: Full})
	var seen []int64
	for epoch := range uint64(10) {
		seen = append(seen, split(m, drawsOf(c, epoch))[1]...)
	}
	if len(seen) != 300 {
		t.Fatalf("%d rows of view 1, want 300", len(seen))
	}
	for pass := range 3 {
		onceEach(t, seen[pass*100:(pass+1)*100], "view 1")
	}
	if slices.Equal(seen[:100], seen[100:200]) {
		t.Error("the second pass has the order of the first")
	}
	c = epochOrderOf(t, m, Options{})
	for epoch := range uint64(3) {
		for p, own := range split(m, drawsOf(c, epoch)) {
			for i, row := range own {
				if row != int64(i) {
					t.Fatalf("epoch %d: row %d of view %d at its turn %d", epoch, row, p, i)
				}
			}
		}
	}
}

// Any position is computed by itself, late in a long epoch as well.
func TestMixIsRandomAccess(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	for _, mode := range []string{MixRandom, MixExact, MixSequential} {
		for _, shuffle := range []string{Sequential, Window, Full} {
			b := MixPolicy{Mode: mode}
			if mode != MixSequential {
				b.Weights, b.Stop = []float64{0.7, 0.1, 0.2}, AllExhausted
			}
			m := mixed(t, b, 3000, 5000, 700)
			c := epochOrderOf(t, m, Options{Shuffle: shuffle, ShuffleBytes: 8 << 20})
			all := drawsOf(c, 7)
			w := c.Cursor(7)
			for range 300 {
				pos := r.Int64N(c.order.Rows)
				if got := w.row(pos); got != all[pos] {
					t.Fatalf("%s %s: row at %d is %d, in a run %d", mode, shuffle, pos, got, all[pos])
				}
			}
		}
	}
	m := mixed(t, MixPolicy{Weights: []float64{0.9, 0.1}, Length: 1 << 40}, 1_000_000_000, 77)
	c := epochOrderOf(t, m, Options{Shuffle: Window})
	for _, pos := range []int64{0, 1 << 30, 1<<40 - 1} {
		if row := c.Cursor(1 << 40).row(pos); row < 0 || row >= m.Len() {
			t.Errorf("row at %d is %d", pos, row)
		}
	}
}

// The order of one view depends neither on the rows of the others nor on their bytes, if a window
// is a whole view. Two views of the same rows have different orders.
func TestMixViewsAreIndependent(t *testing.T) {
	t.Parallel()
	b := MixPolicy{Weights: []float64{1, 1}}
	m := mixed(t, b, 500, 500)
	own := split(m, drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 0))
	if slices.Equal(own[0], own[1]) {
		t.Error("two views of the same rows come in the same order")
	}
	m = mixed(t, b, 500, 5000)
	if other := split(m, drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 0)); !slices.Equal(own[0], other[0]) {
		t.Error("the order of view 0 depends on the rows of view 1")
	}
}

func TestMixOrderPinsParts(t *testing.T) {
	t.Parallel()
	base := epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 20), Options{}).order
	for name, c := range map[string]*EpochOrder{
		"weights": epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 3}}, 10, 20), Options{}),
		"rows":    epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 21), Options{}),
		"mode":    epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}, Mode: MixExact}, 10, 20), Options{}),
		"length":  epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}, Length: 5}, 10, 20), Options{}),
		"shuffle": epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 20), Options{Shuffle: Full}),
	} {
		if c.order == base {
			t.Errorf("%s: %+v is not told from %+v", name, c.order, base)
		}
	}
	if again := epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{2, 4}}, 10, 20), Options{}).order; again != base {
		t.Errorf("the same shares give %+v and %+v", again, base)
	}
	m := mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 20)
	if got, want := fmt.Sprint(drawsOf(epochOrderOf(t, m, Options{Shuffle: Full, Seed: 42}), 3)[:8]), "[23 15 11 19 29 20 9 16]"; got != want {
		t.Errorf("rows %s, want %s: order version %d must never change", got, want, Version)
	}
}

// BenchmarkMix reports the cost of a row, and of resuming in the middle of an epoch.
func BenchmarkMix(b *testing.B) {
	for _, mode := range []string{MixRandom, MixExact} {
		m := mixed(b, MixPolicy{Mode: mode, Weights: []float64{5, 3, 2, 1, 1, 1, 1, 1}, Length: 1_000_000_000}, 1e8, 1e8, 1e8, 1e8, 1e8, 1e8, 1e8, 1e8)
		b.Run(mode, func(b *testing.B) {
			w := epochOrderOf(b, m, Options{Shuffle: Window}).Cursor(0)
			rows := make([]int64, 256)
			pos := int64(0)
			for b.Loop() {
				w.Fill(rows, pos)
				pos += 256
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
		})
		b.Run(mode+"-resume", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				epochOrderOf(b, m, Options{Shuffle: Window}).Cursor(0).row(999_999_999)
			}
		})
	}
}
