//go:build !cgo || nolibjpeg

package jpeg

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// decoder keeps nothing from image to image: Go's image/jpeg allocates each one.
type decoder struct{ closed bool }

// Decode differs from the build with libjpeg in the pixels of subsampled chroma (the package
// comment says how much), in four-component files without Adobe's marker (errs.Unsupported), and in
// that it cannot see some kinds of damage within a scan: Go's decoder does not check that a scan
// ends where its pixels do. It is no codec.DamageAcceptor: Go's decoder gives no pixels of damaged
// files.
func (d *decoder) Decode(dst, data []byte, want codec.Channels) error {
	if d.closed {
		return errs.Op("decode jpeg", "").New(errs.Closed, "decoder is closed")
	}
	f, err := open(dst, data, want, false)
	if err != nil {
		return err
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		var unsupported jpeg.UnsupportedError
		if errors.As(err, &unsupported) {
			return errs.Op("decode jpeg", "").New(errs.Unsupported, "%w", err)
		}
		return errs.Op("decode jpeg", "").New(errs.Corrupt, "%w", err)
	}
	if b := img.Bounds(); b.Dx() != f.width || b.Dy() != f.height {
		return errs.Op("decode jpeg", "").New(errs.Corrupt, "image is %d x %d, header says %d x %d", b.Dx(), b.Dy(), f.width, f.height)
	}
	return fill(dst, img, f, want)
}

// Close only marks the decoder.
func (d *decoder) Close() { d.closed = true }

// fill writes the pixels of img as want has them.
func fill(dst []byte, img image.Image, f frame, want codec.Channels) error {
	switch img := img.(type) {
	case *image.Gray:
		each(f, func(i, x, y int) {
			v := img.Pix[y*img.Stride+x]
			putRGB(dst, i, v, v, v, want == codec.RGB)
		})
	case *image.YCbCr:
		each(f, func(i, x, y int) {
			c := img.COffset(x, y)
			r, g, b := color.YCbCrToRGB(img.Y[img.YOffset(x, y)], img.Cb[c], img.Cr[c])
			putRGB(dst, i, r, g, b, want != codec.Gray)
		})
	case *image.RGBA:
		each(f, func(i, x, y int) {
			p := img.Pix[y*img.Stride+4*x:]
			putRGB(dst, i, p[0], p[1], p[2], want != codec.Gray)
		})
	case *image.CMYK:
		each(f, func(i, x, y int) {
			p := img.Pix[y*img.Stride+4*x:]
			if want == codec.AsStored {
				copy(dst[4*i:], p[:4])
				return
			}
			k := 255 - p[3]
			putRGB(dst, i, k-scale255(p[0], k), k-scale255(p[1], k), k-scale255(p[2], k), want == codec.RGB)
		})
	default:
		return errs.Op("decode jpeg", "").New(errs.Unsupported, "pixels of type %T", img)
	}
	return nil
}

// each calls put for every pixel with its number in C order.
func each(f frame, put func(i, x, y int)) {
	for y := range f.height {
		for x := range f.width {
			put(y*f.width+x, x, y)
		}
	}
}

// putRGB stores pixel i as three channels, or else as its luma.
func putRGB(dst []byte, i int, r, g, b byte, colour bool) {
	if colour {
		dst[3*i], dst[3*i+1], dst[3*i+2] = r, g, b
		return
	}
	dst[i] = byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 0x8000) >> 16)
}

// scale255 is a * b / 255, rounded.
func scale255(a, b byte) byte {
	t := uint32(a)*uint32(b) + 128
	return byte((t>>8 + t) >> 8)
}

// encode writes 4:2:0 alone: image/jpeg can do no other.
func encode(dst []byte, s source) ([]byte, error) {
	var img image.Image
	rect := image.Rect(0, 0, s.width, s.height)
	if s.channels == 1 {
		img = &image.Gray{Pix: s.pix, Stride: s.width, Rect: rect}
	} else {
		if s.hSample != 2 || s.vSample != 2 {
			return dst, errs.Op("encode jpeg", "").New(errs.Unsupported, `built without libjpeg, which can only write subsampling "4:2:0"`)
		}
		rgba := image.NewRGBA(rect)
		for i := range s.width * s.height {
			copy(rgba.Pix[4*i:], s.pix[3*i:3*i+3])
		}
		img = rgba
	}
	out := bytes.NewBuffer(dst)
	if err := jpeg.Encode(out, img, &jpeg.Options{Quality: s.quality}); err != nil {
		return dst, errs.Op("encode jpeg", "").New(errs.Internal, "%w", err)
	}
	return out.Bytes(), nil
}
