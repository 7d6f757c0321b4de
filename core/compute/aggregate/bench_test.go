package aggregate

import (
	"testing"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// BenchmarkAggregates says how long a value takes, in runs of 64K rows, over all rows and in 1,000
// groups.
func BenchmarkAggregates(b *testing.B) {
	const n, groups = 1 << 16, 1000
	i32, i64, f32, f64, group := make([]int32, n), make([]int64, n), make([]float32, n), make([]float64, n), make([]int32, n)
	for i := range n {
		v := i * 7919 % groups
		i32[i], i64[i], f32[i], f64[i], group[i] = int32(v), int64(v), float32(v), float64(v), int32(v)
	}
	columns := map[string]*array.Column{
		"int32":   array.From(array.Of(tensor.Int32), i32, nil),
		"int64":   array.FromInts(i64, nil),
		"float32": array.From(array.Of(tensor.Float32), f32, nil),
		"float64": array.FromFloats(f64, nil),
	}
	for _, c := range []struct {
		name, dtype string
		group       []int32
	}{
		{"SUM", "int32", nil},
		{"SUM", "int64", nil},
		{"SUM", "float64", nil},
		{"SUM", "float32", nil},
		{"MAX", "float64", nil},
		{"STD", "float64", nil},
		{"SUM", "int32", group},
		{"AVG", "float64", group},
		{"COUNT", "int32", group},
	} {
		name := c.name + " " + c.dtype
		if c.group != nil {
			name += " by group"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := columns[c.dtype]
				a, err := New(c.name, false, x.Type)
				if err == nil {
					err = a.Add(x, c.group, groups)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
		})
	}
}
