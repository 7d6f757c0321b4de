//go:build cgo && !nolibjpeg

package jpeg

import (
	"testing"

	"deeplake/core/codec"
)

// FuzzPack compares packing with decoding: whatever packs must also decode. The memory behind the
// room stays unchanged.
func FuzzPack(f *testing.F) {
	seeds(f)
	d := New().NewDecoder().(*decoder)
	f.Cleanup(d.Close)
	const room, guard = 64 << 10, 64
	dst := make([]byte, room+guard)
	f.Fuzz(func(t *testing.T, data []byte, w uint8) {
		for i := range guard {
			dst[room+i] = 0xa5
		}
		rows := int(w) / 8 * 5
		n, err := d.Pack(dst[:room], data, wish(w), rows)
		for i := range guard {
			if dst[room+i] != 0xa5 {
				t.Fatal("written behind the room")
			}
		}
		if err != nil || n == 0 {
			return
		}
		h, err := New().Header(data, wish(w))
		if err != nil {
			t.Fatalf("a file is packed, and its header is refused: %v", err)
		}
		size, err := h.Shape.Bytes(h.DType)
		if err != nil || size > 64<<20 {
			return
		}
		if rows > 0 {
			r := codec.Region{Width: int(h.Shape[1]), Height: min(rows, int(h.Shape[0]))}
			if _, err := decodeROI(d, data, r, wish(w), int(h.Shape[2])); err != nil {
				t.Fatalf("%d rows of a file are packed, and cannot be decoded: %v", rows, err)
			}
			return
		}
		if err := d.Decode(make([]byte, size), data, wish(w)); err != nil {
			t.Fatalf("a file is packed, and cannot be decoded: %v", err)
		}
	})
}

// BenchmarkPack packs the files of BenchmarkDecode. It reports the bytes of packed coefficients in
// proportion to those of the pixels.
func BenchmarkPack(b *testing.B) {
	files := benchFiles(b)
	if len(files) == 0 {
		files = drawAll(b, "natural", natural)
	}
	c := New()
	d := c.NewDecoder().(*decoder)
	defer d.Close()
	var pixels, packed int64
	dst := make([]byte, 8<<20)
	var fit [][]byte
	for _, f := range files {
		h, err := c.Header(f, codec.RGB)
		if err != nil {
			b.Fatal(err)
		}
		n, err := d.Pack(dst, f, codec.RGB, 0)
		if err != nil {
			b.Fatal(err)
		}
		if n > 0 {
			size, _ := h.Shape.Bytes(h.DType)
			pixels += size
			packed += int64(n)
			fit = append(fit, f)
		}
	}
	b.SetBytes(pixels / int64(len(fit)))
	for i := 0; b.Loop(); i++ {
		if _, err := d.Pack(dst, fit[i%len(fit)], codec.RGB, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(packed)/float64(pixels), "packed/pixels")
	b.ReportMetric(float64(len(fit))/float64(len(files)), "packed/files")
}
