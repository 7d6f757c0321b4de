package jpeg

import (
	"bytes"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

var descriptor = &codec.Descriptor{
	ID:           codec.JPEG,
	Title:        "JPEG",
	Aliases:      []string{"jpg"},
	Extensions:   []string{".jpg", ".jpeg", ".jpe", ".jfif"},
	Media:        "image/jpeg",
	Sniff:        sniff,
	Orientation:  orientation,
	DTypes:       []tensor.DType{tensor.Uint8},
	Instead:      `"png" or "zstd"`,
	CheckShape:   checkShape,
	CheckOptions: checkOptions,
}

// sniff looks for the start of an image and the first byte of another marker.
func sniff(data []byte) bool { return bytes.HasPrefix(data, []byte("\xff\xd8\xff")) }

func checkShape(s tensor.Shape, _ codec.Channels) error {
	if s[0] > maxSide || s[1] > maxSide {
		return errs.New(errs.Type, "sample has shape %s, a jpeg file has at most %d pixels a side; use png or no compression", s, maxSide)
	}
	if s[2] != 1 && s[2] != 3 {
		return codec.ChannelError(s, "a jpeg file has 1 or 3; use png or no compression")
	}
	return nil
}

func checkOptions(o codec.Options) error {
	if o.Quality < 0 || o.Quality > 100 {
		return errs.New(errs.Invalid, "quality is %d, want 1 to 100", o.Quality)
	}
	switch o.Subsampling {
	case "", "4:4:4", "4:2:2", "4:2:0":
		return nil
	}
	return errs.New(errs.Invalid, "subsampling is %q, want \"4:4:4\", \"4:2:2\" or \"4:2:0\"", o.Subsampling)
}
