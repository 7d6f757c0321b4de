package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// TurnUpright makes ref the upright image of its file: Shape is that of the turned image, and all
// decoding of ref turns it. want is the form in which the column is read. A sample that is no file
// stays unchanged, and so does one that want or an earlier call turns already. It reads the file.
func (w *Worker) TurnUpright(ctx context.Context, ref *Ref, want codec.Channels) error {
	if _, upright := want.Split(); upright || ref.Orientation != 0 || !runnable(ref) {
		return nil
	}
	var data []byte
	c, item := ref.Chunk, ref.Item
	if c.Index.Linked() {
		data = w.scratch(c.Index.ItemBytes(item))
		if err := w.link(ctx, c, item, data); err != nil {
			return err
		}
	} else {
		block, _ := c.Index.BlockOf(item)
		all, err := w.load(ctx, c, block)
		if err != nil {
			return err
		}
		off, n := c.Index.ItemInBlock(item)
		data = all[off : off+n]
	}
	ref.Orientation = w.orientation(c, ref, data, want|codec.Upright)
	ref.Shape = ref.Orientation.Shape(ref.Shape)
	return nil
}

// orientation returns how the image in a file of ref is turned.
func (w *Worker) orientation(c *Chunk, ref *Ref, data []byte, want codec.Channels) codec.Orientation {
	if _, upright := want.Split(); !upright {
		return ref.Orientation
	}
	sc, err := w.codecs.Sample(c.Index.SampleCodec())
	if err != nil {
		return codec.AsIs // the decoder reports it
	}
	o, _ := sc.Describe().Orientation(data)
	return o
}

// decodeTurned decodes the file of an item into dst, turned.
func (w *Worker) decodeTurned(dec codec.Decoder, o codec.Orientation, c *Chunk, item int64, dst, data []byte, want codec.Channels) error {
	form, upright := want.Split()
	turned := c.Index.Shape(item)
	if !upright { // the directory has the shape of the stored image
		turned = o.Shape(turned)
	}
	w.unturned = grow(w.unturned, int64(len(dst)))
	return o.Decode(dec, dst, data, turned, form, w.unturned)
}

// decodeTurnedROI decodes a region of the turned image of a file, and hands it over.
func (w *Worker) decodeTurnedROI(dec codec.Decoder, o codec.Orientation, r *Ref, part *codec.ROI, data []byte, want codec.Channels) error {
	height, width := int(r.Shape[0]), int(r.Shape[1])
	pixel := int(r.Size) / (height * width)
	n := max(part.Downscale, 1)
	if height, width = (height+n-1)/n, (width+n-1)/n; !part.Within(width, height) {
		return errs.New(errs.Internal, "decode region %+v of a sample of shape %s", part.Region, r.Shape)
	}
	parts, ok := dec.(codec.ROIDecoder)
	if !ok {
		w.whole = grow(w.whole, r.Size)
		if err := w.decodeTurned(dec, o, r.Chunk, r.Item, w.whole, data, want); err != nil {
			return err
		}
		return Deliver(w.whole, r, part)
	}
	w.unturned = grow(w.unturned, int64(part.Width)*int64(part.Height)*int64(pixel))
	form, _ := want.Split()
	_, err := parts.DecodeROIs([][]byte{data}, []codec.ROI{o.TurnedROI(*part, height, width, pixel, w.unturned)}, form)
	return err
}
