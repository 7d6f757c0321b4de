package jpeg

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// collector keeps the pixels of a region, without what lies between the rows.
type collector struct {
	row, rows int // bytes of a row, rows
	pix       []byte
}

func (c *collector) Deliver(pix []byte, stride int) error {
	c.pix = c.pix[:0]
	for y := range c.rows {
		c.pix = append(c.pix, pix[y*stride:][:c.row]...)
	}
	return nil
}

func (c *collector) Native() (call, arg unsafe.Pointer) { return nil, nil }

// roisOf gives the decoder of the codec as one of parts, and skips where it is none.
func roisOf(t testing.TB) codec.ROIDecoder {
	t.Helper()
	d := New().NewDecoder()
	t.Cleanup(d.Close)
	p, ok := d.(codec.ROIDecoder)
	if !ok {
		t.Skip("this build decodes whole images")
	}
	return p
}

func decodeROI(d codec.ROIDecoder, data []byte, r codec.Region, want codec.Channels, channels int) ([]byte, error) {
	c := &collector{row: r.Width * channels, rows: r.Height}
	n, err := d.DecodeROIs([][]byte{data}, []codec.ROI{{Region: r, To: c}}, want)
	if (n == 1) != (err == nil) {
		return nil, fmt.Errorf("%d samples and error %w", n, err)
	}
	return c.pix, err
}

// cutOut copies a rectangle out of an image of rows of width pixels.
func cutOut(pix []byte, width, channels int, r codec.Region) []byte {
	var out []byte
	for y := r.Y; y < r.Y+r.Height; y++ {
		out = append(out, pix[(y*width+r.X)*channels:][:r.Width*channels]...)
	}
	return out
}

// roiFiles are images of some size in every way that JPEG lays out its blocks.
func roiFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files := filesOf(t, "testdata", "parts")
	files["250.jpg"] = golden(t, "250.jpg")
	for _, sub := range []string{"4:4:4", "4:2:2", "4:2:0", "gray"} {
		shape := tensor.Shape{101, 147, 3}
		o := codec.Options{Quality: 85, Subsampling: sub}
		if sub == "gray" {
			shape[2], o.Subsampling = 1, ""
		}
		data, err := New().Encode(nil, waves(shape), tensor.Uint8, shape, o)
		if err != nil {
			if pureGo {
				continue
			}
			t.Fatal(err)
		}
		files["encoded "+sub] = data
	}
	return files
}

// waves is an image with edges and colours everywhere.
func waves(s tensor.Shape) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	pix := make([]byte, s[0]*s[1]*s[2])
	for i := range pix {
		pix[i] = byte((i/7)*(i%13) + rng.IntN(40))
	}
	return pix
}

// TestROIsAreThePixelsOfTheWhole holds the accuracy of regions: what full decoding gives, cut out,
// bit by bit.
func TestROIsAreThePixelsOfTheWhole(t *testing.T) {
	t.Parallel()
	d := roisOf(t)
	for name, data := range roiFiles(t) {
		for _, want := range []codec.Channels{codec.AsStored, codec.Gray, codec.RGB} {
			h, err := New().Header(data, want)
			if err != nil {
				t.Fatal(err)
			}
			height, width, channels := int(h.Shape[0]), int(h.Shape[1]), int(h.Shape[2])
			whole, err := decodeNew(data, want, height*width*channels)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(3, uint64(want)))
			for k := range 150 {
				r := someRegion(rng, k, width, height)
				got, err := decodeROI(d, data, r, want, channels)
				if err != nil {
					t.Fatalf("%s, %d channels, %+v: %v", name, want, r, err)
				}
				if !bytes.Equal(got, cutOut(whole, width, channels, r)) {
					t.Fatalf("%s (%d x %d), %d channels, region %+v: other pixels than in the whole image", name, width, height, want, r)
				}
			}
		}
	}
}

// someRegion draws regions of all sizes, some of one pixel, some that touch the sides or lie on the
// borders of blocks.
func someRegion(rng *rand.Rand, k, width, height int) codec.Region {
	if k == 0 {
		return codec.Region{Width: width, Height: height}
	}
	side := func(n int) (at, size int) {
		at = rng.IntN(n)
		size = 1 + rng.IntN(n-at)
		switch rng.IntN(5) {
		case 0:
			size = n - at
		case 1:
			at, size = 0, 1+rng.IntN(n)
		case 2:
			at = at &^ 15
			size = min(n-at, 16*(1+rng.IntN(4)))
		case 3:
			size = 1
		}
		return at, size
	}
	var r codec.Region
	r.X, r.Width = side(width)
	r.Y, r.Height = side(height)
	return r
}

// TestDownscaledROIs compares regions of shrunk images with the whole shrunk image, and that with
// the mean of its pixels.
func TestDownscaledROIs(t *testing.T) {
	t.Parallel()
	d := roisOf(t)
	if !d.CanDownscale() {
		t.Fatal("libjpeg shrinks")
	}
	for name, data := range roiFiles(t) {
		h, err := New().Header(data, codec.RGB)
		if err != nil {
			t.Fatal(err)
		}
		for _, shrink := range []int{1, 2, 4, 8} {
			w, ht := (int(h.Shape[1])+shrink-1)/shrink, (int(h.Shape[0])+shrink-1)/shrink
			rng := rand.New(rand.NewPCG(9, uint64(shrink)))
			for _, fast := range []bool{false, true} {
				all := codec.Region{Width: w, Height: ht, Downscale: shrink, Fast: fast}
				whole, err := decodeROI(d, data, all, codec.RGB, 3)
				if err != nil {
					t.Fatal(err)
				}
				for k := range 25 {
					r := someRegion(rng, k, w, ht)
					r.Downscale, r.Fast = shrink, fast
					got, err := decodeROI(d, data, r, codec.RGB, 3)
					if err != nil {
						t.Fatal(err)
					}
					if want := cutOut(whole, w, 3, r); !bytes.Equal(got, want) {
						t.Fatalf("%s (%d x %d), region %+v: other pixels than in the whole shrunk image", name, w, ht, r)
					}
				}
			}
		}
	}
}

// TestROIsInARow decodes several at once, one of them broken: those before it are handed over.
func TestROIsInARow(t *testing.T) {
	t.Parallel()
	d := roisOf(t)
	good := golden(t, "250.jpg")
	bad := edit(good, func(b []byte) { clear(b[marker(t, good, mSOS)+40 : len(b)-2]) })
	r := codec.Region{X: 10, Y: 200, Width: 30, Height: 20}
	for at := range 4 {
		data, parts := [][]byte{}, []codec.ROI{}
		for k := range 4 {
			data, parts = append(data, good), append(parts, codec.ROI{Region: r, To: &collector{row: 90, rows: 20}})
			if k == at {
				data[k] = bad
			}
		}
		n, err := d.DecodeROIs(data, parts, codec.RGB)
		if n != at || !errs.Is(err, errs.Corrupt) {
			t.Fatalf("sample %d is broken: %d decoded, %v", at, n, err)
		}
		if n, err = d.DecodeROIs(data[at+1:], parts[at+1:], codec.RGB); n != 3-at || err != nil {
			t.Fatalf("behind sample %d: %d decoded, %v", at, n, err)
		}
	}
}

func TestROIsRefuse(t *testing.T) {
	t.Parallel()
	d := roisOf(t)
	file := golden(t, "250.jpg")
	cases := []struct {
		name string
		data []byte
		r    codec.Region
		kind errs.Kind
		want string
	}{
		{"no pixels", file, codec.Region{Height: 4}, errs.Invalid, "outside the image"},
		{"too wide", file, codec.Region{X: 249, Width: 2, Height: 4}, errs.Invalid, "outside the image"},
		{"negative", file, codec.Region{Y: -1, Width: 2, Height: 4}, errs.Invalid, "outside the image"},
		{"too high when shrunk", file, codec.Region{Y: 125, Width: 2, Height: 1, Downscale: 2}, errs.Invalid, "125 x 125"},
		{"shrink by three", file, codec.Region{Width: 2, Height: 1, Downscale: 3}, errs.Invalid, "want 1, 2, 4 or 8"},
		{"cut file", file[:len(file)-100], codec.Region{Width: 2, Height: 1}, errs.Corrupt, "end-of-image"},
		{"no file", []byte("hello"), codec.Region{Width: 2, Height: 1}, errs.Corrupt, "not a JPEG"},
	}
	for _, c := range cases {
		_, err := decodeROI(d, c.data, c.r, codec.RGB, 3)
		if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s and %q", c.name, err, c.kind, c.want)
		}
	}
}
