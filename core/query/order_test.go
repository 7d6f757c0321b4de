package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// TestTopAlike: the first rows equal those of a full sort for all values: NULL, NaN, equal ones,
// every kind of number.
func TestTopAlike(t *testing.T) {
	t.Parallel()
	n := 5000
	r := rand.New(rand.NewPCG(3, 1))
	id, f, fnull, u, b, d, w := make([]int64, n), make([]float64, n), make([]bool, n), make([]uint8, n), make([]bool, n), make([]int64, n), make([]uint64, n)
	s := make([]string, n)
	for i := range n {
		id[i] = int64(i)
		f[i] = []float64{0, math.Copysign(0, -1), 1.5, -2, math.NaN(), math.Inf(1), math.Inf(-1), r.Float64()}[r.IntN(8)]
		fnull[i] = r.IntN(10) == 0
		u[i], b[i], d[i] = uint8(r.IntN(9)), r.IntN(2) == 0, r.Int64N(100)-50
		w[i], s[i] = uint64(r.IntN(3))<<62, fmt.Sprint(r.IntN(40))
	}
	table := &memTable{name: "mem://n", n: n, zone: 500}
	for _, c := range []struct {
		name string
		col  *array.Column
	}{
		{"id", array.FromInts(id, nil)}, {"f", array.FromFloats(f, fnull)}, {"u", array.From(array.Of(tensor.Uint8), u, nil)},
		{"b", array.FromBools(b, nil)}, {"d", array.From(array.OfUnit(array.Date), d, nil)}, {"w", array.From(array.Of(tensor.Uint64), w, nil)},
		{"s", array.FromStrings(s, nil)},
	} {
		table.fields = append(table.fields, query.Field{Name: c.name, Type: c.col.Type, Cost: 5, Bytes: 8, Size: 8})
		table.types, table.columns = append(table.types, c.col.Type), append(table.columns, c.col)
	}
	for _, key := range []string{"f", "u", "b", "d", "w", "s", "f * -1", "id"} {
		for _, how := range []string{"", " DESC", " NULLS FIRST", " DESC NULLS FIRST", ", s DESC", " DESC, f"} {
			text := "SELECT id, f ORDER BY " + key + how
			all := ask(t, table, text, query.Options{Threads: 2})
			for _, limit := range []int{1, 40, 700} {
				some := ask(t, table, fmt.Sprintf("%s LIMIT %d", text, limit), query.Options{Threads: 2, Batch: 64})
				if fmt.Sprint(some) != fmt.Sprint(all[:limit]) {
					t.Errorf("%s LIMIT %d: got %v, want %v", text, limit, some[:min(limit, 5)], all[:min(limit, 5)])
				}
			}
		}
	}
}
