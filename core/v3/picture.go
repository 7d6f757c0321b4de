package v3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"math"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// picture is decoded pixels.
type picture struct {
	data            []byte
	width, channels int64
	depth           int64 // bytes of a number: 1 or 2
}

// picture decodes a file, which has the recorded shape.
func (s *Store) picture(name string, data []byte, shape tensor.Shape) (*picture, error) {
	if len(shape) < 2 {
		return nil, errs.New(errs.Corrupt, "an image has shape %s", shape)
	}
	channels := int64(1)
	if len(shape) > 2 {
		channels = shape[2]
	}
	want := tensor.Shape{shape[0], shape[1], channels}
	switch name {
	case "jpeg":
		return s.coded(codec.JPEG, data, want)
	case "webp":
		return s.coded(codec.WebP, data, want)
	case "png":
		return s.coded(codec.PNG, data, want)
	}
	return s.rare(name, data, want)
}

// coded decodes a file of a codec of this library.
func (s *Store) coded(id codec.ID, data []byte, want tensor.Shape) (*picture, error) {
	sc, err := s.codecs.Sample(id)
	if err != nil {
		return nil, err
	}
	// A palette counts as the numbers that it is indexed by, if one channel is recorded.
	forms := []codec.Channels{codec.AsStored}
	if want[2] == 1 && id == codec.PNG {
		forms = []codec.Channels{codec.Labels, codec.AsStored}
	}
	var found tensor.Shape
	for _, form := range forms {
		h, err := s.codecs.Header(sc, data, form)
		if err != nil {
			continue
		}
		found = h.Shape
		if !found.Equal(want) && !(want[2] == 1 && found.Equal(want[:2])) {
			continue
		}
		size, err := h.Shape.Bytes(h.DType)
		if err != nil {
			return nil, err
		}
		p := &picture{data: make([]byte, size), width: want[1], channels: want[2], depth: int64(h.DType.Size())}
		d := sc.NewDecoder()
		defer d.Close()
		return p, d.Decode(p.data, data, form)
	}
	return nil, errs.New(errs.Corrupt, "the file has shape %s, want %s", found, want)
}

// rare decodes a file of a format that this library does not store.
func (s *Store) rare(name string, data []byte, want tensor.Shape) (*picture, error) {
	decoders := map[string]struct {
		config func(*bytes.Reader) (image.Config, error)
		decode func(*bytes.Reader) (image.Image, error)
	}{
		"bmp":  {func(r *bytes.Reader) (image.Config, error) { return bmp.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return bmp.Decode(r) }},
		"gif":  {func(r *bytes.Reader) (image.Config, error) { return gif.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return gif.Decode(r) }},
		"tiff": {func(r *bytes.Reader) (image.Config, error) { return tiff.DecodeConfig(r) }, func(r *bytes.Reader) (image.Image, error) { return tiff.Decode(r) }},
	}
	by, ok := decoders[name]
	if !ok {
		return nil, errs.New(errs.Unsupported, "files of %s are not decoded here", name)
	}
	head, err := by.config(bytes.NewReader(data))
	if err == nil {
		err = s.codecs.Limits().Check(tensor.Shape{int64(head.Height), int64(head.Width)})
	}
	if err != nil {
		return nil, undecodable(name, err)
	}
	if int64(head.Height) != want[0] || int64(head.Width) != want[1] || want[2] < 1 || want[2] > 4 {
		return nil, errs.New(errs.Corrupt, "the file has %d x %d pixels, want shape %s", head.Height, head.Width, want)
	}
	img, err := by.decode(bytes.NewReader(data))
	if err != nil {
		return nil, undecodable(name, err)
	}
	b := img.Bounds()
	if int64(b.Dy()) != want[0] || int64(b.Dx()) != want[1] {
		return nil, errs.New(errs.Corrupt, "the file has %d x %d pixels, want shape %s", b.Dy(), b.Dx(), want)
	}
	if !hasChannels(name, img, want[2]) {
		return nil, errs.New(errs.Corrupt, "the %s file does not have the channels of shape %s", name, want)
	}
	return pixels(img, want[2]), nil
}

// undecodable tells files of a kind that the decoder does not know from damaged ones.
func undecodable(name string, err error) error {
	var tiffs tiff.UnsupportedError
	if errors.As(err, &tiffs) || errors.Is(err, bmp.ErrUnsupported) {
		return errs.New(errs.Unsupported, "%w", err)
	}
	return errs.New(errs.Corrupt, "is no %s file: %w", name, err)
}

// hasChannels reports whether a file of which img was decoded may have that many channels.
func hasChannels(name string, img image.Image, channels int64) bool {
	switch img := img.(type) {
	case *image.Gray, *image.Gray16:
		return channels == 1
	case *image.Paletted: // its indices, or its colors
		return channels == 1 || channels > 2 && name == "gif"
	case *image.CMYK:
		return channels == 4
	case *image.RGBA: // decoders give it for three channels too: all pixels are opaque then
		return channels == 3 || channels == 4 && !img.Opaque()
	case *image.RGBA64:
		return channels == 3 || channels == 4 && !img.Opaque()
	case *image.NRGBA64:
		return channels == 4
	case *image.NRGBA: // the fourth channel of a BMP file may be padding
		return channels == 4 || channels == 3 && name == "bmp"
	}
	return true
}

// pixels returns the pixels of an image in channels of 8 bits; of a palette, its indices.
func pixels(img image.Image, channels int64) *picture {
	b := img.Bounds()
	p := &picture{data: make([]byte, 0, int64(b.Dx())*int64(b.Dy())*channels), width: int64(b.Dx()), channels: channels, depth: 1}
	if gray, ok := img.(*image.Gray16); ok && channels == 1 {
		for i := 0; i < len(gray.Pix); i += 2 { // they are big-endian
			p.data = append(p.data, gray.Pix[i+1], gray.Pix[i])
		}
		p.depth = 2
		return p
	}
	if deep, ok := img.(*image.NRGBA64); ok && channels == 4 {
		for i := 0; i < len(deep.Pix); i += 2 { // of 16 bits, the high 8
			p.data = append(p.data, deep.Pix[i])
		}
		return p
	}
	indices, _ := img.(*image.Paletted)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if indices != nil && channels == 1 {
				p.data = append(p.data, indices.ColorIndexAt(x, y))
				continue
			}
			if c, ok := img.At(x, y).(color.CMYK); ok && channels == 4 {
				p.data = append(p.data, c.C, c.M, c.Y, c.K)
				continue
			}
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			switch channels {
			case 1:
				p.data = append(p.data, color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
			case 2:
				p.data = append(p.data, color.GrayModel.Convert(color.RGBA{c.R, c.G, c.B, 255}).(color.Gray).Y, c.A)
			default:
				p.data = append(p.data, []byte{c.R, c.G, c.B, c.A}[:channels]...)
			}
		}
	}
	return p
}

// cut returns a part of the picture, from the top.
func (p *picture) cut(x, height, width int64) *picture {
	pixel := p.channels * p.depth
	out := &picture{data: make([]byte, 0, height*width*pixel), width: width, channels: p.channels, depth: p.depth}
	for y := range height {
		from := (y*p.width + x) * pixel
		out.data = append(out.data, p.data[from:from+width*pixel]...)
	}
	return out
}

// as returns the numbers in a dtype. Those of 16 bits do not fit one of 8.
func (p *picture) as(d tensor.DType) ([]byte, error) {
	if p.depth > int64(d.Size()) {
		return nil, errs.New(errs.Corrupt, "the file has numbers of 16 bits, the tensor has dtype %s", d)
	}
	if d == tensor.Uint8 && p.depth == 1 || d == tensor.Uint16 && p.depth == 2 {
		return p.data, nil
	}
	size := int64(d.Size())
	n := int64(len(p.data)) / p.depth
	out := make([]byte, n*size)
	for i := range n {
		v := uint64(p.data[i*p.depth])
		if p.depth == 2 {
			v = uint64(binary.LittleEndian.Uint16(p.data[2*i:]))
		}
		var word [8]byte
		switch d {
		case tensor.Bool:
			v = min(v, 1)
		case tensor.Float32:
			v = uint64(math.Float32bits(float32(v)))
		case tensor.Float64:
			v = math.Float64bits(float64(v))
		}
		binary.LittleEndian.PutUint64(word[:], v)
		copy(out[i*size:(i+1)*size], word[:])
	}
	return out, nil
}
