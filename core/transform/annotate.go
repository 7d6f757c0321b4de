package transform

import (
	"encoding/binary"
	"math"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Size is that of the result for a picture of h x w.
func (p *Pipeline) Size(k Key, h, w int) (int, int, error) {
	t, err := p.Trace(k, h, w, nil)
	if err != nil {
		return 0, 0, err
	}
	oh, ow := t.size()
	return oh, ow, nil
}

// Mask moves a mask as its picture of h x w is moved: src, h x w elements of size bytes, to dst.
// Elements are taken as they are (the nearest one when resizing, as torchvision's for masks),
// padding is 0 and colours do not matter.
func (ws *Workspace) Mask(p *Pipeline, k Key, h, w, size int, dst, src []byte) error {
	t, err := p.Trace(k, h, w, ws.trace)
	if err != nil {
		return err
	}
	ws.trace = t.steps
	kept := t.steps[:0]
	for _, s := range t.steps {
		switch s.kind {
		case toBrighten, toContrast, toSaturate:
			continue
		case toResize:
			s.fast = false
			if s.filter != nearestExact {
				s.filter = nearest
			}
		}
		s.fill = nil
		kept = append(kept, s)
	}
	t.steps = kept
	j, err := ws.job(&Pipeline{dtype: tensor.Uint8}, &t, size, false)
	if err == nil {
		err = j.Into(dst)
	}
	if err != nil {
		return err
	}
	r := j.region
	return j.Deliver(src[(r.Y*w+r.X)*size:], w*size)
}

// BoxFormat is the meaning of the four numbers of a box.
type BoxFormat struct {
	// LTRB (left, top, right, bottom), LTWH (left, top, width, height) or CCWH (center, width,
	// height)
	Mode     string
	Fraction bool // of the picture's width and height, not pixels
}

// boxModes maps the names of modes to modes.
var boxModes = map[string]string{"LTRB": "LTRB", "LTWH": "LTWH", "CCWH": "CCWH", "XYXY": "LTRB", "XYWH": "LTWH", "CXCYWH": "CCWH"}

// ParseBoxMode reads a mode by its name here or in torchvision; no name is LTRB.
func ParseBoxMode(name string) (string, error) {
	if name == "" {
		return "LTRB", nil
	}
	if m, ok := boxModes[name]; ok {
		return m, nil
	}
	want := []string{"LTRB", "LTWH", "CCWH", "XYXY", "XYWH", "CXCYWH"}
	return "", errs.New(errs.Invalid, "box mode is %q (want one of %q)%s", name, want, errs.Suggest(name, want))
}

// Boxes transforms boxes in place with their picture of h x w. After every step they are clipped to
// the rest of the picture. A box outside keeps its position in the list and has no area.
func (ws *Workspace) Boxes(p *Pipeline, k Key, h, w int, f BoxFormat, d tensor.DType, data []byte) error {
	t, err := p.Trace(k, h, w, ws.trace)
	if err != nil {
		return err
	}
	ws.trace = t.steps
	oh, ow := t.size()
	size := d.Size()
	for at := 0; at+4*size <= len(data); at += 4 * size {
		var b [4]float64
		for i := range b {
			b[i] = get(d, data[at+i*size:])
		}
		b = toCorners(b, f, h, w)
		for i := range t.steps {
			inH, inW := t.before(i)
			b[0], b[1] = t.steps[i].point(b[0], b[1], inH, inW, 0)
			b[2], b[3] = t.steps[i].point(b[2], b[3], inH, inW, 0)
			if b[0] > b[2] {
				b[0], b[2] = b[2], b[0]
			}
			if b[1] > b[3] {
				b[1], b[3] = b[3], b[1]
			}
			for i2, most := range [4]float64{float64(t.steps[i].w), float64(t.steps[i].h), float64(t.steps[i].w), float64(t.steps[i].h)} {
				b[i2] = min(max(b[i2], 0), most)
			}
		}
		b = fromCorners(b, f, oh, ow)
		for i := range b {
			put(d, data[at+i*size:], b[i])
		}
	}
	return nil
}

// Least is the least side of a box in pixels, and its least area in square pixels.
type Least struct{ Size, Area float64 }

// Keep reports which boxes of data are at least so large, after Boxes. The rule is that of
// torchvision's SanitizeBoundingBoxes: both sides and the area reach the limits, and the box lies
// in the picture. float32 is computed in float32, as there.
func (p *Pipeline) Keep(k Key, h, w int, f BoxFormat, d tensor.DType, data []byte, least Least) ([]bool, error) {
	oh, ow, err := p.Size(k, h, w)
	if err != nil {
		return nil, err
	}
	size := d.Size()
	rounded := func(v float64) float64 {
		if d == tensor.Float32 {
			return float64(float32(v))
		}
		return v
	}
	keep := make([]bool, len(data)/(4*size))
	for i := range keep {
		var b [4]float64
		for c := range b {
			b[c] = get(d, data[(4*i+c)*size:])
		}
		b = toCorners(b, f, oh, ow)
		for c := range b {
			b[c] = rounded(b[c])
		}
		wide, high := rounded(b[2]-b[0]), rounded(b[3]-b[1])
		keep[i] = wide >= least.Size && high >= least.Size && rounded(wide*high) >= least.Area &&
			b[0] >= 0 && b[1] >= 0 && max(b[0], b[2]) <= float64(ow) && max(b[1], b[3]) <= float64(oh)
	}
	return keep, nil
}

// before returns the size of the input of step i.
func (t *Trace) before(i int) (h, w int) {
	if i == 0 {
		return t.h, t.w
	}
	return t.steps[i-1].h, t.steps[i-1].w
}

// point moves a point. unit is 1 where points lie on pixels, so that a flip brings the last to the
// first, and 0 where they lie between them.
func (s *step) point(x, y float64, inH, inW int, unit float64) (float64, float64) {
	switch s.kind {
	case toCrop:
		return x - float64(s.x), y - float64(s.y)
	case toPad:
		return x + float64(s.x), y + float64(s.y)
	case toResize:
		return x * (float64(s.w) / float64(inW)), y * (float64(s.h) / float64(inH))
	case toFlipX:
		return float64(s.w) - unit - x, y
	case toFlipY:
		return x, float64(s.h) - unit - y
	}
	return x, y
}

func toCorners(b [4]float64, f BoxFormat, h, w int) [4]float64 {
	if f.Fraction {
		b[0], b[1], b[2], b[3] = b[0]*float64(w), b[1]*float64(h), b[2]*float64(w), b[3]*float64(h)
	}
	switch f.Mode {
	case "LTWH":
		b[2], b[3] = b[0]+b[2], b[1]+b[3]
	case "CCWH":
		b = [4]float64{b[0] - b[2]/2, b[1] - b[3]/2, b[0] + b[2]/2, b[1] + b[3]/2}
	}
	return b
}

func fromCorners(b [4]float64, f BoxFormat, h, w int) [4]float64 {
	switch f.Mode {
	case "LTWH":
		b[2], b[3] = b[2]-b[0], b[3]-b[1]
	case "CCWH":
		b = [4]float64{(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]}
	}
	if f.Fraction {
		b[0], b[1], b[2], b[3] = b[0]/float64(w), b[1]/float64(h), b[2]/float64(w), b[3]/float64(h)
	}
	return b
}

// Points moves points in place as their picture of h x w is moved: of each row of the last axis of
// s the first two numbers, x and y. Points may come to lie outside; they are not clipped.
func (ws *Workspace) Points(p *Pipeline, k Key, h, w int, d tensor.DType, s tensor.Shape, data []byte) error {
	t, err := p.Trace(k, h, w, ws.trace)
	if err != nil {
		return err
	}
	ws.trace = t.steps
	size := d.Size()
	row := int(s[len(s)-1]) * size
	for at := 0; row >= 2*size && at+row <= len(data); at += row {
		x, y := t.point(get(d, data[at:]), get(d, data[at+size:]))
		put(d, data[at:], x)
		put(d, data[at+size:], y)
	}
	return nil
}

// Keypoints is Points for COCO's keypoints, (3 x keypoints, instances) of x, y and visibility. A
// keypoint that was not labelled (visibility 0) stays unchanged; one that comes to lie outside the
// picture gets visibility 0.
func (ws *Workspace) Keypoints(p *Pipeline, k Key, h, w int, d tensor.DType, s tensor.Shape, data []byte) error {
	t, err := p.Trace(k, h, w, ws.trace)
	if err != nil {
		return err
	}
	ws.trace = t.steps
	oh, ow := t.size()
	size, n := d.Size(), int(s[1])
	for i := 0; i+2 < int(s[0]); i += 3 {
		for c := range n {
			cell := func(r int) []byte { return data[((i+r)*n+c)*size:] }
			if get(d, cell(2)) == 0 {
				continue
			}
			x, y := t.point(get(d, cell(0)), get(d, cell(1)))
			put(d, cell(0), x)
			put(d, cell(1), y)
			if x < 0 || y < 0 || x >= float64(ow) || y >= float64(oh) {
				put(d, cell(2), 0)
			}
		}
	}
	return nil
}

func (t *Trace) point(x, y float64) (float64, float64) {
	for i := range t.steps {
		h, w := t.before(i)
		x, y = t.steps[i].point(x, y, h, w, 1)
	}
	return x, y
}

// get reads one number.
func get(d tensor.DType, b []byte) float64 {
	o := binary.NativeEndian
	switch d {
	case tensor.Uint8:
		return float64(b[0])
	case tensor.Int8:
		return float64(int8(b[0]))
	case tensor.Uint16:
		return float64(o.Uint16(b))
	case tensor.Int16:
		return float64(int16(o.Uint16(b)))
	case tensor.Uint32:
		return float64(o.Uint32(b))
	case tensor.Int32:
		return float64(int32(o.Uint32(b)))
	case tensor.Uint64:
		return float64(o.Uint64(b))
	case tensor.Int64:
		return float64(int64(o.Uint64(b)))
	case tensor.Float32:
		return float64(math.Float32frombits(o.Uint32(b)))
	}
	return math.Float64frombits(o.Uint64(b))
}

// put writes one number, rounded to the nearest where d has integers only, and not beyond what d
// holds.
func put(d tensor.DType, b []byte, v float64) {
	o := binary.NativeEndian
	switch d {
	case tensor.Float32:
		o.PutUint32(b, math.Float32bits(float32(v)))
		return
	case tensor.Float64:
		o.PutUint64(b, math.Float64bits(v))
		return
	}
	bits := 8 * d.Size()
	v = math.RoundToEven(v)
	signed := d == tensor.Int8 || d == tensor.Int16 || d == tensor.Int32 || d == tensor.Int64
	var n uint64
	if signed {
		n = uint64(int64(min(max(v, -math.Ldexp(1, bits-1)), math.Nextafter(math.Ldexp(1, bits-1), 0))))
	} else {
		n = uint64(min(max(v, 0), math.Nextafter(math.Ldexp(1, bits), 0)))
	}
	switch bits {
	case 8:
		b[0] = byte(n)
	case 16:
		o.PutUint16(b, uint16(n))
	case 32:
		o.PutUint32(b, uint32(n))
	default:
		o.PutUint64(b, n)
	}
}

// Numbers reports whether boxes and points may be of d.
func Numbers(d tensor.DType) bool {
	return d >= tensor.Uint8 && d <= tensor.Int64 || d == tensor.Float32 || d == tensor.Float64
}
