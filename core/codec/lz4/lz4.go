// Package lz4 owns the bytes codec "lz4": one LZ4 block without a frame, because the caller stores
// the size and the checksum of the original itself. It must not touch chunks or storage.
package lz4

import (
	"slices"
	"sync"

	"deeplake/core/codec"
	"deeplake/core/errs"

	block "github.com/pierrec/lz4/v4"
)

var _ codec.Codec = (*Codec)(nil)

// maxInput is the largest original that one LZ4 block can hold.
const maxInput = 0x7E000000

// Codec is safe for parallel use.
type Codec struct {
	compressors sync.Pool // *block.Compressor, 64 KiB of hash table each
}

// New makes the codec. It holds nothing that must be closed.
func New() *Codec {
	return &Codec{compressors: sync.Pool{New: func() any { return new(block.Compressor) }}}
}

// ID is codec.LZ4.
func (c *Codec) ID() codec.ID { return codec.LZ4 }

// Encode appends the compressed form of src to dst and returns the extended slice. An empty src
// appends nothing. More than about 2 GiB is errs.Invalid; then dst is unchanged.
func (c *Codec) Encode(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return dst, nil
	}
	if len(src) > maxInput {
		return dst, errs.New(errs.Invalid, "encode lz4: %d bytes, want at most %d", len(src), maxInput)
	}
	bound := block.CompressBlockBound(len(src))
	dst = slices.Grow(dst, bound)
	comp := c.compressors.Get().(*block.Compressor)
	defer c.compressors.Put(comp)
	n, err := comp.CompressBlock(src, dst[len(dst):len(dst)+bound])
	if err != nil || n == 0 {
		return dst, errs.New(errs.Internal, "encode lz4: %d bytes did not fit into the bound of %d: %w", len(src), bound, err)
	}
	return dst[:len(dst)+n], nil
}

// Decode fills dst, whose length is the size of the original. Damaged input and any other size are
// errs.Corrupt; then dst is undefined. Nothing is allocated, and nothing is written outside
// dst[:len(dst)].
func (c *Codec) Decode(dst, src []byte) error {
	if len(dst) == 0 {
		if len(src) != 0 {
			return errs.New(errs.Corrupt, "decode lz4: %d bytes hold more than the expected 0 bytes", len(src))
		}
		return nil
	}
	if len(src) == 0 {
		return errs.New(errs.Corrupt, "decode lz4: input is empty, want %d bytes of output", len(dst))
	}
	n, err := block.UncompressBlock(src, dst[:len(dst):len(dst)])
	if err != nil {
		return errs.New(errs.Corrupt, "decode lz4: damaged block, or more than the expected %d bytes: %w", len(dst), err)
	}
	if n != len(dst) {
		return errs.New(errs.Corrupt, "decode lz4: got %d bytes, want %d", n, len(dst))
	}
	return nil
}
