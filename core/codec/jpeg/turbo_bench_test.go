//go:build cgo && !nolibjpeg

package jpeg

import (
	"testing"
	"time"

	"deeplake/core/codec"
)

// BenchmarkOfLibjpeg decodes each file by our code and by libjpeg-turbo alone, in turns, so that
// other work of the machine slows both alike. "times" is libjpeg's time in parts of ours.
// The files are those of BenchmarkDecode.
func BenchmarkOfLibjpeg(b *testing.B) {
	if files := benchFiles(b); len(files) > 0 {
		b.Run("files", func(b *testing.B) { inTurns(b, files) })
		return
	}
	b.Run("noise", func(b *testing.B) { inTurns(b, drawAll(b, "noise", noise)) })
	b.Run("natural", func(b *testing.B) { inTurns(b, drawAll(b, "natural", natural)) })
}

func inTurns(b *testing.B, files [][]byte) {
	tw := newTwins(b)
	for _, f := range files {
		if err := tw.decode(b, "file", f, codec.RGB); err != nil { // compares the pixels
			b.Fatal(err)
		}
	}
	best := make([][2]time.Duration, len(files)) // of each file, the quickest of all turns
	var pixels []byte
	for b.Loop() {
		for i, f := range files {
			h, err := New().Header(f, codec.RGB)
			if err != nil {
				b.Fatal(err)
			}
			n, _ := h.Shape.Bytes(h.DType)
			if int64(len(pixels)) < n {
				pixels = make([]byte, n)
			}
			for k, d := range []*decoder{tw.quick, tw.plain} {
				start := time.Now()
				if err := d.Decode(pixels[:n], f, codec.RGB); err != nil {
					b.Fatal(err)
				}
				if took := time.Since(start); best[i][k] == 0 || took < best[i][k] {
					best[i][k] = took
				}
			}
		}
	}
	var ours, theirs time.Duration
	for _, of := range best {
		ours, theirs = ours+of[0], theirs+of[1]
	}
	each := float64(len(files)) * 1e3
	b.ReportMetric(float64(ours)/each, "us/image")
	b.ReportMetric(float64(theirs)/each, "libjpeg-us/image")
	b.ReportMetric(float64(theirs)/float64(ours), "times")
}
