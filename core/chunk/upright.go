package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
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

// storedSides returns the sides of the image in a file, of which s is the shape that the directory
// of its chunk states: that of the turned image where the form in which the tensor is read says so.
func storedSides(o codec.Orientation, s tensor.Shape, want codec.Channels) (height, width int) {
	if _, upright := want.Split(); upright {
		s = o.Shape(s)
	}
	return int(s[0]), int(s[1])
}

// decodeTurned decodes a file into dst, turned. s is its shape in the directory of its chunk.
func (w *Worker) decodeTurned(dec codec.Decoder, o codec.Orientation, s tensor.Shape, dst, data []byte, want codec.Channels) error {
	height, width := storedSides(o, s, want)
	w.unturned = grow(w.unturned, int64(len(dst)))
	form, _ := want.Split()
	if err := dec.Decode(w.unturned, data, form); err != nil {
		return err
	}
	pixel := len(dst) / (height * width)
	o.Turn(dst, w.unturned, height, width, pixel, width*pixel)
	return nil
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
		if err := w.decodeTurned(dec, o, r.Chunk.Index.Shape(r.Item), w.whole, data, want); err != nil {
			return err
		}
		return Deliver(w.whole, r, part)
	}
	w.unturned = grow(w.unturned, int64(part.Width)*int64(part.Height)*int64(pixel))
	form, _ := want.Split()
	_, err := parts.DecodeROIs([][]byte{data}, []codec.ROI{o.TurnedROI(*part, height, width, pixel, w.unturned)}, form)
	return err
}
