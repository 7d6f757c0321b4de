package png

import (
	"bytes"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

var descriptor = &codec.Descriptor{
	ID:          codec.PNG,
	Title:       "PNG",
	Extensions:  []string{".png"},
	Media:       "image/png",
	Sniff:       func(data []byte) bool { return bytes.HasPrefix(data, []byte(signature)) },
	Orientation: orientation,
	Lossless:    true,
	DTypes:      []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Uint16},
	Instead:     `"zstd"`,
	CheckShape:  checkShape,
}

func checkShape(s tensor.Shape, _ codec.Channels) error {
	if s[2] < 1 || s[2] > 4 {
		return codec.ChannelError(s, "a png file has 1 to 4; use no compression")
	}
	return nil
}
