package viz

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/internal/area"
	"deeplake/core/tensor"
)

// Bounds of a region.
const (
	mostPixels  = 2048     // of the longer side of an answer
	mostSource  = 4 << 30  // bytes of the tiles that are decoded for one region
	sweepBytes  = 64 << 20 // a region of more is read without leaving its tiles in the cache
	finePicture = 95       // quality of pixels that are not scaled, where the stored file is a JPEG
)

// rect is a part of a picture, in pixels.
type rect struct{ top, left, bottom, right int64 }

func (r rect) height() int64 { return r.bottom - r.top }
func (r rect) width() int64  { return r.right - r.left }
func (r rect) longer() int64 { return max(r.height(), r.width()) }

// checkRegion refuses a region that is none, before anything is read.
func (c *wanted) checkRegion() error {
	if c.Region == nil {
		return nil
	}
	r := c.Region
	if len(r) != 4 || r[0] < 0 || r[1] < 0 || r[0] >= r[2] || r[1] >= r[3] {
		return errs.New(errs.Invalid, "region of column %q is %v, want [top, left, bottom, right] with 0 <= top < bottom and 0 <= left < right", c.Name, r)
	}
	if c.Pixels < 1 || c.Pixels > mostPixels {
		return errs.New(errs.Invalid, "a region of column %q with %d pixels, want 1 to %d", c.Name, c.Pixels, mostPixels)
	}
	return nil
}

// clipped returns the part of a wanted region that a picture has.
func (c *wanted) clipped(s tensor.Shape) (rect, error) {
	w := c.Region
	r := rect{w[0], w[1], min(w[2], s[0]), min(w[3], s[1])}
	if r.top >= r.bottom || r.left >= r.right {
		return r, errs.New(errs.Range, "region %v is outside of the picture of %d x %d pixels", w, s[0], s[1])
	}
	return r, nil
}

// regionBody sends a region of a picture or mask, scaled down to the wanted pixels. It reads the
// tiles that the region touches.
func (s *Service) regionBody(ctx context.Context, one *sample, w *chunk.Worker, h *header) ([]byte, error) {
	ref := &one.ref
	if htype := one.column.htype; len(ref.Shape) < 2 || !isPicture(htype) && !isMask(htype) {
		return nil, errs.New(errs.Type, "read a region of column %q of htype %q and shape %s; regions are for pictures and masks", one.column.Name(), htype, ref.Shape)
	}
	r, err := one.column.want.clipped(one.whole())
	if err != nil {
		return nil, err
	}
	p, err := planeOf(one, w, r)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, one.large(h, max(ref.Size, ref.Stored))
	}
	cut := func() (picture, int64, error) {
		made, err := s.cut(ctx, p, r, w)
		return made, int64(len(made.file)) + 128, err
	}
	var made picture
	if ref.Chunk == nil {
		made, _, err = cut()
	} else {
		made, err = s.thumbs.Load(ctx, thumbKey{ref.Chunk.ID, ref.Item, one.column.want.Pixels, r}, cut)
	}
	if err != nil {
		return nil, err
	}
	h.Height, h.Width, h.Region = one.whole()[0], one.whole()[1], made.region
	if made.media != "" {
		h.Kind, h.Media = kindFile, made.media
		return made.file, nil
	}
	shape := append(tensor.Shape{made.height, made.width}, ref.Shape[2:]...)
	return h.array(one.column.DType(), shape, made.file), nil
}

// cut makes the picture of a region of the whole picture out of the tiles of a plane.
func (s *Service) cut(ctx context.Context, p *plane, whole rect, w *chunk.Worker) (picture, error) {
	r := p.part(whole)
	height, width := r.height(), r.width()
	if pixels := int64(p.one.column.want.Pixels); r.longer() > pixels {
		height, width = fit(height, width, pixels)
	}
	scaled := height != r.height() || width != r.width()
	room := height * width * p.pixel
	if scaled {
		room *= 8 // sums
	}
	if room > mostBytes {
		return picture{}, errs.New(errs.Invalid, "a region of %d x %d pixels of %d bytes takes %d bytes, want at most %d; ask for fewer pixels",
			height, width, p.pixel, room, mostBytes)
	}
	out := picture{file: make([]byte, height*width*p.pixel), height: height, width: width, region: p.whole(r)}
	var to puzzle = &pick{p: p, r: r, height: height, width: width, dst: out.file}
	if size := p.one.column.DType().Size(); scaled && p.averages() {
		to = &mean{area.New(int(r.height()), int(r.width()), int(height), int(width), int(p.pixel)/size, size, out.file)}
	}
	if err := s.eachTile(ctx, p, r, w, to); err != nil {
		return out, err
	}
	return out, s.compress(p, &out, scaled)
}

// compress makes a JPEG file of pixels that a browser shows, unless they shall stay as they are.
func (s *Service) compress(p *plane, out *picture, scaled bool) error {
	column := p.one.column
	o := codec.Options{Quality: thumbQuality}
	if !scaled && p.factor == 1 {
		if p.one.ref.Chunk == nil || p.one.ref.Chunk.Index.SampleCodec() != codec.JPEG {
			return nil
		}
		o = codec.Options{Quality: finePicture, Subsampling: "4:4:4"}
	}
	if s.o.Compress == nil || column.DType() != tensor.Uint8 || isMask(column.htype) || p.pixel != 1 && p.pixel != 3 {
		return nil
	}
	var err error
	out.file, out.media, err = s.o.Compress(out.file, tensor.Shape{out.height, out.width, p.pixel}, o)
	return err
}

// puzzle puts a picture together of the parts of a region.
type puzzle interface {
	// add gives the pixels of a part, which begins at (y, x) of the region.
	add(pix []byte, stride, y, x, height, width int64)
	// done says that all rows before y have come.
	done(y int64)
}

// mean averages areas.
type mean struct{ m *area.Mean }

func (t *mean) add(pix []byte, stride, y, x, height, width int64) {
	t.m.Add(pix, int(stride), int(y), int(x), int(height), int(width))
}

func (t *mean) done(y int64) { t.m.Done(int(y)) }

// pick takes the pixel in the middle of each area, which classes of masks and numbers of any dtype
// allow.
type pick struct {
	p             *plane
	r             rect
	height, width int64
	dst           []byte
}

func (t *pick) add(pix []byte, stride, y, x, height, width int64) {
	n := t.p.pixel
	// The first pixel of the result whose middle is at from or behind it.
	first := func(from, in, out int64) int64 { return (2*from*out + in - 1) / (2 * in) }
	middle := func(at, in, out int64) int64 { return (2*at*in + in) / (2 * out) }
	for Y := first(y, t.r.height(), t.height); Y < t.height; Y++ {
		from := middle(Y, t.r.height(), t.height)
		if from < y {
			continue
		}
		if from >= y+height {
			break
		}
		row := pix[(from-y)*stride:]
		to := t.dst[Y*t.width*n:][:t.width*n]
		if t.width == t.r.width() {
			copy(to[x*n:(x+width)*n], row)
			continue
		}
		for X := first(x, t.r.width(), t.width); X < t.width; X++ {
			at := middle(X, t.r.width(), t.width)
			if at < x {
				continue
			}
			if at >= x+width {
				break
			}
			copy(to[X*n:(X+1)*n], row[(at-x)*n:])
		}
	}
}

func (t *pick) done(int64) {}
