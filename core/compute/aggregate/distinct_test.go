package aggregate

import (
	"math"
	"math/rand/v2"
	"testing"

	"deeplake/core/array"
)

// TestCountDistinctAgainstMaps counts enough values to compact partitions often and to finish them
// on several cores.
func TestCountDistinctAgainstMaps(t *testing.T) {
	t.Parallel()
	const rows, groups, units = 300_000, 7, 5
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(value func(i int) int64) []int64 {
		out := make([]int64, rows)
		for i := range out {
			out[i] = value(i)
		}
		return out
	}
	const odd, inverse = 0x9e3779b97f4a7c15, 0xf1de83e19937733d
	if product := uint64(odd); product*inverse != 1 {
		t.Fatal("the inverse is wrong")
	}
	cases := map[string][]int64{
		"different": fill(func(int) int64 { return int64(r.Uint64()) }),
		"in order":  fill(func(i int) int64 { return int64(i) }),
		"few":       fill(func(int) int64 { return r.Int64N(1000) }),
		"one":       fill(func(int) int64 { return 0 }),
		"some":      fill(func(int) int64 { return r.Int64N(rows / 2) }),
		// Attackers that know the partitions choose values of one partition.
		"one partition": fill(func(i int) int64 { return int64(uint64(i/2) * uint64(inverse)) }),
	}
	for name, values := range cases {
		for _, grouped := range []bool{false, true} {
			nulls, of := make([]bool, rows), make([]int32, rows)
			seen := map[[2]int64]bool{}
			want := make([]int64, groups)
			for i, v := range values {
				if nulls[i] = r.IntN(10) == 0; grouped {
					of[i] = r.Int32N(groups)
				}
				if key := [2]int64{v, int64(of[i])}; !nulls[i] && !seen[key] {
					seen[key] = true
					want[of[i]]++
				}
			}
			got := countOver(t, values, nulls, of, grouped, units)
			for g := range got {
				if got[g] != want[g] {
					t.Errorf("%s, grouped %v: group %d has %d values, want %d", name, grouped, g, got[g], want[g])
				}
			}
		}
	}
}

// countOver computes COUNT(DISTINCT) by several aggregators. They take slices of the rows
// alternately and are then merged.
func countOver(t *testing.T, values []int64, nulls []bool, of []int32, grouped bool, units int) []int64 {
	t.Helper()
	const batch, groups = 1 << 10, 7
	total := newCountingWords(array.FromInts(values, nil).Type)
	parts := make([]*countingWords, units)
	for i := range parts {
		parts[i] = newCountingWords(array.FromInts(values, nil).Type)
	}
	// A unit numbers its groups as it meets them; to is its way back.
	to := [][]int32{{0, 1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1, 0}}
	for n, from := 0, 0; from < len(values); n, from = n+1, from+batch {
		end := min(from+batch, len(values))
		var group []int32
		if grouped {
			for _, g := range of[from:end] {
				group = append(group, to[n%units%2][g])
			}
		}
		if err := parts[n%units].Add(array.FromInts(values[from:end], nulls[from:end]), group, groups); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range parts {
		way := to[i%2]
		if !grouped {
			way = []int32{0}
		}
		if err := total.Merge(p, way); err != nil {
			t.Fatal(err)
		}
	}
	c, err := total.Result(nil)
	if err != nil {
		t.Fatal(err)
	}
	counts, _ := array.Ints(c)
	return counts
}

// TestCountDistinctOfFloats takes NaN for NaN and -0 for 0, and keeps floats apart that differ in
// one bit.
func TestCountDistinctOfFloats(t *testing.T) {
	t.Parallel()
	values := []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8000000000001), 1, math.Nextafter(1, 2), math.Inf(1), math.Inf(-1)}
	c, err := aggregate("COUNT", true, array.FromFloats(values, nil), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := array.Ints(c); n[0] != 6 {
		t.Errorf("%d values, want 6", n[0])
	}
}

// TestCountDistinctHoldsLittle keeps memory by the number of different values, not by that of rows.
func TestCountDistinctHoldsLittle(t *testing.T) {
	t.Parallel()
	a := newCountingWords(array.FromInts(nil, nil).Type)
	values := make([]int64, 1<<12)
	for range 100 {
		for i := range values {
			values[i] = int64(i % 10)
		}
		if err := a.Add(array.FromInts(values, nil), nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	if a.Held() > 16<<10 {
		t.Errorf("%d bytes are held for 10 values", a.Held())
	}
}
