package viz

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

func (r *record) is(t *testing.T, kind string, shape ...int64) {
	t.Helper()
	if r.Kind != kind || kind == kindArray && fmt.Sprint(r.Shape) != fmt.Sprint(shape) {
		t.Errorf("%s of row %d is %s %v (%s), want %s %v", r.Column, r.Row, r.Kind, r.Shape, r.Message, kind, shape)
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.read(f.view, []int64{5, 3}, wanted{Name: "image"}, wanted{Name: "boxes"}, wanted{Name: "label"}, wanted{Name: "score"},
		wanted{Name: "caption"}, wanted{Name: "meta"}, wanted{Name: "outline"}, wanted{Name: "mask"}, wanted{Name: "clip"})
	if len(got) != 18+2 { // two polygons in each row
		t.Errorf("%d records", len(got))
	}
	for name, check := range map[string]func(r *record){
		"image 5": func(r *record) {
			r.is(t, kindFile)
			if shape, _ := decodeImage(t, codec.JPEG, r.body); r.Media != "image/jpeg" || !shape.Equal(tensor.Shape{60, 60, 3}) || r.Height != 60 || r.Width != 60 {
				t.Errorf("the picture is %s of %v, and %d x %d in its header", r.Media, shape, r.Height, r.Width)
			}
		},
		"boxes 5":     func(r *record) { r.is(t, kindArray, 2, 4) },
		"boxes 3":     func(r *record) { r.is(t, kindArray, 0, 4) },
		"score 5":     func(r *record) { r.is(t, kindMissing) },
		"outline 3 0": func(r *record) { r.is(t, kindArray, 3, 2) },
		"outline 3 1": func(r *record) { r.is(t, kindArray, 4, 2) },
		"mask 3":      func(r *record) { r.is(t, kindArray, 52, 60) },
		"clip 5 0": func(r *record) {
			r.is(t, kindFile)
			if *r.Items != 1 {
				t.Errorf("row 5 has %d items", *r.Items)
			}
		},
		"score 3": func(r *record) {
			r.is(t, kindArray)
			if r.DType != "float64" || len(r.body) != 8 {
				t.Errorf("score 3 is %s of %d bytes", r.DType, len(r.body))
			}
		},
		"label 5": func(r *record) {
			if r.is(t, kindArray); binary.LittleEndian.Uint64(r.body) != 2 {
				t.Errorf("label 5 is %v", r.body)
			}
		},
		"caption 5": func(r *record) {
			if r.is(t, kindText); string(r.body) != "number 5 <img src=x onerror=alert(1)>" {
				t.Errorf("caption 5 is %s", r.body)
			}
		},
		"meta 5": func(r *record) {
			if r.is(t, kindJSON); string(r.body) != `{"camera": "c1"}` {
				t.Errorf("meta 5 is %s", r.body)
			}
		},
	} {
		if r, ok := got[name]; !ok {
			t.Errorf("there is no record %s", name)
		} else if check(&r); r.Index != r.Row {
			t.Errorf("%s is of row %d of the dataset", name, r.Index)
		}
	}
}

// TestSmallPictures asks for pictures of a size. The larger ones come smaller, with their own size.
func TestSmallPictures(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, pixels := range []int{8, 16, 30, 64, 1000} {
		got := f.read(f.view, []int64{1, 10}, wanted{Name: "image", Pixels: pixels}, wanted{Name: "raw", Pixels: pixels}, wanted{Name: "mask", Pixels: pixels})
		for _, row := range []int64{1, 10} {
			r := got[fmt.Sprintf("image %d", row)]
			height := 40 + 4*row
			r.is(t, kindFile)
			shape, pix := decodeImage(t, codec.JPEG, r.body)
			longer := max(shape[0], shape[1])
			if r.Height != height || r.Width != 60 || longer < min(int64(pixels), max(height, 60)) || longer > max(2*int64(pixels), int64(pixels)+1) {
				t.Errorf("%d pixels of row %d: a file of %v for %d x %d", pixels, row, shape, r.Height, r.Width)
			}
			if level := int(pix[len(pix)/2]); level < 20*int(row)-3 || level > 20*int(row)+3 {
				t.Errorf("%d pixels of row %d: the middle is %d", pixels, row, level)
			}
			r = got[fmt.Sprintf("raw %d", row)]
			n := int64(100)
			if step := 100 / int64(pixels); step > 1 {
				n = (100 + step - 1) / step
			}
			if r.is(t, kindArray, n, n, 1); r.DType != "uint16" || r.numbers16()[0] != uint16(1000*row) || r.Width != 100 {
				t.Errorf("%d pixels of row %d: %s begins with %v", pixels, row, r.DType, r.numbers16()[:1])
			}
			if r = got[fmt.Sprintf("mask %d", row)]; r.Height != height || bytes.Count(r.body, []byte{1}) != len(r.body) || len(r.body) == 0 {
				t.Errorf("%d pixels of row %d: the mask is %d x %d of %v", pixels, row, r.Height, r.Width, r.Shape)
			}
		}
	}
	if n := f.thumbs.Bytes(); n == 0 {
		t.Error("no small picture is kept")
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct {
		items *[2]int64
		want  []string
	}{
		{nil, []string{"clip 7 0"}},
		{&[2]int64{0, 1 << 40}, []string{"clip 7 0", "clip 7 1", "clip 7 2"}},
		{&[2]int64{1, 2}, []string{"clip 7 1"}},
		{&[2]int64{-5, 2}, []string{"clip 7 0", "clip 7 1"}},
		{&[2]int64{9, 12}, []string{"clip 7"}},
		{&[2]int64{2, 1}, []string{"clip 7"}},
	} {
		got := f.read(f.view, []int64{7}, wanted{Name: "clip", Items: c.items})
		for _, name := range c.want {
			if r, ok := got[name]; !ok || *r.Items != 3 {
				t.Errorf("items %v: no %s in %v", c.items, name, got)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("items %v: %d records, want %d", c.items, len(got), len(c.want))
		}
	}
	r, ok := f.read(f.view, []int64{4}, wanted{Name: "clip"})["clip 4"]
	if !ok || *r.Items != 0 || r.Kind != kindArray || len(r.body) > 0 {
		t.Errorf("an empty list is %+v", r)
	}
}

// TestSamplesOfQueries reads stored and computed columns of a result.
func TestSamplesOfQueries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	v := f.query("SELECT image, label, score * 2 AS twice WHERE label = 'dog' ORDER BY score DESC")
	if v.Rows != 4 || v.Query == "" || v.Tensors[2].Name != "twice" || !v.Tensors[2].Computed || v.Tensors[1].Computed {
		t.Fatalf("the view is %+v", v)
	}
	got := f.read(v.View, []int64{0}, wanted{Name: "image", Pixels: 16}, wanted{Name: "twice"})
	image, twice := got["image 0"], got["twice 0"]
	image.is(t, kindFile)
	if twice.is(t, kindArray); image.Index != 10 || twice.Index != 10 || binary.LittleEndian.Uint64(twice.body) != 0x4000000000000000 {
		t.Errorf("row %d, twice %v", image.Index, twice.body)
	}
}

// TestSamplesOfNoRow reads groups, which are no rows of the dataset.
func TestSamplesOfNoRow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	v := f.query("SELECT label, COUNT(*) AS n GROUP BY label ORDER BY label")
	for name, r := range f.read(v.View, []int64{0, 1}, wanted{Name: "label"}, wanted{Name: "n"}) {
		if r.Index != -1 || r.Kind != kindArray {
			t.Errorf("%s has index %d and is %s, want -1 and an array", name, r.Index, r.Kind)
		}
	}
}

func TestSamplesAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	many := make([]int64, mostRows+1)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		want   string
	}{
		"row":     {map[string]any{"view": f.view, "rows": []int64{12}}, 400, "want 0 to 11"},
		"before":  {map[string]any{"view": f.view, "rows": []int64{-1}}, 400, "want 0 to 11"},
		"rows":    {map[string]any{"view": f.view, "rows": many}, 400, "at most"},
		"view":    {map[string]any{"view": "v99", "rows": []int64{}}, 404, "open it again"},
		"column":  {map[string]any{"view": f.view, "rows": []int64{0}, "columns": []wanted{{Name: "imge"}}}, 404, `"image"`},
		"field":   {map[string]any{"view": f.view, "raws": []int64{0}}, 400, "unknown field"},
		"strange": {map[string]any{"view": 7}, 400, "read request"},
	} {
		if status, why := f.refused("samples", c.body); status != c.status || !strings.Contains(why.Message, c.want) {
			t.Errorf("%s: %d %+v, want %d and %q", name, status, why, c.status, c.want)
		}
	}
}

// TestDamage holds that a sample which cannot be read costs no other.
func TestDamage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.ds.CreateTensor(t.Context(), dataset.TensorSpec{Name: "bad", HType: "image.rgb", Compression: "jpeg"}); err != nil {
		t.Fatal(err)
	}
	files := f.read(f.view, []int64{0}, wanted{Name: "image"})
	good := files["image 0"].body
	broken := append([]byte{}, good...)
	copy(broken[len(broken)-40:], []byte{0xff, 0xd9}) // an end before the end
	column := tensor.Rows{Tensor: "bad", Samples: []tensor.Sample{{Form: tensor.FormEncoded, Data: broken}, {Form: tensor.FormEncoded, Data: good}}}
	if err := f.ds.Update(t.Context(), []int64{2, 3}, []tensor.Rows{column}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ds.Commit(t.Context(), "damage"); err != nil {
		t.Fatal(err)
	}
	v := f.open(map[string]string{"at": "main"})
	got := f.read(v.View, []int64{1, 2, 3}, wanted{Name: "bad", Pixels: 8})
	none, damaged, whole := got["bad 1"], got["bad 2"], got["bad 3"]
	none.is(t, kindMissing)
	damaged.is(t, kindError)
	whole.is(t, kindFile)
	if damaged.Message == "" || len(damaged.body) > 0 {
		t.Errorf("the damage is %q", damaged.Message)
	}
}

// TestLarge holds that a sample is not read, nor memory allocated for it, beyond the bound.
func TestLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := sample{column: &wantedColumn{want: &wanted{}}}
	one.ref.Computed, one.ref.Size = []byte{1}, 4<<30
	var h header
	if body, err := f.body(t.Context(), &one, nil, &h); err != nil || body != nil || h.Kind != kindLarge || h.Size != 4<<30 {
		t.Errorf("4 GiB: %v, %+v", err, h)
	}
}

// TestGone ends a request while it is answered.
func TestGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	to := &breaking{cancel: cancel}
	body := fmt.Sprintf(`{"view": %q, "rows": [0, 1, 2], "columns": [{"name": "image"}]}`, f.view)
	if err := f.Call(ctx, "samples", []byte(body), to); err != nil {
		t.Errorf("an answer that has begun is refused: %v", err)
	}
	if _, err := parseRecords(to.Bytes()); err == nil {
		t.Error("the answer has an end")
	}
	if len(f.read(f.view, []int64{0}, wanted{Name: "label"})) != 1 {
		t.Error("the view is of no use any more")
	}
}

// breaking is a connection that breaks at the first byte.
type breaking struct {
	answer
	cancel context.CancelFunc
}

func (b *breaking) Write([]byte) (int, error) {
	b.cancel()
	return 0, fmt.Errorf("broken pipe")
}

// TestTurnedPictures: a page shows files as they are stored, so a file that its tensor turns is
// sent as pixels.
func TestTurnedPictures(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../codec/testdata/orientation6.jpg")
	if err != nil {
		t.Fatal(err)
	}
	shape, stored := decodeImage(t, codec.JPEG, file)
	env, ds := newZoo(t)
	for name, upright := range map[string]bool{"turned": true, "plain": false} {
		if err := ds.CreateTensor(t.Context(), dataset.TensorSpec{Name: name, HType: "image", Compression: "jpeg", Upright: upright}); err != nil {
			t.Fatal(err)
		}
		rows := tensor.Rows{Tensor: name, Samples: []tensor.Sample{{Form: tensor.FormEncoded, Data: file}}}
		if err := ds.Update(t.Context(), []int64{3}, []tensor.Rows{rows}); err != nil {
			t.Fatal(err)
		}
	}
	f := serve(t, env, ds)
	got := f.read(f.view, []int64{3}, wanted{Name: "turned"}, wanted{Name: "plain"})
	if plain := got["plain 3"]; plain.Kind != kindFile || !bytes.Equal(plain.body, file) {
		t.Errorf("the file of the other tensor is sent as %s", plain.Kind)
	}
	want := make([]byte, len(stored))
	codec.Rotated90.Turn(want, stored, int(shape[0]), int(shape[1]), 3, int(shape[1])*3)
	turned := got["turned 3"]
	if turned.is(t, kindArray, shape[1], shape[0], 3); !bytes.Equal(turned.body, want) {
		t.Error("the turned file is not sent as its pixels")
	}
}
