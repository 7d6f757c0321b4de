//go:build cgo && !nolibjpeg

package jpeg

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// accepting is a decoder that accepts damage.
func accepting(t testing.TB) *decoder {
	d := &decoder{accepts: true}
	t.Cleanup(d.Close)
	return d
}

// dirty is memory of n bytes that are all b.
func dirty(n int64, b byte) []byte { return bytes.Repeat([]byte{b}, int(n)) }

// TestCutFilesAreAccepted: of a file that lost its end, the rows before the cut are those of the
// whole file. The others do not depend on the memory they are put in, or on the files before.
func TestCutFilesAreAccepted(t *testing.T) {
	t.Parallel()
	d, strict := accepting(t), New().NewDecoder()
	defer strict.Close()
	other := filesOf(t, "..", "testdata")
	for name, data := range roiFiles(t) {
		h, err := New().Header(data, codec.AsStored)
		if err != nil {
			t.Fatal(err)
		}
		size, stride := h.Shape[0]*h.Shape[1]*h.Shape[2], int(h.Shape[1]*h.Shape[2])
		f, _ := parse(data)
		whole := dirty(size, 1)
		if err := strict.Decode(whole, data, codec.AsStored); err != nil {
			t.Fatal(err)
		}
		most := 0
		for k := 1; k < 10; k++ {
			cut := data[:f.scan+(len(data)-f.scan)*k/10]
			if _, err := New().Header(cut, codec.AsStored); !errs.Is(err, errs.Corrupt) {
				t.Fatalf("%s, %d/10 of it: %v, want %v", name, k, err, errs.Corrupt)
			}
			got, err := New().CutHeader(cut, codec.AsStored)
			if err != nil || !got.Shape.Equal(h.Shape) {
				t.Fatalf("%s, %d/10 of it: shape %s, %v, want %s", name, k, got.Shape, err, h.Shape)
			}
			a, b := dirty(size, 0xa5), dirty(size, 0x5a)
			if err := d.Decode(a, cut, codec.AsStored); err != nil {
				t.Fatalf("%s, %d/10 of it: %v", name, k, err)
			}
			for _, data := range other {
				if h, err := New().Header(data, codec.RGB); err == nil {
					_ = d.Decode(dirty(h.Shape[0]*h.Shape[1]*3, 0), data, codec.RGB)
				}
			}
			if err := d.Decode(b, cut, codec.AsStored); err != nil || !bytes.Equal(a, b) {
				t.Fatalf("%s, %d/10 of it: other pixels the second time (%v)", name, k, err)
			}
			same := 0
			for same < len(a) && a[same] == whole[same] {
				same++
			}
			if same/stride < most {
				t.Errorf("%s: %d rows are those of the whole file with %d/10 of it, %d with less of it", name, same/stride, k, most)
			}
			most = same / stride
		}
		if most < int(h.Shape[0])/2 && !f.several {
			t.Errorf("%s: 9/10 of it give %d of %d rows", name, most, h.Shape[0])
		}
	}
}

// TestAcceptedROIs: regions of cut files are those of the pixels that the cut file has, and a
// decoder refuses damage again once it is told to.
func TestAcceptedROIs(t *testing.T) {
	t.Parallel()
	d := accepting(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for name, data := range roiFiles(t) {
		f, _ := parse(data)
		cut := data[:f.scan+(len(data)-f.scan)*2/3]
		h, err := New().CutHeader(cut, codec.RGB)
		if err != nil {
			t.Fatal(err)
		}
		whole := dirty(h.Shape[0]*h.Shape[1]*3, 0)
		if err := d.Decode(whole, cut, codec.RGB); err != nil {
			t.Fatal(err)
		}
		for k := range 20 {
			r := someRegion(rng, k, int(h.Shape[1]), int(h.Shape[0]))
			got, err := decodeROI(d, cut, r, codec.RGB, 3)
			if err != nil || !bytes.Equal(got, cutOut(whole, int(h.Shape[1]), 3, r)) {
				t.Fatalf("%s, %+v: differs from the whole image (%v)", name, r, err)
			}
		}
		small := codec.Region{Width: int(h.Shape[1]+1) / 2, Height: int(h.Shape[0]+1) / 2, Downscale: 2}
		if _, err := decodeROI(d, cut, small, codec.RGB, 3); err != nil {
			t.Fatalf("%s, of half the size: %v", name, err)
		}
		if n, err := d.Pack(make([]byte, 1<<20), cut, codec.RGB, 8); n != 0 || err != nil || d.DeviceDecodes(data, codec.RGB) {
			t.Fatalf("%s: a device gets %d bytes of a file that is accepted (%v)", name, n, err)
		}
		d.AcceptDamage(false)
		if _, err := decodeROI(d, cut, small, codec.RGB, 3); !errs.Is(err, errs.Corrupt) {
			t.Fatalf("%s, refused again: %v", name, err)
		}
		d.AcceptDamage(true)
	}
}

// TestLimitsHoldForAcceptedFiles: acceptance lifts no bound and no check of a header.
func TestLimitsHoldForAcceptedFiles(t *testing.T) {
	t.Parallel()
	d := accepting(t)
	data := filesOf(t, "testdata", "parts")["progressive420-q95.jpg"]
	f, _ := parse(data)
	scan := data[f.scan:]
	scan = scan[:2+int(scan[2])<<8+int(scan[3])]
	bomb := append(bytes.Clone(data[:len(data)-2]), bytes.Repeat(scan, maxScans)...)
	for name, bad := range map[string][]byte{
		"no header":         data[:f.scan-1],
		"too few bytes":     data[:f.scan+14],
		"too many scans":    bomb,
		"another file":      []byte("\x89PNG\r\n\x1a\n"),
		"a missing table":   bytes.ReplaceAll(data, []byte{0xff, 0xdb}, []byte{0xff, 0xe5}),
		"nothing":           nil,
		"arithmetic coding": bytes.Replace(data, []byte{0xff, 0xc2}, []byte{0xff, 0xca}, 1),
	} {
		err := d.Decode(make([]byte, f.width*f.height*3), bad, codec.RGB)
		if k := errs.KindOf(err); err == nil || k != errs.Corrupt && k != errs.Unsupported {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzAccepted looks for damaged files whose accepted pixels lie outside of their memory, or depend
// on anything but the file.
func FuzzAccepted(f *testing.F) {
	for name, data := range everyFile(f) {
		head, err := parse(data)
		if err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		for k := range 3 {
			f.Add(data[:head.scan+(len(data)-head.scan)*(k+1)/3], uint8(k), uint16(10), uint16(20), uint16(30), uint16(40), uint8(k))
		}
	}
	d := accepting(f)
	strict := New().NewDecoder()
	f.Cleanup(strict.Close)
	f.Fuzz(func(t *testing.T, data []byte, w uint8, x, y, width, height uint16, shrink uint8) {
		want := wish(w)
		h, err := New().CutHeader(data, want)
		if err != nil || len(data) > 1<<20 || h.Shape[0]*h.Shape[1] > 1<<20 {
			return
		}
		size := h.Shape[0] * h.Shape[1] * h.Shape[2]
		if n := h.Shape[0] * h.Shape[1]; n > int64(len(data))*8*1024 {
			t.Fatalf("%d bytes are said to hold %d pixels", len(data), n)
		}
		dst := append(dirty(size, 0xa5), dirty(64, 0xa5)...)
		err = d.Decode(dst[:size:size], data, want)
		if !bytes.Equal(dst[size:], dirty(64, 0xa5)) {
			t.Fatal("bytes behind the output changed")
		}
		kept := dirty(size, 0)
		if refused := strict.Decode(kept, data, want); refused == nil && (err != nil || !bytes.Equal(kept, dst[:size])) {
			t.Fatalf("an undamaged file has other pixels (%v)", err)
		}
		again := dirty(size, 0x5a)
		if second := d.Decode(again, data, want); fmt.Sprint(second) != fmt.Sprint(err) || err == nil && !bytes.Equal(again, dst[:size]) {
			t.Fatalf("the second decode differs (%v, %v)", err, second)
		}
		r := codec.Region{X: int(x), Y: int(y), Width: int(width), Height: int(height), Downscale: 1 << (shrink % 4), Fast: shrink > 127}
		one, errOne := decodeROI(d, data, r, want, int(h.Shape[2]))
		two, errTwo := decodeROI(d, data, r, want, int(h.Shape[2]))
		if fmt.Sprint(errOne) != fmt.Sprint(errTwo) || !bytes.Equal(one, two) {
			t.Fatalf("region %+v differs the second time (%v, %v)", r, errOne, errTwo)
		}
	})
}
