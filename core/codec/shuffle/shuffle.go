// Package shuffle owns the bytes codec "shuffle": numbers without the bytes that they do not need,
// byte by byte in planes, and the planes as a Zstandard frame where that saves. It must not touch
// chunks or storage.
package shuffle

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

var _ codec.NumberCodec = (*Codec)(nil)

// Codec is safe for parallel use.
type Codec struct {
	frames codec.Codec
	pool   sync.Pool // *[]byte, for planes
}

// New makes the codec. frames is Zstandard.
func New(frames codec.Codec) *Codec { return &Codec{frames: frames} }

// ID is codec.Shuffle.
func (c *Codec) ID() codec.ID { return codec.Shuffle }

// headBytes is the size of a block's head: the bytes of an element, its planes, flags, and the
// base, which was subtracted from every element.
const headBytes = 3 + 8

// Flags of a block: its planes are in a Zstandard frame; its one plane is of bits.
const (
	framed = 1
	ofBits = 2
)

// worth is the most that a frame may have of its content: a larger one is not worth decoding.
const worth = 0.9

// Encode appends the compressed form of bytes that are no numbers.
func (c *Codec) Encode(dst, src []byte) ([]byte, error) {
	return c.EncodeNumbers(dst, src, 1, codec.Opaque)
}

// EncodeNumbers appends the compressed form of numbers of size bytes each: 1, 2, 4 or 8.
func (c *Codec) EncodeNumbers(dst, src []byte, size int, kind codec.NumberKind) ([]byte, error) {
	if !validSize(size) || len(src)%size != 0 {
		return dst, errs.Op("encode shuffle", "").New(errs.Internal, "%d bytes of elements of %d bytes", len(src), size)
	}
	base, planes := uint64(0), size
	if kind != codec.Opaque {
		base, planes = narrowest(src, size, kind == codec.Signed)
	}
	body := make([]byte, len(src)/size*planes)
	split(body, src, size, planes, base)
	narrow := bitsOf(body, planes) // noise is smaller so, and shapes are smaller as bytes
	head := [headBytes]byte{byte(size), byte(planes)}
	binary.LittleEndian.PutUint64(head[3:], base)
	body, flags, err := c.frame(body)
	if err != nil {
		return dst, err
	}
	if narrow != nil {
		short, also, err := c.frame(narrow)
		if err != nil {
			return dst, err
		}
		if len(short) < len(body) {
			body, flags = short, also|ofBits
		}
	}
	head[2] = flags
	return append(append(dst, head[:]...), body...), nil
}

// frame returns planes as a Zstandard frame where that saves, and the flag that says so.
func (c *Codec) frame(planes []byte) ([]byte, byte, error) {
	if len(planes) == 0 {
		return planes, 0, nil
	}
	frame, err := c.frames.Encode(nil, planes)
	if err != nil || float64(len(frame)) >= worth*float64(len(planes)) {
		return planes, 0, err
	}
	return frame, framed, nil
}

// Decode fills dst, whose length is the size of the original. Damaged input and any other size are
// errs.Corrupt; then dst is undefined.
func (c *Codec) Decode(dst, src []byte) error {
	fail := func(format string, args ...any) error {
		return errs.Op("decode shuffle", "").New(errs.Corrupt, format, args...)
	}
	if len(src) < headBytes {
		return fail("block has %d bytes, want %d or more", len(src), headBytes)
	}
	size, planes, flags, base := int(src[0]), int(src[1]), src[2], binary.LittleEndian.Uint64(src[3:])
	body := src[headBytes:]
	if !validSize(size) || planes > size || flags&^(framed|ofBits) != 0 || flags&ofBits != 0 && planes != 1 || len(dst)%size != 0 {
		return fail("block of %d bytes has elements of %d bytes in %d planes, flags %#x", len(dst), size, planes, flags)
	}
	elements := len(dst) / size
	n := elements * planes
	if flags&ofBits != 0 {
		n = (elements + 7) / 8
	}
	switch {
	case flags&framed == 0:
		if len(body) != n {
			return fail("planes have %d bytes, want %d", len(body), n)
		}
	case flags == framed && planes == size && base == 0 && size == 1:
		return c.frames.Decode(dst, body)
	default:
		buffer := c.buffer(n)
		defer c.pool.Put(buffer)
		if err := c.frames.Decode((*buffer)[:n], body); err != nil {
			return err
		}
		body = (*buffer)[:n]
	}
	if flags&ofBits != 0 {
		if unused := elements % 8; unused != 0 && body[n-1]>>unused != 0 {
			return fail("the last byte of bits is %#x, of which %d bits are elements", body[n-1], unused)
		}
		if size == 1 && base == 0 {
			spreadBits(dst, body)
			return nil
		}
		buffer := c.buffer(elements)
		defer c.pool.Put(buffer)
		spreadBits((*buffer)[:elements], body)
		body = (*buffer)[:elements]
	}
	join(dst, body, size, planes, base)
	return nil
}

func validSize(size int) bool { return size == 1 || size == 2 || size == 4 || size == 8 }

// narrowest returns the least element, and the bytes that the distances of all elements from it
// need. The base is 0 where it saves no byte.
func narrowest(src []byte, size int, signed bool) (base uint64, planes int) {
	if len(src) == 0 {
		return 0, 0
	}
	least, most, alike := bounds(src, size, signed)
	planes = (bits.Len64(most-least) + 7) / 8
	if alike && (bits.Len64(most)+7)/8 == planes {
		return 0, planes // small numbers stay as they are, and so do their patterns
	}
	return least, planes
}
