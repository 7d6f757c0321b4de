package v3

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"

	"deeplake/core/errs"

	"github.com/pierrec/lz4/v4"
)

const (
	// lz4Lead is the size in front of each block, as numcodecs writes it.
	lz4Lead = 4
	// lz4Ratio is the most that a block can expand to.
	lz4Ratio = 255
)

// isFrame reports whether data is an LZ4 frame, as the first releases wrote it.
func isFrame(data []byte) bool { return bytes.HasPrefix(data, []byte{0x04, 0x22, 0x4d, 0x18}) }

// checkRatio refuses sizes that no block has, before memory is taken for them.
func checkRatio(stored, raw int64) error {
	if raw > stored*lz4Ratio+64 {
		return errs.New(errs.Corrupt, "%d bytes of LZ4 do not hold %d bytes", stored, raw)
	}
	return nil
}

// rawSize is the size of data before compression.
func rawSize(data []byte) (int64, error) {
	switch {
	case len(data) == 0:
		return 0, nil
	case isFrame(data):
		plain, err := unframe(data)
		return int64(len(plain)), err
	case len(data) < lz4Lead:
		return 0, errs.New(errs.Corrupt, "%d bytes are no LZ4", len(data))
	}
	raw := int64(binary.LittleEndian.Uint32(data))
	if raw == 0 && len(data) > lz4Lead+1 {
		return 0, errs.New(errs.Corrupt, "%d bytes of LZ4 hold nothing", len(data))
	}
	return raw, checkRatio(int64(len(data)), raw)
}

func unframe(data []byte) ([]byte, error) {
	most := int64(len(data))*lz4Ratio + 64
	plain, err := io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(data)), min(most, maxObject)))
	if err != nil {
		return nil, errs.New(errs.Corrupt, "is no LZ4 frame: %w", err)
	}
	return plain, nil
}

// unpackLZ4 decompresses data, which has raw bytes before compression.
func unpackLZ4(data []byte, raw int64) ([]byte, error) {
	if raw == 0 {
		return nil, nil
	}
	if isFrame(data) {
		return unframe(data)
	}
	out := make([]byte, raw)
	n, err := lz4.UncompressBlock(data[lz4Lead:], out)
	if err != nil || int64(n) != raw {
		return nil, errs.New(errs.Corrupt, "%d bytes of LZ4 give %d bytes, want %d", len(data), n, raw)
	}
	return out, nil
}

// unpacked returns the samples of a chunk that is compressed as a whole.
func (c *opening) unpacked(ctx context.Context) ([]byte, error) {
	all, err := c.object.all(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := rawSize(all)
	if err != nil {
		return nil, err
	}
	return unpackLZ4(all, raw)
}

// values returns the bytes of each sample, decompressed.
func (c *opening) values(ctx context.Context) ([]segment, [][]byte, error) {
	data, err := c.object.all(ctx)
	if err == nil && c.kind.chunk == "lz4" {
		data, err = c.unpacked(ctx)
	}
	if err == nil {
		err = inOrder(c.items, int64(len(data)))
	}
	if err != nil {
		return nil, nil, err
	}
	each, err := spread(c.items, int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	out := make([][]byte, len(each))
	for i, s := range each {
		out[i] = data[s.start : s.start+s.size]
		if s.size == 0 {
			out[i] = nil
		}
		if c.kind.sample == "lz4" {
			raw, err := rawSize(out[i])
			if err == nil {
				out[i], err = unpackLZ4(out[i], raw)
			}
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return each, out, nil
}
