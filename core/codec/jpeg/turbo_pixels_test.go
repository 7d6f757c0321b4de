//go:build cgo && !nolibjpeg

package jpeg

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

// samplings are the ways to lay out blocks of which our own code makes pixels.
var samplings = []string{"4:4:4", "4:2:2", "4:2:0", "gray"}

func encodeSampled(t testing.TB, pix []byte, h, w int64, sampling string, quality int) []byte {
	t.Helper()
	shape, o := tensor.Shape{h, w, 3}, codec.Options{Quality: quality, Subsampling: sampling}
	if sampling == "gray" {
		shape[2], o.Subsampling = 1, ""
	}
	data, err := New().Encode(nil, pix[:h*w*shape[2]], tensor.Uint8, shape, o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPixelsOfEverySize holds the sides of images and regions to libjpeg's: the loops take 32
// pixels at a time, MCUs have 8 or 16.
func TestPixelsOfEverySize(t *testing.T) {
	t.Parallel()
	tw := newTwins(t)
	rng := rand.New(rand.NewPCG(12, 13))
	pix := natural(3, 100, 100)
	for _, sampling := range samplings {
		for w := int64(1); w <= 70; w++ {
			for _, h := range []int64{1, 2, 3, 8, 9, 15, 16, 17, 18, 31, 33} {
				data := encodeSampled(t, pix, h, w, sampling, 60+rng.IntN(40))
				name := fmt.Sprintf("%s of %d x %d", sampling, w, h)
				if err := tw.decode(t, name, data, codec.AsStored); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for k := range 3 {
					if err := tw.roi(t, name, data, someRegion(rng, k+1, int(w), int(h)), codec.AsStored); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
			}
		}
	}
	if n := tw.quick.tally(); hasVectors() && n.whole < 9000 || n.repeated > 0 {
		t.Errorf("of the files our own code began %d, and %d were decoded twice: this tests too little", n.whole, n.repeated)
	}
}

// TestPixelsBeyondAllPictures gives files quantization tables of other ones, so that levels wrap
// and saturate: the pixels are libjpeg's, by whichever of both.
func TestPixelsBeyondAllPictures(t *testing.T) {
	t.Parallel()
	tw := newTwins(t)
	for _, sampling := range samplings {
		for name, pix := range map[string][]byte{"noise": noise(5, 90, 90), "natural": natural(5, 90, 90)} {
			for _, step := range []byte{2, 8, 9, 30, 100, 255} {
				data := encodeSampled(t, pix, 90, 90, sampling, 100)
				at := marker(t, data, 0xdb) // of luma
				for k := range 64 {
					data[at+5+k] = step // behind marker, length and number
				}
				if err := tw.decode(t, fmt.Sprint(name, sampling, step), data, codec.AsStored); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n := tw.quick.tally(); hasVectors() && (n.repeated < 5 || n.repeated > n.whole*3/4) {
		t.Errorf("%d of %d files were left to libjpeg: this tests too little", n.repeated, n.whole)
	}
}

// TestIncompleteProgressiveFiles cuts scans off: libjpeg smooths what these would
// refine, and its pixels count.
func TestIncompleteProgressiveFiles(t *testing.T) {
	t.Parallel()
	tw := newTwins(t)
	data := filesOf(t, "testdata", "parts")["progressive420-q95.jpg"]
	cut := 0
	for end := len(data); ; cut++ {
		end = bytes.LastIndex(data[:end], []byte{0xff, 0xda})
		if bytes.Count(data[:end], []byte{0xff, 0xda}) == 0 {
			break
		}
		if err := tw.decode(t, fmt.Sprintf("without %d scans", cut+1), append(bytes.Clone(data[:end]), 0xff, 0xd9), codec.RGB); err != nil {
			t.Fatal(err)
		}
	}
	if n := tw.quick.tally(); cut < 5 || hasVectors() && n.repeated != cut {
		t.Errorf("%d of %d files were left to libjpeg", n.repeated, cut)
	}
}
