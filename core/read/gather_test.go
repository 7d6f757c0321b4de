package read

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortRows holds the order of rows, and that of equal ones, against comparing them.
func TestSortRows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for _, most := range []int64{1, 2, 100, 2048, 1 << 22, math.MaxUint32, 1 << 32, 1 << 50, math.MaxInt64} {
		for _, n := range []int{1, 2, 77, 5000} {
			rows := make([]int64, n)
			want := make([]int32, n)
			for i := range rows {
				rows[i], want[i] = r.Int64N(most), int32(i)
			}
			slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(rows[a], rows[b]) })
			sorted := slices.Sorted(slices.Values(rows))
			if got := new(Sorter).Sort(context.Background(), rows); !slices.Equal(got, want) || !slices.Equal(rows, sorted) {
				t.Errorf("%d rows below %d are not in order", n, most)
			}
		}
	}
}

func BenchmarkSortRows(b *testing.B) {
	for _, n := range []int{1_000, 500_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(4, 4))
			from, rows := make([]int64, n), make([]int64, n)
			for i := range from {
				from[i] = r.Int64N(10_000_000)
			}
			for b.Loop() {
				copy(rows, from)
				new(Sorter).Sort(context.Background(), rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}
