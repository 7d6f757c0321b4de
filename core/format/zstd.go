package format

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/errs"
)

// Compression of pages, records and directories as stored.
const (
	packNone byte = 0
	packZstd byte = 2
)

// A zstd block holds at most 128 KiB and takes at least 4 bytes, which bounds what stored bytes can
// stand for.
const (
	zstdBlockRaw    = 128 << 10
	zstdBlockStored = 4
)

// The two are made once, hold no data between calls and serve parallel callers: a decoder made for
// each page would cost more than the page.
var (
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxMemory(MaxBlobRaw), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil
		}
		return d
	})
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil
		}
		return e
	})
)

// pack compresses raw if that saves at least one eighth; else it returns raw itself.
func pack(raw []byte) (byte, []byte) {
	if len(raw) < 64 {
		return packNone, raw
	}
	e := zstdEncoder()
	if e == nil {
		return packNone, raw
	}
	if out := e.EncodeAll(raw, nil); len(out) <= len(raw)-(len(raw)+7)/8 {
		return packZstd, out
	}
	return packNone, raw
}

// packParts is pack for a payload whose parts, which begin at cuts, are unlike each other: a frame
// each, where that is smaller, since zstd has one code for all literals of a block.
func packParts(raw []byte, cuts []int) (byte, []byte) {
	codec, whole := pack(raw)
	e := zstdEncoder()
	if codec == packNone && len(raw) < 64 || e == nil {
		return codec, whole
	}
	var out []byte
	from := 0
	for _, to := range append(cuts, len(raw)) {
		if to > from {
			out = e.EncodeAll(raw[from:to], out)
		}
		from = to
	}
	if len(out) < len(whole) && len(out) <= len(raw)-(len(raw)+7)/8 {
		return packZstd, out
	}
	return codec, whole
}

// unpack is the inverse of pack and packParts. It allocates no more than rawBytes, which the caller
// has held against a cap. The result may be stored itself.
func unpack(codec byte, stored []byte, rawBytes int64) ([]byte, error) {
	switch codec {
	case packNone:
		if int64(len(stored)) != rawBytes {
			return nil, errs.New(errs.Corrupt, "uncompressed payload has %d bytes, want %d", len(stored), rawBytes)
		}
		return stored, nil
	case packZstd:
	default:
		return nil, errs.New(errs.Unsupported, "compression %d is not known; a newer version of this library may read it", codec)
	}
	if rawBytes > (int64(len(stored))/zstdBlockStored+1)*zstdBlockRaw {
		return nil, errs.New(errs.Corrupt, "%d bytes of zstd cannot stand for %d", len(stored), rawBytes)
	}
	d := zstdDecoder()
	if d == nil {
		return nil, errs.New(errs.Internal, "zstd decoder refuses its options")
	}
	raw, err := d.DecodeAll(stored, make([]byte, 0, rawBytes))
	if err != nil {
		return nil, errs.New(errs.Corrupt, "zstd payload: %w", err)
	}
	if int64(len(raw)) != rawBytes {
		return nil, errs.New(errs.Corrupt, "zstd payload has %d bytes, want %d", len(raw), rawBytes)
	}
	return raw, nil
}
