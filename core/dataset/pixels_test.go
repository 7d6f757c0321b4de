package dataset

import (
	"context"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
)

// TestMaxPixels: a picture above max_pixels is refused by append, link and decode, with the name of
// the setting.
func TestMaxPixels(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	lake := &storagetest.Lake{}
	env.Sources = storage.Sources{"lake": lake.Open}
	tight := storage.Options{Settings: storage.Settings{MaxPixels: 40*31 - 1}}
	file := fileOf(t, codec.JPEG, picture(1, false, 40, 31, 3))
	foreign := fileOf(t, codec.PNG, picture(1, false, 31, 40, 3))
	lake.Put("a.jpeg", file.Data)
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "max_pixels") || !strings.Contains(err.Error(), "row 0") && !strings.Contains(what, "decode") {
			t.Errorf("%s: %v, want an error that names row and setting", what, err)
		}
	}

	strict := must[*Dataset](t)(Create(ctx, env, "mem://strict", CreateOptions{Storage: tight}))
	defer func() { _ = strict.Close() }()
	if err := strict.CreateTensor(ctx, TensorSpec{Name: "x", HType: "image", Compression: "jpeg"}); err != nil {
		t.Fatal(err)
	}
	refused("append", appendOne(strict, file))
	refused("append a file of another codec", appendOne(strict, foreign))
	refused("append an array", appendOne(strict, picture(1, false, 40, 31, 3)))
	refused("link", appendOne(strict, tensor.Sample{Form: tensor.FormLink, Link: &tensor.Link{URL: "lake://test/a.jpeg"}}))
	if err := appendOne(strict, fileOf(t, codec.JPEG, picture(1, false, 39, 31, 3))); err != nil {
		t.Errorf("append fewer pixels: %v", err)
	}

	loose := must[*Dataset](t)(Create(ctx, env, "mem://loose", CreateOptions{}))
	if err := loose.CreateTensor(ctx, TensorSpec{Name: "x", HType: "image", Compression: "jpeg"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []tensor.Sample{file, {Form: tensor.FormLink, Link: &tensor.Link{URL: "lake://test/a.jpeg"}}} {
		if err := appendOne(loose, s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := loose.Commit(ctx, "pictures"); err != nil {
		t.Fatal(err)
	}
	if err := loose.Close(); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]storage.Options{"default": {}, "tight": tight} {
		o.Links = linksTo("lake://test").Links
		d := must[*Dataset](t)(Open(ctx, env, "mem://loose", OpenOptions{Storage: o, ReadOnly: true}))
		v := must[*View](t)(d.View(ctx))
		col := must[*Column](t)(v.Column("x"))
		for row := range v.Len() {
			_, err := decodeRow(v, col, row)
			if name == "tight" {
				refused("decode", err)
			} else if err != nil {
				t.Errorf("row %d: %v", row, err)
			}
			if err != nil && !errs.Is(err, errs.Unsupported) {
				t.Errorf("row %d: %v, want unsupported", row, err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// decodeRow decodes one row.
func decodeRow(v *View, col *Column, row int64) ([]byte, error) {
	refs := make([]chunk.Ref, 1)
	if err := col.Resolve(context.Background(), []int64{row}, refs); err != nil {
		return nil, err
	}
	w := v.NewWorker()
	defer w.Close()
	pix := make([]byte, refs[0].Size)
	return pix, col.Decode(context.Background(), &refs[0], pix, w)
}
