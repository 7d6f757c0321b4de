package viz

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/internal/area"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// newFar makes an empty dataset on a store behind a network that counts.
func newFar(t *testing.T, specs ...dataset.TensorSpec) (*dataset.Env, *dataset.Dataset, *farStore) {
	t.Helper()
	stores, far := &mem.Space{}, &farStore{}
	env := &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{
		"mem": func(ctx context.Context, uri string, o storage.Options) (storage.Provider, error) {
			p, err := stores.Open(ctx, uri, o)
			far.Provider = p
			return far, err
		},
	}}
	ds, err := dataset.Create(t.Context(), env, "mem://far", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	for _, s := range specs {
		if err := ds.CreateTensor(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return env, ds, far
}

// store appends one row and commits.
func store(t *testing.T, ds *dataset.Dataset, cols ...tensor.Rows) {
	t.Helper()
	if err := ds.Append(t.Context(), cols, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// hills are pixels without large steps, so that JPEG keeps them.
func hills(h, w, c int) []byte {
	pix := make([]byte, h*w*c)
	for y := range h {
		row := pix[y*w*c:][:w*c]
		for x := range w {
			for k := range c {
				row[x*c+k] = byte(128 + (y/16+x/16+20*k)%100)
			}
		}
	}
	return pix
}

func cutOut(pix []byte, w, c int, r []int64) []byte {
	var out []byte
	for y := r[0]; y < r[2]; y++ {
		out = append(out, pix[(int(y)*w+int(r[1]))*c:(int(y)*w+int(r[3]))*c]...)
	}
	return out
}

func region(name string, pixels int, r ...int64) wanted {
	return wanted{Name: name, Pixels: pixels, Region: r}
}

// TestRegionOfHugePicture looks at 20,000 x 20,000 pixels in tiles: a window reads the tiles that
// it shows, once.
func TestRegionOfHugePicture(t *testing.T) {
	if testing.Short() {
		t.Skip("400 MB of pixels")
	}
	const side = 20_000
	env, ds, far := newFar(t, dataset.TensorSpec{Name: "slide", HType: "image", DType: "uint8", Compression: "lz4"})
	pix := hills(side, side, 1)
	store(t, ds, tensor.Rows{Tensor: "slide", Samples: []tensor.Sample{array(tensor.Uint8, pix, side, side, 1)}})
	tile, err := chunk.TileShape(tensor.Shape{side, side, 1}, 1, 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	objects, total := chunks(t, far)
	if n := int(chunk.Tiles(tensor.Shape{side, side, 1}, tile)); objects != n || n < 20 {
		t.Fatalf("the picture has %d tiles, want %d", objects, n)
	}
	one := total / int64(objects)
	f := serve(t, env, ds)
	if r := f.read(f.view, []int64{0}, wanted{Name: "slide"})["slide 0"]; r.Kind != kindLarge || r.Width != side || r.Height != side {
		t.Fatalf("without a region: %+v", r.header)
	}
	far.requests, far.bytes = 0, 0
	var cols []wanted
	view := rect{9800, 9700, 9800 + 1024, 9700 + 1536} // a window in the middle, in squares of 512
	for y := view.top; y < view.bottom; y += 512 {
		for x := view.left; x < view.right; x += 512 {
			cols = append(cols, region("slide", 512, y, x, y+512, x+512))
		}
	}
	before := allocated()
	begin := time.Now()
	for _, c := range cols {
		r := f.read(f.view, []int64{0}, c)["slide 0"]
		if r.is(t, kindArray, 512, 512, 1); !bytes.Equal(r.body, cutOut(pix, side, 1, r.Region)) || fmt.Sprint(r.Region) != fmt.Sprint(c.Region) {
			t.Errorf("region %v: other pixels, of %v", c.Region, r.Region)
		}
	}
	inView := ((view.bottom-1)/tile[0] - view.top/tile[0] + 1) * ((view.right-1)/tile[1] - view.left/tile[1] + 1)
	t.Logf("%d regions: %d bytes read by %d requests for %d tiles of %d bytes, %v a region, %d MB allocated",
		len(cols), far.bytes, far.requests, inView, one, time.Since(begin)/time.Duration(len(cols)), (allocated()-before)>>20)
	if far.bytes > inView*one*3/2 || far.bytes < inView*one/2 {
		t.Errorf("%d bytes are read for %d tiles of %d", far.bytes, inView, one)
	}
	begin = time.Now()
	r := f.read(f.view, []int64{0}, region("slide", 1000, 0, 0, side, side))["slide 0"]
	t.Logf("the whole picture: %v", time.Since(begin))
	want := make([]byte, 1000*1000)
	area.Reduce(want, pix, side, side, 1000, 1000, 1, 1)
	if _, got := decodeImage(t, codec.JPEG, r.body); r.Kind != kindFile || distance(got, want) > 3 {
		t.Errorf("the whole picture: %+v, %v off", r.header, distance(got, want))
	}
	if kept := f.tiles.Bytes(); kept > tileBytes || kept < inView*tile[0]*tile[1] {
		t.Errorf("%d bytes of tiles are kept", kept)
	}
}

// TestMemoryOfRegions holds that a sweep over a picture keeps one tile in memory at a time.
func TestMemoryOfRegions(t *testing.T) {
	const h, w = 8000, 9000 // 216 MB
	env, ds, _ := newFar(t, dataset.TensorSpec{Name: "slide", HType: "image.rgb", Compression: "lz4"})
	store(t, ds, tensor.Rows{Tensor: "slide", Samples: []tensor.Sample{array(tensor.Uint8, hills(h, w, 3), h, w, 3)}})
	f := serve(t, env, ds)
	before := allocated()
	r := f.read(f.view, []int64{0}, region("slide", 512, 0, 0, h, w))["slide 0"]
	r.is(t, kindFile)
	if used := allocated() - before; used > 100<<20 {
		t.Errorf("%d MB are allocated to show %d MB", used>>20, h*w*3>>20)
	}
}

// allocated returns all bytes that were allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// chunks returns how many objects of chunks there are, and their bytes.
func chunks(t *testing.T, far *farStore) (n int, total int64) {
	t.Helper()
	err := far.List(t.Context(), "data/", "", func(o storage.Object) bool {
		n, total = n+1, total+o.Size
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, total
}

// distance returns the average difference of two pictures.
func distance(a, b []byte) float64 {
	if len(a) != len(b) {
		return 256
	}
	sum := 0
	for i := range a {
		sum += max(int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return float64(sum) / float64(len(a))
}

// TestRegions compares regions of pictures stored in each way with the pixels.
func TestRegions(t *testing.T) {
	t.Parallel()
	const h, w = 1500, 2300
	env, ds, _ := newFar(t,
		dataset.TensorSpec{Name: "tiles", HType: "image.rgb", ChunkBytes: 64 << 10},
		dataset.TensorSpec{Name: "tilesOfJPEG", HType: "image.rgb", Compression: "jpeg", ChunkBytes: 64 << 10},
		dataset.TensorSpec{Name: "jpeg", HType: "image.rgb", Compression: "jpeg"},
		dataset.TensorSpec{Name: "png", HType: "image.rgb", Compression: "png"},
		dataset.TensorSpec{Name: "raw", HType: "image.rgb"},
		dataset.TensorSpec{Name: "gray", HType: "image.gray", DType: "uint16", ChunkBytes: 64 << 10},
		dataset.TensorSpec{Name: "mask", HType: "segment_mask", DType: "uint8", ChunkBytes: 64 << 10})
	pix := hills(h, w, 3)
	deep := make([]byte, 2*h*w)
	mask := make([]byte, h*w)
	for i := range mask {
		deep[2*i], deep[2*i+1] = pix[3*i], byte(i/w)
		mask[i] = byte(i % w / 50)
	}
	var cols []tensor.Rows
	for _, name := range []string{"tiles", "tilesOfJPEG", "jpeg", "png", "raw"} {
		cols = append(cols, tensor.Rows{Tensor: name, Samples: []tensor.Sample{array(tensor.Uint8, pix, h, w, 3)}})
	}
	cols = append(cols, tensor.Rows{Tensor: "gray", Samples: []tensor.Sample{array(tensor.Uint16, deep, h, w, 1)}},
		tensor.Rows{Tensor: "mask", Samples: []tensor.Sample{array(tensor.Uint8, mask, h, w)}})
	store(t, ds, cols...)
	f := serve(t, env, ds)
	r := rand.New(rand.NewPCG(7, 7))
	for range 12 {
		top, left := r.Int64N(h), r.Int64N(w)
		in := []int64{top, left, top + 1 + r.Int64N(h), left + 1 + r.Int64N(w)}
		pixels := 1 + r.IntN(700)
		var want []wanted
		for _, c := range cols {
			want = append(want, region(c.Tensor, pixels, in...))
		}
		got := f.read(f.view, []int64{0}, want...)
		for _, c := range cols {
			one := got[c.Tensor+" 0"]
			at := one.Region
			if len(at) != 4 || at[0] > in[0] || at[0] < in[0]-8 || at[3] < min(in[3], w) || at[3] > min(in[3]+8, w) || one.Height != h || one.Width != w {
				t.Fatalf("%s: region %v for %v of %d x %d", c.Tensor, at, in, one.Height, one.Width)
			}
			rh, rw := at[2]-at[0], at[3]-at[1]
			oh, ow := rh, rw
			if max(rh, rw) > int64(pixels) {
				oh, ow = fit(rh, rw, int64(pixels))
			}
			data, d, channels := pix, 1, 3
			switch c.Tensor {
			case "gray":
				data, d, channels = deep, 2, 1
			case "mask":
				data, channels = mask, 1
			}
			part := cutOut(data, w, channels*d, at)
			expected := make([]byte, int(oh*ow)*channels*d)
			if c.Tensor == "mask" {
				for y := range oh {
					for x := range ow {
						expected[y*ow+x] = part[(2*y+1)*rh/(2*oh)*rw+(2*x+1)*rw/(2*ow)]
					}
				}
			} else {
				area.Reduce(expected, part, int(rh), int(rw), int(oh), int(ow), channels, d)
			}
			body, shape := one.body, tensor.Shape(one.Shape)
			if one.Kind == kindFile {
				shape, body = decodeImage(t, codec.JPEG, one.body)
			}
			if strings.Contains(c.Tensor, "jpeg") { // the decoder makes it smaller
				if max(shape[0], shape[1]) > int64(pixels) || max(shape[0], shape[1]) < min(int64(pixels), max(rh, rw)/2) {
					t.Errorf("%s: %v is %v", c.Tensor, at, shape)
				}
				if !shape.Equal(tensor.Shape{oh, ow, 3}) {
					continue
				}
			}
			exact := one.Kind == kindArray
			if len(shape) < 2 || shape[0] != oh || shape[1] != ow || exact && !bytes.Equal(body, expected) || !exact && distance(body, expected) > 4 {
				t.Errorf("%s: %v in %d pixels is %s %v, want %d x %d, %.1f off", c.Tensor, at, pixels, one.Kind, shape, oh, ow, distance(body, expected))
			}
		}
	}
}

// TestRegionsAreChecked sends regions that are none.
func TestRegionsAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ region, pixels string }{
		{"[0, 0, 0, 0]", "10"}, {"[5, 0, 5, 9]", "10"}, {"[9, 9, 1, 1]", "10"}, {"[-1, 0, 5, 5]", "10"}, {"[0, -9223372036854775808, 5, 5]", "10"},
		{"[0, 0, 9223372036854775808, 5]", "10"}, {"[0, 0, 1e30, 5]", "10"}, {"[0, 0, 5.5, 5]", "10"}, {"[]", "10"}, {"[0, 0, 5]", "10"},
		{"[0, 0, 5, 5, 5]", "10"}, {`"all"`, "10"}, {"[0, 0, 5, 5]", "0"}, {"[0, 0, 5, 5]", "-1"}, {"[0, 0, 5, 5]", "2049"}, {"[0, 0, 5, 5]", "9223372036854775807"},
	} {
		body := fmt.Sprintf(`{"view": %q, "rows": [0], "columns": [{"name": "image", "pixels": %s, "region": %s}]}`, f.view, c.pixels, c.region)
		if status, data := f.post("samples", json.RawMessage(body)); status != 400 {
			t.Errorf("%v: %d %s", c, status, data)
		}
	}
	const end = 1<<63 - 1
	got := f.read(f.view, []int64{0}, region("image", 2000, 0, 0, end, end), region("caption", 20, 0, 0, 1, 1))
	image, caption := got["image 0"], got["caption 0"]
	if image.is(t, kindFile); fmt.Sprint(image.Region) != "[0 0 40 60]" {
		t.Errorf("the largest region is %v", image.Region)
	}
	caption.is(t, kindError)
	outside := f.read(f.view, []int64{0}, region("image", 20, end-1, 0, end, 5))["image 0"]
	outside.is(t, kindError)
	clip := f.read(f.view, []int64{7}, wanted{Name: "clip", Items: &[2]int64{1, 2}, Pixels: 4, Region: []int64{2, 2, 6, 6}})["clip 7 1"]
	if clip.is(t, kindArray, 4, 4, 3); !bytes.Equal(clip.body, bytes.Repeat([]byte{1}, 48)) {
		t.Errorf("a region of an item is %v", clip.body)
	}
}
