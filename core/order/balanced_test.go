package order

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBalancedIsABijection(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(41, 42))
	sizes := []int64{4095, 4096, 4097, 2*mostStrata - 1, 2 * mostStrata, 2*mostStrata + 1, 100_003}
	for n := int64(1); n <= 600; n++ {
		sizes = append(sizes, n)
	}
	for range tries(100) {
		sizes = append(sizes, 1+r.Int64N(50_000))
	}
	for _, n := range sizes {
		b := newBalanced(n, r.Uint64())
		images := make([]int64, n)
		for i := range images {
			images[i] = b.at(int64(i))
		}
		onceEach(t, images, n)
	}
	for range 1000 { // numbers that no table would hold
		n := 1 + r.Int64N(1<<47)
		b := newBalanced(n, r.Uint64())
		if i := r.Int64N(n); b.at(i) < 0 || b.at(i) >= n {
			t.Fatalf("%d of %d has the image %d", i, n, b.at(i))
		}
	}
}

// mostExcess returns by how many images a run of consecutive numbers differs from the share of a
// part of all images at most. Parts begin at 0, as the ranks before one are such a part.
func mostExcess(at func(int64) int64, n, run int64) float64 {
	const parts = 32
	worst := 0.0
	for from := int64(0); from+run <= n; from += max(run/3, 1) {
		var counts [parts]float64
		for i := from; i < from+run; i++ {
			counts[at(i)*parts/n]++
		}
		sum := 0.0
		for k, c := range counts {
			sum += c
			// images of parts whose ends are no whole numbers
			end := math.Ceil(float64(n)*float64(k+1)/parts) / float64(n)
			worst = max(worst, math.Abs(sum-end*float64(run)))
		}
	}
	return worst
}

// Any run has its share of the images of any part, to within a few. A random permutation misses it
// by more, the more images there are.
func TestBalancedIsEven(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{500, 1000, 2560, 5000, 8192, 60_000} {
		for _, run := range []int64{32, 100, 256, 1000, 2048} {
			if run > n/3 {
				continue
			}
			even, random := 0.0, 0.0
			for seed := range uint64(20) {
				b, c := newBalanced(n, mix(seed)), newCipher(n, mix(seed))
				even, random = max(even, mostExcess(b.at, n, run)), max(random, mostExcess(c.at, n, run))
			}
			t.Logf("runs of %d in %d: %.1f off, a random permutation %.1f", run, n, even, random)
			if even > 8 || even > random*0.8 {
				t.Errorf("runs of %d in %d: %.1f images off the share of a part, want at most 8; a random permutation has %.1f", run, n, even, random)
			}
		}
	}
}

// Over many epochs, every row comes at every position as often, whatever the blocks. So does every
// pair of rows at two positions, if the rows are of one block.
func TestWindowsAreRandom(t *testing.T) {
	t.Parallel()
	for _, o := range []Order{
		windowOrder(2, 8, 1, 4, 1), windowOrder(37, 64, 1, 4, 2), windowOrder(37, 1, 64, 64, 3), windowOrder(4, 4, 1, 1, 7), windowOrder(7, 7, 1, 1, 8), windowOrder(8, 8, 1, 1, 9), windowOrder(20, 20, 1, 1, 4), windowOrder(33, 33, 1, 1, 10), windowOrder(100, 10, 16, 16, 5), windowOrder(96, 5, 4, 8, 6),
	} {
		places := []int64{0, 1, o.Rows / 2, o.Rows - 1}
		rows, pairs := make([][]float64, len(places)), make([]float64, o.Rows*o.Rows)
		for i := range rows {
			rows[i] = make([]float64, o.Rows)
		}
		for epoch := range uint64(60_000) {
			w := newCursor(o, epoch)
			for i, pos := range places {
				rows[i][w.row(pos)]++
			}
			pairs[w.row(0)*o.Rows+w.row(o.Rows/2)]++
		}
		for i, pos := range places {
			if off := uneven(rows[i]); off > 6 {
				t.Errorf("%+v: rows at position %d are %.1f deviations from equally frequent", o, pos, off)
			}
		}
		if o.BlockRows < o.Rows {
			continue
		}
		pairs = slices.DeleteFunc(pairs, func(c float64) bool { return c == 0 })
		if want := o.Rows * (o.Rows - 1); int64(len(pairs)) != want {
			t.Errorf("%+v: %d pairs of rows, want %d", o, len(pairs), want)
		}
		off := uneven(pairs)
		t.Logf("%d rows in a block: pairs are %.1f deviations from equally frequent", o.Rows, off)
		if off > 6 {
			t.Errorf("%+v: pairs of rows are %.1f deviations from equally frequent", o, off)
		}
	}
}

// TestBalancedMeetsAll: over many keys, each stratum follows each one of the other half.
func TestBalancedMeetsAll(t *testing.T) {
	t.Parallel()
	const strata, images = 64, 128
	for _, next := range []int64{1, 2} {
		pairs := map[[2]int64]bool{}
		for key := range uint64(100_000) {
			b := newBalanced(images, keyOf(key, 0, 1))
			stratum := func(i int64) int64 { return (b.at(i) - b.first + images) % images / (images / strata) }
			pairs[[2]int64{stratum(0), stratum(next)}] = true
		}
		// the half, or the quarter, that the van der Corput sequence steps into
		if want := strata * strata / 2 / int(next); len(pairs) != want {
			t.Errorf("%d pairs of strata at positions 0 and %d, want %d", len(pairs), next, want)
		}
	}
}

// uneven returns by how many standard deviations counts differ from equal ones (Pearson's test).
func uneven(counts []float64) float64 {
	sum := 0.0
	for _, c := range counts {
		sum += c
	}
	each, chi, free := sum/float64(len(counts)), 0.0, float64(len(counts)-1)
	for _, c := range counts {
		chi += (c - each) * (c - each) / each
	}
	return (chi - free) / math.Sqrt(2*free)
}
