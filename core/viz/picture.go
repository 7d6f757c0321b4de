package viz

import (
	"context"
	"encoding/json"
	"fmt"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// thumbKey names a small picture: a sample, how small it is, and of which region.
type thumbKey struct {
	chunk  chunk.ID
	item   int64
	pixels int
	region rect // without pixels: all
}

// picture is a file with the size of the picture that it shows.
type picture struct {
	file          []byte
	media         string
	width, height int64
	region        []int64 // of the whole picture; nil: all
}

const (
	rawBytes     = 64 << 10 // arrays of pictures up to this size are sent as they are
	thumbQuality = 85
)

// pictureBody sends the stored file where a page can show it, and else pixels, or a smaller picture
// if that will do.
func (s *Service) pictureBody(ctx context.Context, one *sample, w *chunk.Worker, h *header) ([]byte, error) {
	ref, pixels := &one.ref, one.column.want.Pixels
	h.Height, h.Width = one.whole()[0], one.whole()[1]
	longer := max(ref.Shape[0], ref.Shape[1])
	if pixels <= 0 || longer <= 2*int64(pixels) {
		if body, ok, err := s.storedFile(ctx, one, w, h); ok || err != nil {
			return body, err
		}
	}
	if pixels <= 0 || longer <= int64(pixels) && ref.Size <= rawBytes {
		data := make([]byte, ref.Size)
		err := one.column.Decode(ctx, ref, data, w)
		return h.array(one.column.DType(), ref.Shape, data), err
	}
	if one.column.DType() != tensor.Uint8 || len(ref.Shape) != 3 {
		return thinned(ctx, one, w, h)
	}
	thumb, err := s.thumb(ctx, one, w, min(int64(pixels), longer))
	if err != nil {
		return nil, err
	}
	if thumb.media == "" {
		return h.array(tensor.Uint8, tensor.Shape{thumb.height, thumb.width, ref.Shape[2]}, thumb.file), nil
	}
	h.Kind, h.Media = kindFile, thumb.media
	return thumb.file, nil
}

// storedFile returns the stored bytes, if a browser makes the same picture of them as the core.
func (s *Service) storedFile(ctx context.Context, one *sample, w *chunk.Worker, h *header) ([]byte, bool, error) {
	ref := &one.ref
	if ref.Chunk == nil || ref.Tiles != nil || one.column.DType() != tensor.Uint8 || ref.Stored <= 0 || len(ref.Shape) != 3 {
		return nil, false, nil
	}
	id := ref.Chunk.Index.SampleCodec()
	c, err := s.o.Codecs.Sample(id)
	if err != nil || c.Describe().Media == "" {
		return nil, false, nil
	}
	data := make([]byte, ref.Stored)
	if err := one.column.Stored(ctx, ref, data, w); err != nil {
		return nil, false, err
	}
	// image.gray of a file in colour, and the other way round: the browser would show the file's.
	head, err := c.Header(data, codec.AsStored)
	if err != nil || !head.Agrees(tensor.Uint8, ref.Shape) {
		return nil, false, err
	}
	if o, _ := c.Describe().Orientation(data); o.Turned() && one.column.Access().TurnUpright == nil {
		return nil, false, nil // the page shows files as they are stored
	}
	h.Kind, h.Media = kindFile, c.Describe().Media
	return data, true, nil
}

// thumb returns a picture whose longer side has so many pixels.
func (s *Service) thumb(ctx context.Context, one *sample, w *chunk.Worker, pixels int64) (picture, error) {
	if one.ref.Chunk == nil {
		p, _, err := s.shrink(ctx, one, w, pixels)
		return p, err
	}
	key := thumbKey{chunk: one.ref.Chunk.ID, item: one.ref.Item, pixels: int(pixels)}
	return s.thumbs.Load(ctx, key, func() (picture, int64, error) { return s.shrink(ctx, one, w, pixels) })
}

// shrink makes a small picture, and returns the bytes that it takes.
func (s *Service) shrink(ctx context.Context, one *sample, w *chunk.Worker, pixels int64) (picture, int64, error) {
	ref := &one.ref
	height, width := fit(ref.Shape[0], ref.Shape[1], pixels)
	space := s.spaces.Borrow()
	defer s.spaces.Return(space)
	defer space.Reset()
	pix, err := shrunk(ctx, one, w, height, width, space)
	if err != nil {
		return picture{}, 0, err
	}
	out := picture{file: pix, width: width, height: height}
	if n := ref.Shape[2]; (n == 1 || n == 3) && s.o.Compress != nil {
		out.file, out.media, err = s.o.Compress(pix, tensor.Shape{height, width, n}, codec.Options{Quality: thumbQuality})
		if err != nil {
			return picture{}, 0, err
		}
	}
	return out, int64(len(out.file)) + 128, nil
}

// shrunk returns the pixels of a picture of bytes at a size.
func shrunk(ctx context.Context, one *sample, w *chunk.Worker, height, width int64, space *transform.Workspace) ([]byte, error) {
	p, err := resizing(one, height, width)
	if err != nil {
		return nil, err
	}
	ref := &one.ref
	pix := make([]byte, height*width*ref.Shape[2])
	access := one.column.Access()
	job, err := space.Job(p, transform.Key{}, ref.Shape, access.DecodeROIs != nil && w.CanDownscale(ref), pix)
	if err != nil {
		return nil, err
	}
	return pix, decodeRegion(ctx, one, w, codec.ROI{Region: codec.Region(job.Region()), To: job}, space)
}

// resizing returns the transform to a size. Other pixels will do where that is faster: decoders of
// JPEG may make a small picture of the start.
func resizing(one *sample, height, width int64) (*transform.Pipeline, error) {
	var spec transform.Spec
	text := fmt.Sprintf(`[{"op": "Resize", "size": [%d, %d], "fast": true}]`, height, width)
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return nil, err
	}
	p, err := transform.New(one.column.Name(), spec)
	if err == nil {
		err = p.Check(tensor.Uint8, one.ref.Shape)
	}
	return p, err
}

// decodeRegion decodes the region of a sample that a transform needs, and delivers it.
func decodeRegion(ctx context.Context, one *sample, w *chunk.Worker, roi codec.ROI, space *transform.Workspace) error {
	ref := &one.ref
	if decode := one.column.Access().DecodeROIs; decode != nil {
		var failed error
		decode(ctx, []*chunk.Ref{ref}, []codec.ROI{roi}, w, func(_ int, err error) { failed = err })
		if failed == nil && ctx.Err() != nil {
			failed = errs.Cause(ctx, "read sample")
		}
		return failed
	}
	pix := space.Bytes(int(ref.Size))
	if err := one.column.Decode(ctx, ref, pix, w); err != nil {
		return err
	}
	return chunk.Deliver(pix, ref, &roi)
}

// fit returns the sides of a picture whose longer side has so many pixels.
func fit(height, width, pixels int64) (int64, int64) {
	longer := max(height, width)
	side := func(n int64) int64 { return max((n*pixels+longer/2)/longer, 1) }
	return side(height), side(width)
}

// thinned sends every n-th pixel of a picture that is not of bytes.
func thinned(ctx context.Context, one *sample, w *chunk.Worker, h *header) ([]byte, error) {
	data := make([]byte, one.ref.Size)
	if err := one.column.Decode(ctx, &one.ref, data, w); err != nil {
		return nil, err
	}
	d := one.column.DType()
	data, shape := thin(data, one.ref.Shape, d.Size(), one.column.want.Pixels)
	return h.array(d, shape, data), nil
}

// thin keeps every n-th row and column of an array, so that its longer side has at least so many
// pixels, or all of them.
func thin(data []byte, shape tensor.Shape, size, pixels int) ([]byte, tensor.Shape) {
	if len(shape) < 2 {
		return data, shape
	}
	step := max(shape[0], shape[1]) / int64(max(pixels, 1))
	if step <= 1 {
		return data, shape
	}
	pixel := int64(size)
	for _, n := range shape[2:] {
		pixel *= n
	}
	out := shape.Clone()
	out[0], out[1] = (shape[0]+step-1)/step, (shape[1]+step-1)/step
	small := make([]byte, 0, out[0]*out[1]*pixel)
	for y := int64(0); y < shape[0]; y += step {
		row := data[y*shape[1]*pixel:]
		for x := int64(0); x < shape[1]; x += step {
			small = append(small, row[x*pixel:(x+1)*pixel]...)
		}
	}
	return small, out
}
