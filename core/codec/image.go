package codec

import (
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// DefaultMaxPixels is the most pixels of an image file unless Limits say otherwise: a photograph
// has 100 million at most.
const DefaultMaxPixels = 500_000_000

// Limits bound the memory and time that the header of an image file may cost a reader.
type Limits struct {
	MaxPixels int64 // height times width of one file; 0: DefaultMaxPixels
}

// Check refuses an image with more pixels than the limit. A caller checks before it allocates
// memory for pixels.
func (l Limits) Check(s tensor.Shape) error {
	most := l.MaxPixels
	if most <= 0 {
		most = DefaultMaxPixels
	}
	if len(s) < 2 || s[0] <= 0 || s[1] <= 0 || s[0] <= most/s[1] {
		return nil
	}
	return errs.Op("read image header", "").New(errs.Unsupported, "image has %d x %d pixels, want at most %d pixels; raise max_pixels of deeplake.Storage where the files are trusted", s[0], s[1], most)
}

// WithLimits is the registry with other limits. It shares the codecs of r.
func (r *Registry) WithLimits(l Limits) *Registry {
	limited := *r
	limited.limits = l
	return &limited
}

// AcceptCut is the registry that also accepts headers of files without their end, where decoders
// can make pixels of them. It shares the codecs of r.
func (r *Registry) AcceptCut() *Registry {
	accepting := *r
	accepting.cut = true
	return &accepting
}

// Limits are the bounds of images that are read with this registry.
func (r *Registry) Limits() Limits { return r.limits }

// Header is the header of an image file, within the limits of the registry. It takes Upright.
func (r *Registry) Header(c SampleCodec, data []byte, want Channels) (Header, error) {
	want, upright := want.Split()
	header := c.Header
	if cut, ok := c.(CutHeaderCodec); ok && r.cut {
		header = cut.CutHeader
	}
	h, err := header(data, want)
	if err == nil {
		err = r.limits.Check(h.Shape)
	}
	if err != nil {
		return Header{}, err
	}
	if upright {
		o, _ := c.Describe().Orientation(data)
		h.Shape = o.Shape(h.Shape)
	}
	return h, nil
}

// Head is HeadCodec.Head, within the limits of the registry. It takes Upright.
func (r *Registry) Head(c HeadCodec, data []byte, want Channels) (Header, bool, error) {
	want, upright := want.Split()
	h, more, err := c.Head(data, want)
	if sc, ok := c.(SampleCodec); ok && upright && err == nil && !more {
		var o Orientation
		o, more = sc.Describe().Orientation(data)
		h.Shape = o.Shape(h.Shape)
	}
	if err == nil && !more {
		err = r.limits.Check(h.Shape)
	}
	if err != nil {
		return Header{}, false, err
	}
	return h, more, nil
}

// Agrees reports whether the file decodes to an array of dtype d and shape s. The channel axis of
// one channel may be left out.
func (h Header) Agrees(d tensor.DType, s tensor.Shape) bool {
	if n := len(h.Shape); n == 3 && len(s) == 2 && h.Shape[2] == 1 {
		return h.DType == d && h.Shape[:2].Equal(s)
	}
	return h.DType == d && h.Shape.Equal(s)
}

// ChannelError refuses a picture of shape (height, width, channels) for its number of channels.
// want says which the codec has, and the way out.
func ChannelError(s tensor.Shape, want string) error {
	switch {
	case s.ChannelsFirst():
		return tensor.OrderError(s)
	case s[2] > 4: // of no codec for pictures
		want, _, _ = strings.Cut(want, ";")
		want += `; a picture is (height, width, channels), and a tensor for more than 4 has compression="zstd"`
	}
	return errs.New(errs.Type, "sample has %d channels, %s", s[2], want)
}
