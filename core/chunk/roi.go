package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// CanDownscale reports whether the decoder of a sample can make it smaller at less cost than all of
// it.
func (w *Worker) CanDownscale(ref *Ref) bool {
	if !runnable(ref) {
		return false
	}
	dec, err := w.decoder(ref.Chunk.Index.SampleCodec())
	if err != nil {
		return false
	}
	p, ok := dec.(codec.ROIDecoder)
	return ok && p.CanDownscale()
}

// DecodeROIs decodes of each sample, an image of shape (h, w) or (h, w, channels), the region that
// is wanted, and hands it over. Files whose decoder knows regions are decoded together; of tiled
// samples the tiles are decoded that the region touches, of others all pixels. failed is called for
// each sample that could not be read.
func (w *Worker) DecodeROIs(ctx context.Context, refs []*Ref, parts []codec.ROI, want codec.Channels, failed func(i int, err error)) {
	r := runs{w: w, want: want, failed: failed}
	form, _ := want.Split()
	r.joins = func(i int) bool { return w.decodesROIs(refs[i]) }
	r.alone = func(i int) error { return w.decodeROI(ctx, refs[i], &parts[i], want) }
	r.decode = func(dec codec.Decoder, at []int, data [][]byte) (int, error) {
		of := make([]codec.ROI, len(at))
		for k, i := range at {
			of[k] = parts[i]
		}
		return dec.(codec.ROIDecoder).DecodeROIs(data, of, form)
	}
	r.turned = func(dec codec.Decoder, i int, data []byte, o codec.Orientation) error {
		return w.decodeTurnedROI(dec, o, refs[i], &parts[i], data, want)
	}
	r.over(ctx, refs)
}

// DecodesRegions reports whether a region of a sample in one piece, of any size, is decoded without
// memory for all its pixels.
func (w *Worker) DecodesRegions(ref *Ref) bool { return w.decodesROIs(ref) }

func (w *Worker) decodesROIs(r *Ref) bool {
	if !runnable(r) {
		return false
	}
	dec, err := w.decoder(r.Chunk.Index.SampleCodec())
	if err != nil {
		return false
	}
	_, ok := dec.(codec.ROIDecoder)
	return ok
}

// decodeROI decodes a sample whose codec knows no regions, and hands one over.
func (w *Worker) decodeROI(ctx context.Context, r *Ref, part *codec.ROI, want codec.Channels) error {
	if part.Downscale > 1 || r.Hole() || len(r.Shape) < 2 {
		return errs.New(errs.Internal, "decode a region of a sample of shape %s, shrunk by %d", r.Shape, part.Downscale)
	}
	if r.Computed != nil {
		return Deliver(r.Computed, r, part)
	}
	if r.Tiles != nil {
		return w.tiledROI(ctx, r, part, want)
	}
	w.whole = grow(w.whole, r.Size)
	if err := w.Decode(ctx, r, w.whole, want); err != nil {
		return err
	}
	return Deliver(w.whole, r, part)
}

// Deliver gives the region of part to its sink, out of pix, the whole sample.
func Deliver(pix []byte, r *Ref, part *codec.ROI) error {
	height, width := int(r.Shape[0]), int(r.Shape[1])
	if !part.Within(width, height) {
		return errs.New(errs.Internal, "decode region %+v of a sample of shape %s", part.Region, r.Shape)
	}
	pixel := len(pix) / (width * height)
	from := (part.Y*width + part.X) * pixel
	to := ((part.Y+part.Height-1)*width + part.X + part.Width) * pixel
	return part.To.Deliver(pix[from:to:to], width*pixel)
}
