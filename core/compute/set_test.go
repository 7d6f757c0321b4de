package compute

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// TestSetAlike: IN of values of different types agrees with a comparison with each of them.
func TestSetAlike(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	make1 := map[string]func(n int) *array.Column{
		"json": func(n int) *array.Column {
			some := []string{"1", "1.0", "2", `"a"`, `"1"`, "true", "false", "null", `{"a": 1.0}`, `{"a":1}`, "[1]", "9007199254740992", "9007199254740993",
				"9007199254740992.0", "18446744073709551615", "-0.0", "0", "-1", "broken"}
			return drawn(r, n, array.Of(tensor.JSON), some)
		},
		"int": func(n int) *array.Column {
			return drawn(r, n, array.Of(tensor.Int64), []int64{-1, 0, 1, 2, 1 << 53, 1<<53 + 1, -1 << 63, 1<<63 - 1})
		},
		"small": func(n int) *array.Column { return drawn(r, n, array.Of(tensor.Int8), []int8{-1, 0, 1, 2}) },
		"uint": func(n int) *array.Column {
			return drawn(r, n, array.Of(tensor.Uint64), []uint64{0, 1, 2, 1 << 53, 1<<53 + 1, 1 << 63, 1<<64 - 1})
		},
		"float": func(n int) *array.Column {
			return drawn(r, n, array.Of(tensor.Float64), []float64{0, 1, 2.5, 1 << 53, 1e19})
		},
		"text": func(n int) *array.Column { return drawn(r, n, array.Of(tensor.String), []string{"a", "1", "b"}) },
		"bool": func(n int) *array.Column { return drawn(r, n, array.Of(tensor.Bool), []bool{true, false}) },
	}
	for _, pair := range [][2]string{{"json", "json"}, {"json", "int"}, {"int", "json"}, {"json", "uint"}, {"uint", "json"}, {"json", "float"}, {"float", "json"},
		{"json", "text"}, {"text", "json"}, {"json", "bool"}, {"bool", "json"}, {"int", "uint"}, {"uint", "int"}, {"small", "uint"}, {"uint", "small"}} {
		for round := range 40 {
			x, values := make1[pair[0]](30), make1[pair[1]](round%9)
			if round%3 == 0 {
				x = x.Slice(4, 5).OnlyRow().Repeat(30)
			}
			s, err := NewSet(values)
			if err != nil {
				t.Fatal(err)
			}
			got, err := IsIn(nil, x, s)
			if err != nil {
				t.Fatal(err)
			}
			want := array.FromBools(make([]bool, x.N), nil)
			for i := range values.N {
				one, err := Compare(nil, "=", x, values.Slice(i, i+1).OnlyRow().Repeat(x.N))
				if err != nil {
					t.Fatal(err)
				}
				if want, err = Or(nil, want, one); err != nil {
					t.Fatal(err)
				}
			}
			for i := range x.N {
				null := x.IsNull(i) && values.N == 0 // NULL IN () is not compared with anything
				if g, w := fmt.Sprint(got.IsNull(i), got.Value(i)), fmt.Sprint(want.IsNull(i), want.Value(i)); g != w && !null {
					t.Fatalf("%v IN %v: %s, want %s", x.Value(i), values, g, w)
				}
			}
		}
	}
}

func drawn[T array.Element](r *rand.Rand, n int, t array.Type, some []T) *array.Column {
	data, null := make([]T, n), make([]bool, n)
	for i := range n {
		data[i], null[i] = some[r.IntN(len(some))], r.IntN(8) == 0
	}
	return array.From(t, data, null)
}
