package webp

import (
	"bytes"
	"image"
	"os"
	"path/filepath"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"

	"golang.org/x/image/webp"
)

func seeds(f *testing.F) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "*.webp"))
	if err != nil || len(paths) < 20 {
		f.Fatalf("%d golden files (%v)", len(paths), err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(len(data)%3))
	}
}

func wish(b uint8) codec.Channels {
	return []codec.Channels{codec.AsStored, codec.Gray, codec.RGB}[b%3]
}

// FuzzDecode compares lossless pixels with golang.org/x/image/webp, which reads the container with
// other code.
func FuzzDecode(f *testing.F) {
	seeds(f)
	c := New()
	d := c.NewDecoder()
	f.Fuzz(func(t *testing.T, data []byte, w uint8) {
		h, err := c.Header(data, wish(w))
		size := int64(100)
		if err == nil {
			size, _ = h.Shape.Bytes(h.DType)
		}
		if size > 1<<20 {
			return
		}
		dst := bytes.Repeat([]byte{0xa5}, int(size)+64)
		err = d.Decode(dst[:size:size], data, wish(w))
		if !bytes.Equal(dst[size:], bytes.Repeat([]byte{0xa5}, 64)) {
			t.Fatal("bytes behind the output changed")
		}
		if err != nil {
			if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported && k != errs.Invalid {
				t.Fatalf("got %v (%s)", err, k)
			}
			return
		}
		img, err := webp.Decode(bytes.NewReader(data))
		want, lossless := img.(*image.NRGBA)
		if err != nil || !lossless || h.Shape[2] != 4 || bytes.Contains(data, []byte("ANMF")) {
			return
		}
		if !bytes.Equal(dst[:size], want.Pix) {
			t.Fatalf("x/image has other pixels for %s", h.Shape)
		}
	})
}

// FuzzEncode brings any pixels there and back.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("some pixels of a small image"), uint8(3), uint8(4))
	f.Add(bytes.Repeat([]byte{7, 7, 7, 255}, 40), uint8(5), uint8(4))
	f.Add(bytes.Repeat([]byte{7}, 41), uint8(1), uint8(1))
	c := New()
	d := c.NewDecoder()
	f.Fuzz(func(t *testing.T, pix []byte, width, channels uint8) {
		w, ch := int64(width), []int64{1, 3, 4}[channels%3]
		if w == 0 || int64(len(pix)) < w*ch {
			return
		}
		shape := tensor.Shape{int64(len(pix)) / (w * ch), w, ch}
		if shape[0] > maxSide {
			return
		}
		pix = pix[:shape[0]*w*ch]
		file, err := c.Encode(nil, pix, tensor.Uint8, shape, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := codec.AsStored
		if ch == 1 {
			want = codec.Gray
		}
		got := make([]byte, len(pix))
		if err := d.Decode(got, file, want); err != nil || !bytes.Equal(got, pix) {
			t.Fatalf("%v, or other pixels", err)
		}
	})
}
