//go:build !js

package format

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdEncoder is made once, holds no data between calls and serves parallel callers.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil
	}
	return e
})

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

// packWhile is pack of parts of so many bytes. It ends with the error of look, which it calls
// before each.
func packWhile(raw []byte, part int, look func() error) (byte, []byte, error) {
	e := zstdEncoder()
	if len(raw) <= part || e == nil {
		codec, stored := pack(raw)
		return codec, stored, look()
	}
	var out []byte
	for from := 0; from < len(raw); from += part {
		if err := look(); err != nil {
			return 0, nil, err
		}
		out = e.EncodeAll(raw[from:min(from+part, len(raw))], out)
	}
	if len(out) <= len(raw)-(len(raw)+7)/8 {
		return packZstd, out, nil
	}
	return packNone, raw, nil
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
