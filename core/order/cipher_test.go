package order

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestCipherIsBijection(t *testing.T) {
	t.Parallel()
	seen := make([]int64, 5001)
	for n := int64(1); n <= 5000; n++ {
		c := newCipher(n, keyOf(7, uint64(n), 0))
		for i := range n {
			y := c.at(i)
			if y < 0 || y >= n {
				t.Fatalf("n %d: %d -> %d is outside", n, i, y)
			}
			if seen[y] == n {
				t.Fatalf("n %d: %d is hit twice", n, y)
			}
			seen[y] = n
			if back := c.find(y); back != i {
				t.Fatalf("n %d: find(at(%d)) = %d", n, i, back)
			}
		}
	}
}

func TestCipherLarge(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + r.Int64N(1_000_000_000_000)
		c := newCipher(n, r.Uint64())
		for range 20 {
			i := r.Int64N(n)
			y := c.at(i)
			if y < 0 || y >= n || c.find(y) != i {
				t.Fatalf("n %d: %d -> %d -> %d", n, i, y, c.find(y))
			}
		}
	}
	c := newCipher(1<<22+1, 5) // just over a power of two: the longest cursors
	seen := make([]bool, 1<<22+1)
	for i := range int64(len(seen)) {
		y := c.at(i)
		if seen[y] {
			t.Fatalf("%d is hit twice", y)
		}
		seen[y] = true
	}
}

// Every element must reach every position about equally often over the keys, also in small domains,
// which give a Feistel network few bits.
func TestCipherUniform(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{2, 3, 4, 5, 8, 13, 16, 37, 100} {
		const perCell = 400
		trials := int(n) * perCell
		count := make([]int, n*n)
		for e := range trials {
			c := newCipher(n, keyOf(11, uint64(e), 1))
			for i := range n {
				count[i*n+c.at(i)]++
			}
		}
		chi := 0.0
		for _, k := range count {
			d := float64(k) - perCell
			chi += d * d / perCell
		}
		free := float64((n - 1) * (n - 1))
		if limit := free + 5*math.Sqrt(2*free) + 10; chi > limit {
			t.Errorf("n %d: chi square %.0f over %.0f degrees, want at most %.0f", n, chi, free, limit)
		}
	}
}

// Neighbours must not stay neighbours, and consecutive epochs must have nothing in common.
func TestCipherIndependence(t *testing.T) {
	t.Parallel()
	const n = 20000
	for seed := range uint64(20) {
		a, b := newCipher(n, keyOf(seed, 0, 0)), newCipher(n, keyOf(seed, 1, 0))
		identity, successive, epochs := make([]int64, n), make([]int64, n), make([]int64, n)
		images := make([]int64, n)
		for i := range int64(n) {
			identity[i], images[i] = i, a.at(i)
			successive[i], epochs[i] = a.at((i+1)%n), b.at(i)
		}
		for name, other := range map[string][]int64{"identity": identity, "successor": successive, "next epoch": epochs} {
			if rho := correlation(images, other); math.Abs(rho) > 5/math.Sqrt(n) {
				t.Errorf("seed %d: correlation with %s is %.4f", seed, name, rho)
			}
		}
	}
}

func TestCipherIsPinned(t *testing.T) {
	t.Parallel()
	c := newCipher(1000, keyOf(42, 3, 0))
	got := []int64{c.at(0), c.at(1), c.at(2), c.at(500), c.at(999)}
	want := []int64{343, 792, 793, 941, 828}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("images %v, want %v: order version 1 must never change", got, want)
		}
	}
}

// correlation is Pearson's coefficient, which for two permutations is Spearman's.
func correlation(a, b []int64) float64 {
	n := float64(len(a))
	var sa, sb float64
	for i := range a {
		sa += float64(a[i])
		sb += float64(b[i])
	}
	ma, mb := sa/n, sb/n
	var cov, va, vb float64
	for i := range a {
		x, y := float64(a[i])-ma, float64(b[i])-mb
		cov += x * y
		va += x * x
		vb += y * y
	}
	return cov / math.Sqrt(va*vb)
}

func BenchmarkCipher(b *testing.B) {
	for _, n := range []int64{1000, 20_000, 1_300_000, 1_000_000_000, 1<<30 + 1} {
		b.Run(strconv.FormatInt(n, 10), func(b *testing.B) {
			c := newCipher(n, 1)
			i, sum := int64(0), int64(0)
			for b.Loop() {
				sum += c.at(i)
				if i++; i == n {
					i = 0
				}
			}
			if sum < 0 {
				b.Fatal(sum)
			}
		})
	}
}
