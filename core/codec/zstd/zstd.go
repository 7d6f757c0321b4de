// Package zstd owns the bytes codec "zstd": Zstandard frames at the library's default level,
// without the frame's own checksum, because the caller stores one. It must not touch chunks or
// storage.
package zstd

import (
	"sync"

	"deeplake/core/codec"
	"deeplake/core/errs"

	"github.com/klauspost/compress/zstd"
)

var _ codec.Codec = (*Codec)(nil)

// window bounds how far back a match may lie, hence the memory of an encoder. Blocks are about 256
// KiB.
const window = 1 << 20

// Codec is safe for parallel use.
type Codec struct {
	encoders sync.Pool // *zstd.Encoder
	decoders sync.Pool // *zstd.Decoder
}

// New makes the codec. It holds nothing that must be closed: its coders start no goroutine when
// they work on whole slices, and the collector may drop them.
func New() *Codec { return &Codec{} }

// ID is codec.Zstd.
func (c *Codec) ID() codec.ID { return codec.Zstd }

// Encode appends the compressed form of src to dst and returns the extended slice.
func (c *Codec) Encode(dst, src []byte) ([]byte, error) {
	enc, _ := c.encoders.Get().(*zstd.Encoder)
	if enc == nil {
		var err error
		enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithWindowSize(window), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return dst, errs.Op("encode zstd", "").New(errs.Internal, "%w", err)
		}
	}
	defer c.encoders.Put(enc)
	return enc.EncodeAll(src, dst), nil
}

// Decode fills dst, whose length is the size of the original. Damaged input and any other size are
// errs.Corrupt; then dst is undefined. Memory beyond dst is bounded by one 128 KiB block and its
// tables, whatever src claims.
func (c *Codec) Decode(dst, src []byte) error {
	dec, _ := c.decoders.Get().(*zstd.Decoder)
	if dec == nil {
		var err error
		dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return errs.Op("decode zstd", "").New(errs.Internal, "%w", err)
		}
	}
	defer c.decoders.Put(dec)
	out, err := dec.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return errs.Op("decode zstd", "").New(errs.Corrupt, "damaged frame, or more than the expected %d bytes: %w", len(dst), err)
	}
	if len(out) != len(dst) {
		return errs.Op("decode zstd", "").New(errs.Corrupt, "got %d bytes, want %d", len(out), len(dst))
	}
	if len(dst) > 0 && &out[0] != &dst[0] {
		copy(dst, out) // the library moved to a slice of its own
	}
	return nil
}
