package png

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

func seeds(f *testing.F) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "*.png"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no golden files (%v)", err)
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
		if _, err := h.Shape.Bytes(h.DType); err != nil || len(h.Shape) != 3 || h.Shape[0] < 1 || h.Shape[1] < 1 {
			t.Fatalf("shape %s (%v)", h.Shape, err)
		}
		if n := h.Shape[0] * h.Shape[1]; n > int64(len(data))*8*maxRatio {
			t.Fatalf("%d bytes are said to hold %d pixels", len(data), n)
		}
	})
}

// FuzzDecode compares pixels with those of image/png, which others wrote from the same
// specification, and a decoder that inflates a file at once with one that does so in batches.
func FuzzDecode(f *testing.F) {
	seeds(f)
	c := New()
	d := c.NewDecoder()
	inBatches := &decoder{inBatch: true}
	f.Cleanup(d.Close)
	f.Fuzz(func(t *testing.T, data []byte, w uint8) {
		data = repair(data)
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
		again := make([]byte, size)
		if other := inBatches.Decode(again, data, wish(w)); fmt.Sprint(other) != fmt.Sprint(err) || err == nil && !bytes.Equal(again, dst[:size]) {
			t.Fatalf("at once it is %v, in batches %v, or other pixels", err, other)
		}
		if err != nil {
			switch errs.KindOf(err) {
			case errs.Corrupt, errs.Unsupported, errs.Invalid:
			default:
				t.Fatalf("got %v (%s)", err, errs.KindOf(err))
			}
			return
		}
		if wish(w) == codec.AsStored {
			compareStandard(t, data, h, dst[:size])
		}
	})
}

// repair gives every chunk its right checksum, so that the fuzzer gets past them.
func repair(data []byte) []byte {
	fixed := bytes.Clone(data)
	for at := len(signature); at+chunkSize <= len(fixed); {
		c, err := readChunk(fixed, at)
		if err != nil {
			break
		}
		binary.BigEndian.PutUint32(fixed[c.next-4:], checksum(fixed[at+4:c.next-4]))
		at = c.next
	}
	return fixed
}

// compareStandard compares with image/png, as far as that accepts the file and does not apply a
// transparent colour.
func compareStandard(t *testing.T, data []byte, h codec.Header, got []byte) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil || bytes.Contains(data, []byte("tRNS")) {
		return
	}
	var want []byte
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			want = appendPixel(want, img, x, y, int(h.Shape[2]))
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("image/png has other pixels for %s %s", h.DType, h.Shape)
	}
}

func appendPixel(to []byte, img image.Image, x, y, channels int) []byte {
	switch c := img.At(x, y).(type) {
	case color.Gray:
		return append(to, c.Y)
	case color.Gray16:
		return binary.LittleEndian.AppendUint16(to, c.Y)
	case color.RGBA: // opaque
		return append(to, c.R, c.G, c.B)
	case color.NRGBA:
		if channels == 2 {
			return append(to, c.R, c.A)
		}
		return append(to, c.R, c.G, c.B, c.A)
	case color.RGBA64: // opaque
		for _, v := range []uint16{c.R, c.G, c.B} {
			to = binary.LittleEndian.AppendUint16(to, v)
		}
	case color.NRGBA64:
		values := []uint16{c.R, c.G, c.B, c.A}
		if channels == 2 {
			values = []uint16{c.R, c.A}
		}
		for _, v := range values {
			to = binary.LittleEndian.AppendUint16(to, v)
		}
	}
	return to
}
