package query_test

import (
	"context"
	"testing"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// schema is a table that is asked of its columns alone.
type schema []query.Field

func (s schema) Name() string           { return "mem://schema" }
func (s schema) Rows() int64            { return 1 << 30 }
func (s schema) Columns() []query.Field { return s }
func (s schema) Reader() query.Reader   { return nil }

func (s schema) Resolve(_ context.Context, column int) (array.Type, error) {
	return s[column].Type, nil
}

func (s schema) Zones(_ context.Context, _ int, from, to int64) ([]query.Zone, error) {
	return []query.Zone{{From: from, To: to}}, nil
}

// BenchmarkPrepare is reading, checking and planning a query, without running it.
func BenchmarkPrepare(b *testing.B) {
	scalar := func(d tensor.DType) array.Type { return array.Type{DType: d, Shape: tensor.Shape{}} }
	names := make([]string, 1000)
	for i := range names {
		names[i] = "class" + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	labels := scalar(tensor.Uint32)
	labels.Names = names
	boxes := array.Type{DType: tensor.Float32, Dims: 2, Shape: tensor.Shape{-1, 4}}
	from := schema{
		{Name: "images", Type: array.Type{DType: tensor.Uint8, Dims: 3, Shape: tensor.Shape{-1, -1, 3}}, Cost: 1e6, Bytes: 1e5, Size: 1e6},
		{Name: "labels", Type: labels, Cost: 1, Bytes: 4, Size: 4},
		{Name: "boxes", Type: boxes, Cost: 100, Bytes: 100, Size: 100},
		{Name: "training/boxes", Type: boxes, Cost: 100, Bytes: 100, Size: 100},
		{Name: "embedding", Type: array.Type{DType: tensor.Float32, Dims: 1, Shape: tensor.Shape{768}}, Cost: 300, Bytes: 3072, Size: 3072},
		{Name: "score", Type: scalar(tensor.Float64), Cost: 1, Bytes: 8, Size: 8},
	}
	wanted := &array.Column{Type: array.Type{DType: tensor.Float32, Dims: 1, Shape: tensor.Shape{768}}, N: 1, Same: tensor.Shape{768}, Data: make([]float32, 768)}
	for _, q := range []struct {
		name, text string
		params     []any
	}{
		{"filter", "SELECT images, labels WHERE labels = 'classkb' AND SHAPE(images)[0] > 200 ORDER BY L2_NORM(embedding - ?) LIMIT 100", []any{wanted}},
		{"aggregate", "SELECT labels, COUNT(*) AS n, AVG(score) AS mean, MAX(score) - MIN(score) AS range WHERE score BETWEEN 0.1 AND 0.9 AND labels IN ('classaa', 'classab', 'classac') GROUP BY labels HAVING COUNT(*) > 10 ORDER BY n DESC", nil},
		{"paper", `SELECT images[100:500, 100:500, 0:2] AS crop, NORMALIZE(boxes, [100, 100, 400, 400]) AS box
			FROM dataset WHERE IOU(boxes, "training/boxes") > 0.95 ORDER BY IOU(boxes, "training/boxes") ARRANGE BY labels`, nil},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := query.Prepare(context.Background(), q.text, from, nil, query.Options{Params: q.params}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
