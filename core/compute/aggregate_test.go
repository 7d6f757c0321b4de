package compute

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

func aggregate(name string, distinct bool, c *array.Column, group []int32, groups int) (*array.Column, error) {
	a, err := NewAggregator(name, distinct, c.Type)
	if err == nil {
		err = a.Add(c, group, groups)
	}
	if err != nil {
		return nil, err
	}
	return a.Result()
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
		if got := show(aggregate(c.name, c.distinct, c.x, nil, 1)); got != c.want {
			t.Errorf("%s distinct %v of %s: got %s, want %s", c.name, c.distinct, show(c.x, nil), got, c.want)
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
		array.From(array.Of(tensor.Int8), random[int8](r, n, false), slices.Clone(null)).ZeroNulls(), array.FromInts(random[int64](r, n, false), nil),
		array.From(array.Of(tensor.Uint64), random[uint64](r, n, false), nil), array.From(array.Of(tensor.Float32), random[float32](r, n, false), slices.Clone(null)).ZeroNulls(),
		array.FromFloats(random[float64](r, n, false), nil), array.FromStrings(texts, slices.Clone(null)).ZeroNulls(),
		array.From(array.OfUnit(array.Interval), random[int64](r, n, false), nil), array.FromBools(make([]bool, n), slices.Clone(null)),
		randomRows(r, tensor.Float32, n, 3),
	}
	for _, c := range columns {
		for _, name := range Aggregates() {
			for _, distinct := range []bool{false, true} {
				if _, err := AggregateType(name, c.Type); err != nil {
					continue
				}
				for _, all := range []bool{false, true} {
					of, k := group, groups
					if all {
						of, k = nil, 1
					}
					want := show(aggregate(name, distinct, c, of, k))
					if got := show(merged(r, name, distinct, c, of, k)); !alike(got, want) {
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
	total, err := NewAggregator(name, distinct, c.Type)
	if err != nil {
		return nil, err
	}
	for from := 0; from < c.N; {
		part, err := NewAggregator(name, distinct, c.Type)
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
	return total.Result()
}

func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 5))
	const n = 500
	null := make([]bool, n)
	for i := range null {
		null[i] = r.IntN(6) == 0
	}
	texts, values := make([]string, n), make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(r.IntN(30))
		values[i] = []string{"1", "true", `"x"`, "-2.5", "[1]", `"y"`, "1.0"}[r.IntN(7)]
	}
	columns := []*array.Column{
		array.FromInts(random[int64](r, n, false), null), array.FromFloats(random[float64](r, n, true), nil), array.From(array.Of(tensor.Float32), random[float32](r, n, true), null),
		array.FromStrings(texts, null), array.From(array.Of(tensor.Uint8), random[uint8](r, n, false), nil), array.From(array.Of(tensor.JSON), values, nil),
		array.From(array.Of(tensor.Uint64), random[uint64](r, n, false), nil), array.Nothing(array.Type{}, n), array.FromBools(make([]bool, n), null),
		array.Constant(array.Of(tensor.Int64), int64(3), n), array.FromArrays(array.Type{DType: tensor.Int16}, tensor.Shape{1}, random[int16](r, n, false), null),
	}
	for _, first := range columns {
		for _, second := range columns {
			keys := []array.Key{
				{Column: first, Desc: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0},
				{Column: second, Desc: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0},
			}
			rows := r.Perm(n)[:n-r.IntN(400)]
			want := slices.Clone(rows)
			sort.SliceStable(want, func(i, j int) bool { return before2(keys, want[i], want[j]) < 0 })
			if err := SortRows(keys, rows); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rows, want) {
				t.Fatalf("sorted by %s, %s: %v, want %v", first.Type, second.Type, rows, want)
			}
			whole := make([]int, n)
			for i := range whole {
				whole[i] = i
			}
			if err := SortRows(keys, whole); err != nil {
				t.Fatal(err)
			}
			for _, k := range []int{0, 1, 10, n, n + 5} {
				if top, err := TopK(keys, k); err != nil || !slices.Equal(top, whole[:min(k, n)]) {
					t.Fatalf("top %d by %s, %s: %v %v, want %v", k, first.Type, second.Type, top, err, whole[:min(k, n)])
				}
			}
		}
	}
	if _, err := array.Order([]array.Key{{Column: samples()["matrix"]}}); err == nil {
		t.Error("a matrix has an order")
	}
	if _, err := array.Order([]array.Key{{Column: samples()["ragged"]}}); err == nil {
		t.Error("arrays of three elements have an order")
	}
}

// before2 is the order as the language has it, value by value.
func before2(keys []array.Key, i, j int) int {
	for _, k := range keys {
		a, b := keyValue(k.Column, i), keyValue(k.Column, j)
		c := 0
		switch {
		case a == nil && b == nil:
		case a == nil || b == nil:
			if (a == nil) == k.NullsFirst {
				return -1
			}
			return 1
		case array.JSONRank(a) != array.JSONRank(b):
			c = array.JSONRank(a) - array.JSONRank(b)
		case array.JSONRank(a) == 2:
			c = strings.Compare(a.(string), b.(string))
		case array.JSONRank(a) == 3:
			c = strings.Compare(a.(array.Compound).Text, b.(array.Compound).Text)
		default:
			c = array.CompareFloat(array.AsFloat(a), array.AsFloat(b))
		}
		if k.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func keyValue(c *array.Column, i int) any {
	if one, ok := c.Value(i).(*array.Column); ok {
		return retypedScalar(one.Slice(0, 1)).Value(0)
	}
	return array.JSONValue(c, i)
}

func retypedScalar(c *array.Column) *array.Column { return array.From(c.Type, c.Data, nil) }

// TestKeys: keys are equal where values are, and no key is the begin of another, so that several
// can stand in a row.
func TestKeys(t *testing.T) {
	for name, c := range samples() {
		for i := range c.N {
			for j := range c.N {
				a, b := string(array.AppendKey(nil, c, i)), string(array.AppendKey(nil, c, j))
				same := showRow(c, i) == showRow(c, j)
				if (a == b) != same {
					t.Errorf("%s: rows %d and %d, equal %v, have keys %q and %q", name, i, j, same, a, b)
				}
				if a != b && strings.HasPrefix(a, b) {
					t.Errorf("%s: key %q goes on as %q", name, b, a)
				}
			}
		}
		for i := range c.N {
			if a, b := string(array.AppendKey(nil, raggedForm(c), i)), string(array.AppendKey(nil, c, i)); a != b {
				t.Errorf("%s: row %d has key %q ragged and %q uniform", name, i, a, b)
			}
		}
	}
	floats := array.FromFloats([]float64{0, math.Copysign(0, -1), math.NaN(), -math.NaN(), math.Float64frombits(0x7ff8000000000001)}, nil)
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {2, 4}} {
		if string(array.AppendKey(nil, floats, pair[0])) != string(array.AppendKey(nil, floats, pair[1])) {
			t.Errorf("%v and %v have different keys", floats.Value(pair[0]), floats.Value(pair[1]))
		}
	}
	json := array.From(array.Of(tensor.JSON), []string{`{"a":1,"b":2}`, `{"b": 2.0, "a": 1}`}, nil)
	if string(array.AppendKey(nil, json, 0)) != string(array.AppendKey(nil, json, 1)) {
		t.Error("equal JSON has different keys")
	}
}
