// Package webp owns the sample codec "webp". golang.org/x/image decodes the bitstreams of VP8 and
// VP8L; the container, the alpha plane and the conversion to RGB are here. It must not touch chunks
// or storage.
//
// Pixels equal those of Pillow (libwebp) for the same file, to the bit:
//
//   - as stored: (h, w, 3) RGB, or (h, w, 4) RGBA where the file says that it has alpha, not
//     premultiplied;
//   - RGB: alpha is dropped (not blended);
//   - gray: (19595 R + 38470 G + 7471 B + 32768) >> 16 of the RGB pixels, as Image.convert("L").
//
// Of an animation the first frame is read, at its place on the canvas. The rest of the canvas is
// transparent, or black where the file has no alpha. ICC profiles and EXIF orientation are not
// applied.
package webp

import (
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

var (
	_ codec.SampleCodec = (*Codec)(nil)
	_ codec.HeadCodec   = (*Codec)(nil)
)

// Codec is safe for parallel use.
type Codec struct{}

// New makes the codec. It holds nothing.
func New() *Codec { return &Codec{} }

// Describe returns the facts of WebP.
func (*Codec) Describe() *codec.Descriptor { return descriptor }

// Header checks the container and the headers of the first frame, and that data has all bytes of
// them. It allocates nothing but the shape.
func (*Codec) Header(data []byte, want codec.Channels) (codec.Header, error) {
	p, _, err := parse(data, true)
	if err != nil {
		return codec.Header{}, err
	}
	return p.header(want)
}

// Head is Header of a file of which data is the beginning: the headers of the frame are enough, of
// an animation that of the canvas.
func (*Codec) Head(data []byte, want codec.Channels) (codec.Header, bool, error) {
	p, more, err := parse(data, false)
	if err != nil || more {
		return codec.Header{}, more, err
	}
	h, err := p.header(want)
	return h, false, err
}

// NewDecoder makes a decoder for one goroutine, which keeps its planes until Close.
func (*Codec) NewDecoder() codec.Decoder { return &decoder{} }

func (p *picture) header(want codec.Channels) (codec.Header, error) {
	c, err := p.channels(want)
	if err != nil {
		return codec.Header{}, err
	}
	return codec.Header{DType: tensor.Uint8, Shape: tensor.Shape{int64(p.height), int64(p.width), int64(c)}}, nil
}

// channels returns the last axis that want makes of the file.
func (p *picture) channels(want codec.Channels) (int, error) {
	switch {
	case want == codec.AsStored && p.alpha:
		return 4, nil
	case want == codec.AsStored:
		return 3, nil
	case want == codec.Gray || want == codec.RGB:
		return int(want), nil
	}
	return 0, errs.Wrap(errs.Invalid, "read webp header", "", want.Unknown("WebP"))
}
