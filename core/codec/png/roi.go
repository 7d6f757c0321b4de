package png

import (
	"slices"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

var _ codec.ROIDecoder = (*decoder)(nil)

// maxRegion bounds the memory for the pixels of one region.
const maxRegion = 1 << 40

// CanDownscale is false: all pixels of a row must be known to know one.
func (d *decoder) CanDownscale() bool { return false }

// DecodeROIs inflates a file as far down as the region reaches. Of an interlaced file all is
// decoded.
func (d *decoder) DecodeROIs(data [][]byte, parts []codec.ROI, want codec.Channels) (done int, err error) {
	for done < len(data) {
		if err := d.roi(data[done], &parts[done], want); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

func (d *decoder) roi(data []byte, part *codec.ROI, want codec.Channels) error {
	if d.closed {
		return errs.Op("decode png", "").New(errs.Closed, "decoder is closed")
	}
	if err := d.begin(data, want); err != nil {
		return err
	}
	p := &d.picture
	if part.Downscale > 1 {
		return errs.Op("decode png", "").New(errs.Invalid, "shrink is %d, want 1", part.Downscale)
	}
	if !part.Within(p.width, p.height) {
		return errs.Op("decode png", "").New(errs.Invalid, "region %d x %d at (%d, %d) is outside the image of %d x %d", part.Width, part.Height, part.X, part.Y, p.width, p.height)
	}
	pixel := d.want * d.size
	if p.interlaced {
		return d.roiOfAll(data, part, want, pixel)
	}
	stride := part.Width * pixel
	if int64(stride)*int64(part.Height) > maxRegion {
		return errs.Op("decode png", "").New(errs.Unsupported, "region of %d x %d pixels", part.Width, part.Height)
	}
	d.region = slices.Grow(d.region[:0], stride*part.Height)[:stride*part.Height]
	defer d.input.Reset(nil) // data is the caller's
	bottom := part.Y + part.Height
	if err := d.open(data, bottom); err != nil {
		return err
	}
	err := d.rows(p.width, bottom, pass{0, 0, 1, 1}, func(y int, raw []byte) {
		if y >= part.Y {
			d.cut(d.region[(y-part.Y)*stride:][:stride], raw, part)
		}
	})
	if err == nil && bottom == p.height {
		err = d.end()
	}
	if err != nil {
		return err
	}
	return part.To.Deliver(d.region, stride)
}

// cut converts the columns of the region.
func (d *decoder) cut(to, raw []byte, part *codec.ROI) {
	p := &d.picture
	if p.depth >= 8 {
		each := p.bits() / 8
		d.convert(to, raw[part.X*each:][:part.Width*each], part.Width)
		return
	}
	pixel := len(to) / part.Width
	d.thin = slices.Grow(d.thin[:0], p.width*pixel)[:p.width*pixel]
	d.convert(d.thin, raw, p.width)
	copy(to, d.thin[part.X*pixel:])
}

func (d *decoder) roiOfAll(data []byte, part *codec.ROI, want codec.Channels, pixel int) error {
	p := d.picture
	stride := p.width * pixel
	if int64(stride)*int64(p.height) > maxRegion {
		return errs.Op("decode png", "").New(errs.Unsupported, "image of %d x %d pixels", p.width, p.height)
	}
	d.region = slices.Grow(d.region[:0], stride*p.height)[:stride*p.height]
	if err := d.Decode(d.region, data, want); err != nil {
		return err
	}
	from := part.Y*stride + part.X*pixel
	return part.To.Deliver(d.region[from:from+(part.Height-1)*stride+part.Width*pixel], stride)
}
