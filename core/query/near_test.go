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

// vectorTable returns a table of vectors with ties, NaN and some NULL, and of numbers, most of them
// different.
func vectorTable(r *rand.Rand, rows, axes int) *memTable {
	data, null := make([]float32, rows*axes), make([]bool, rows)
	ids, kinds := make([]int64, rows), make([]int64, rows)
	for i := range rows {
		ids[i], kinds[i] = int64(i), int64(r.IntN(5))
		v := data[i*axes : (i+1)*axes]
		if null[i] = r.IntN(20) == 0; null[i] {
			continue
		}
		for k := range v {
			v[k] = float32(r.NormFloat64())
		}
		switch r.IntN(8) {
		case 0:
			v[0] = float32(math.NaN())
		case 1:
			clear(v)
		case 2, 3:
			copy(v, data[axes:])
		}
	}
	t := &memTable{name: "mem://vectors", n: rows, zone: 7}
	v := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{int64(axes)}, data, null)
	for i, c := range []*array.Column{array.FromInts(ids, nil), array.FromInts(kinds, nil), v} {
		t.fields = append(t.fields, query.Field{Name: []string{"id", "kind", "v"}[i], Type: c.Type, Cost: 5, Bytes: 8, Size: 8})
		t.types = append(t.types, c.Type)
		t.columns = append(t.columns, c)
	}
	return t
}

// TestNearest queries the first rows in an order, and all rows. Most rows of the first query are
// never measured. Its result begins the second's.
func TestNearest(t *testing.T) {
	t.Parallel()
	r, rounds := rand.New(rand.NewPCG(7, 7)), 4
	if testing.Short() {
		rounds = 1
	}
	for _, axes := range []int{1, 3, 40} {
		table := vectorTable(r, 2400, axes)
		sought := make([]float64, axes)
		for i := range sought {
			sought[i] = r.NormFloat64()
		}
		param := array.Constant(array.Type{DType: tensor.Float64, Dims: 1, Shape: tensor.Shape{int64(axes)}}, sought, 1)
		for _, key := range []string{"L2_NORM(v - ?)", "L2_DISTANCE(?, v)", "COSINE_SIMILARITY(v, ?)", "-COSINE_SIMILARITY(v, ?)", "DOT(v, ?)", "- - DOT(v, ?)", "-L2_NORM(v - ?)", "1 - DOT(v, ?)"} {
			orders := []string{"", " DESC", " NULLS FIRST", " DESC NULLS FIRST", ", kind", " DESC, kind DESC", ", d DESC, id"}
			for range rounds {
				order := orders[r.IntN(len(orders))]
				where := []string{"", " WHERE kind < 3", " WHERE kind < 3 AND NOT d > 2"}[r.IntN(3)]
				text := fmt.Sprintf("SELECT id, %s AS d FROM \"mem://vectors\"%s ORDER BY d%s", key, where, order)
				all := nearest(t, table, param, text, query.Options{Threads: 1})
				for _, cut := range [][2]int{{0, 0}, {1, 0}, {5, 3}, {60, 0}, {115, 5}, {3000, 0}} {
					few := fmt.Sprintf("%s LIMIT %d OFFSET %d", text, cut[0], cut[1])
					got := nearest(t, table, param, few, query.Options{Threads: 2, Batch: 8 + r.IntN(30)})
					want := all[min(cut[1], len(all)):min(cut[0]+cut[1], len(all))]
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Fatalf("%d axes: %s: %.2000s, want\n%.2000s", axes, few, fmt.Sprint(got), fmt.Sprint(want))
					}
				}
			}
		}
	}
}

func nearest(t *testing.T, table *memTable, param *array.Column, text string, o query.Options) [][]any {
	t.Helper()
	o.Params = []any{param}
	plan, err := query.Prepare(t.Context(), text, nil, memTables{table.name: table}, o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	res, err := plan.Run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rows := make([][]any, res.N)
	for k := range res.Outputs {
		c, err := columnOfOutput(t.Context(), res, &res.Outputs[k])
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			rows[i] = append(rows[i], plain(c, i))
		}
	}
	return rows
}
