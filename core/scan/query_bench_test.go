package scan

import (
	"context"
	"math/rand/v2"
	"testing"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// BenchmarkQuery runs queries of a dataset on a local disk, in the page cache. Bytes count the
// columns that a query names.
func BenchmarkQuery(b *testing.B) {
	const n, axes, vectors = 4 << 20, 768, 64 << 10
	ctx := context.Background()
	random := rand.New(rand.NewPCG(1, 2))
	d := must[*dataset.Dataset](b)(dataset.Create(ctx, testEnv(), "file://"+b.TempDir()+"/d", dataset.CreateOptions{}))
	defer func() { _ = d.Close() }()
	add := func(name string, dtype tensor.DType, shape tensor.Shape, rows int64, data []byte) {
		b.Helper()
		if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: name, DType: dtype.String(), Shape: shape}); err != nil {
			b.Fatal(err)
		}
		if err := d.Append(ctx, []tensor.Rows{{Tensor: name, Array: &tensor.Array{DType: dtype, Shape: shape, Data: data}}}, rows); err != nil {
			b.Fatal(err)
		}
	}
	scalar := tensor.Shape{}
	open := func() query.Table {
		b.Helper()
		if _, err := d.Commit(ctx, ""); err != nil {
			b.Fatal(err)
		}
		return Of(must[*dataset.View](b)(d.View(ctx)))
	}
	run := func(name, text string, from query.Table, bytes int64, params ...any) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			b.ReportAllocs()
			for b.Loop() {
				p, err := query.Prepare(ctx, text, from, nil, query.Options{Params: params})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Run(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	u, v, w, x, y := make([]int64, n), make([]float64, n), make([]float32, n), make([]int32, n), make([]uint8, n)
	for i := range n {
		u[i], v[i], w[i] = random.Int64N(2_000_000)-1_000_000, random.NormFloat64(), random.Float32()
		x[i], y[i] = random.Int32N(1_000_000), uint8(random.UintN(10))
	}
	for _, c := range []struct {
		name  string
		dtype tensor.DType
		data  []byte
	}{{"a", tensor.Int64, array.Bytes(u)}, {"b", tensor.Float64, array.Bytes(v)}, {"c", tensor.Float32, array.Bytes(w)}, {"d", tensor.Int32, array.Bytes(x)}, {"e", tensor.Uint8, y}} {
		if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: c.name, DType: c.dtype.String(), Shape: scalar}); err != nil {
			b.Fatal(err)
		}
	}
	err := d.Append(ctx, []tensor.Rows{
		{Tensor: "a", Array: &tensor.Array{DType: tensor.Int64, Shape: scalar, Data: array.Bytes(u)}},
		{Tensor: "b", Array: &tensor.Array{DType: tensor.Float64, Shape: scalar, Data: array.Bytes(v)}},
		{Tensor: "c", Array: &tensor.Array{DType: tensor.Float32, Shape: scalar, Data: array.Bytes(w)}},
		{Tensor: "d", Array: &tensor.Array{DType: tensor.Int32, Shape: scalar, Data: array.Bytes(x)}},
		{Tensor: "e", Array: &tensor.Array{DType: tensor.Uint8, Shape: scalar, Data: y}},
	}, n)
	if err != nil {
		b.Fatal(err)
	}
	t := open()
	const aggregates = "COUNT(*), SUM(a), AVG(b), MIN(c), MAX(c)"
	run("count", "SELECT COUNT(*) WHERE d < 500000 AND e = 3", t, n*5)
	run("aggregate", "SELECT "+aggregates+" WHERE d < 500000 AND e = 3", t, n*25)
	run("whole", "SELECT "+aggregates, t, n*20)
	run("half", "SELECT "+aggregates+" WHERE d < 500000", t, n*24)
	run("group", "SELECT e, "+aggregates+" WHERE d < 500000 GROUP BY e", t, n*25)
	run("rows", "SELECT a, b, c WHERE d < 500000 AND e = 3", t, n*5)
	f := make([]float32, vectors*axes)
	for i := range f {
		f[i] = random.Float32() - 0.5
	}
	q := &array.Column{Type: array.Type{DType: tensor.Float32, Dims: 1, Shape: tensor.Shape{axes}}, N: 1, Same: tensor.Shape{axes}, Data: f[:axes:axes]}
	d2 := d
	d = must[*dataset.Dataset](b)(dataset.Create(ctx, testEnv(), "file://"+b.TempDir()+"/v", dataset.CreateOptions{}))
	defer func() { _ = d2.Close() }()
	add("vector", tensor.Float32, tensor.Shape{axes}, vectors, array.Bytes(f))
	t = open()
	for name, text := range map[string]string{
		"dot":    "SELECT vector ORDER BY DOT(vector, ?) DESC LIMIT 100",
		"cosine": "SELECT vector ORDER BY COSINE_SIMILARITY(vector, ?) DESC LIMIT 100",
		"l2":     "SELECT vector ORDER BY L2_NORM(vector - ?) LIMIT 100",
	} {
		run(name, text, t, int64(4*len(f)), q)
	}
}
