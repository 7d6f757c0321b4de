package viz

import (
	"testing"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/internal/area"
	"deeplake/core/tensor"
)

// TestLevels shows a picture with levels: small ones are read from the smallest level that has the
// pixels, also for regions, and far fewer bytes are read than the picture has.
func TestLevels(t *testing.T) {
	t.Parallel()
	const h, w = 3000, 4001
	env, ds, far := newFar(t, dataset.TensorSpec{Name: "slide", HType: "image.rgb", ChunkBytes: 256 << 10, Downsample: []int64{2, 4}})
	pix := hills(h, w, 3)
	store(t, ds, tensor.Rows{Tensor: "slide", Samples: []tensor.Sample{array(tensor.Uint8, pix, h, w, 3)}})
	f := serve(t, env, ds)
	level, lh, lw := pix, h, w
	for range 4 {
		oh, ow := (lh+1)/2, (lw+1)/2
		out := make([]byte, oh*ow*3)
		area.Reduce(out, level, lh, lw, oh, ow, 3, 1)
		level, lh, lw = out, oh, ow
	}
	far.requests, far.bytes = 0, 0
	r := f.read(f.view, []int64{0}, wanted{Name: "slide", Pixels: 250})["slide 0"]
	shape, got := decodeImage(t, codec.JPEG, r.body)
	if r.Column != "slide" || r.Width != w || r.Height != h || max(shape[0], shape[1]) != 250 {
		t.Fatalf("a small picture is %v: %+v", shape, r.header)
	}
	want := make([]byte, len(got))
	area.Reduce(want, level, lh, lw, int(shape[0]), int(shape[1]), 3, 1)
	if d := distance(got, want); d > 4 {
		t.Errorf("the small picture is %.1f off", d)
	}
	if most := int64(lh * lw * 3 * 3 / 2); far.bytes == 0 || far.bytes > most {
		t.Errorf("%d bytes are read for a level of %d", far.bytes, lh*lw*3)
	}
	far.requests, far.bytes = 0, 0
	r = f.read(f.view, []int64{0}, region("slide", 512, 1024, 1024, 3000, 3072))["slide 0"]
	if r.is(t, kindFile); r.Region[0] != 1024 || r.Region[2] != 3000 || r.Region[3] != 3072 || r.Width != w {
		t.Errorf("region %v of %d", r.Region, r.Width)
	}
	part := cutOut(pix, w, 3, r.Region)
	shape, got = decodeImage(t, codec.JPEG, r.body)
	want = make([]byte, len(got))
	area.Reduce(want, part, 3000-1024, 2048, int(shape[0]), int(shape[1]), 3, 1)
	if d := distance(got, want); d > 6 || shape[1] != 512 {
		t.Errorf("the region is %v, %.1f off", shape, d)
	}
	if most := int64(len(part) / 16 * 3); far.bytes > most {
		t.Errorf("%d bytes are read for a region of a sixteenth of %d", far.bytes, len(part))
	}
	for _, v := range []viewInfo{f.open(map[string]string{}), f.query("SELECT * WHERE TRUE")} {
		if len(v.Tensors) != 1 {
			t.Errorf("the page sees %d tensors", len(v.Tensors))
		}
	}
	whole := f.read(f.view, []int64{0}, wanted{Name: "slide"})["slide 0"]
	whole.is(t, kindArray, h, w, 3)
}
