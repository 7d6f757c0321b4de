package query_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// tableWith returns a table of columns.
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

// TestLogicTypes: the checker and core/compute agree about the type of AND and OR.
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
		for row := range o.Values.N {
			if n := len(o.Values.ShapeAt(row)); !o.Values.IsNull(row) && o.Type.Dims != array.Unranked && n != o.Type.Dims {
				t.Errorf("%s: the plan says %s, row %d has %d axes", text, o.Type, row, n)
			}
		}
	}
}

// TestManyOfNoType: values of no one type are looked up, not compared in pairs: of these there are
// 10^10.
func TestManyOfNoType(t *testing.T) {
	t.Parallel()
	n := 100_000
	i, u, j := make([]int64, n), make([]uint64, n), make([]string, n)
	for k := range n {
		i[k], u[k], j[k] = int64(k-10), uint64(k), strconv.Itoa(k-20)
	}
	u[0], j[0] = 1<<63, `"x"`
	table := tableWith([]string{"i", "u", "j"}, array.FromInts(i, nil), array.From(array.Of(tensor.Uint64), u, nil),
		array.From(array.Of(tensor.JSON), j, nil))
	for _, c := range []struct {
		text string
		want int
	}{
		{"WHERE i IN (SELECT u FROM dataset)", n - 11},
		{"WHERE u IN (SELECT i FROM dataset)", n - 11},
		{"WHERE j IN (SELECT i FROM dataset)", n - 10},
		{"WHERE j IN (SELECT j FROM dataset)", n},
		{"WHERE i IN (SELECT j FROM dataset)", n - 10},
		{"AS a JOIN dataset AS b ON a.i = b.u", n - 11},
		{"AS a JOIN dataset AS b ON a.j = b.i", n - 10},
		{"AS a LEFT JOIN dataset AS b ON b.u = a.i", n},
		{"AS a LEFT JOIN dataset AS b ON b.j = a.u AND b.j != 7 WHERE b.j IS NULL", 21 + 1},
	} {
		text := "SELECT COUNT(*) AS n FROM dataset " + c.text
		if got := ask(t, table, text, query.Options{Threads: 2}); fmt.Sprint(got) != fmt.Sprintf("[[%d]]", c.want) {
			t.Errorf("%s: %v, want %d", text, got, c.want)
		}
	}
}

// TestJoinExactly: keys that large numbers have in common are not all there is to a join.
func TestJoinExactly(t *testing.T) {
	t.Parallel()
	big := int64(1) << 53
	table := tableWith([]string{"i", "u", "j"}, array.FromInts([]int64{big, big + 1, -1}, nil),
		array.From(array.Of(tensor.Uint64), []uint64{uint64(big) + 1, uint64(big) + 2, 1<<64 - 1}, nil),
		array.From(array.Of(tensor.JSON), []string{strconv.FormatInt(big+1, 10), "9007199254740992.0", "null"}, nil))
	for on, want := range map[string]int{"a.i = b.u": 1, "a.i = b.j": 3, "a.j = b.i": 3} {
		text := "SELECT COUNT(*) AS n FROM dataset AS a JOIN dataset AS b ON " + on
		if got := ask(t, table, text, query.Options{}); fmt.Sprint(got) != fmt.Sprintf("[[%d]]", want) {
			t.Errorf("%s: %v, want %d", text, got, want)
		}
	}
}

// TestCheapestFirst: infallible conditions run in order of cost. A fallible condition runs after
// all that the query writes earlier.
func TestCheapestFirst(t *testing.T) {
	t.Parallel()
	e := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{2}, make([]float32, 4), nil)
	table := tableWith([]string{"i", "s", "e", "j"}, array.FromInts([]int64{1, 2}, nil), array.FromStrings([]string{"1", "2"}, nil), e,
		array.From(array.Of(tensor.JSON), []string{"{}", "{}"}, nil))
	table.fields[2].Cost = 1000
	for where, want := range map[string]string{
		"e[0] > 0 AND i = 1":                            "i = 1 and then e[0] > 0",
		"s LIKE 'a%b' AND i = 1":                        "i = 1 and then s LIKE 'a%b'",
		"s LIKE 'a%b' AND CAST(s AS INT) = 1":           "s LIKE 'a%b' and then CAST(s AS int) = 1",
		"CAST(s AS INT) = 1 AND s LIKE 'a%b' AND i = 1": "i = 1 and then CAST(s AS int) = 1 and then s LIKE 'a%b'",
		"L2_NORM(e) > 1 AND j['a'] = 1 AND i % 2 = 1":   "i % 2 = 1 and then j['a'] = 1 and then L2_NORM(e) > 1",
		"L2_NORM(e) > 1 AND e[1:][0] = 1 AND i + 1 < 9": "L2_NORM(e) > 1 and then e[1:][0] = 1 and then i + 1 < 9",
		"L2_NORM(e) > 1 AND SHAPE(e)[0] > 1 AND i = 1":  "i = 1 and then SHAPE(e)[0] > 1 and then L2_NORM(e) > 1",
		"e[1] > 1 AND SHAPE(e)[0] > 1":                  "SHAPE(e)[0] > 1 and then e[1] > 1",
	} {
		p, err := query.Prepare(t.Context(), "SELECT i WHERE "+where, table, nil, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := p.Explain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text := x.String(); !strings.Contains(text, "where "+want+",") {
			t.Errorf("%s: want %s, got\n%s", where, want, text)
		}
	}
	p, err := query.Prepare(t.Context(), "SELECT i ORDER BY i LIMIT 9223372036854775807 OFFSET 1", table, nil, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := p.Explain(t.Context()); err != nil || !strings.Contains(x.String(), "sort by i") {
		t.Errorf("all rows but one are no few: %v, %v", x, err)
	}
}
