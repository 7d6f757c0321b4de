package transform

import (
	"math"

	"deeplake/core/errs"
)

// kind is the operation of a step of a trace.
type kind uint8

const (
	toCrop kind = iota
	toResize
	toFlipX
	toFlipY
	toPad
	toBrighten
	toContrast
	toSaturate
)

// maxFill bounds the values of a fill, maxChannels those of a picture.
const (
	maxFill     = 8
	maxChannels = 512
)

// step is one thing done to one picture, all draws made.
type step struct {
	kind   kind
	h, w   int // of the output
	x, y   int // crop: position in the input; pad: position of the input
	filter filter
	fast   bool
	mode   byte // of pad: first letter of its name, but y for symmetric
	fill   []float64
	factor float32
}

// Trace lists the operations of a pipeline on one picture. It is immutable.
type Trace struct {
	h, w  int
	steps []step
}

func (t *Trace) size() (h, w int) {
	if n := len(t.steps); n > 0 {
		return t.steps[n-1].h, t.steps[n-1].w
	}
	return t.h, t.w
}

func (t *Trace) add(s step) { t.steps = append(t.steps, s) }

// Trace makes the draws for one picture of h x w, into the memory of steps. A picture that is too
// small for a step is errs.Type.
func (p *Pipeline) Trace(k Key, h, w int, steps []step) (Trace, error) {
	t := Trace{h: h, w: w, steps: steps[:0]}
	for i, o := range p.geometry {
		s := newSource(k, p.stream, i)
		var err error
		switch op := o.do.(type) {
		case *randomResizedCrop:
			op.trace(&t, &s)
		case *resize:
			err = op.trace(&t)
		case *centerCrop:
			op.trace(&t)
		case *randomCrop:
			err = op.trace(&t, &s)
		case *pad:
			l, top, r, b := op.Padding.border()
			err = t.pad(l, top, r, b, op.Fill, op.PaddingMode)
		case *flip:
			op.trace(&t, &s)
		case *colorJitter:
			op.trace(&t, &s)
		}
		if err != nil {
			return t, errs.New(errs.Type, "%s: %w", o.name, err)
		}
	}
	return t, nil
}

func (t *Trace) crop(x, y, h, w int) {
	if ih, iw := t.size(); h != ih || w != iw {
		t.add(step{kind: toCrop, h: h, w: w, x: x, y: y})
	}
}

func (t *Trace) resize(h, w int, name string, fast bool) {
	if ih, iw := t.size(); h != ih || w != iw {
		f, _ := filterOf(name)
		t.add(step{kind: toResize, h: h, w: w, filter: f, fast: fast})
	}
}

func (t *Trace) pad(l, top, r, b int, fill numbers, mode string) error {
	h, w := t.size()
	if l|top|r|b == 0 {
		return nil
	}
	if most := map[string]int{"reflect": -1, "symmetric": 0}; mode == "reflect" || mode == "symmetric" {
		if max(l, r) > w+most[mode] || max(top, b) > h+most[mode] {
			return errs.New(errs.Type, "padding (%d, %d, %d, %d) in mode %q is more than the picture of %d x %d has", l, top, r, b, mode, h, w)
		}
	}
	h, w = h+top+b, w+l+r
	if h > maxSide || w > maxSide {
		return errs.New(errs.Type, "the padded picture has %d x %d pixels, want sides of at most %d", h, w, maxSide)
	}
	m := mode[0]
	if mode == "symmetric" {
		m = 'y'
	}
	t.add(step{kind: toPad, h: h, w: w, x: l, y: top, fill: fill, mode: m})
	return nil
}

// trace draws as torchvision's get_params does: ten attempts, then the largest centered crop of a
// permitted ratio.
func (o *randomResizedCrop) trace(t *Trace, s *source) {
	h, w := t.size()
	oh, ow := o.Size.pair()
	area := float64(h) * float64(w)
	low, high := math.Log(o.Ratio[0]), math.Log(o.Ratio[1])
	for range 10 {
		target := area * s.between(o.Scale[0], o.Scale[1])
		ratio := math.Exp(s.between(low, high))
		cw, ch := math.RoundToEven(math.Sqrt(target*ratio)), math.RoundToEven(math.Sqrt(target/ratio))
		if 0 < cw && cw <= float64(w) && 0 < ch && ch <= float64(h) {
			y, x := s.below(h-int(ch)+1), s.below(w-int(cw)+1)
			t.crop(x, y, int(ch), int(cw))
			t.resize(oh, ow, o.Interpolation, o.Fast)
			return
		}
	}
	ch, cw := h, w
	switch ratio := float64(w) / float64(h); {
	case ratio < o.Ratio[0]:
		ch = int(math.RoundToEven(float64(w) / o.Ratio[0]))
	case ratio > o.Ratio[1]:
		cw = int(math.RoundToEven(float64(h) * o.Ratio[1]))
	}
	ch, cw = min(max(ch, 1), h), min(max(cw, 1), w)
	t.crop((w-cw)/2, (h-ch)/2, ch, cw)
	t.resize(oh, ow, o.Interpolation, o.Fast)
}

func (o *resize) trace(t *Trace) error {
	h, w := t.size()
	oh, ow := o.Size.pair()
	if len(o.Size) == 1 {
		short, long := min(h, w), max(h, w)
		ns, nl := oh, int(float64(oh)*float64(long)/float64(short))
		if o.MaxSize > 0 && nl > o.MaxSize {
			ns, nl = int(float64(o.MaxSize)*float64(ns)/float64(nl)), o.MaxSize
		}
		if oh, ow = ns, nl; w <= h {
			oh, ow = nl, ns
		}
		if ns < 1 || nl > maxSide {
			return errs.New(errs.Type, "a picture of %d x %d would become one of %d x %d, want sides of 1 to %d", h, w, oh, ow, maxSide)
		}
	}
	t.resize(oh, ow, o.Interpolation, o.Fast)
	return nil
}

// trace pads smaller pictures with 0, as torchvision does.
func (o *centerCrop) trace(t *Trace) {
	h, w := t.size()
	oh, ow := o.Size.pair()
	if dh, dw := max(oh-h, 0), max(ow-w, 0); dh|dw != 0 {
		t.add(step{kind: toPad, h: h + dh, w: w + dw, x: dw / 2, y: dh / 2, mode: 'c'})
		h, w = h+dh, w+dw
	}
	t.crop(int(math.RoundToEven(float64(w-ow)/2)), int(math.RoundToEven(float64(h-oh)/2)), oh, ow)
}

func (o *randomCrop) trace(t *Trace, s *source) error {
	oh, ow := o.Size.pair()
	l, top, r, b := o.Padding.border()
	h, w := t.size()
	h, w = h+top+b, w+l+r
	if o.PadIfNeeded {
		if d := oh - h; d > 0 {
			top, b, h = top+d, b+d, h+2*d
		}
		if d := ow - w; d > 0 {
			l, r, w = l+d, r+d, w+2*d
		}
	}
	if h < oh || w < ow {
		return errs.New(errs.Type, "size (%d, %d) is larger than the picture, %d x %d with its padding; use pad_if_needed or Resize first", oh, ow, h, w)
	}
	if err := t.pad(l, top, r, b, o.Fill, o.PaddingMode); err != nil {
		return err
	}
	y := s.below(h - oh + 1)
	t.crop(s.below(w-ow+1), y, oh, ow)
	return nil
}

func (o *flip) trace(t *Trace, s *source) {
	if s.unit() >= o.P {
		return
	}
	h, w := t.size()
	k := toFlipX
	if o.vertical {
		k = toFlipY
	}
	t.add(step{kind: k, h: h, w: w})
}

// trace draws the order of the three, then the factor of each, whichever are wanted: so the draws
// of one do not depend on the others.
func (o *colorJitter) trace(t *Trace, s *source) {
	order := [3]kind{toBrighten, toContrast, toSaturate}
	for i := 2; i > 0; i-- {
		j := s.below(i + 1)
		order[i], order[j] = order[j], order[i]
	}
	var factor [3]float32
	ranges := [3]numbers{o.Brightness, o.Contrast, o.Saturation}
	for i, n := range ranges {
		if u := s.unit(); len(n) == 2 {
			factor[i] = float32(n[0] + float64((n[1]-n[0])*u))
		}
	}
	h, w := t.size()
	for _, k := range order {
		if i := k - toBrighten; len(ranges[i]) == 2 {
			t.add(step{kind: k, h: h, w: w, factor: factor[i]})
		}
	}
}
