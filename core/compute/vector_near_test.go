package compute

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// nearRows makes rows to search among, and the vector that is sought, of a kind that is hard in
// some way.
func nearRows(r *rand.Rand, kind string, rows, n int) (x []float32, y []float64) {
	x, y = make([]float32, rows*n), make([]float64, n)
	scale, wide := 1.0, 1.0
	switch kind {
	case "tiny":
		scale = 1e-20
	case "subnormal":
		scale, wide = 1e-41, 1e-41
	case "huge":
		scale, wide = 1e18, 1e18
	case "too huge":
		scale, wide = 1e38, 1e60
	case "far":
		wide = 1e8
	}
	for i := range y {
		y[i] = r.NormFloat64() * wide
	}
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	row := func(i int) []float32 { return x[i*n : (i+1)*n] }
	switch kind {
	case "near": // all as far away as the first but for rounding, and at about one angle
		d := make([]float64, n)
		for i := range d {
			d[i] = r.NormFloat64() * 1e-3
		}
		for i := range rows {
			if i%3 == 0 {
				r.Shuffle(n, func(i, j int) { d[i], d[j] = d[j], d[i] })
			}
			for j := range row(i) {
				row(i)[j] = float32(y[j] + d[j]*(1+r.Float64()*1e-7))
			}
		}
	case "ties":
		for i := range rows {
			copy(row(i), row(r.IntN(1+i/8)))
		}
	case "zeros":
		for i := range x {
			if r.IntN(3) > 0 || i/n%4 == 0 {
				x[i] = 0
			}
		}
	case "odd":
		for i := range rows {
			if r.IntN(3) == 0 {
				row(i)[r.IntN(n)] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, 0x1p-149}[r.IntN(5)]
			}
		}
	case "odd vector":
		y[r.IntN(n)] = []float64{math.NaN(), math.Inf(1), 1e300, 0x1p-1074, 0}[r.IntN(5)]
	case "no vector":
		clear(y)
	}
	return x, y
}

// TestNear holds Bounded against Call: a value is the same, or both are beyond the limit.
func TestNear(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	if n, err := strconv.Atoi(os.Getenv("DEEPLAKE_TEST_NEAR")); err == nil {
		rounds = n
	}
	r := rand.New(rand.NewPCG(6, 7))
	for _, kind := range []string{"plain", "near", "ties", "zeros", "tiny", "subnormal", "huge", "too huge", "far", "odd", "odd vector", "no vector"} {
		t.Run(kind, func(t *testing.T) {
			saved, beyond := 0, 0
			for _, n := range []int{1, 2, 5, 31, 32, 33, 100, 768, 1025} {
				for range rounds {
					s, b := nearRound(t, r, kind, n)
					saved, beyond = saved+s, beyond+b
				}
			}
			if kind == "plain" && saved < beyond*9/10 && ready() {
				t.Errorf("of %d values beyond a limit %d were not computed, want most", beyond, saved)
			}
		})
	}
}

func nearRound(t *testing.T, r *rand.Rand, kind string, n int) (saved, beyond int) {
	t.Helper()
	const rows = 120
	data, sought := nearRows(r, kind, rows, n)
	x := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{int64(n)}, data, nil)
	y := array.Constant(array.Type{DType: tensor.Float64, Dims: 1, Shape: tensor.Shape{int64(n)}}, sought, rows)
	if r.IntN(2) == 0 {
		small := make([]float32, n)
		for i, v := range sought {
			small[i] = float32(v)
		}
		y = array.Constant(array.Type{DType: tensor.Float32, Dims: 1, Shape: tensor.Shape{int64(n)}}, small, rows)
	}
	for _, name := range []string{"DOT", "COSINE_SIMILARITY", "L2_DISTANCE"} {
		f := Find(name)
		c, err := f.Apply(x, y)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(c.Data.([]float64))
		sorted := slices.Clone(want)
		slices.SortFunc(sorted, array.CompareFloat)
		limits := []float64{0, -1, math.Inf(1), math.Inf(-1), math.NaN(), sorted[0], sorted[rows-1]}
		for range 4 {
			v := sorted[r.IntN(rows)]
			limits = append(limits, v, math.Nextafter(v, 0), math.Nextafter(v, math.Inf(1)))
		}
		for _, at := range limits {
			for _, above := range []bool{false, true} {
				l := Limit{At: at, Above: above}
				got, err := f.Bounded(nil, []*array.Column{x, y}, l)
				if err != nil {
					t.Fatal(err)
				}
				s, b := nearSame(t, fmt.Sprintf("%s of %d elements, limit %+v", name, n, l), l, got.Data.([]float64), want)
				saved, beyond = saved+s, beyond+b
			}
		}
	}
	return saved, beyond
}

func nearSame(t *testing.T, what string, l Limit, got, want []float64) (saved, beyond int) {
	t.Helper()
	out := func(v float64) bool { return l.Above && v > l.At || !l.Above && v < l.At }
	for i := range want {
		if out(want[i]) {
			beyond++
		}
		if math.Float64bits(got[i]) == math.Float64bits(want[i]) || got[i] != got[i] && want[i] != want[i] {
			continue
		}
		if saved++; !out(want[i]) || !out(got[i]) {
			t.Fatalf("%s, row %d: %v, want %v", what, i, got[i], want[i])
		}
	}
	return saved, beyond
}
