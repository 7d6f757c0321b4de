package webp

import (
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

var descriptor = &codec.Descriptor{
	ID:          codec.WebP,
	Title:       "WebP",
	Extensions:  []string{".webp"},
	Media:       "image/webp",
	Sniff:       sniff,
	Orientation: orientation,
	Lossless:    true,
	DTypes:      []tensor.DType{tensor.Uint8},
	Instead:     `"png" or "zstd"`,
	CheckShape:  checkShape,
}

// sniff looks for a RIFF list of form WEBP.
func sniff(data []byte) bool {
	return len(data) >= firstChunk && string(data[:4]) == "RIFF" && string(data[8:firstChunk]) == "WEBP"
}

func checkShape(s tensor.Shape, want codec.Channels) error {
	if s[0] > maxSide || s[1] > maxSide {
		return errs.New(errs.Type, "sample has shape %s, a webp file has at most %d pixels a side; use png or no compression", s, maxSide)
	}
	if s[2] != 3 && s[2] != 4 && (s[2] != 1 || want != codec.Gray) {
		return codec.ChannelError(s, "a webp file has 3 or 4; use htype image.gray for 1, or png")
	}
	return nil
}
