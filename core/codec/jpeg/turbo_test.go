//go:build cgo && !nolibjpeg

package jpeg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const pureGo = false

// twins are two decoders, of which the second leaves Huffman codes to libjpeg.
type twins struct{ quick, plain *decoder }

func newTwins(t testing.TB) *twins {
	tw := &twins{&decoder{}, &decoder{plain: true}}
	t.Cleanup(tw.quick.Close)
	t.Cleanup(tw.plain.Close)
	return tw
}

// decode wants the same of both: pixels, or the same error.
func (tw *twins) decode(t testing.TB, name string, data []byte, want codec.Channels) error {
	t.Helper()
	h, err := New().Header(data, want)
	if err != nil {
		return err
	}
	size, _ := h.Shape.Bytes(h.DType)
	if size > 4<<20 {
		return nil
	}
	a, b := make([]byte, size), bytes.Repeat([]byte{1}, int(size))
	return same(t, name, tw.quick.Decode(a, data, want), tw.plain.Decode(b, data, want), a, b)
}

// roi is the same for a region.
func (tw *twins) roi(t testing.TB, name string, data []byte, r codec.Region, want codec.Channels) error {
	t.Helper()
	h, err := New().Header(data, want)
	if err != nil || h.Shape[0]*h.Shape[1] > 4<<20 {
		return err
	}
	a, errA := decodeROI(tw.quick, data, r, want, int(h.Shape[2]))
	b, errB := decodeROI(tw.plain, data, r, want, int(h.Shape[2]))
	return same(t, fmt.Sprintf("%s, %+v", name, r), errA, errB, a, b)
}

func same(t testing.TB, name string, quick, plain error, a, b []byte) error {
	t.Helper()
	switch {
	case (quick == nil) != (plain == nil), quick != nil && quick.Error() != plain.Error():
		t.Fatalf("%s: got %v, and libjpeg alone gives %v", name, quick, plain)
	case quick == nil && !bytes.Equal(a, b):
		t.Fatalf("%s: other pixels than libjpeg's alone", name)
	}
	return quick
}

// everyFile are all files of the tests, and made ones with many and with long codes.
func everyFile(t testing.TB) map[string][]byte {
	t.Helper()
	files := roiFiles(t)
	maps.Copy(files, filesOf(t, "..", "testdata"))
	for _, quality := range []int{1, 25, 75, 96, 100} {
		for _, sub := range []string{"4:4:4", "4:2:2", "4:2:0"} {
			for name, pix := range map[string][]byte{"noise": noise(7, 131, 97), "natural": natural(7, 131, 97)} {
				data, err := New().Encode(nil, pix, tensor.Uint8, tensor.Shape{131, 97, 3}, codec.Options{Quality: quality, Subsampling: sub})
				if err != nil {
					t.Fatal(err)
				}
				files[fmt.Sprint(name, quality, " ", sub)] = data
			}
		}
	}
	return files
}

// TestHuffman: our decoding of Huffman codes gives libjpeg's pixels, and it does so itself.
func TestHuffman(t *testing.T) {
	t.Parallel()
	tw := newTwins(t)
	rng := rand.New(rand.NewPCG(8, 9))
	for name, data := range everyFile(t) {
		h, err := New().Header(data, codec.AsStored)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []codec.Channels{codec.AsStored, codec.Gray, codec.RGB} {
			before := tw.quick.tally()
			if err := tw.decode(t, name, data, want); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			after := tw.quick.tally()
			if after.quick != before.quick+1 {
				t.Errorf("%s: our own decoding began %d times, want once", name, after.quick-before.quick)
			}
			if got, should := after.whole-before.whole, pixelsAreOurs(t, tw, data, want); got != should {
				t.Errorf("%s, %d channels: our own pixels were made %d times, want %d", name, want, got, should)
			}
		}
		for k := range 40 {
			s := 1 << (k % 4)
			height, width := (int(h.Shape[0])+s-1)/s, (int(h.Shape[1])+s-1)/s
			r := codec.Region{X: rng.IntN(width), Y: rng.IntN(height), Downscale: s, Fast: k%3 == 0}
			r.Width, r.Height = 1+rng.IntN(width-r.X), 1+rng.IntN(height-r.Y)
			if err := tw.roi(t, name, data, r, codec.RGB); err != nil {
				t.Fatalf("%s: %+v: %v", name, r, err)
			}
		}
	}
	if n := tw.quick.tally().repeated; n > 0 {
		t.Errorf("%d good files were decoded twice", n)
	}
	if n := tw.plain.tally().quick; n > 0 {
		t.Errorf("the decoder that leaves all to libjpeg did not %d times", n)
	}
}

// pixelsAreOurs returns 1 for a file whose pixels are made without libjpeg: a progressive one in
// YCbCr or gray, or one that a device could finish too, on a processor with AVX2.
func pixelsAreOurs(t *testing.T, tw *twins, data []byte, want codec.Channels) int {
	t.Helper()
	h, err := New().Header(data, codec.AsStored)
	if err != nil {
		t.Fatal(err)
	}
	converts := want != codec.AsStored && int64(want) != h.Shape[2]
	progressive := bytes.Contains(data, []byte{0xff, 0xc2}) && h.Shape[2] != 4
	if converts || h.Shape[1] <= 4 || !hasVectors() || !progressive && !tw.quick.DeviceDecodes(data, want) {
		return 0
	}
	return 1
}

// TestHuffmanOfDamage changes bytes of the scan and of the tables: libjpeg's errors hold, and files
// that it accepts give its pixels. Afterwards both decoders work as before.
func TestHuffmanOfDamage(t *testing.T) {
	t.Parallel()
	tw := newTwins(t)
	rng := rand.New(rand.NewPCG(10, 11))
	refused, files := 0, everyFile(t)
	for name, data := range files {
		for k := range 60 {
			bad := bytes.Clone(data)
			for range 1 + rng.IntN(3) {
				switch at := rng.IntN(len(bad)); k % 4 {
				case 0:
					bad[at] ^= 1 << rng.IntN(8)
				case 1:
					bad[at] = []byte{0xff, 0, 0xd0, 0xd9, 0x80}[rng.IntN(5)]
				case 2:
					bad = append(bad[:at], bad[min(len(bad), at+rng.IntN(40)):]...)
				case 3:
					bad = splice(bad, at, 0, string([]byte{0xff, byte(rng.IntN(256)), byte(rng.IntN(256))}))
				}
				if len(bad) < 4 {
					break
				}
			}
			if tw.decode(t, name, bad, codec.AsStored) != nil {
				refused++
			}
			_ = tw.roi(t, name, bad, codec.Region{X: 3, Y: 5, Width: 9, Height: 7}, codec.RGB)
		}
		if err := tw.decode(t, name, data, codec.RGB); err != nil {
			t.Fatalf("%s, after damaged ones: %v", name, err)
		}
	}
	repeated := tw.quick.tally().repeated
	if all := len(files) * 60; refused < all/4 || refused > all*9/10 || repeated < all/10 {
		t.Errorf("%d of %d damaged files are refused, %d were decoded twice: this tests too little", refused, all, repeated)
	}
	t.Logf("%d of %d damaged files are refused, %d files and regions were decoded twice", refused, len(files)*60, repeated)
}

// TestCutFiles: a file cut anywhere is damaged, whether it is smaller or larger than one read of
// it.
func TestCutFiles(t *testing.T) {
	t.Parallel()
	comment := append([]byte{0xff, 0xfe}, binary.BigEndian.AppendUint16(nil, 0xfff0)...)
	comment = append(comment, make([]byte, 0xfff0-2)...)
	rng := rand.New(rand.NewPCG(5, 6))
	d := New().NewDecoder()
	defer d.Close()
	for name, small := range roiFiles(t) {
		large := splice(small, 2, 0, string(comment))
		h, err := New().Header(small, codec.AsStored)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, h.Shape[0]*h.Shape[1]*h.Shape[2])
		for k := range 300 {
			cut := 1 + k
			if k >= 100 {
				cut = 1 + rng.IntN(len(small)-1)
			}
			for _, file := range [][]byte{small[:len(small)-cut], large[:len(large)-cut]} {
				if err := d.Decode(got, file, codec.AsStored); !errs.Is(err, errs.Corrupt) {
					t.Fatalf("%s of %d bytes without the last %d: %v, want %v", name, len(file)+cut, cut, err, errs.Corrupt)
				}
			}
		}
	}
}

// FuzzHuffman looks for files of which our decoding of Huffman codes makes something else than
// libjpeg.
func FuzzHuffman(f *testing.F) {
	for _, data := range everyFile(f) {
		f.Add(data, uint8(2), uint16(10), uint16(20), uint16(30), uint16(40), uint8(0))
	}
	tw := newTwins(f)
	f.Fuzz(func(t *testing.T, data []byte, w uint8, x, y, width, height uint16, shrink uint8) {
		if len(data) > 1<<20 {
			return
		}
		_ = tw.decode(t, "file", data, wish(w))
		r := codec.Region{X: int(x), Y: int(y), Width: int(width), Height: int(height), Downscale: 1 << (shrink % 4), Fast: shrink > 127}
		_ = tw.roi(t, "part", data, r, wish(w))
	})
}
