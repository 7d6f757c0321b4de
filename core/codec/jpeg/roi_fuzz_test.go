package jpeg

import (
	"bytes"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// FuzzDecodeROI looks for regions whose pixels are not those of the whole image.
func FuzzDecodeROI(f *testing.F) {
	d := roisOf(f)
	for _, data := range roiFiles(f) {
		f.Add(data, uint8(2), uint16(10), uint16(20), uint16(30), uint16(40), uint8(0))
	}
	whole := New().NewDecoder()
	f.Cleanup(whole.Close)
	f.Fuzz(func(t *testing.T, data []byte, w uint8, x, y, width, height uint16, shrink uint8) {
		want := wish(w)
		h, err := New().Header(data, want)
		if err != nil {
			return
		}
		if n, _ := h.Shape.Bytes(h.DType); n > 4<<20 {
			return
		}
		r := codec.Region{X: int(x), Y: int(y), Width: int(width), Height: int(height), Downscale: 1 << (shrink % 4), Fast: shrink > 127}
		channels := int(h.Shape[2])
		got, err := decodeROI(d, data, r, want, channels)
		if err != nil {
			switch errs.KindOf(err) {
			case errs.Corrupt, errs.Unsupported, errs.Invalid:
			default:
				t.Fatalf("got %v (%s)", err, errs.KindOf(err))
			}
			return
		}
		if r.Downscale > 1 || r.Fast {
			return
		}
		dst := make([]byte, h.Shape[0]*h.Shape[1]*h.Shape[2])
		if whole.Decode(dst, data, want) != nil {
			return // the damage lies below the region
		}
		if !bytes.Equal(got, cutOut(dst, int(h.Shape[1]), channels, r)) {
			t.Fatalf("region %+v differs from the whole image", r)
		}
	})
}
