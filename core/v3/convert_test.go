package v3

import (
	"context"
	"image"
	"image/color"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// TestContradictions opens chunks whose tables and bytes contradict each other.
func TestContradictions(t *testing.T) {
	ctx := context.Background()
	v := ver("3.9.52")
	for name, c := range map[string]struct{ meta, chunk, want string }{
		"sizes of nothing, packed together": {
			`"htype":"text","dtype":"str","chunk_compression":"lz4"`, v + le(1, 2, 1, 0, 1, 0, 0, 0) + "\x03\x00\x00\x00\x30abc", "its items have 0 bytes, it has 3",
		},
		"no places, and what looks like nothing": {
			`"htype":"text","dtype":"str","chunk_compression":"lz4"`, v + le(1, 2, 1, 0, 0) + le(0, 0, 0) + "\x03\x00\x00\x00\x30abc", "20 bytes of LZ4 hold nothing",
		},
		"a size of nothing": {
			`"htype":"text","dtype":"str"`, v + le(1, 2, 1, 0, 1, 0, 0, 0) + "abc", "its items have 0 bytes, it has 3",
		},
		"no file": {
			`"htype":"image","dtype":"uint8","sample_compression":"png"`, v + le(1, 4, 4, 5, 3, 0, 1, 0, 0, 0), "an image of shape (4, 5, 3) has no bytes",
		},
		"an image of no height": {
			`"htype":"image","dtype":"uint8","chunk_compression":"png"`, v + le(1, 4, 0, 5, 3, 0, 0) + "png", "an image has shape (0, 5, 3)",
		},
		"an array of another size": {
			`"htype":"generic","dtype":"int16"`, v + le(1, 2, 3, 0, 1, 4, 0, 0) + "abcd", "an item of shape (3,) has 4 bytes, want 6",
		},
		"another size in front of it": {
			`"htype":"generic","dtype":"uint8","chunk_compression":"lz4"`, v + le(1, 2, 100, 0, 1, 100, 0, 0) + le(99) + "\x1faQ\x50aaaaa", "do not hold the 100 bytes",
		},
	} {
		s, err := presented(ctx, disk{files{
			metaFile:                   []byte(`{"tensors":["x"]}`),
			"x/tensor_meta.json":       []byte(`{"length":1,` + c.meta + `}`),
			"x/chunks_index/unsharded": []byte(v + "\x08" + le64(1, 0)),
			"x/chunks/1":               []byte(c.chunk),
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(ctx, s)
		if len(got.failed) != 1 || !errs.Is(got.failed[0], errs.Corrupt) || !strings.Contains(got.failed[0].Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, got.failed, c.want)
		}
	}
}

// TestChannels tells which channels a decoded file can have.
func TestChannels(t *testing.T) {
	r := image.Rect(0, 0, 1, 1)
	opaque := image.NewRGBA(r)
	opaque.SetRGBA(0, 0, color.RGBA{1, 2, 3, 255})
	for _, c := range []struct {
		name string
		img  image.Image
		want string // of the numbers from 1 to 4
	}{
		{"tiff", image.NewGray(r), "1"},
		{"tiff", image.NewGray16(r), "1"},
		{"tiff", image.NewCMYK(r), "4"},
		{"tiff", opaque, "3"},
		{"tiff", image.NewRGBA(r), "34"},
		{"tiff", image.NewNRGBA(r), "4"},
		{"bmp", image.NewNRGBA(r), "34"},
		{"bmp", image.NewPaletted(r, color.Palette{color.White}), "1"},
		{"gif", image.NewPaletted(r, color.Palette{color.White}), "134"},
	} {
		got := ""
		for n := range int64(4) {
			if hasChannels(c.name, c.img, n+1) {
				got += string(rune('1' + n))
			}
		}
		if got != c.want {
			t.Errorf("%s of %T: %s, want %s", c.name, c.img, got, c.want)
		}
	}
}
