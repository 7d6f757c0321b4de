// Package jpeg owns the sample codec "jpeg". libjpeg-turbo reads the headers. On x86-64 with AVX2,
// turbo_pixels.c makes the pixels of the usual files: gray and YCbCr with 4:4:4, 4:2:2 or 4:2:0.
// libjpeg-turbo makes those of all other files and of damaged ones, and gives them its errors;
// turbo_huffman.c and turbo_progressive.c decode Huffman codes for it. A build without cgo or with
// the tag nolibjpeg uses Go's image/jpeg, which is several times slower. The package must not touch
// chunks or storage.
//
// Pixels equal Pillow's for the same file:
//
//   - as stored: (h, w, 1) for grayscale, (h, w, 3) RGB for YCbCr and RGB files, (h, w, 4) CMYK for
//     CMYK and YCCK files, inverted as Adobe writes them, so that 0 is no ink;
//   - RGB: grayscale replicated, CMYK by R = (255-C)(255-K)/255 and so on, as Image.convert("RGB");
//   - gray: (19595 R + 38470 G + 7471 B + 32768) >> 16 of the RGB pixels, as Image.convert("L"); a
//     grayscale file unchanged.
//
// The orientation that EXIF asks for is not applied: pixels come as they are stored. ICC profiles
// are not applied either.
//
// The accurate integer inverse DCT and smooth ("fancy") chroma upsampling are always on, so
// libjpeg-turbo pixels equal Pillow's, within 1 where its libjpeg is another version. Go's
// image/jpeg repeats chroma samples instead, which differs along edges of subsampled colour;
// grayscale, CMYK and 4:4:4 files agree within 2.
package jpeg

import (
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

var (
	_ codec.SampleCodec    = (*Codec)(nil)
	_ codec.CutHeaderCodec = (*Codec)(nil)
)

const (
	maxSide = 65500 // libjpeg's JPEG_MAX_DIMENSION
	// of one file, as many as jpegtran writes; encoders write about 10, and each costs a pass over
	// the pixels
	maxScans       = 100
	defaultQuality = 90
)

// Codec is safe for parallel use.
type Codec struct{}

// New makes the codec. It holds nothing.
func New() *Codec { return &Codec{} }

// Describe returns the facts of JPEG.
func (*Codec) Describe() *codec.Descriptor { return descriptor }

// Header checks data as far as the first scan, and that it can be whole: an end marker must follow,
// and enough bytes for the number of pixels. It allocates nothing but the shape.
func (*Codec) Header(data []byte, want codec.Channels) (codec.Header, error) {
	return header(data, want, false)
}

// CutHeader is Header of a file that may lack its end marker.
func (*Codec) CutHeader(data []byte, want codec.Channels) (codec.Header, error) {
	return header(data, want, true)
}

func header(data []byte, want codec.Channels, cut bool) (codec.Header, error) {
	f, err := parse(data)
	if err != nil {
		return codec.Header{}, err
	}
	if err := f.checkScan(data, cut); err != nil {
		return codec.Header{}, err
	}
	c, err := f.channels(want)
	if err != nil {
		return codec.Header{}, err
	}
	return codec.Header{DType: tensor.Uint8, Shape: tensor.Shape{int64(f.height), int64(f.width), int64(c)}}, nil
}

// NewDecoder makes a decoder for one goroutine. It must be closed; its memory lies outside the Go
// heap.
func (*Codec) NewDecoder() codec.Decoder { return &decoder{} }

// source is a checked call of Encode.
type source struct {
	pix                     []byte
	width, height, channels int
	quality                 int
	hSample, vSample        int // of the luma component; the chroma components have 1
}

// Encode appends a baseline JPEG of pix to dst and returns the extended slice. pix is uint8 of
// shape (h, w), (h, w, 1) or (h, w, 3) RGB; another dtype or shape is errs.Type, a side of 0 or
// over 65500 errs.Invalid. After an error dst is unchanged. The default is quality 90 with 4:2:0
// subsampling; grayscale has no chroma to subsample.
func (*Codec) Encode(dst, pix []byte, d tensor.DType, s tensor.Shape, o codec.Options) ([]byte, error) {
	src, err := check(pix, d, s, o)
	if err != nil {
		return dst, err
	}
	return encode(dst, src)
}

func check(pix []byte, d tensor.DType, s tensor.Shape, o codec.Options) (source, error) {
	if d != tensor.Uint8 {
		return source{}, errs.Op("encode jpeg", "").New(errs.Type, "sample has dtype %s, want uint8; cast it or use png", d)
	}
	if len(s) != 2 && (len(s) != 3 || s[2] != 1 && s[2] != 3) {
		return source{}, errs.Op("encode jpeg", "").New(errs.Type, "sample has shape %s, want (h, w), (h, w, 1) or (h, w, 3)", s)
	}
	if s[0] < 1 || s[1] < 1 || s[0] > maxSide || s[1] > maxSide {
		return source{}, errs.Op("encode jpeg", "").New(errs.Invalid, "sample has shape %s, want sides of 1 to %d", s, maxSide)
	}
	src := source{pix: pix, height: int(s[0]), width: int(s[1]), channels: 1, quality: o.Quality, hSample: 1, vSample: 1}
	if len(s) == 3 {
		src.channels = int(s[2])
	}
	if n := int64(src.height) * int64(src.width) * int64(src.channels); int64(len(pix)) != n {
		return source{}, errs.Op("encode jpeg", "").New(errs.Invalid, "got %d bytes of pixels, want %d for shape %s", len(pix), n, s)
	}
	if src.quality == 0 {
		src.quality = defaultQuality
	}
	if src.quality < 1 || src.quality > 100 {
		return source{}, errs.Op("encode jpeg", "").New(errs.Invalid, "quality is %d, want 1 to 100", o.Quality)
	}
	h, v, ok := sampling(o.Subsampling)
	if !ok {
		return source{}, errs.Op("encode jpeg", "").New(errs.Invalid, `subsampling is %q, want "4:4:4", "4:2:2" or "4:2:0"`, o.Subsampling)
	}
	if src.channels == 3 {
		src.hSample, src.vSample = h, v
	}
	return src, nil
}

func sampling(name string) (h, v int, ok bool) {
	switch name {
	case "4:4:4":
		return 1, 1, true
	case "4:2:2":
		return 2, 1, true
	case "4:2:0", "":
		return 2, 2, true
	}
	return 0, 0, false
}

// open parses data for a Decode into dst. cut admits a file without its end.
func open(dst, data []byte, want codec.Channels, cut bool) (frame, error) {
	f, err := parse(data)
	if err != nil {
		return frame{}, err
	}
	if f.several || cut {
		if err := f.checkScan(data, cut); err != nil {
			return frame{}, err
		}
	}
	c, err := f.channels(want)
	if err != nil {
		return frame{}, err
	}
	if n := int64(f.height) * int64(f.width) * int64(c); int64(len(dst)) != n {
		return frame{}, errs.Op("decode jpeg", "").New(errs.Invalid, "output has %d bytes, want %d for shape (%d, %d, %d)",
			len(dst), n, f.height, f.width, c)
	}
	return f, nil
}
