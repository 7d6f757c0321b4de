package jpeg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

// benchFiles holds JPEG files to decode instead of the generated ones, e.g. those given to
// benchmarks/jpeg_limit.c.
func benchFiles(b *testing.B) [][]byte {
	paths, err := filepath.Glob(os.Getenv("DEEPLAKE_BENCH_JPEGS"))
	if err != nil {
		b.Fatal(err)
	}
	var files [][]byte
	for _, p := range paths {
		f, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// noise is the hardest case for an entropy decoder; natural has the falling spectrum of a
// photograph.
func noise(seed uint64, h, w int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	pix := make([]byte, h*w*3)
	for i := range pix {
		pix[i] = byte(r.Uint32())
	}
	return pix
}

func natural(seed uint64, h, w int) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	sum := make([]float64, h*w*3)
	for octave := 1; octave <= 96; octave *= 2 {
		for range 6 {
			fx, fy := r.NormFloat64()*float64(octave), r.NormFloat64()*float64(octave)
			var phase, weight [3]float64
			shift := 6 * r.Float64()
			for c := range 3 {
				phase[c], weight[c] = shift+0.3*r.NormFloat64(), 40/math.Sqrt(float64(octave))*(0.7+0.3*r.Float64())
			}
			for i := range h * w {
				angle := 2 * math.Pi * (fx*float64(i%w) + fy*float64(i/w)) / 250
				for c := range 3 {
					sum[3*i+c] += weight[c] * math.Sin(angle+phase[c]) / 2
				}
			}
		}
	}
	pix := make([]byte, len(sum))
	for i, v := range sum {
		pix[i] = byte(min(255, max(0, 128+v+2*r.NormFloat64())))
	}
	return pix
}

// BenchmarkDecode decodes 250 x 250 pictures at quality 75, or those that DEEPLAKE_BENCH_JPEGS
// matches. The limit to compare with is benchmarks/jpeg_limit.c on the same files, which
// DEEPLAKE_BENCH_OUT names a folder for.
func BenchmarkDecode(b *testing.B) {
	if files := benchFiles(b); len(files) > 0 {
		b.Run("files", func(b *testing.B) { decodeAll(b, files) })
		return
	}
	for _, kind := range []struct {
		name string
		draw func(seed uint64, h, w int) []byte
	}{{"noise", noise}, {"natural", natural}} {
		b.Run(kind.name, func(b *testing.B) { decodeAll(b, drawAll(b, kind.name, kind.draw)) })
	}
}

func drawAll(b *testing.B, name string, draw func(seed uint64, h, w int) []byte) [][]byte {
	var files [][]byte
	for seed := range uint64(16) {
		f, err := New().Encode(nil, draw(seed, 250, 250), tensor.Uint8, tensor.Shape{250, 250, 3}, codec.Options{Quality: 75})
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, f)
		if dir := os.Getenv("DEEPLAKE_BENCH_OUT"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s%02d.jpg", name, seed)), f, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	return files
}

func decodeAll(b *testing.B, files [][]byte) {
	c := New()
	d := c.NewDecoder()
	defer d.Close()
	var pixels int64
	var sizes []int64
	var largest int64
	for _, f := range files {
		h, err := c.Header(f, codec.RGB)
		if err != nil {
			b.Fatal(err)
		}
		n, _ := h.Shape.Bytes(h.DType)
		sizes = append(sizes, n)
		pixels += n
		largest = max(largest, n)
	}
	dst := make([]byte, largest) // one, which stays in the caches, as in the limit
	b.SetBytes(pixels / int64(len(files)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := i % len(files)
		if err := d.Decode(dst[:sizes[k]], files[k], codec.RGB); err != nil {
			b.Fatal(err)
		}
	}
}
