// Package png owns the sample codec "png". libdeflate inflates pictures of usual sizes at once. The
// zlib of klauspost/compress inflates larger ones in batches of rows, and all in builds without cgo
// or with the tag nolibdeflate. Rows are unfiltered batch by batch and stored straight into the
// caller's array. The package must not touch chunks or storage.
//
// Pixels that a reader gets:
//
//   - as stored: (h, w, 1) gray, (h, w, 2) gray and alpha, (h, w, 3) RGB, (h, w, 4) RGBA, uint16
//     for files of 16 bits and uint8 otherwise. Gray of 1, 2 and 4 bits is scaled to 0..255; a
//     palette becomes RGB, or RGBA where it has transparent entries. These are Pillow's pixels
//     (np.asarray of Image.open, after convert for a palette and for 1 bit), but for 16-bit files
//     of more than one channel, of which Pillow keeps only the high bytes.
//   - RGB: three channels of the file's dtype; gray is replicated, alpha is dropped (not blended);
//   - gray: one channel of the file's dtype, (19595 R + 38470 G + 7471 B + 32768) >> 16 for colour;
//     alpha is dropped;
//   - labels: (h, w) of the file's dtype, the indices of a palette or the gray values of the file;
//     a file with colour or alpha is errs.Type. Binary is the same as bools.
//
// The single transparent colour that a gray or RGB file may name, gamma, colour profiles and EXIF
// orientation are not applied. Of an animation the still image is read.
package png

import (
	"sync"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

var _ codec.SampleCodec = (*Codec)(nil)

const signature = "\x89PNG\r\n\x1a\n"

// Codec is safe for parallel use.
type Codec struct {
	encoders sync.Pool // *encoder
}

// New makes the codec. It holds nothing that must be closed.
func New() *Codec { return &Codec{} }

// Describe returns the facts of PNG.
func (*Codec) Describe() *codec.Descriptor { return descriptor }

// Header checks every chunk but the pixels, and that the pixels have enough bytes for the size of
// the image: at best deflate makes 1032 bytes of one. It allocates nothing but the shape.
func (*Codec) Header(data []byte, want codec.Channels) (codec.Header, error) {
	var p picture
	if err := p.parse(data); err != nil {
		return codec.Header{}, err
	}
	return p.header(want)
}

// NewDecoder makes a decoder for one goroutine, which keeps its buffers (a batch of rows, the
// compressed file where that is in pieces) until Close.
func (*Codec) NewDecoder() codec.Decoder { return &decoder{} }

// Encode appends a PNG of pix to dst and returns the extended slice. pix is uint8 or uint16
// (little-endian) of shape (h, w) or (h, w, 1) gray, (h, w, 2) gray and alpha, (h, w, 3) RGB or (h,
// w, 4) RGBA, or bool of shape (h, w) or (h, w, 1), which becomes gray of one bit. Another dtype or
// shape is errs.Type, an empty side errs.Invalid. After an error dst is unchanged. There are no
// options.
func (c *Codec) Encode(dst, pix []byte, d tensor.DType, s tensor.Shape, o codec.Options) ([]byte, error) {
	p, err := check(pix, d, s, o)
	if err != nil {
		return dst, err
	}
	e, _ := c.encoders.Get().(*encoder)
	if e == nil {
		e = &encoder{}
	}
	defer c.encoders.Put(e)
	return e.encode(dst, pix, p)
}

func check(pix []byte, d tensor.DType, s tensor.Shape, o codec.Options) (picture, error) {
	if o != (codec.Options{}) {
		return picture{}, errs.Op("encode png", "").New(errs.Invalid, "quality and subsampling do not apply; png is lossless")
	}
	if d != tensor.Uint8 && d != tensor.Uint16 && d != tensor.Bool {
		return picture{}, errs.Op("encode png", "").New(errs.Type, "sample has dtype %s, want bool, uint8 or uint16; cast it", d)
	}
	if len(s) != 2 && (len(s) != 3 || s[2] < 1 || s[2] > 4) {
		return picture{}, errs.Op("encode png", "").New(errs.Type, "sample has shape %s, want (h, w) or (h, w, 1 to 4)", s)
	}
	if d == tensor.Bool && len(s) == 3 && s[2] != 1 {
		return picture{}, errs.Op("encode png", "").New(errs.Type, "sample has shape %s, want (h, w) or (h, w, 1) of bool", s)
	}
	if s[0] < 1 || s[1] < 1 || s[0] > maxSide || s[1] > maxSide {
		return picture{}, errs.Op("encode png", "").New(errs.Invalid, "sample has shape %s, want sides of 1 to %d", s, maxSide)
	}
	n, err := s.Bytes(d)
	if err != nil {
		return picture{}, errs.Wrap(errs.Invalid, "encode png", "", err)
	}
	if int64(len(pix)) != n {
		return picture{}, errs.Op("encode png", "").New(errs.Invalid, "got %d bytes of pixels, want %d for shape %s of %s", len(pix), n, s, d)
	}
	channels := int64(1)
	if len(s) == 3 {
		channels = s[2]
	}
	colour := [...]byte{1: typeGray, 2: typeGrayAlpha, 3: typeRGB, 4: typeRGBA}[channels]
	depth := byte(8 * d.Size())
	if d == tensor.Bool {
		depth = 1
	}
	return picture{height: int(s[0]), width: int(s[1]), depth: depth, colour: colour}, nil
}
