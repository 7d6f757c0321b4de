package compute

import (
	"deeplake/core/array"
	"deeplake/core/array/arraytest"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
)

// TestOrderStops: the order of many documents looks at its caller.
func TestOrderStops(t *testing.T) {
	t.Parallel()
	texts := make([]string, 1<<16)
	for i := range texts {
		texts[i] = "[1,2,3]"
	}
	gone := errs.New(errs.Canceled, "the caller is gone")
	looks := 0
	w := array.NewWork("ORDER BY", func() error {
		if looks++; looks == 3 {
			return gone
		}
		return nil
	}, nil)
	keys := []array.Key{{Column: array.From(array.Of(tensor.JSON), texts, nil)}}
	if _, err := array.Order(keys, w); err != gone || looks != 3 {
		t.Errorf("got %v after %d looks", err, looks)
	}
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
		array.FromInts(arraytest.RandomNumbers[int64](r, n, false), null), array.FromFloats(arraytest.RandomNumbers[float64](r, n, true), nil), array.From(array.Of(tensor.Float32), arraytest.RandomNumbers[float32](r, n, true), null),
		array.FromStrings(texts, null), array.From(array.Of(tensor.Uint8), arraytest.RandomNumbers[uint8](r, n, false), nil), array.From(array.Of(tensor.JSON), values, nil),
		array.From(array.Of(tensor.Uint64), arraytest.RandomNumbers[uint64](r, n, false), nil), array.Nothing(array.Type{}, n), array.FromBools(make([]bool, n), null),
		array.Constant(array.Of(tensor.Int64), int64(3), n), array.FromArrays(array.Type{DType: tensor.Int16}, tensor.Shape{1}, arraytest.RandomNumbers[int16](r, n, false), null),
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
	if _, err := array.Order([]array.Key{{Column: arraytest.Samples()["matrix"]}}, nil); err == nil {
		t.Error("a matrix has an order")
	}
	if _, err := array.Order([]array.Key{{Column: arraytest.Samples()["ragged"]}}, nil); err == nil {
		t.Error("arrays of three elements have an order")
	}
}

// before2 returns the order as the language has it, value by value.
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
	for name, c := range arraytest.Samples() {
		for i := range c.N {
			for j := range c.N {
				a, b := string(array.AppendKey(nil, c, i)), string(array.AppendKey(nil, c, j))
				same := arraytest.ShowRow(c, i) == arraytest.ShowRow(c, j)
				if (a == b) != same {
					t.Errorf("%s: rows %d and %d, equal %v, have keys %q and %q", name, i, j, same, a, b)
				}
				if a != b && strings.HasPrefix(a, b) {
					t.Errorf("%s: key %q goes on as %q", name, b, a)
				}
			}
		}
		for i := range c.N {
			if a, b := string(array.AppendKey(nil, arraytest.RaggedForm(c), i)), string(array.AppendKey(nil, c, i)); a != b {
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
