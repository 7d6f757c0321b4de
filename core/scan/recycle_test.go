package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// numbersSet has enough rows that batches are worth recycling: x is the row, y its remainder by
// 1000, v two numbers, z a hole in every third row.
func numbersSet(t testing.TB, env *dataset.Env, uri string, n int) *dataset.View {
	t.Helper()
	ctx := context.Background()
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, uri, dataset.CreateOptions{}))
	t.Cleanup(func() { _ = d.Close() })
	for _, s := range []dataset.TensorSpec{{Name: "x", DType: "int64"}, {Name: "y", DType: "float64", Compression: "lz4"}, {Name: "v", DType: "float32"}} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	x, y, v := make([]int64, n), make([]float64, n), make([]float32, 2*n)
	for i := range n {
		x[i], y[i] = int64(i), float64(i%1000)
		v[2*i], v[2*i+1] = float32(i%1013), float32(i%17)
	}
	if err := d.Append(ctx, []tensor.Rows{
		{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(x)}},
		{Tensor: "y", Array: &tensor.Array{DType: tensor.Float64, Shape: tensor.Shape{}, Data: array.Bytes(y)}},
		{Tensor: "v", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{2}, Data: array.Bytes(v)}},
	}, int64(n)); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, ""))
	return must[*dataset.View](t)(d.View(ctx))
}

// careful hides that a reader takes memory back.
type careful struct{ *Table }

func (c careful) Reader() query.Reader { return struct{ query.Reader }{c.Table.Reader()} }

// TestRecycle asks many questions with memory that is used again, and with memory that is not.
func TestRecycle(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := numbersSet(t, env, "file://"+t.TempDir()+"/d", 300_000)
	queries := []string{
		"SELECT SUM(x) AS a, AVG(y) AS b, MIN(x) AS c, MAX(y) AS d, COUNT(*) AS e WHERE y < 500",
		"SELECT SUM(x) AS a, AVG(x) AS b, MIN(y) AS c",
		"SELECT y, SUM(x) AS s, COUNT(*) AS n GROUP BY y ORDER BY y",
		"SELECT y, LIST(x) AS l WHERE x < 100000 GROUP BY y ORDER BY y LIMIT 7",
		"SELECT FIRST(x) AS f, LAST(x) AS l, MEDIAN(y) AS m",
		"SELECT COUNT(DISTINCT y) AS n, SUM(DISTINCT y) AS s",
		"SELECT x, L2_NORM(v - ARRAY[500, 3]) AS d ORDER BY d, x LIMIT 50",
		"SELECT x, y ORDER BY y DESC, x LIMIT 50",
		"SELECT x, x + y AS s, v * 2 AS w WHERE y > 995 AND x % 7 = 3",
		"SELECT DISTINCT y WHERE x > 299500 ORDER BY y",
		"SELECT x WHERE y = (SELECT MAX(y)) AND x > 100 ORDER BY x LIMIT 9",
		"SELECT a.x AS x, b.y AS y FROM (SELECT x, y WHERE y < 3) a JOIN (SELECT x, y WHERE x % 5 = 0) b ON a.x = b.x ORDER BY x",
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 6 {
		low := r.IntN(300_000)
		queries = append(queries, fmt.Sprintf("SELECT x, y * 2 AS z WHERE x BETWEEN %d AND %d AND y > %d", low, low+r.IntN(100_000), r.IntN(1000)))
	}
	for _, text := range queries {
		var answers [2]*Result
		for i, from := range []query.Table{Of(v), careful{Of(v)}} {
			p, err := query.Prepare(ctx, text, from, NewTables(env, "", false, storage.Options{}), query.Options{Threads: 2})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			result, err := p.Run(ctx)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for k := range result.Sources {
				if c, ok := result.Sources[k].Table.(careful); ok {
					result.Sources[k].Table = c.Table
				}
			}
			answers[i] = must[*Result](t)(NewResult(ctx, env, v, []*dataset.View{v}, result, text))
		}
		for _, name := range answers[0].Names() {
			if got, want := says(t, answers[0], name), says(t, answers[1], name); got != want || got == "" {
				t.Errorf("%s: column %q is %.200s, want %.200s", text, name, got, want)
			}
		}
	}
}
