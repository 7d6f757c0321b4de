package query_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/query"
)

// everyKind returns a table with a column of each kind of values, none of them without its NULL.
func everyKind(t testing.TB, zone int) *memTable {
	t.Helper()
	table := &memTable{name: "mem://kinds", zone: zone}
	for _, c := range [][3]string{
		{"id", "int64", "[0, 1, 2, 3, 4, 5]"},
		{"i", "int64", "[3, -7, null, 0, 9223372036854775807, 2]"},
		{"u", "uint8", "[0, 255, 7, null, 3, 3]"},
		{"f", "float64", `[0.5, "nan", -2.25, null, "inf", 1e300]`},
		{"g", "float32", "[1.5, 0.0, null, -0.25, 3.0, 3.0]"},
		{"b", "bool", "[true, false, null, true, false, true]"},
		{"s", "text", `["a cat", "", null, "Straße", "2024-05-06", "12"]`},
		{"l", "class_label(cat, dog, ant)", `[0, 2, null, 1, 1, 0]`},
		{"j", "json", `[{"k": 1, "a": [1, 2]}, {"k": "x"}, null, 5, "t", {"k": null}]`},
		{"v", "float32", "[[1, 2, 3, 4], [0, 0, 0, 0], [1, 1, 1, 1], [-1, 2, -3, 4], [5, 6, 7, 8], [0.5, 0, 0, 0]]"},
		{"m", "int64", "[[[1, 2], [3, 4]], [[5, 6, 7]], null, [], [[1]], [[2, 3], [4, 5], [6, 7]]]"},
		{"x", "bbox", "[[[0, 0, 10, 10]], [], null, [[1, 1, 2, 2], [0, 0, 5, 5]], [[0, 0, 0, 0]], [[3, 3, 9, 9]]]"},
		{"q", "sequence[int64]", "[[1, 2], [], null, [3], [4, 5, 6], [7]]"},
		{"d", "date", `["2024-02-29", "1969-12-31", null, "2000-01-01", "2024-02-29", "1900-03-01"]`},
		{"h", "timestamp", `["2024-02-29 12:30:00", null, "1969-12-31 23:59:59", "2000-01-01 00:00:00", "2024-02-29 12:30:00", "1999-12-31 23:59:59"]`},
	} {
		col, err := columnOf(c[1], c[2])
		if err != nil {
			t.Fatalf("%s: %v", c[0], err)
		}
		table.n = col.N
		table.fields = append(table.fields, query.Field{Name: c[0], Type: col.Type, Cost: 5, Bytes: 8, Size: 8})
		table.types = append(table.types, col.Type)
		table.columns = append(table.columns, col)
	}
	return table
}

// poet writes expressions that are well formed, and of the right types more often than not by
// chance.
type poet struct {
	r     *rand.Rand
	names []string // of functions
}

func (p *poet) pick(of ...string) string { return of[p.r.IntN(len(of))] }

func (p *poet) leaf() string {
	if p.r.IntN(3) > 0 {
		return p.pick("i", "u", "f", "g", "b", "s", "l", "j", "v", "m", "x", "q", "d", "h", "id")
	}
	return p.pick("0", "1", "-3", "2.5", "'cat'", "'a%'", "'k'", "NULL", "TRUE", "ARRAY[1, 2]", "ARRAY[0.5, 1, 2, 3]", "ARRAY[[0, 0, 5, 5]]",
		"DATE '2024-02-29'", "INTERVAL '1 day'", "9223372036854775807", "1e308")
}

func (p *poet) expr(depth int) string {
	if depth == 0 {
		return p.leaf()
	}
	x := func() string { return p.expr(p.r.IntN(depth)) }
	switch p.r.IntN(16) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", x(), p.pick("+", "-", "*", "/", "%", "^", "||"), x())
	case 3, 4:
		return fmt.Sprintf("(%s %s %s)", x(), p.pick("=", "!=", "<", "<=", ">", ">="), x())
	case 5:
		return fmt.Sprintf("(%s %s %s)", x(), p.pick("AND", "OR"), x())
	case 6:
		return fmt.Sprintf("(%s %s)", p.pick("NOT", "-"), x())
	case 7:
		return fmt.Sprintf("(%s IS %sNULL)", x(), p.pick("", "NOT "))
	case 8:
		return fmt.Sprintf("(%s IN (%s, %s))", x(), x(), x())
	case 9:
		return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s ELSE %s END", x(), x(), x(), x(), x())
	case 10:
		return fmt.Sprintf("CAST(%s AS %s)", x(), p.pick("BIGINT", "DOUBLE", "TEXT", "BOOLEAN", "DATE", "float32", "uint8", "JSON", "TIMESTAMP"))
	case 11:
		return fmt.Sprintf("%s%s", p.pick("v", "m", "x", "j", "q", "s"), p.pick("[0]", "[-1]", "[1:]", "[::-1]", "[..., 0]", "[i]", "[:id]", "['k']", "[0, 1:2]", "[7]"))
	case 12:
		return fmt.Sprintf("(%s %s %s)", x(), p.pick("LIKE", "ILIKE"), x())
	case 13:
		return fmt.Sprintf("(%s BETWEEN %s AND %s)", x(), x(), x())
	}
	args := make([]string, 1+p.r.IntN(3))
	for i := range args {
		args[i] = x()
	}
	return p.names[p.r.IntN(len(p.names))] + "(" + strings.Join(args, ", ") + ")"
}

// TestRandomExpressions computes expressions for all rows at once, for one row at a time, and with
// conditions that leave some: the answers must be the same, of the type that was foretold, and no
// mistake may look like a bug of ours.
func TestRandomExpressions(t *testing.T) {
	t.Parallel()
	rounds := 3000
	if s := os.Getenv("DEEPLAKE_TEST_QUERIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	aggregates := map[string]bool{"RANDOM": true, "ROW_NUMBER": true, "DATA": true, "BM25_SIMILARITY": true, "MAX_WEIGHT": true, "SUM_WEIGHT": true}
	p := &poet{r: rand.New(rand.NewPCG(7, uint64(rounds)))}
	for _, name := range query.FunctionNames() {
		if compute.Find(name) != nil && !aggregates[name] {
			p.names = append(p.names, name)
		}
	}
	table := everyKind(t, 2)
	done := 0
	for range rounds {
		text := p.expr(3)
		whole, err := exprOn(t, table, "SELECT id, "+text+" AS r", 0)
		if errs.Is(err, errs.Internal) {
			t.Fatalf("%s: %v", text, err)
		}
		if err != nil || len(whole) != table.n { // an aggregate gives one row
			continue
		}
		done++
		for i := range table.n {
			one, err := exprOn(t, table, fmt.Sprintf("SELECT id, %s AS r WHERE id = %d", text, i), 0)
			if err != nil || len(one) != 1 || fmt.Sprint(one[0]) != fmt.Sprint(whole[i]) {
				t.Fatalf("%s: row %d by itself gives %v, %v, among all %v", text, i, one, err, whole[i])
			}
		}
		some, err := exprOn(t, table, fmt.Sprintf("SELECT id, %s AS r WHERE id %% 2 = 0 AND NOT (%s) IS NULL ORDER BY id DESC", text, text), 2)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, row := range some {
			if fmt.Sprint(row) != fmt.Sprint(whole[row[0].(int64)]) {
				t.Fatalf("%s: with a condition %v, among all %v", text, row, whole[row[0].(int64)])
			}
		}
	}
	if done < rounds/20 {
		t.Errorf("of %d expressions %d had a value, want more", rounds, done)
	}
}

// exprOn runs a query and compares the types of its columns with the checker's.
func exprOn(t *testing.T, table query.Table, text string, batch int) ([][]any, error) {
	t.Helper()
	plan, err := query.Prepare(t.Context(), text, table, nil, query.Options{Threads: 1, Batch: batch})
	if err != nil {
		return nil, err
	}
	r, err := plan.Run(t.Context())
	if err != nil {
		return nil, err
	}
	rows := make([][]any, r.N)
	for k := range r.Outputs {
		out := &r.Outputs[k]
		c, err := columnOfOutput(t.Context(), r, out)
		if err != nil {
			return nil, err
		}
		if d := out.Type; c.DType != d.DType && c.DType != 0 && d.DType != 0 || c.List != d.List || d.Dims >= 0 && c.Dims >= 0 && c.Dims != d.Dims {
			t.Fatalf("%s: %s was foretold, %s came", text, d, c.Type)
		}
		for row := range rows {
			rows[row] = append(rows[row], plain(c, row))
		}
	}
	return rows, nil
}
