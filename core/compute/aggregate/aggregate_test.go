package aggregate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/array/arraytest"
	"deeplake/core/tensor"
)

func aggregate(name string, distinct bool, c *array.Column, group []int32, groups int) (*array.Column, error) {
	a, err := New(name, distinct, c.Type)
	if err == nil {
		err = a.Add(c, group, groups)
	}
	if err != nil {
		return nil, err
	}
	return a.Result(nil)
}

func TestAggregates(t *testing.T) {
	null := []bool{false, false, true, false}
	ints := array.FromInts([]int64{1, 2, 0, 2}, null)
	floats := array.FromFloats([]float64{1.5, math.NaN(), 0, -2}, null)
	none := array.FromInts(nil, nil)
	big := array.FromInts([]int64{math.MaxInt64, math.MaxInt64, math.MinInt64, math.MinInt64, 5}, nil)
	text := array.FromStrings([]string{"b", "a", "", "c"}, null)
	for _, c := range []struct {
		name     string
		distinct bool
		x        *array.Column
		want     string
	}{
		{"COUNT", false, ints, "int64: 3"}, {"COUNT", true, ints, "int64: 2"}, {"count", false, none, "int64: 0"},
		{"COUNT", false, array.Nothing(array.Type{}, 3), "int64: 0"}, {"COUNT", false, array.Constant(array.Of(tensor.Bool), true, 7), "int64: 7"},
		{"SUM", false, ints, "int64: 5"}, {"SUM", true, ints, "int64: 3"}, {"SUM", false, none, "int64: NULL"},
		{"SUM", false, big, "int64: 3"}, {"SUM", false, big.Slice(0, 2), "error: SUM: the sum does not fit int64; SUM(CAST(... AS DOUBLE)) computes with floating point"},
		{"SUM", false, floats, "float64: NaN"}, {"SUM", false, array.FromFloats([]float64{1e100, 1, -1e100}, nil), "float64: 1"},
		{"SUM", false, array.FromFloats([]float64{math.Inf(1), 1}, nil), "float64: +Inf"},
		{"SUM", false, array.FromBools([]bool{true, false, true}, nil), "int64: 2"},
		{"SUM", false, array.From(array.Of(tensor.Uint64), []uint64{1 << 63, 1 << 63}, nil), "error: SUM: the sum does not fit int64; SUM(CAST(... AS DOUBLE)) computes with floating point"},
		{"SUM", false, array.Constant(array.Of(tensor.Int8), int64(3), 5), "int64: 15"},
		{"SUM", false, array.From(array.OfUnit(array.Interval), []int64{array.MicrosPerDay, 5}, nil), "interval: 86400000005"},
		{"SUM", false, array.Nothing(array.Type{}, 3), "int64: NULL"},
		{"AVG", false, ints, "float64: 1.6666666666666667"}, {"MEAN", false, none, "float64: NULL"}, {"AVG", false, big, "float64: 0.6"},
		{"AVG", false, big.Slice(0, 2), "float64: 9.223372036854776e+18"},
		{"AVG", false, array.From(array.OfUnit(array.Interval), []int64{4, 5}, nil), "interval: 5"},
		{"MIN", false, floats, "float64: -2"}, {"MAX", false, floats, "float64: NaN"}, {"MAX", false, none, "int64: NULL"},
		{"MIN", false, text, "text: a"}, {"MAX", false, text, "text: c"}, {"MAX", false, array.FromBools([]bool{false, true}, nil), "bool: true"},
		{"MIN", false, array.From(array.OfUnit(array.Date), []int64{7, -3}, nil), "date: -3"}, {"MIN", false, array.Nothing(array.Type{}, 2), "NULL: NULL"},
		{"MIN", false, array.From(array.Of(tensor.Uint64), []uint64{1 << 63, 1<<64 - 1}, nil), "uint64: 9223372036854775808"},
		{"STD", false, ints, "float64: 0.5773502691896257"}, {"VAR", false, ints, "float64: 0.3333333333333333"}, {"STD", false, array.FromInts([]int64{3}, nil), "float64: NULL"},
		{"VAR_POP", false, ints, "float64: 0.2222222222222222"}, {"STDDEV_POP", false, array.FromInts([]int64{3}, nil), "float64: 0"},
		{"FIRST", false, ints, "int64: 1"}, {"LAST", false, ints, "int64: 2"}, {"ANY_VALUE", false, ints.Slice(2, 4), "int64: 2"}, {"FIRST", false, ints.Slice(2, 4), "int64: NULL"},
		{"FIRST", false, none, "int64: NULL"},
		{"LIST", false, ints, "list of int64: <1 2 NULL 2>"}, {"LIST", true, ints, "list of int64: <1 2 NULL>"}, {"LIST", false, none, "list of int64: <>"},
		{"MEDIAN", false, ints, "float64: 2"}, {"MEDIAN", false, none, "float64: NULL"}, {"MEDIAN", false, array.FromInts([]int64{4, 1}, nil), "float64: 2.5"},
		{"BOOL_AND", false, array.FromBools([]bool{true, false}, []bool{false, true}), "bool: true"}, {"BOOL_OR", false, array.FromBools([]bool{false, false}, nil), "bool: false"},
		{"STRING_AGG", false, text, "text: b,a,c"},
		{"SUM", false, text, "error: SUM of text: want numbers, one a row"},
		{"SUN", false, ints, `error: there is no aggregate "SUN"; did you mean "SUM"?`},
	} {
		if got := arraytest.Show(aggregate(c.name, c.distinct, c.x, nil, 1)); got != c.want {
			t.Errorf("%s distinct %v of %s: got %s, want %s", c.name, c.distinct, arraytest.Show(c.x, nil), got, c.want)
		}
	}
}

// TestAggregatesMerge cuts rows into batches and gives them to several aggregators, which number
// their groups on their own.
func TestAggregatesMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	const n, groups = 300, 7
	null := make([]bool, n)
	group := make([]int32, n)
	for i := range null {
		null[i], group[i] = r.IntN(5) == 0, int32(r.IntN(groups-1))
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(r.IntN(20))
	}
	columns := []*array.Column{
		array.From(array.Of(tensor.Int8), arraytest.RandomNumbers[int8](r, n, false), slices.Clone(null)).ZeroNulls(), array.FromInts(arraytest.RandomNumbers[int64](r, n, false), nil),
		array.From(array.Of(tensor.Uint64), arraytest.RandomNumbers[uint64](r, n, false), nil), array.From(array.Of(tensor.Float32), arraytest.RandomNumbers[float32](r, n, false), slices.Clone(null)).ZeroNulls(),
		array.FromFloats(arraytest.RandomNumbers[float64](r, n, false), nil), array.FromStrings(texts, slices.Clone(null)).ZeroNulls(),
		array.From(array.OfUnit(array.Interval), arraytest.RandomNumbers[int64](r, n, false), nil), array.FromBools(make([]bool, n), slices.Clone(null)),
		arraytest.RandomRows(r, tensor.Float32, n, 3),
	}
	for _, c := range columns {
		for _, name := range Names() {
			for _, distinct := range []bool{false, true} {
				if _, err := ResultType(name, c.Type); err != nil {
					continue
				}
				for _, all := range []bool{false, true} {
					of, k := group, groups
					if all {
						of, k = nil, 1
					}
					want := arraytest.Show(aggregate(name, distinct, c, of, k))
					if got := arraytest.Show(merged(r, name, distinct, c, of, k)); !alike(got, want) {
						t.Fatalf("%s distinct %v of %s: got %.300s, want %.300s", name, distinct, c.Type, got, want)
					}
				}
			}
		}
	}
}

// alike compares texts, and numbers among them up to rounding.
func alike(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		var u, v float64
		if x[i] == y[i] {
			continue
		}
		if _, err := fmt.Sscan(x[i], &u); err != nil {
			return false
		}
		if _, err := fmt.Sscan(y[i], &v); err != nil || math.Abs(u-v) > 1e-12*(1+math.Abs(u)) {
			return false
		}
	}
	return true
}

func merged(r *rand.Rand, name string, distinct bool, c *array.Column, group []int32, groups int) (*array.Column, error) {
	total, err := New(name, distinct, c.Type)
	if err != nil {
		return nil, err
	}
	for from := 0; from < c.N; {
		part, err := New(name, distinct, c.Type)
		if err != nil {
			return nil, err
		}
		var to []int32 // the part's group i is to[i]
		for range 1 + r.IntN(3) {
			size := min(1+r.IntN(60), c.N-from)
			var own []int32
			if group != nil {
				own = make([]int32, size)
				for i, g := range group[from : from+size] {
					at := slices.Index(to, g)
					if at < 0 {
						at = len(to)
						to = append(to, g)
					}
					own[i] = int32(at)
				}
			}
			if err := part.Add(c.Slice(from, from+size), own, len(to)); err != nil {
				return nil, err
			}
			from += size
		}
		if err := total.Merge(part, to); err != nil {
			return nil, err
		}
	}
	if err := total.Add(array.Empty(c.Type), nil, groups); err != nil {
		return nil, err
	}
	return total.Result(nil)
}
