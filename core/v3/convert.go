package v3

import (
	"bytes"
	"context"
	"encoding/binary"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// maxConverted bounds the memory of a chunk whose samples are converted.
const maxConverted = 1 << 30

// collected is converted samples, one after the other.
type collected struct {
	data  []byte
	items []segment
}

// add appends an item.
func (c *collected) add(data []byte, shape tensor.Shape) error {
	if int64(len(c.data)+len(data)) > maxConverted {
		return errs.New(errs.Unsupported, "its samples have more than %d bytes once they are converted; export the tensor by Deep Lake 3", int64(maxConverted))
	}
	c.items = append(c.items, segment{n: 1, shape: shape, size: int64(len(data)), start: int64(len(c.data))})
	c.data = append(c.data, data...)
	return nil
}

// built makes a chunk of converted items.
func (c *opening) built(of *collected) (*chunk.Chunk, error) {
	c.items, c.dir.Items = of.items, int64(len(of.items))
	c.dir.Shapes = nil
	if c.dir.DType.Fixed() {
		c.dir.Shapes = shapesOf(of.items)
	}
	return c.converted(of.data)
}

// documents converts JSON: this format has no NaN and no Infinity, which become null.
func (c *opening) documents(ctx context.Context) (*chunk.Chunk, error) {
	_, values, err := c.values(ctx)
	if err != nil {
		return nil, err
	}
	var out collected
	for i, text := range values {
		if len(text) == 0 {
			text = []byte(map[bool]string{true: "{}", false: "[]"}[c.kind.base == "json"])
		}
		strict, err := strictJSON(text)
		if err != nil {
			return nil, errs.Wrap(errs.Corrupt, "read JSON", "", errs.New(errs.Corrupt, "item %d: %w", i, err))
		}
		if c.kind.base == "tag" && bytes.Equal(bytes.TrimSpace(strict), []byte("[null]")) {
			// Deep Lake 3 stores an empty list of tags so.
			strict = []byte("[]")
		}
		if err := out.add(strict, nil); err != nil {
			return nil, err
		}
	}
	return c.built(&out)
}

// polygons converts lists of polygons: here each polygon is an item.
func (c *opening) polygons(ctx context.Context) (*chunk.Chunk, error) {
	samples, values, err := c.values(ctx)
	if err != nil {
		return nil, err
	}
	var out collected
	c.dir.RowItems = make([]int64, len(values))
	for i, data := range values {
		n, err := addPolygons(&out, data, samples[i].shape, c.kind.dtype)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "item %d: %w", i, err)
		}
		c.dir.RowItems[i] = n
	}
	return c.built(&out)
}

// addPolygons appends the polygons of a sample and returns their number.
func addPolygons(out *collected, data []byte, shape tensor.Shape, d tensor.DType) (int64, error) {
	if len(data) == 0 {
		return 0, nil
	}
	if len(shape) != 3 || shape[2] < 1 || len(data) < 2 {
		return 0, errs.New(errs.Corrupt, "%d bytes of shape %s are no polygons", len(data), shape)
	}
	n := int64(binary.LittleEndian.Uint16(data))
	counts, points := data[2:], int64(0)
	if int64(len(counts)) < 2*n {
		return 0, errs.New(errs.Corrupt, "%d polygons in %d bytes", n, len(data))
	}
	point := shape[2] * int64(d.Size())
	rest := counts[2*n:]
	for k := range n {
		points = int64(binary.LittleEndian.Uint16(counts[2*k:]))
		if points*point > int64(len(rest)) {
			return 0, errs.New(errs.Corrupt, "polygon %d of %d has %d points in %d bytes", k, n, points, len(rest))
		}
		if err := out.add(rest[:points*point], tensor.Shape{points, shape[2]}); err != nil {
			return 0, err
		}
		rest = rest[points*point:]
	}
	if len(rest) > 0 {
		return 0, errs.New(errs.Corrupt, "%d bytes follow %d polygons", len(rest), n)
	}
	return n, nil
}

// files reads files of images. Those that this format stores as well stay where they are.
func (c *opening) files(ctx context.Context) (*chunk.Chunk, error) {
	if err := inOrder(c.items, c.object.payload()); err != nil {
		return nil, err
	}
	for _, s := range c.items {
		if n, err := s.shape.Elements(); s.size == 0 && (err != nil || n > 0) {
			return nil, errs.New(errs.Corrupt, "an image of shape %s has no bytes", s.shape)
		}
	}
	id := c.kind.codec()
	if !id.PerSample() || c.arrays {
		return c.decoded(ctx)
	}
	each, err := spread(c.items, c.object.payload())
	if err != nil {
		return nil, err
	}
	certain := true
	for i := range each {
		var ok bool
		each[i].shape, ok = c.kind.certain(id, each[i].shape)
		certain = certain && (ok || each[i].size == 0)
	}
	if !certain {
		all, err := c.object.all(ctx)
		if err != nil {
			return nil, err
		}
		sc, err := c.codecs.Sample(id)
		if err != nil {
			return nil, err
		}
		for i, s := range each {
			if s.size == 0 {
				continue
			}
			h, err := c.codecs.Header(sc, all[s.start:s.start+s.size], c.kind.channels())
			if err != nil || h.DType != c.kind.dtype {
				return c.decoded(ctx) // the file is of another kind than the tensor says
			}
			each[i].shape = h.Shape
		}
	}
	c.items, c.dir.Shapes, c.dir.SampleCodec = each, shapesOf(each), id
	if err := c.sizes(c.object.payload()); err != nil {
		return nil, err
	}
	c.blocks()
	return c.there(0)
}

// channels is the form in which readers of the tensor decode files.
func (k *kind) channels() codec.Channels {
	switch k.htype.Base {
	case "image.rgb":
		return codec.RGB
	case "image.gray":
		return codec.Gray
	case "binary_mask":
		return codec.Binary
	case "segment_mask", "instance_label":
		return codec.Labels
	}
	return codec.AsStored
}

// certain returns the shape of an image as this library decodes its file, and whether the recorded
// shape leaves no doubt about it: a palette is recorded as one channel.
func (k *kind) certain(id codec.ID, s tensor.Shape) (tensor.Shape, bool) {
	switch k.channels() {
	case codec.RGB:
		return tensor.Shape{s[0], s[1], 3}, len(s) == 3
	case codec.Gray:
		return tensor.Shape{s[0], s[1], 1}, len(s) == 3
	case codec.Labels, codec.Binary:
		return s, len(s) == 2
	}
	if len(s) != 3 {
		return s, false
	}
	return s, s[2] == 3 || s[2] == 4 && id != codec.JPEG || s[2] == 1 && id == codec.JPEG
}

// decoded converts files of images to arrays.
func (c *opening) decoded(ctx context.Context) (*chunk.Chunk, error) {
	all, err := c.object.all(ctx)
	if err != nil {
		return nil, err
	}
	each, err := spread(c.items, int64(len(all)))
	if err != nil {
		return nil, err
	}
	name := c.kind.sample
	if name == "" {
		name = c.kind.chunk
	}
	var out collected
	undecoded := map[int64]chunk.Undecoded{}
	for i, s := range each {
		if s.size == 0 {
			if err := out.add(nil, make(tensor.Shape, len(s.shape))); err != nil {
				return nil, err
			}
			continue
		}
		file := all[s.start : s.start+s.size]
		p, err := c.picture(name, file, s.shape)
		if err == nil {
			err = c.addPicture(&out, p, s.shape)
		}
		if err != nil && errs.OfSample(err) && c.dir.Tile == nil && len(out.data) < maxConverted {
			// Its row alone is an error. It has one pixel in the chunk.
			err = errs.New(errs.KindOf(err), "its %s file is not decoded here: %w; the tensor's bytes(row) returns the file, which Pillow decodes", name, err)
			undecoded[int64(i)] = chunk.Undecoded{File: file, Err: err}
			one := tensor.Shape{1, 1, 1}[:min(3, len(s.shape))]
			err = out.add(make([]byte, c.kind.dtype.Size()), one)
		}
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "item %d: %w", i, err)
		}
	}
	c.dir.SampleCodec = codec.None
	if len(undecoded) == 0 {
		return c.built(&out)
	}
	c.single = true
	ch, err := c.built(&out)
	if err != nil {
		return nil, err
	}
	return ch.WithUndecoded(undecoded), nil
}

// addPicture appends the pixels of an image in the dtype of the tensor.
func (c *opening) addPicture(out *collected, p *picture, shape tensor.Shape) error {
	data, err := p.as(c.kind.dtype)
	if err != nil {
		return err
	}
	return out.add(data, shape)
}

// canvas converts images that are compressed together, from left to right in one image.
func (c *opening) canvas(ctx context.Context) (*chunk.Chunk, error) {
	each, err := spread(c.items, c.object.payload())
	if err != nil {
		return nil, err
	}
	width, height, channels := int64(0), int64(0), int64(1)
	for _, s := range each {
		if len(s.shape) < 2 || len(s.shape) > 3 || (s.shape[0] == 0) != (s.shape[1] == 0) {
			return nil, errs.New(errs.Corrupt, "an image has shape %s", s.shape)
		}
		if s.shape[0] == 0 || s.shape[1] == 0 {
			continue
		}
		width, height = width+s.shape[1], max(height, s.shape[0])
		if len(s.shape) == 3 {
			channels = s.shape[2]
		}
	}
	var out collected
	x := int64(0)
	var p *picture
	if width > 0 {
		all, err := c.object.all(ctx)
		if err == nil {
			p, err = c.picture(c.kind.chunk, all, tensor.Shape{height, width, channels})
		}
		if err != nil {
			return nil, err
		}
	}
	for _, s := range each {
		if s.shape[0] == 0 || s.shape[1] == 0 {
			err = out.add(nil, make(tensor.Shape, len(s.shape)))
		} else {
			err = c.addPicture(&out, p.cut(x, s.shape[0], s.shape[1]), s.shape)
			x += s.shape[1]
		}
		if err != nil {
			return nil, err
		}
	}
	return c.built(&out)
}
