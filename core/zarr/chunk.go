package zarr

import (
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/errs"
)

// zstdLevel is the level that metadata states, which is the default of Zstandard.
const zstdLevel = 3

// Encoder compresses chunks. It may be used in parallel.
type Encoder struct{ zstd *zstd.Encoder }

// NewEncoder makes an encoder, which compresses as many chunks at once as threads are.
func NewEncoder(threads int) (*Encoder, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(threads), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	return &Encoder{z}, nil
}

// Numbers encodes a chunk of bytes, which is size bytes long when it is whole. The last chunk of an
// array is filled up.
func (e *Encoder) Numbers(p []byte, size int64) ([]byte, error) {
	if size > maxChunk {
		return nil, errs.New(errs.Unsupported, "a chunk has %d bytes, want at most %d", size, maxChunk)
	}
	if missing := size - int64(len(p)); missing > 0 {
		p = append(p, make([]byte, missing)...)
	}
	return e.zstd.EncodeAll(p, nil), nil
}

// Items gathers the texts or bytes of a chunk. The zero value is ready.
type Items struct {
	data []byte
	n    int64
}

// Len is the number of values.
func (c *Items) Len() int64 { return c.n }

// Add appends a value.
func (c *Items) Add(p []byte) error {
	if c.data == nil {
		c.data = make([]byte, 4)
	}
	if int64(len(p)) > maxChunk-int64(len(c.data))-4 {
		return errs.New(errs.Unsupported, "a chunk has more than %d bytes of texts or files", maxChunk)
	}
	c.data = binary.LittleEndian.AppendUint32(c.data, uint32(len(p)))
	c.data = append(c.data, p...)
	c.n++
	return nil
}

// Items encodes a chunk of rows values, and empties it. The last chunk of an array is filled up.
func (e *Encoder) Items(c *Items, rows int64) ([]byte, error) {
	for c.n < rows {
		if err := c.Add(nil); err != nil {
			return nil, err
		}
	}
	if c.n > math.MaxUint32 {
		return nil, errs.New(errs.Unsupported, "a chunk has %d values", c.n)
	}
	binary.LittleEndian.PutUint32(c.data, uint32(c.n))
	out := e.zstd.EncodeAll(c.data, nil)
	*c = Items{}
	return out, nil
}
