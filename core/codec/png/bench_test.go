package png

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

// gradient is a picture that compresses as a drawing or a smooth photograph does.
func gradient(h, w, channels int) []byte {
	pix := make([]byte, h*w*channels)
	for i := range pix {
		y, x := i/(w*channels), i/channels%w
		pix[i] = byte(x/3 + y/2 + (x*y>>9)*(i%channels) + (x*7+y*13)%5)
	}
	return pix
}

// BenchmarkFiles decodes the files that DEEPLAKE_BENCH_PNGS matches, inflated at once and in
// batches.
func BenchmarkFiles(b *testing.B) {
	paths, err := filepath.Glob(os.Getenv("DEEPLAKE_BENCH_PNGS"))
	if err != nil {
		b.Fatal(err)
	}
	if len(paths) == 0 {
		b.Skip("DEEPLAKE_BENCH_PNGS names no files")
	}
	for name, d := range map[string]*decoder{"at once": {}, "in batches": {inBatch: true}} {
		b.Run(name, func(b *testing.B) {
			defer d.Close()
			for i := 0; b.Loop(); i++ {
				file, err := os.ReadFile(paths[i%len(paths)])
				if err != nil {
					b.Fatal(err)
				}
				h, err := New().Header(file, codec.AsStored)
				if err != nil {
					b.Fatal(err)
				}
				n, _ := h.Shape.Bytes(h.DType)
				if err := d.Decode(make([]byte, n), file, codec.AsStored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	pix := gradient(512, 512, 3)
	file, err := New().Encode(nil, pix, tensor.Uint8, tensor.Shape{512, 512, 3}, codec.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("this", func(b *testing.B) {
		b.SetBytes(int64(len(pix)))
		b.ReportAllocs()
		d := New().NewDecoder()
		defer d.Close()
		for b.Loop() {
			if err := d.Decode(pix, file, codec.AsStored); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("image-png", func(b *testing.B) {
		b.SetBytes(int64(len(pix)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := png.Decode(bytes.NewReader(file)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	pix := gradient(512, 512, 3)
	c := New()
	b.SetBytes(int64(len(pix)))
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		out, _ = c.Encode(out[:0], pix, tensor.Uint8, tensor.Shape{512, 512, 3}, codec.Options{})
	}
	b.ReportMetric(float64(len(out)), "bytes")
}
