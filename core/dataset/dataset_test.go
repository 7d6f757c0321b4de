package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/media"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// testEnv gives each test stores of its own.
func testEnv() *Env {
	space := &mem.Space{}
	return &Env{
		Stores: storage.Registry{"file": local.Open, "mem": space.Open},
		Codecs: all.All(), Writer: "test", Containers: media.Containers{moving{}},
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func int64s(values ...int64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}

// readAll reads the samples of a column as bytes; nil for a hole.
func readAll(t *testing.T, v *View, name string) [][]byte {
	t.Helper()
	col := must[*Column](t)(v.Column(name))
	rows := make([]int64, v.Len())
	for i := range rows {
		rows[i] = int64(i)
	}
	refs := make([]chunk.Ref, len(rows))
	if err := col.Resolve(context.Background(), rows, refs); err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	out := make([][]byte, len(refs))
	for i := range refs {
		if refs[i].Hole() {
			continue
		}
		out[i] = make([]byte, refs[i].Size)
		if err := col.Decode(context.Background(), &refs[i], out[i], w); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestAppendCommitReopen(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"mem://d", "file://" + t.TempDir() + "/d"} {
		t.Run(uri[:4], func(t *testing.T) {
			ctx := context.Background()
			env := testEnv()
			d := must[*Dataset](t)(Create(ctx, env, uri, CreateOptions{}))
			for _, spec := range []TensorSpec{{Name: "x", DType: "int64"}, {Name: "t", HType: "text"}, {Name: "g"}, {Name: "label", HType: "class_label"}} {
				if err := d.CreateTensor(ctx, spec); err != nil {
					t.Fatal(err)
				}
			}
			const n = 5000
			for i := range n {
				err := d.Append(ctx, []tensor.Rows{
					{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(int64(i))}},
					{Tensor: "t", Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "row %d", i)}}},
					{Tensor: "g", Samples: []tensor.Sample{{DType: tensor.Uint8, Shape: tensor.Shape{int64(i % 7)}, Data: bytes.Repeat([]byte{byte(i)}, i%7)}}},
					{Tensor: "label", Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.String, Data: []byte{byte('a' + i%3)}}}},
				}, 1)
				if err != nil {
					t.Fatal(err)
				}
			}
			check := func(v *View) {
				t.Helper()
				if v.Len() != n {
					t.Fatalf("len = %d", v.Len())
				}
				x, text, g, label := readAll(t, v, "x"), readAll(t, v, "t"), readAll(t, v, "g"), readAll(t, v, "label")
				for i := range n {
					if !bytes.Equal(x[i], int64s(int64(i))) || string(text[i]) != fmt.Sprintf("row %d", i) ||
						!bytes.Equal(g[i], bytes.Repeat([]byte{byte(i)}, i%7)) || !bytes.Equal(label[i], int64s(int64(i%3))) {
						t.Fatalf("row %d: %v %q %v %v", i, x[i], text[i], g[i], label[i])
					}
				}
			}
			check(must[*View](t)(d.View(ctx)))
			c, err := d.Commit(ctx, "first")
			if err != nil || c.Version != 1 || c.Rows != n {
				t.Fatalf("commit = %+v, %v", c, err)
			}
			check(must[*View](t)(d.View(ctx)))
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d = must[*Dataset](t)(Open(ctx, env, uri, OpenOptions{}))
			defer func() { _ = d.Close() }()
			check(must[*View](t)(d.View(ctx)))
			desc, err := d.Describe()
			if err != nil || *desc.Tensors[2].DType != "uint8" || fmt.Sprint(desc.Tensors[3].ClassNames) != "[a b c]" {
				t.Fatalf("describe = %+v, %v", desc, err)
			}
		})
	}
}
