package scan

import (
	"context"
	"fmt"
	"testing"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// BenchmarkScan reads a column of numbers from a local disk, in the memory of the page cache.
func BenchmarkScan(b *testing.B) {
	const n = 4 << 20
	ctx := context.Background()
	for _, compression := range []string{"none", "lz4"} {
		for _, recycled := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/recycled=%v", compression, recycled), func(b *testing.B) {
				d := must[*dataset.Dataset](b)(dataset.Create(ctx, testEnv(), "file://"+b.TempDir()+"/d", dataset.CreateOptions{}))
				defer func() { _ = d.Close() }()
				if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "x", DType: "int64", Compression: compression}); err != nil {
					b.Fatal(err)
				}
				data := make([]int64, n)
				for i := range data {
					data[i] = int64(i % 1000)
				}
				if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(data)}}}, n); err != nil {
					b.Fatal(err)
				}
				if _, err := d.Commit(ctx, ""); err != nil {
					b.Fatal(err)
				}
				v, err := d.View(ctx)
				if err != nil {
					b.Fatal(err)
				}
				r := Of(v).Reader()
				defer r.Close()
				b.SetBytes(8 * n)
				for b.Loop() {
					for from := int64(0); from < n; from += 1 << 16 {
						c, err := r.Read(ctx, 0, query.Rows{From: from, N: 1 << 16}, query.Values, nil)
						if err != nil {
							b.Fatal(err)
						}
						if recycled {
							r.(*reader).Recycle(c)
						}
					}
				}
			})
		}
	}
}
