package transform

import (
	"math"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Pipeline is a Spec made ready for the pictures of one tensor. It does not change and may be used
// in parallel.
type Pipeline struct {
	geometry []Op // crops, sizes, flips, padding, colour: what works on pictures of bytes
	stream   uint32
	fixedH   int // size of every result; 0: it depends on the picture
	fixedW   int

	dtype tensor.DType
	chw   bool
	// what each byte becomes, 256 for each channel, or for all of them; nil: itself
	floats  []float32
	halves  []uint16   // the same in 16 bits; nil: dtype has 32
	affine  [3]float32 // of one channel: scale; mean and std are below
	mean    []float32
	std     []float32
	colours bool // wants 1 or 3 channels
}

// New makes the pipeline of a picture. A spec whose steps do not follow each other is errs.Invalid.
func New(picture string, spec Spec) (*Pipeline, error) {
	if len(spec) > maxOps {
		return nil, errs.New(errs.Invalid, "%d transforms, want at most %d", len(spec), maxOps)
	}
	p := &Pipeline{stream: streamOf(picture), dtype: tensor.Uint8}
	var last string // step after which there are no pictures of bytes any more
	var scale *toFloat
	var norm *normalize
	for _, o := range spec {
		switch op := o.do.(type) {
		case nil:
			return nil, errs.New(errs.Invalid, "a transform was never read from JSON")
		case *normalize:
			if norm != nil {
				return nil, errs.New(errs.Invalid, "Normalize stands twice; once is enough")
			}
			norm, last = op, o.name
		case *toFloat:
			if scale != nil {
				return nil, errs.New(errs.Invalid, "ToFloat stands twice; once is enough")
			}
			if norm != nil && !op.Scale {
				return nil, errs.New(errs.Invalid, "ToFloat with scale=False stands after Normalize, which works on 0 to 1 otherwise; put it before")
			}
			scale, last = op, o.name
		case *chw:
			p.chw, last = true, o.name
		default:
			if last != "" {
				return nil, errs.New(errs.Invalid, "%s stands after %s; put what works on pictures (crops, sizes, flips, colour) before Normalize, ToFloat and CHW", o.name, last)
			}
			p.geometry = append(p.geometry, o)
			p.settle(op)
		}
	}
	p.floating(scale, norm)
	return p, nil
}

// settle follows the part of the size that does not depend on the picture.
func (p *Pipeline) settle(o op) {
	switch o := o.(type) {
	case *randomResizedCrop:
		p.fixedH, p.fixedW = o.Size.pair()
	case *centerCrop:
		p.fixedH, p.fixedW = o.Size.pair()
	case *randomCrop:
		p.fixedH, p.fixedW = o.Size.pair()
	case *resize:
		p.fixedH, p.fixedW = 0, 0
		if len(o.Size) == 2 {
			p.fixedH, p.fixedW = o.Size.pair()
		}
	case *pad:
		if l, t, r, b := o.Padding.border(); p.fixedH > 0 {
			p.fixedH, p.fixedW = p.fixedH+t+b, p.fixedW+l+r
		}
	case *colorJitter:
		p.colours = true
	}
}

// floating computes what each byte becomes, with torchvision's operations in single precision: v
// (1/255), minus mean, divided by std.
func (p *Pipeline) floating(scale *toFloat, norm *normalize) {
	if scale == nil && norm == nil {
		return
	}
	factor := float32(1)
	if scale == nil || scale.Scale {
		factor = float32(1. / 255)
	}
	p.mean, p.std = []float32{0}, []float32{1}
	if norm != nil {
		p.mean, p.std = nil, nil
		for i := range norm.Mean {
			p.mean, p.std = append(p.mean, float32(norm.Mean[i])), append(p.std, float32(norm.Std[i]))
		}
	}
	p.affine[0] = factor
	for c := range p.mean {
		for v := range 256 {
			x := float32(float32(v) * factor)
			x = float32(x - p.mean[c])
			p.floats = append(p.floats, float32(x/p.std[c]))
		}
	}
	p.dtype = tensor.Float32
	if scale == nil || scale.Bits == "32" {
		return
	}
	p.dtype = tensor.Float16
	to := half
	if scale.Bits == "bf16" {
		p.dtype, to = tensor.BFloat16, brain
	}
	for _, v := range p.floats {
		p.halves = append(p.halves, to(v))
	}
}

// DType is the element type of results.
func (p *Pipeline) DType() tensor.DType { return p.dtype }

// Check refuses a picture that the pipeline cannot take: its dtype, axes or channels.
func (p *Pipeline) Check(d tensor.DType, s tensor.Shape) error {
	if d != tensor.Uint8 {
		return errs.New(errs.Type, "transforms take pictures of uint8, this one is of %s; use a Python callable", d)
	}
	if len(s) != 3 && len(s) != 2 || s[0] < 1 || s[1] < 1 || s[0] > maxSide || s[1] > maxSide || len(s) == 3 && (s[2] < 1 || s[2] > maxChannels) {
		return errs.New(errs.Type, "transforms take pictures of shape (height, width, channels) or (height, width), this one has %s", s)
	}
	c := 1
	if len(s) == 3 {
		c = int(s[2])
	}
	if n := len(p.mean); n > 1 && n != c {
		return errs.New(errs.Type, "Normalize has %d means, the picture has %d channels; give one mean, or htype image.rgb to get three", n, c)
	}
	if p.colours && c != 1 && c != 3 {
		return errs.New(errs.Type, "ColorJitter takes pictures of 1 or 3 channels, this one has %d", c)
	}
	for _, o := range p.geometry {
		var fill numbers
		switch op := o.do.(type) {
		case *randomCrop:
			fill = op.Fill
		case *pad:
			fill = op.Fill
		}
		if n := len(fill); n > 1 && n != c {
			return errs.New(errs.Type, "%s: fill has %d numbers, the picture has %d channels; give one, or one for each channel (of at most %d)", o.name, n, c, maxFill)
		}
	}
	return nil
}

// Shape is that of the result for a picture of shape s, which Check has passed.
func (p *Pipeline) Shape(k Key, s tensor.Shape) (tensor.Shape, error) {
	h, w := p.fixedH, p.fixedW
	if h == 0 || p.refuses() {
		t, err := p.Trace(k, int(s[0]), int(s[1]), nil)
		if err != nil {
			return nil, err
		}
		h, w = t.size()
	}
	return p.layout(h, w, s), nil
}

func (p *Pipeline) layout(h, w int, s tensor.Shape) tensor.Shape {
	switch {
	case len(s) == 2:
		return tensor.Shape{int64(h), int64(w)}
	case p.chw:
		return tensor.Shape{s[2], int64(h), int64(w)}
	}
	return tensor.Shape{int64(h), int64(w), s[2]}
}

// refuses reports whether some step does not take every picture.
func (p *Pipeline) refuses() bool {
	for _, o := range p.geometry {
		switch o := o.do.(type) {
		case *randomCrop, *pad:
			return true
		case *resize: // of one side the other one follows, which may become too long or nothing
			if len(o.Size) == 1 {
				return true
			}
		}
	}
	return false
}

// brain rounds to bfloat16, to even.
func brain(v float32) uint16 {
	b := math.Float32bits(v)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// half rounds to float16, to even; too large values become infinite.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	sign, rest := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case rest >= 0x47800000:
		return sign | 0x7c00
	case rest < 0x38800000: // subnormal: let the addition round
		return sign | uint16(math.Float32bits(math.Float32frombits(rest)+0.5)-0x3f000000)
	}
	return sign | uint16((rest-0x38000000+0xfff+rest>>13&1)>>13)
}
