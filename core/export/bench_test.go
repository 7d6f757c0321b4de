package export

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/tensor"
)

// BenchmarkFiles writes files of 15 kB, which no compression makes smaller.
func BenchmarkFiles(b *testing.B) {
	const rows, size = 4000, 15_000
	root := b.TempDir()
	env := &dataset.Env{Stores: storage.Registry{"file": local.Open}, Codecs: all.All(), Writer: "test"}
	ds, err := dataset.Create(b.Context(), env, root+"/ds", dataset.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = ds.Close() }()
	if err := ds.CreateTensor(b.Context(), dataset.TensorSpec{Name: "files", DType: "bytes"}); err != nil {
		b.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{})
	column := tensor.Rows{Tensor: "files"}
	for range rows {
		data := make([]byte, size)
		_, _ = random.Read(data)
		column.Samples = append(column.Samples, tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: data})
	}
	if err := ds.Append(b.Context(), []tensor.Rows{column}, rows); err != nil {
		b.Fatal(err)
	}
	if _, err := ds.Commit(b.Context(), "files"); err != nil {
		b.Fatal(err)
	}
	for _, format := range []string{"webdataset", "mds", "tfrecord", "parquet"} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(rows * size)
			for i := range b.N {
				v, err := ds.View(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				view := session.NewView(v)
				j, err := Start(env, view, fmt.Sprintf("%s/%s-%d-%d", root, format, b.N, i), Options{Format: format})
				if err == nil {
					_, err = j.Wait(b.Context())
					j.Close()
				}
				view.Close()
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
