// Package zstd owns the bytes codec "zstd": Zstandard frames without the frame's own checksum,
// because the caller stores one. libzstd compresses where its headers are installed, 1.7 times as
// fast as klauspost/compress, which does it in builds without cgo or with the tag nolibzstd.
// klauspost/compress decompresses, at the same rate: hostile bytes meet no C. It must not touch
// chunks or storage.
package zstd

import (
	"sync"

	"deeplake/core/codec"
	"deeplake/core/errs"

	"github.com/klauspost/compress/zstd"
)

var _ codec.Codec = (*Codec)(nil)

// windowLog bounds the distance of a match to 1 MiB, and so the memory of an encoder. Blocks of
// samples are smaller.
const windowLog = 20

// Level trades time for size. The numbers are those of libzstd.
type Level int

// The levels in use.
const (
	Quick Level = 1 // blocks of samples
	Dense Level = 7 // pages of metadata: written once, fetched by every reader
)

// Encoder makes frames of one level. It is safe for parallel use.
type Encoder struct {
	level    Level
	encoders sync.Pool // *encoder
}

// NewEncoder makes an encoder. It holds nothing that must be closed.
func NewEncoder(level Level) *Encoder { return &Encoder{level: level} }

// Encode appends one frame of src to dst and returns the extended slice.
func (e *Encoder) Encode(dst, src []byte) ([]byte, error) {
	enc, _ := e.encoders.Get().(*encoder)
	if enc == nil {
		var err error
		if enc, err = newEncoder(e.level); err != nil {
			return dst, errs.Op("encode zstd", "").New(errs.Internal, "%w", err)
		}
	}
	defer e.encoders.Put(enc)
	out, err := enc.encode(dst, src)
	if err != nil {
		return dst, errs.Op("encode zstd", "").New(errs.Internal, "%w", err)
	}
	return out, nil
}

// Codec is safe for parallel use.
type Codec struct {
	*Encoder
	decoders sync.Pool // *zstd.Decoder
}

// New makes the codec. It holds nothing that must be closed: its coders start no goroutine, and the
// collector may drop them.
func New() *Codec { return &Codec{Encoder: NewEncoder(Quick)} }

// ID is codec.Zstd.
func (c *Codec) ID() codec.ID { return codec.Zstd }

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
