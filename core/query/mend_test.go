package query_test

import (
	"fmt"
	"testing"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// tableWith is a table of columns.
func tableWith(names []string, columns ...*array.Column) *memTable {
	t := &memTable{name: "mem://t", n: columns[0].N, zone: 1000, columns: columns}
	for i, c := range columns {
		t.types = append(t.types, c.Type)
		t.fields = append(t.fields, query.Field{Name: names[i], Type: c.Type, Cost: 5, Bytes: 8, Size: 8})
	}
	return t
}

// TestPlacesOfPairs: pairs are looked at some at a time, and numbered all through.
func TestPlacesOfPairs(t *testing.T) {
	t.Parallel()
	got := ask(t, numbers(600), "SELECT COUNT(*) AS n FROM dataset AS a JOIN dataset AS b ON ROW_NUMBER() < 10", query.Options{})
	if fmt.Sprint(got) != "[[10]]" {
		t.Errorf("of 360,000 pairs %v have a number below 10", got)
	}
}

// TestLogicTypes: the checker and what computes agree about the type of AND and OR.
func TestLogicTypes(t *testing.T) {
	t.Parallel()
	e := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{2}, make([]float32, 4), []bool{false, true})
	table := tableWith([]string{"i", "e"}, array.FromInts([]int64{1, 2}, nil), e)
	for _, text := range []string{"SELECT i > 5 AND e > 0 AS x", "SELECT e > 0 OR i > 0 AS x", "SELECT e > 0 AND e < 1 AS x", "SELECT i > 0 OR i < 1 AS x"} {
		p, err := query.Prepare(t.Context(), text, table, nil, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := r.Outputs[0]
		if o.Values.Dims != o.Type.Dims || o.Values.DType != o.Type.DType {
			t.Errorf("%s: the plan says %s, the values are %s", text, o.Type, o.Values.Type)
		}
	}
}
