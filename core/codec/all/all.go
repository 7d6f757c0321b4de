// Package all owns the list of codecs that are built in. It is apart from package codec, so that
// the codecs can import the contracts. It must not hold anything else.
package all

import (
	"deeplake/core/codec"
	"deeplake/core/codec/jpeg"
	"deeplake/core/codec/lz4"
	"deeplake/core/codec/png"
	"deeplake/core/codec/webp"
	"deeplake/core/codec/zstd"
)

// All makes a registry of every codec, with coders of its own to reuse: make one and share it. Safe
// for parallel use.
func All() *codec.Registry {
	return codec.NewRegistry(
		[]codec.Codec{lz4.New(), zstd.New()},
		[]codec.SampleCodec{jpeg.New(), png.New(), webp.New()},
	)
}
