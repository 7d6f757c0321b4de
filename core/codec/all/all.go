// Package all owns the table of built-in codecs, and nothing else. A new codec adds its line here.
// It is separate from package codec so that codecs can import the contracts.
package all

import (
	"deeplake/core/codec"
	"deeplake/core/codec/jpeg"
	"deeplake/core/codec/lz4"
	"deeplake/core/codec/png"
	"deeplake/core/codec/shuffle"
	"deeplake/core/codec/webp"
	"deeplake/core/codec/zstd"
)

// All makes a registry of every codec. Its coders reuse state, so make one and share it. The first
// sample codec is the default of imports. Safe for parallel use.
func All() *codec.Registry {
	frames := zstd.New()
	return codec.NewRegistry(
		[]codec.Codec{
			lz4.New(),
			frames,
			shuffle.New(frames),
		},
		[]codec.SampleCodec{
			jpeg.New(),
			png.New(),
			webp.New(),
		},
	)
}
