package query_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// counted is a table that counts its reads, and may wait for each read.
type counted struct {
	*memTable
	values, index atomic.Int64 // rows with values read, and rows looked up in the index
	wait          func(ctx context.Context) error
}

func (t *counted) Reader() query.Reader { return &countedReader{t.memTable.Reader(), t} }

type countedReader struct {
	query.Reader
	t *counted
}

func (r *countedReader) Read(ctx context.Context, column int, rows query.Rows, want query.Want, part []query.Span) (*array.Column, error) {
	if r.t.wait != nil {
		if err := r.t.wait(ctx); err != nil {
			return nil, err
		}
	}
	if want == query.Values {
		r.t.values.Add(rows.N)
	} else {
		r.t.index.Add(rows.N)
	}
	return r.Reader.Read(ctx, column, rows, want, part)
}

// numbers returns a table of n rows: id counts, big counts in steps of 1,000 rows, x is random, k
// one of ten.
func numbers(n int) *counted {
	r := rand.New(rand.NewPCG(1, 2))
	id, big, k, x := make([]int64, n), make([]int64, n), make([]int64, n), make([]float64, n)
	for i := range n {
		id[i], big[i], k[i], x[i] = int64(i), int64(i/1000), r.Int64N(10), r.Float64()
	}
	t := &memTable{name: "mem://numbers", n: n, zone: 1000}
	for _, c := range []struct {
		name string
		col  *array.Column
	}{{"id", array.FromInts(id, nil)}, {"big", array.FromInts(big, nil)}, {"k", array.FromInts(k, nil)}, {"x", array.FromFloats(x, nil)}} {
		t.fields = append(t.fields, query.Field{Name: c.name, Type: c.col.Type, Cost: 5, Bytes: 8, Size: 8})
		t.types = append(t.types, c.col.Type)
		t.columns = append(t.columns, c.col)
	}
	return &counted{memTable: t}
}

func ask(t *testing.T, table query.Table, text string, o query.Options) [][]any {
	t.Helper()
	_, rows, err := answer(t.Context(), text, table, nil, o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

func TestReadsWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		rows   int
		values int64 // read at most
	}{
		{"SELECT id", 300_000, 0},
		{"SELECT COUNT(*)", 1, 0},
		{"SELECT id WHERE big = 7", 1000, 0}, // the zones say it all
		{"SELECT id WHERE id BETWEEN 5500 AND 5600", 101, 2 * 1000},
		{"SELECT id WHERE big IN (3, 4) AND x < 0.5", 991, 2 * 2000},
		{"SELECT id WHERE id < 0", 0, 0},
		{"SELECT id WHERE id IS NULL", 0, 0},
		{"SELECT id WHERE x < 2 LIMIT 10", 10, 2 * 65536}, // of 300,000
		{"SELECT id LIMIT 5", 5, 0},
		{"SELECT id WHERE x < 2 LIMIT 0", 0, 2 * 65536},
		{"SELECT id WHERE big = 7 AND x < 2", 1000, 1000},
		{"SELECT id WHERE SHAPE(id)[0] > 1", -1, 0},
	} {
		table := numbers(300_000)
		_, rows, err := answer(t.Context(), c.text, table, nil, query.Options{Threads: 2})
		if c.rows < 0 {
			if err == nil {
				t.Errorf("%s: no error", c.text)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if read := table.values.Load(); len(rows) != c.rows || read > c.values {
			t.Errorf("%s: %d rows and %d values read, want %d and at most %d", c.text, len(rows), read, c.rows, c.values)
		}
	}
}

func TestSortedAlike(t *testing.T) {
	t.Parallel()
	table := numbers(200_000)
	o := query.Options{Threads: 2}
	all := ask(t, table, "SELECT id ORDER BY k, x DESC", o)
	for _, n := range []int{1, 100, 5000, 150_000} {
		first := ask(t, table, fmt.Sprintf("SELECT id ORDER BY k, x DESC LIMIT %d OFFSET 50", n), o)
		if !slices.EqualFunc(first, all[50:50+n], func(a, b []any) bool { return a[0] == b[0] }) {
			t.Errorf("the first %d are others than when all are sorted", n)
		}
	}
	if !slices.IsSortedFunc(ask(t, table, "SELECT x, k ORDER BY 2, 1 DESC", o), func(a, b []any) int {
		if a[1] != b[1] {
			return int(a[1].(int64) - b[1].(int64))
		}
		switch x, y := a[0].(float64), b[0].(float64); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	}) {
		t.Error("rows are not sorted")
	}
}

// TestThreads: the answer, sums of floats to the last bit too, does not depend on how many threads
// compute it.
func TestThreads(t *testing.T) {
	t.Parallel()
	table := numbers(150_000)
	for _, text := range []string{
		"SELECT k, SUM(x), AVG(x), STD(x), COUNT(*), MIN(id), FIRST(id) WHERE x > 0.1 GROUP BY k",
		"SELECT SUM(x)",
		"SELECT DISTINCT k, big % 3 AS m",
		"SELECT id WHERE x > 0.999 ORDER BY RANDOM() LIMIT 20",
		"SELECT id, RANDOM() AS r WHERE big = 9",
		"SELECT id SAMPLE BY x LIMIT 50",
		"SELECT id SAMPLE BY x REPLACE FALSE LIMIT 50",
	} {
		one := ask(t, table, text, query.Options{Threads: 1, Seed: 3})
		for _, threads := range []int{2, 5} {
			if many := ask(t, table, text, query.Options{Threads: threads, Seed: 3}); fmt.Sprint(many) != fmt.Sprint(one) {
				t.Errorf("%s: %d threads give %v, one %v", text, threads, many, one)
			}
		}
	}
	if fmt.Sprint(ask(t, table, "SELECT RANDOM() AS r LIMIT 5", query.Options{Seed: 3})) == fmt.Sprint(ask(t, table, "SELECT RANDOM() AS r LIMIT 5", query.Options{Seed: 4})) {
		t.Error("the seed changes nothing")
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT id WHERE x < 0.5",
		"SELECT k, SUM(x) GROUP BY k",
		"SELECT id ORDER BY x",
		"SELECT a.id FROM dataset AS a JOIN dataset AS b ON a.x < b.x",
		"SELECT id WHERE EXISTS (SELECT 1 FROM dataset AS b WHERE b.id = dataset.id + 1)",
	} {
		table := numbers(100_000)
		ctx, cancel := context.WithCancel(t.Context())
		reads := atomic.Int64{}
		table.wait = func(ctx context.Context) error {
			if reads.Add(1) == 2 {
				cancel()
			}
			return ctx.Err()
		}
		began := time.Now()
		_, _, err := answer(ctx, text, table, nil, query.Options{Threads: 2})
		if !errs.Is(err, errs.Canceled) {
			t.Errorf("%s: %v, want that it was canceled", text, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %s", text, took)
		}
		cancel()
	}
}

// asked counts the checks of its end.
type asked struct {
	context.Context
	looks atomic.Int64
}

func (a *asked) Err() error {
	a.looks.Add(1)
	return a.Context.Err()
}

// TestCancelExpand is of one row that takes millions with it: between them the context is looked
// at, too.
func TestCancelExpand(t *testing.T) {
	t.Parallel()
	table := numbers(4 << 20)
	looks := func(text string) int64 {
		ctx := &asked{Context: t.Context()}
		if _, _, err := answer(ctx, text, table, nil, query.Options{Threads: 1}); err != nil {
			t.Fatal(err)
		}
		return ctx.looks.Load()
	}
	plain := looks("SELECT id WHERE id = 0 LIMIT 1")
	if got := looks("SELECT id WHERE id = 0 EXPAND BY 0 4000000 LIMIT 1") - plain; got < 30 {
		t.Errorf("the context was looked at %d times while 32 MB of rows were put, want at least once for each", got)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	table := numbers(100_000)
	for _, text := range []string{
		"SELECT id", "SELECT id + 1 AS y", "SELECT id, SUM(x) GROUP BY id", "SELECT DISTINCT x", "SELECT id ORDER BY x",
		"SELECT a.id FROM dataset AS a, dataset AS b", "SELECT id SAMPLE BY x LIMIT 1000000000",
		"SELECT k, LIST(x) AS l GROUP BY k", "SELECT x EXCEPT SELECT x + 1", "SELECT id ORDER BY x LIMIT 50000", "SELECT LAST(x) AS l", "SELECT MEDIAN(x) AS m", "SELECT COUNT(DISTINCT x) AS n",
		"SELECT id, FIRST(x) AS f GROUP BY id",
	} {
		_, _, err := answer(t.Context(), text, table, nil, query.Options{Threads: 2, Budget: 200_000})
		if err == nil || !strings.Contains(err.Error(), "more than 0 MB of memory") {
			t.Errorf("%s: %v, want an error about memory", text, err)
		}
	}
	for _, text := range []string{
		"SELECT SUM(x) AS s, COUNT(*) AS n", "SELECT FIRST(x) AS f, ANY_VALUE(x) AS a, BOOL_AND(x > 0) AS b, STDDEV_POP(x) AS s",
		"SELECT COUNT(DISTINCT k) AS n", "SELECT id ORDER BY x LIMIT 1", "SELECT id ORDER BY x DESC LIMIT 1",
	} {
		if rows := ask(t, table, text, query.Options{Budget: 200_000, Batch: 1000}); len(rows) != 1 {
			t.Errorf("%s: %d rows, want one", text, len(rows))
		}
	}
}

func TestSampleFollowsWeights(t *testing.T) {
	t.Parallel()
	table := numbers(1000)
	rows := ask(t, table, "SELECT k SAMPLE BY MAX_WEIGHT(k = 1: 3, k = 2: 1) LIMIT 40000", query.Options{})
	counts := map[any]int{}
	for _, row := range rows {
		counts[row[0]]++
	}
	in := map[int64]int{}
	for _, k := range table.columns[2].Data.([]int64) {
		in[k]++
	}
	want := 40000 * 3 * in[1] / (3*in[1] + in[2])
	if len(counts) != 2 || counts[int64(1)] < want-600 || counts[int64(1)] > want+600 {
		t.Errorf("drawn %v, want about %d of 1", counts, want)
	}
	some := ask(t, table, "SELECT id SAMPLE BY k REPLACE FALSE LIMIT 50 PERCENT", query.Options{})
	seen := map[any]bool{}
	for _, row := range some {
		if seen[row[0]] {
			t.Fatal("a row was drawn twice")
		}
		seen[row[0]] = true
	}
	if len(some) != 500 {
		t.Errorf("%d rows, want half of them", len(some))
	}
}

func TestArrangeSpreadsEvenly(t *testing.T) {
	t.Parallel()
	rows := ask(t, numbers(10_000), "SELECT k WHERE k < 3 ARRANGE BY k", query.Options{})
	counts := [3]int{}
	for _, row := range rows {
		counts[row[0].(int64)]++
	}
	seen := [3]int{}
	for i, row := range rows {
		seen[row[0].(int64)]++
		for k, n := range counts {
			if want := float64(n) * float64(i+1) / float64(len(rows)); float64(seen[k]) < want-2 || float64(seen[k]) > want+2 {
				t.Fatalf("of the first %d rows %d have %d, want %.1f", i+1, seen[k], k, want)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	table := numbers(20_000)
	for _, c := range []struct{ text, want string }{
		{
			"select id, x where big = 7 and x < 0.5 order by x limit 3",
			`SELECT id, x WHERE big = 7 AND x < 0.5 ORDER BY x LIMIT 3
3 rows from 0 on, 3 rows
  keep the first 3 by x, 1,000 rows
    scan mem://numbers where big = 7 and then x < 0.5, 1,000 rows, 19 of 40 chunks left out, about 16 KB to read
`,
		},
		{
			"SELECT k, COUNT(*) AS n GROUP BY k HAVING n > 3",
			`SELECT k, COUNT(*) AS n GROUP BY k HAVING n > 3
having COUNT(*) > 3
  group by k
    scan mem://numbers, 20,000 rows
`,
		},
		{
			"SELECT a.id FROM dataset AS a JOIN dataset AS b ON a.id = b.big WHERE a.big = 0",
			`SELECT a.id FROM dataset AS a INNER JOIN dataset AS b ON a.id = b.big WHERE a.big = 0
inner join by id
  scan mem://numbers where big = 0, 1,000 rows, 19 of 20 chunks left out
  scan mem://numbers, 20,000 rows
`,
		},
	} {
		p, err := query.Prepare(t.Context(), c.text, table, nil, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := p.Explain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := e.String(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
	if n := table.values.Load(); n > 0 {
		t.Errorf("explaining has read %d values", n)
	}
}

// TestPartition: a condition, its opposite, and its being unknown share out all rows.
func TestPartition(t *testing.T) {
	t.Parallel()
	n := 3000
	r := rand.New(rand.NewPCG(5, 6))
	a, null := make([]int64, n), make([]bool, n)
	for i := range n {
		a[i], null[i] = r.Int64N(20)-10, r.IntN(5) == 0
	}
	c := array.FromInts(a, null)
	table := &memTable{name: "mem://n", n: n, zone: 17, columns: []*array.Column{c}, types: []array.Type{c.Type}}
	table.fields = []query.Field{{Name: "a", Type: c.Type, Cost: 5, Bytes: 8, Size: 8}}
	for _, cond := range []string{
		"a > 3", "a = 2 OR a < -5", "a IN (1, 2, NULL)", "a BETWEEN -3 AND 4", "NOT a < 0 AND a % 2 = 0", "a / 0 > 1", "a % 0 = 1",
		"CASE WHEN a > 0 THEN a < 5 END", "a = (SELECT MAX(a))", "a IN (SELECT a WHERE a > 5)", "a IS NULL", "COALESCE(a, 100) > 5",
	} {
		total := 0
		for _, where := range []string{cond, "NOT (" + cond + ")", "(" + cond + ") IS NULL"} {
			total += len(ask(t, table, "SELECT a WHERE "+where, query.Options{Threads: 2}))
		}
		if total != n {
			t.Errorf("%s: the three parts have %d rows, want %d", cond, total, n)
		}
	}
}

func TestLateOutputs(t *testing.T) {
	t.Parallel()
	n, side := 2000, 100
	data := make([]float32, n*side*side)
	for i := range data {
		data[i] = float32(i % 1000)
	}
	c := array.FromArrays(array.Type{DType: tensor.Float32, Dims: 2}, tensor.Shape{int64(side), int64(side)}, data, nil)
	table := &counted{memTable: &memTable{name: "mem://images", n: n, zone: 100, columns: []*array.Column{c}, types: []array.Type{c.Type}}}
	table.fields = []query.Field{{Name: "image", Type: c.Type, Cost: 1000, Bytes: 40_000, Size: 40_000}}
	p, err := query.Prepare(t.Context(), "SELECT image * 2 AS twice, image[10:20, 5] AS some", table, nil, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Outputs[0].Values != nil || r.Outputs[1].Values == nil {
		t.Fatal("want what is large left for later, and what is small computed")
	}
	before := table.values.Load()
	v, err := r.Outputs[0].Compute(t.Context(), []int64{7, 3})
	if err != nil || v.N != 2 || v.Data.([]float32)[1] != 2*data[7*side*side+1] || table.values.Load() != before+2 {
		t.Errorf("got %v rows, %v, and %d more were read", v, err, table.values.Load()-before)
	}
	if _, err := r.Outputs[0].Compute(t.Context(), []int64{2000}); !errs.Is(err, errs.Range) {
		t.Errorf("a row behind the last: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	defer stop()
	o := query.Options{Functions: map[string]query.User{"STOP": stopping(stop)}}
	if p, err = query.Prepare(stopped, "SELECT image * 2 AS twice, STOP(image[0, 0]) AS s", table, nil, o); err != nil {
		t.Fatal(err)
	}
	if _, err = p.Run(stopped); !errs.Is(err, errs.Canceled) {
		t.Errorf("given up behind what is left for later: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, err = query.Prepare(ctx, "SELECT b - 1 AS c FROM (SELECT image + 1 AS b, image FROM dataset) d", table, nil, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = p.Run(ctx); err != nil || r.Outputs[0].Values != nil {
		t.Fatalf("%v, want what is large left for later", err)
	}
	cancel() // the query has ended, with all that it began
	if v, err = r.Outputs[0].Compute(t.Context(), []int64{7, 3}); err != nil || v.Data.([]float32)[1] != data[7*side*side+1] {
		t.Errorf("of a query in FROM: %v", err)
	}
	if _, err = r.Outputs[0].Compute(ctx, []int64{7, 3}); !errs.Is(err, errs.Canceled) {
		t.Errorf("given up while it is computed: %v", err)
	}
}

// stopping is a function that ends the query that calls it.
type stopping func()

func (s stopping) Type() array.Type { return array.Of(tensor.Float32) }

func (s stopping) Call(ctx context.Context, args []*array.Column) (*array.Column, error) {
	s()
	return args[0], nil
}

// TestGroupsAcrossBatches: a key is one group whether the other rows of its batch have values or
// not.
func TestGroupsAcrossBatches(t *testing.T) {
	t.Parallel()
	n := 200_000
	k, null, wide := make([]int64, n), make([]bool, n), make([]int64, n)
	want := map[any]int64{}
	for i := range n {
		k[i] = int64(i%7) - 2
		null[i] = i > 100_000 && i%5 == 0
		wide[i] = k[i] * 1_000_000_000
		if null[i] {
			want[nil]++
		} else {
			want[k[i]]++
		}
	}
	table := &memTable{name: "mem://n", n: n, zone: 1000}
	for _, c := range []struct {
		name string
		col  *array.Column
	}{{"k", array.FromInts(k, null)}, {"wide", array.FromInts(wide, null)}} {
		table.fields = append(table.fields, query.Field{Name: c.name, Type: c.col.Type, Cost: 5, Bytes: 8, Size: 8})
		table.types, table.columns = append(table.types, c.col.Type), append(table.columns, c.col)
	}
	for _, text := range []string{"SELECT k, COUNT(*) AS n GROUP BY k", "SELECT wide / 1000000000 AS k, COUNT(*) AS n GROUP BY wide", "SELECT k, COUNT(*) AS n GROUP BY k, wide"} {
		rows := ask(t, table, text, query.Options{Threads: 2})
		if len(rows) != len(want) {
			t.Errorf("%s: %d groups, want %d: %v", text, len(rows), len(want), rows)
		}
		for _, row := range rows {
			key := row[0]
			if f, ok := key.(float64); ok {
				key = int64(f)
			}
			if row[1] != want[key] {
				t.Errorf("%s: %v has %v rows, want %d", text, row[0], row[1], want[key])
			}
		}
	}
}

// TestBatchedParameters: a batched parameter gives the results of one query per value, and reads
// rows once.
func TestBatchedParameters(t *testing.T) {
	t.Parallel()
	n, d, turns := 30_000, 8, 5
	r := rand.New(rand.NewPCG(8, 9))
	data, id := make([]float32, n*d), make([]int64, n)
	for i := range data {
		data[i] = r.Float32()
	}
	for i := range id {
		id[i] = int64(i)
	}
	e := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{int64(d)}, data, nil)
	ids := array.FromInts(id, nil)
	table := &counted{memTable: &memTable{name: "mem://e", n: n, zone: 1000, columns: []*array.Column{ids, e}, types: []array.Type{ids.Type, e.Type}}}
	table.fields = []query.Field{{Name: "id", Type: ids.Type, Cost: 5, Bytes: 8, Size: 8}, {Name: "e", Type: e.Type, Cost: 50, Bytes: 32, Size: 32}}
	wanted := make([]float32, turns*d)
	for i := range wanted {
		wanted[i] = r.Float32()
	}
	matrix := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{int64(turns), int64(d)}, wanted, nil)
	text := "SELECT id, L2_NORM(e - ?) AS far WHERE id % 3 = 0 ORDER BY far LIMIT 7 OFFSET 2"
	var want [][]any
	for i := range turns {
		one := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{int64(d)}, wanted[i*d:(i+1)*d], nil)
		want = append(want, ask(t, table, text, query.Options{Params: []any{one}, Threads: 2})...)
	}
	before := table.values.Load()
	got := ask(t, table, text, query.Options{Params: []any{matrix}, Batched: []int{0}, Threads: 2})
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 7*turns {
		t.Errorf("got %v, want %v", got, want)
	}
	if read := table.values.Load() - before; read > int64(2*n+7*turns*2) {
		t.Errorf("%d values were read, want each of %d rows once", read, n)
	}
	few := ask(t, table, "SELECT id ORDER BY DOT(e, ?) DESC, id LIMIT 3", query.Options{Params: []any{matrix}, Batched: []int{0}, Batch: 7, Threads: 3})
	if all := ask(t, table, "SELECT id ORDER BY DOT(e, ?) DESC, id LIMIT 3", query.Options{Params: []any{matrix}, Batched: []int{0}}); fmt.Sprint(few) != fmt.Sprint(all) {
		t.Errorf("batches of 7 give %v, large ones %v", few, all)
	}
	if none := ask(t, table, "SELECT id ORDER BY DOT(e, ?) LIMIT 0", query.Options{Params: []any{matrix}, Batched: []int{0}, Batch: 7}); len(none) != 0 {
		t.Errorf("LIMIT 0 gives %d rows", len(none))
	}
	for _, where := range []string{"RANDOM() < 2", "id = (SELECT MAX(id) FROM dataset)", "id <= (SELECT ? + MIN(RANDOM()) FROM dataset)"} {
		text := "SELECT id WHERE " + where + " ORDER BY DOT(e, ?) LIMIT 1"
		o := query.Options{Params: []any{matrix}, Batched: []int{0}, Threads: 2}
		if strings.Contains(where, "?") {
			o = query.Options{Params: []any{int64(9), matrix}, Batched: []int{1}, Threads: 2}
		}
		if rows := ask(t, table, text, o); len(rows) != turns {
			t.Errorf("%s: %d rows, want %d", text, len(rows), turns)
		}
	}
	for _, c := range []struct {
		text   string
		params []any
		each   []int
		want   string
	}{
		{"SELECT id WHERE id < (SELECT MAX(DOT(e, ?)) FROM dataset) ORDER BY id LIMIT 1", []any{matrix}, []int{0}, "no place in WHERE"},
		{"SELECT id ORDER BY DOT(e, ?)", []any{matrix}, []int{0}, "a LIMIT"},
		{"SELECT id WHERE DOT(e, ?) > 1 ORDER BY id LIMIT 1", []any{matrix}, []int{0}, "no place in WHERE"},
		{"SELECT COUNT(*) AS n ORDER BY n LIMIT 1", nil, []int{0}, "there are 0 parameters"},
		{"SELECT id ORDER BY id + ? LIMIT 1", []any{int64(1)}, []int{0}, "want an array"},
		{"SELECT id FROM (SELECT id) ORDER BY id + ? LIMIT 1", []any{array.FromArrays(array.Type{DType: tensor.Int64}, tensor.Shape{2}, []int64{1, 2}, nil)}, []int{0}, "not a query in FROM"},
		{"SELECT id ORDER BY DOT(e, ?), id + ? LIMIT 1", []any{matrix, array.FromArrays(array.Type{DType: tensor.Int64}, tensor.Shape{2}, []int64{1, 2}, nil)}, []int{0, 1}, "5 and 2 values"},
	} {
		if _, _, err := answer(t.Context(), c.text, table, nil, query.Options{Params: c.params, Batched: c.each}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestLooked counts the rows of a scan for a caller who watches, as the statistics do.
func TestLooked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"SELECT COUNT(*) AS n", "SELECT id WHERE x > 0.5", "SELECT id, COUNT(*) AS n GROUP BY id"} {
		var looked atomic.Int64
		if _, _, err := answer(t.Context(), text, numbers(50_000), nil, query.Options{Threads: 2, Looked: &looked}); err != nil {
			t.Fatal(err)
		}
		if looked.Load() != 50_000 {
			t.Errorf("%s: %d rows were looked at, want 50000", text, looked.Load())
		}
	}
}
