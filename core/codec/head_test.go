package codec_test

import (
	"os"
	"path/filepath"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
)

// checkHead holds Head of a beginning of data against Header of all of it.
func checkHead(t *testing.T, reg *codec.Registry, data []byte, cut int, want codec.Channels) (more bool) {
	t.Helper()
	id, ok := reg.Sniff(data)
	if !ok {
		return false
	}
	c, err := reg.Sample(id)
	if err != nil {
		t.Fatal(err)
	}
	head, more, err := c.(codec.HeadCodec).Head(data[:cut], want)
	whole, wholeErr := c.Header(data, want)
	switch {
	case more && err != nil:
		t.Fatalf("cut at %d: more is wanted, and it fails with %v", cut, err)
	case more || wholeErr != nil:
	case err != nil:
		t.Fatalf("cut at %d: %v, but the whole file is right", cut, err)
	case head.DType != whole.DType || !head.Shape.Equal(whole.Shape):
		t.Fatalf("cut at %d: %v %v, want %v %v", cut, head.DType, head.Shape, whole.DType, whole.Shape)
	}
	return more
}

func goldenFiles() []string {
	files, _ := filepath.Glob("testdata/*.[jp][pn]g")
	webp, _ := filepath.Glob("testdata/*.webp")
	return append(files, webp...)
}

func TestHeadOfGoldenFiles(t *testing.T) {
	t.Parallel()
	reg := all.All()
	files := goldenFiles()
	if len(files) < 40 {
		t.Fatalf("%d files", len(files))
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []codec.Channels{codec.AsStored, codec.RGB, codec.Gray} {
			for cut := range len(data) {
				checkHead(t, reg, data, cut, want)
			}
			if checkHead(t, reg, data, len(data), want) {
				t.Errorf("%s: the whole file is not enough", name)
			}
		}
	}
}

func FuzzHead(f *testing.F) {
	for _, name := range goldenFiles() {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 2000)], uint16(300))
	}
	reg := all.All()
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		checkHead(t, reg, data, min(int(cut), len(data)), codec.AsStored)
	})
}
