package compute

import (
	"fmt"
	"testing"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// BenchmarkKernels says how long a value takes, in runs of 64K rows.
func BenchmarkKernels(b *testing.B) {
	const n = 1 << 16
	i32, i64, f32, f64 := make([]int32, n), make([]int64, n), make([]float32, n), make([]float64, n)
	text := make([]string, n)
	for i := range n {
		i32[i], i64[i], f32[i], f64[i] = int32(i*7919%1000), int64(i*7919%1000), float32(i*7919%1000), float64(i*7919%1000)
		text[i] = fmt.Sprint("name", i*7919%1000)
	}
	a, c, f, d, s := array.From(array.Of(tensor.Int32), i32, nil), array.FromInts(i64, nil), array.From(array.Of(tensor.Float32), f32, nil), array.FromFloats(f64, nil), array.FromStrings(text, nil)
	weak := func(v any) *array.Column {
		t := array.Of(tensor.Int64)
		if _, ok := v.(float64); ok {
			t = array.Of(tensor.Float64)
		}
		t.Weak = true
		return array.Constant(t, v, n)
	}
	set, err := NewSet(array.FromInts([]int64{1, 2, 3, 5, 8, 13, 21}, nil))
	if err != nil {
		b.Fatal(err)
	}
	is, err := Compare(nil, "<", a, weak(int64(500)))
	if err != nil {
		b.Fatal(err)
	}
	must := func(_ *array.Column, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, w := range []struct {
		name string
		f    func()
	}{
		{"int32 < constant", func() { must(Compare(nil, "<", a, weak(int64(500)))) }},
		{"int64 = int64", func() { must(Compare(nil, "=", c, c)) }},
		{"int32 = int64", func() { must(Compare(nil, "=", a, c)) }},
		{"float32 > constant", func() { must(Compare(nil, ">", f, weak(0.5))) }},
		{"float64 < float64", func() { must(Compare(nil, "<", d, d)) }},
		{"text = constant", func() { must(Compare(nil, "=", s, array.Constant(array.Of(tensor.String), "name7", n))) }},
		{"int32 + constant", func() { must(Arith(nil, "+", a, weak(int64(5)))) }},
		{"int64 * int64", func() { must(Arith(nil, "*", c, c)) }},
		{"float64 + float64", func() { must(Arith(nil, "+", d, d)) }},
		{"int32 / constant", func() { must(Arith(nil, "/", a, weak(int64(3)))) }},
		{"int32 in set", func() { must(IsIn(nil, a, set)) }},
		{"and", func() { must(And(nil, is, is)) }},
		{"pick", func() { Pick(is) }},
		{"top 100", func() {
			if _, err := TopK([]array.Key{{Column: d}}, 100); err != nil {
				b.Fatal(err)
			}
		}},
		{"sort", func() {
			rows := make([]int, n)
			for i := range rows {
				rows[i] = i
			}
			if err := SortRows([]array.Key{{Column: d}}, rows); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
		})
	}
}

// BenchmarkVectors says how fast rows are measured against one vector.
func BenchmarkVectors(b *testing.B) {
	const rows, d = 4096, 768
	query := make([]float64, d)
	for i := range query {
		query[i] = float64(i%17 - 8)
	}
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8, tensor.Uint8} {
		v := array.NewVector(dtype, rows*d)
		for i := 0; i < rows*d; i += 7 {
			v.Move(i, array.Constant(array.Of(dtype), int64(i%100), 1).Vector(), 0, 1)
		}
		x := array.FromArrays(array.Type{DType: dtype}, tensor.Shape{d}, v.Data(), nil)
		q, _ := array.Convert(query, dtype)
		if dtype == tensor.Uint8 {
			q = make([]uint8, d)
		}
		one := array.Constant(array.Type{DType: dtype, Dims: 1}, q, rows)
		for _, name := range []string{"DOT", "COSINE_SIMILARITY", "L2_DISTANCE", "L1_DISTANCE", "LINF_DISTANCE", "HAMMING_DISTANCE"} {
			f := Find(name)
			b.Run(dtype.String()+" "+name, func(b *testing.B) {
				b.SetBytes(int64(rows * d * dtype.Size()))
				for b.Loop() {
					if _, err := f.Call(nil, []*array.Column{x, one}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
