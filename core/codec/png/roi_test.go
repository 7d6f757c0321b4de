package png

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// region takes the pixels of a region.
type region struct {
	height, width int // bytes of a row
	pix           []byte
}

func (r *region) Deliver(pix []byte, stride int) error {
	r.pix = r.pix[:0]
	for y := range r.height {
		r.pix = append(r.pix, pix[y*stride:][:r.width]...)
	}
	return nil
}

func (r *region) Native() (call, arg unsafe.Pointer) { return nil, nil }

// decodeROI decodes one region.
func decodeROI(d codec.Decoder, data []byte, r codec.Region, want codec.Channels, pixel int) ([]byte, error) {
	to := &region{height: r.Height, width: r.Width * pixel}
	done, err := d.(codec.ROIDecoder).DecodeROIs([][]byte{data}, []codec.ROI{{Region: r, To: to}}, want)
	if err == nil && done != 1 {
		err = errs.New(errs.Internal, "%d decoded", done)
	}
	return to.pix, err
}

// cutOut is a region of a whole image.
func cutOut(pix []byte, width, pixel int, r codec.Region) []byte {
	var out []byte
	for y := range r.Height {
		out = append(out, pix[((r.Y+y)*width+r.X)*pixel:][:r.Width*pixel]...)
	}
	return out
}

// A region has the pixels of the whole image, whatever the file is like.
func TestRegionsAreOfTheImage(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "*.png"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	d := New().NewDecoder()
	defer d.Close()
	if d.(codec.ROIDecoder).CanDownscale() {
		t.Error("it shrinks")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []codec.Channels{codec.AsStored, codec.Gray, codec.RGB} {
			h, err := New().Header(data, want)
			if err != nil {
				continue // one of the damaged ones
			}
			pixel := int(h.Shape[2]) * h.DType.Size()
			height, width := int(h.Shape[0]), int(h.Shape[1])
			whole := make([]byte, height*width*pixel)
			if err := d.Decode(whole, data, want); err != nil {
				continue
			}
			for range 20 {
				r := codec.Region{X: rng.IntN(width), Y: rng.IntN(height)}
				r.Width, r.Height = 1+rng.IntN(width-r.X), 1+rng.IntN(height-r.Y)
				got, err := decodeROI(d, data, r, want, pixel)
				if err != nil || !bytes.Equal(got, cutOut(whole, width, pixel, r)) {
					t.Fatalf("%s, %v: region %+v differs (%v)", filepath.Base(path), want, r, err)
				}
			}
		}
	}
}

func TestRegionsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := New()
	rows := sample(3, 40, 30, 3, 1)
	data, err := c.Encode(nil, rows, tensor.Uint8, tensor.Shape{40, 30, 3}, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	top := codec.Region{Width: 30, Height: 2}
	cut := slices.Concat(data[:len(data)/2], data[len(data)-12:])
	for name, r := range map[string]struct {
		data   []byte
		region codec.Region
		kind   errs.Kind
	}{
		"wide":         {data, codec.Region{X: 1, Width: 30, Height: 1}, errs.Invalid},
		"low":          {data, codec.Region{Y: 40, Width: 30, Height: 1}, errs.Invalid},
		"empty":        {data, codec.Region{Width: 30}, errs.Invalid},
		"negative":     {data, codec.Region{X: -1, Width: 3, Height: 1}, errs.Invalid},
		"shrunk":       {data, codec.Region{Width: 3, Height: 1, Downscale: 2}, errs.Invalid},
		"cut":          {cut, top, errs.Corrupt},
		"not a png":    {[]byte("GIF89a"), top, errs.Corrupt},
		"one bit else": {flipped(data, len(data)/2), top, errs.Corrupt},
	} {
		d := c.NewDecoder()
		if _, err := decodeROI(d, r.data, r.region, codec.RGB, 3); !errs.Is(err, r.kind) {
			t.Errorf("%s: %v, want kind %v", name, err, r.kind)
		}
		if _, err := decodeROI(d, data, top, codec.RGB, 3); err != nil {
			t.Errorf("%s: afterwards %v", name, err)
		}
		d.Close()
		if _, err := decodeROI(d, data, top, codec.RGB, 3); !errs.Is(err, errs.Closed) {
			t.Errorf("%s: after Close %v", name, err)
		}
	}
}

func flipped(data []byte, at int) []byte {
	data = slices.Clone(data)
	data[at] ^= 4
	return data
}

// FuzzDecodeROI looks for regions whose pixels are not those of the whole image.
func FuzzDecodeROI(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "*.png"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no golden files (%v)", err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(2), uint16(3), uint16(4), uint16(5), uint16(6))
	}
	d, whole := New().NewDecoder(), New().NewDecoder()
	f.Cleanup(d.Close)
	f.Cleanup(whole.Close)
	f.Fuzz(func(t *testing.T, data []byte, w uint8, x, y, width, height uint16) {
		want := wish(w)
		h, err := New().Header(data, want)
		if err != nil {
			return
		}
		n, err := h.Shape.Bytes(h.DType)
		if err != nil || n > 4<<20 {
			return
		}
		r := codec.Region{X: int(x), Y: int(y), Width: int(width), Height: int(height)}
		pixel := int(h.Shape[2]) * h.DType.Size()
		got, err := decodeROI(d, data, r, want, pixel)
		if err != nil {
			if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported && k != errs.Invalid {
				t.Fatalf("got %v (%s)", err, k)
			}
			return
		}
		dst := make([]byte, n)
		if whole.Decode(dst, data, want) != nil {
			return // the damage lies below the region
		}
		if !bytes.Equal(got, cutOut(dst, int(h.Shape[1]), pixel, r)) {
			t.Fatalf("region %+v differs from the whole image", r)
		}
	})
}
