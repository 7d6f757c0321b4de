//go:build !cgo || nolibzstd

package zstd

import "github.com/klauspost/compress/zstd"

// encoder compresses by klauspost/compress.
type encoder struct{ z *zstd.Encoder }

func newEncoder(level Level) (*encoder, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(int(level))),
		zstd.WithWindowSize(1<<windowLog), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	return &encoder{z}, err
}

// encode appends one frame of src to dst.
func (e *encoder) encode(dst, src []byte) ([]byte, error) { return e.z.EncodeAll(src, dst), nil }
