package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// stateTensors are the tensors of a dataset of states: numbers, text and vectors.
var stateTensors = []dataset.TensorSpec{
	{Name: "a", DType: "float32"}, {Name: "d", DType: "int64"}, {Name: "t", HType: "text"}, {Name: "v", HType: "embedding"},
}

// stateRows returns values for n rows: those of a first append, or of an update.
func stateRows(n int, updated bool, r *rand.Rand) []tensor.Rows {
	a, d, v := make([]float32, n), make([]int64, n), make([]float32, 16*n)
	texts := tensor.Rows{Tensor: "t"}
	for i := range n {
		a[i], d[i] = float32(r.NormFloat64()), r.Int64N(40000)
		texts.Samples = append(texts.Samples, textOf(tensor.String, fmt.Sprintf("word %d and %d", i%97, i)))
	}
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	out := []tensor.Rows{
		{Tensor: "a", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{}, Data: bytesOf(a)}},
		{Tensor: "v", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{16}, Data: bytesOf(v)}}, texts,
	}
	if !updated {
		out = append(out, tensor.Rows{Tensor: "d", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: bytesOf(d)}})
	}
	return out
}

// states returns views of equal datasets of n rows, each changed in its way.
func states(t testing.TB, n int, uri func(name string) string) map[string]*dataset.View {
	t.Helper()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 8))
	third := make([]int64, 0, n/3+1)
	for row := 0; row < n; row += 3 {
		third = append(third, int64(row))
	}
	commit := func(d *dataset.Dataset) {
		t.Helper()
		if _, err := d.Commit(ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]*dataset.View{}
	make := func(name string, change func(d *dataset.Dataset) error) *dataset.View {
		t.Helper()
		d := must[*dataset.Dataset](t)(dataset.Create(ctx, testEnv(), uri(name), dataset.CreateOptions{}))
		t.Cleanup(func() { _ = d.Close() })
		for _, spec := range stateTensors {
			if err := d.CreateTensor(ctx, spec); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Append(ctx, stateRows(n, false, r), int64(n)); err != nil {
			t.Fatal(err)
		}
		commit(d)
		if err := change(d); err != nil {
			t.Fatal(err)
		}
		commit(d)
		out[name] = must[*dataset.View](t)(d.View(ctx))
		return out[name]
	}
	fresh := make("fresh", func(*dataset.Dataset) error { return nil })
	out["every second row"] = must[*dataset.View](t)(fresh.Slice(0, int64(n), 2))
	make("a third deleted", func(d *dataset.Dataset) error { return d.DeleteRows(ctx, third) })
	make("a third updated", func(d *dataset.Dataset) error { return d.Update(ctx, third, stateRows(len(third), true, r)) })
	make("in ten commits", func(d *dataset.Dataset) error {
		for k := range 10 {
			var part []int64
			for i := k; i < len(third); i += 10 {
				part = append(part, third[i])
			}
			if err := d.Update(ctx, part, stateRows(len(part), true, r)); err != nil {
				return err
			}
			commit(d)
		}
		return nil
	})
	make("a year of commits", func(d *dataset.Dataset) error {
		for range 100 {
			var part []int64
			for row := range int64(n) {
				if r.IntN(100) == 0 {
					part = append(part, row)
				}
			}
			if err := d.Update(ctx, part, stateRows(len(part), true, r)); err != nil {
				return err
			}
			commit(d)
		}
		return nil
	})
	return out
}

var stateNames = []string{"fresh", "every second row", "a third deleted", "a third updated", "in ten commits", "a year of commits"}

// BenchmarkStates runs queries of datasets that were changed in several ways. The figure to compare
// is the time a row.
func BenchmarkStates(b *testing.B) {
	ctx := context.Background()
	views := states(b, 200_000, func(string) string { return "file://" + b.TempDir() + "/d" })
	zero := make([]float32, 16)
	vector := &array.Column{Type: array.Type{DType: tensor.Float32, Dims: 1, Shape: tensor.Shape{16}}, N: 1, Same: tensor.Shape{16}, Data: zero}
	for _, q := range []struct {
		name, text string
		params     []any
	}{
		{"SUM", "SELECT SUM(a) AS s", nil},
		{"WHERE", "SELECT * WHERE a > 0.5 AND d % 7 = 1", nil},
		{"LIKE", "SELECT * WHERE t LIKE '%word 13%'", nil},
		{"GROUP BY", "SELECT d % 100 AS g, COUNT(*) AS n GROUP BY g", nil},
		{"ORDER BY", "SELECT d ORDER BY a LIMIT 10", nil},
		{"nearest", "SELECT d ORDER BY L2_NORM(v - ?) LIMIT 10", []any{vector}},
	} {
		for _, name := range stateNames {
			v := views[name]
			b.Run(q.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					p, err := query.Prepare(ctx, q.text, Of(v), nil, query.Options{Params: q.params})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := p.Run(ctx); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.Len()), "ns/row")
			})
		}
	}
}

// BenchmarkStatesLoad loads epochs of the same datasets.
func BenchmarkStatesLoad(b *testing.B) {
	ctx := context.Background()
	views := states(b, 200_000, func(string) string { return "file://" + b.TempDir() + "/d" })
	for _, load := range []struct {
		name    string
		options loader.Options
	}{
		{"numbers in order", loader.Options{BatchSize: 1024, Tensors: []string{"a", "d"}}},
		{"numbers shuffled", loader.Options{BatchSize: 1024, Tensors: []string{"a", "d"}, Shuffle: order.Window}},
		{"all shuffled", loader.Options{BatchSize: 1024, Shuffle: order.Window}},
	} {
		for _, name := range stateNames {
			v := views[name]
			b.Run(load.name+"/"+name, func(b *testing.B) {
				l := must[*loader.Loader](b)(loader.Open(ctx, Plain(v), load.options))
				defer l.Close()
				for epoch := int64(0); b.Loop(); epoch++ {
					e := must[*loader.Epoch](b)(l.Start(ctx, order.Pass{Epoch: epoch}))
					for {
						batch := must[*loader.Batch](b)(e.Next(ctx))
						if batch == nil {
							break
						}
						batch.Release()
					}
					e.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.Len()), "ns/row")
			})
		}
	}
}
