package webp

import (
	"bytes"
	"errors"
	"image"
	"slices"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/internal/task"

	"golang.org/x/image/vp8"
	"golang.org/x/image/vp8l"
)

// decoder keeps its buffers from picture to picture.
type decoder struct {
	lossy  *vp8.Decoder // keeps the planes of the last image
	input  bytes.Reader
	canvas []byte // RGB, on the way to gray
	plane  []byte // alpha
	closed bool
}

// Decode needs memory for the planes of the frame; a lossless image takes four bytes a pixel beside
// dst.
func (d *decoder) Decode(dst, data []byte, want codec.Channels) error {
	return d.contain(func() error { return d.decode(dst, data, want) })
}

// contain turns a panic of the decoders in golang.org/x/image into an error about the file, since a
// panic elsewhere ends the use of the library. The decoder then drops the memory that it keeps.
func (d *decoder) contain(decode func() error) error {
	err := task.Call(decode)
	var panicked *task.Panic
	if !errors.As(err, &panicked) {
		return err
	}
	*d = decoder{}
	return errs.Op("decode webp", "").New(errs.Corrupt, "the decoder failed on the file (panic: %v): it is damaged, or the decoder has a bug", panicked.Value)
}

func (d *decoder) decode(dst, data []byte, want codec.Channels) error {
	if d.closed {
		return errs.Op("decode webp", "").New(errs.Closed, "decoder is closed")
	}
	p, _, err := parse(data, true)
	if err != nil {
		return err
	}
	c, err := p.channels(want)
	if err != nil {
		return err
	}
	if n := int64(p.height) * int64(p.width); int64(len(dst)) != n*int64(c) {
		return errs.Op("decode webp", "").New(errs.Invalid, "output has %d bytes, want %d for shape (%d, %d, %d)", len(dst), n*int64(c), p.height, p.width, c)
	}
	defer d.input.Reset(nil) // data is the caller's
	if c != 1 {
		return d.paint(canvas{pix: dst, width: p.width, pixel: c}, &p)
	}
	n := 3 * p.height * p.width
	d.canvas = slices.Grow(d.canvas[:0], n)[:n]
	if err := d.paint(canvas{pix: d.canvas, width: p.width, pixel: 3}, &p); err != nil {
		return err
	}
	gray(dst, d.canvas)
	return nil
}

// Close drops the buffers. Closing twice is allowed.
func (d *decoder) Close() { *d = decoder{closed: true} }

// canvas is an array of RGB or RGBA pixels.
type canvas struct {
	pix          []byte
	width, pixel int
}

// row is a row of the frame.
func (c canvas) row(f *frame, y int) []byte {
	return c.pix[((f.y+y)*c.width+f.x)*c.pixel:][:f.width*c.pixel]
}

// paint decodes the frame and puts it on the canvas, all of which it writes.
func (d *decoder) paint(to canvas, p *picture) error {
	f := &p.frame
	if f.width != p.width || f.height != p.height {
		clear(to.pix)
	}
	if f.lossless {
		return d.paintLossless(to, f)
	}
	d.input.Reset(f.bitstream)
	if d.lossy == nil {
		d.lossy = vp8.NewDecoder()
	}
	d.lossy.Init(&d.input, len(f.bitstream))
	if _, err := d.lossy.DecodeFrameHeader(); err != nil {
		return damaged(err)
	}
	img, err := d.lossy.DecodeFrame()
	if err != nil {
		return damaged(err)
	}
	// The planes may be those of a larger image before.
	if img.Rect.Min != (image.Point{}) || img.Rect.Dx() < f.width || img.Rect.Dy() < f.height || img.SubsampleRatio != image.YCbCrSubsampleRatio420 {
		return errs.Op("decode webp", "").New(errs.Corrupt, "image is %d x %d, header says %d x %d", img.Rect.Dx(), img.Rect.Dy(), f.width, f.height)
	}
	convert(to, f, img)
	if f.plane == nil || to.pixel < 4 {
		return nil
	}
	return d.paintAlpha(to, f)
}

func damaged(err error) error {
	return errs.Op("decode webp", "").New(errs.Corrupt, "pixels are damaged or cut: %w", err)
}

// paintLossless copies the pixels of a VP8L image.
func (d *decoder) paintLossless(to canvas, f *frame) error {
	img, err := d.exact(f.bitstream, f)
	if err != nil {
		return err
	}
	for y := range f.height {
		row, from := to.row(f, y), img.Pix[y*img.Stride:]
		if to.pixel == 4 {
			copy(row, from)
			continue
		}
		for ; len(row) >= 3; row, from = row[3:], from[4:] {
			row[0], row[1], row[2] = from[0], from[1], from[2]
		}
	}
	return nil
}

// exact decodes a VP8L image of the size of f.
func (d *decoder) exact(bitstream []byte, f *frame) (*image.NRGBA, error) {
	d.input.Reset(bitstream)
	img, err := vp8l.Decode(&d.input)
	if err != nil {
		return nil, damaged(err)
	}
	rgba, ok := img.(*image.NRGBA)
	if !ok || rgba.Rect.Dx() != f.width || rgba.Rect.Dy() != f.height {
		return nil, errs.Op("decode webp", "").New(errs.Corrupt, "image is %s, header says %d x %d", img.Bounds(), f.width, f.height)
	}
	return rgba, nil
}

// gray mixes RGB pixels as Image.convert("L") does.
func gray(to, from []byte) {
	for ; len(to) > 0 && len(from) >= 3; to, from = to[1:], from[3:] {
		to[0] = byte((19595*uint32(from[0]) + 38470*uint32(from[1]) + 7471*uint32(from[2]) + 0x8000) >> 16)
	}
}
