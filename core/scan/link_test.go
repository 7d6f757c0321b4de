package scan

import (
	"bytes"
	"context"
	"testing"

	"deeplake/core/array"
	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// TestLinks reads pictures that lie elsewhere, whole and in part, and holds that a copy has them
// itself.
func TestLinks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lake := &storagetest.Lake{}
	env := testEnv()
	env.Sources = storage.Sources{"lake": lake.Open}
	pixels := map[string][]byte{}
	for name, colour := range map[string]byte{"png": 10, "jpeg": 200} {
		id, _, err := env.Codecs.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		sc := must[codec.SampleCodec](t)(env.Codecs.Sample(id))
		pixels[name] = bytes.Repeat([]byte{colour}, 8*9*3)
		lake.Put("a."+name, must[[]byte](t)(sc.Encode(nil, pixels[name], tensor.Uint8, tensor.Shape{8, 9, 3}, codec.Options{})))
	}
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, "mem://links", dataset.CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "image", HType: "image.rgb", Compression: "jpeg"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "image", Samples: []tensor.Sample{
		{Form: tensor.FormLink, Link: &tensor.Link{URL: "lake://test/a.png"}},
		{Form: tensor.FormHole},
		{Form: tensor.FormLink, Link: &tensor.Link{URL: "lake://test/a.jpeg"}},
	}}}, 3); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, "links"))
	v := must[*dataset.View](t)(d.View(ctx))
	want := oracle(t, v, "image")
	if !bytes.Equal(want[0].data[0], pixels["png"]) || !want[1].hole {
		t.Fatal("the dataset reads something else")
	}
	r := Of(v).Reader()
	defer r.Close()
	all := must[*array.Column](t)(r.Read(ctx, 0, query.Rows{N: 3}, query.Values, nil))
	spans := []query.Span{{Low: number(2), High: number(-1)}, {At: number(4)}, {Ellipsis: true}}
	part := must[*array.Column](t)(r.Read(ctx, 0, query.Rows{N: 3}, query.Values, spans))
	for i := range want {
		sameCell(t, all, i, want[i], false)
		if want[i].hole {
			continue
		}
		data, shape, _ := sliced(want[i].data[0], want[i].shapes[0], spans, 1)
		sameCell(t, part, i, cell{data: [][]byte{data}, shapes: []tensor.Shape{shape}}, false)
	}
	if err := Plain(v).Materialize(ctx, env, Copy{URI: "mem://copy"}); err != nil {
		t.Fatal(err)
	}
	env.Sources = nil
	c := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://copy", dataset.OpenOptions{}))
	defer func() { _ = c.Close() }()
	for i, got := range oracle(t, must[*dataset.View](t)(c.View(ctx)), "image") {
		if got.hole != want[i].hole || !got.hole && len(got.data[0]) != len(want[i].data[0]) {
			t.Errorf("row %d of the copy differs", i)
		}
	}
}
