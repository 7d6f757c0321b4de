package jpeg

import (
	"bytes"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

func seeds(f *testing.F) {
	f.Helper()
	for _, data := range filesOf(f, "..", "testdata") {
		f.Add(data, uint8(len(data)%3))
	}
}

func wish(b uint8) codec.Channels {
	return []codec.Channels{codec.AsStored, codec.Gray, codec.RGB}[b%3]
}

func FuzzHeader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, w uint8) {
		h, err := New().Header(data, wish(w))
		if err != nil {
			if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported {
				t.Fatalf("got %v (%s)", err, k)
			}
			return
		}
		if len(h.Shape) != 3 || h.Shape[0] < 1 || h.Shape[1] < 1 || h.Shape[0] > maxSide || h.Shape[1] > maxSide {
			t.Fatalf("shape %s", h.Shape)
		}
		if n := h.Shape[0] * h.Shape[1]; n > int64(len(data))*8*1024 {
			t.Fatalf("%d bytes are said to hold %d pixels", len(data), n)
		}
	})
}

func FuzzDecode(f *testing.F) {
	seeds(f)
	d := New().NewDecoder()
	f.Cleanup(d.Close)
	f.Fuzz(func(t *testing.T, data []byte, w uint8) {
		c := &Codec{}
		h, err := c.Header(data, wish(w))
		size := int64(100)
		if err == nil {
			size, _ = h.Shape.Bytes(h.DType)
		}
		if size > 4<<20 {
			return
		}
		dst := bytes.Repeat([]byte{0xa5}, int(size)+64)
		err = d.Decode(dst[:size:size], data, wish(w))
		if !bytes.Equal(dst[size:], bytes.Repeat([]byte{0xa5}, 64)) {
			t.Fatal("bytes behind the output changed")
		}
		if err == nil {
			again := bytes.Repeat([]byte{0x5a}, int(size))
			if err := d.Decode(again, data, wish(w)); err != nil || !bytes.Equal(again, dst[:size]) {
				t.Fatalf("the second decode differs (%v)", err)
			}
			return
		}
		switch errs.KindOf(err) {
		case errs.Corrupt, errs.Unsupported, errs.Invalid:
		default:
			t.Fatalf("got %v (%s)", err, errs.KindOf(err))
		}
	})
}
