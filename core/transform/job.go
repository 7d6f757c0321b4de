package transform

import (
	"deeplake/core/errs"
)

// Region is the part of a picture that a job needs, in pixels of the picture after Shrink.
type Region struct {
	X, Y, Width, Height int
	Downscale           int  // the picture in this fraction of its size
	Fast                bool // other pixels will do where that is faster
}

// Job is one picture on its way: which part of it is needed, and what becomes of that. It is valid
// until the workspace that made it is reset.
type Job struct {
	region   Region
	stages   []stage // in the order of the work
	channels int
	h, w     int // of the result
	p        *Pipeline
	dst      []byte
	space    *Workspace
	native   native
}

// Region returns the part of the picture that Take needs.
func (j *Job) Region() Region { return j.region }

// stageKind is the kind of a stage.
type stageKind uint8

const (
	toGather   stageKind = iota // each pixel is one of before, or the fill
	toResample                  // each pixel is a weighted sum
	toPaint                     // the colours change
)

// stage makes pixels of pixels: the rectangle that the next stage needs of the one that it needs
// itself.
type stage struct {
	kind     stageKind
	paint    kind
	inH, inW int
	h, w     int
	oy, ox   int // paint: position of the result in the input
	factor   float32
	fill     [maxFill]byte
	x, y     axis
	upright  bool // resample, both axes: rows first, which is less work
}

// rect is a part of a picture.
type rect struct{ x, y span }

func whole(h, w int) rect { return rect{x: span{0, w}, y: span{0, h}} }

// job compiles a trace for a picture of channels: from the last step to the first, each says which
// rectangle it needs of the one before.
func (ws *Workspace) job(p *Pipeline, t *Trace, channels int, shrinks bool) (*Job, error) {
	j := ws.newJob()
	h, w := t.size()
	if t.h < 1 || t.w < 1 || t.h > maxSide || t.w > maxSide || channels < 1 {
		return nil, errs.New(errs.Type, "transform a picture of %d x %d pixels and %d bytes each, want sides of 1 to %d", t.h, t.w, channels, maxSide)
	}
	*j = Job{channels: channels, h: h, w: w, p: p, space: ws, region: Region{Downscale: 1}}
	steps := t.steps
	first, quick := shrunk(t, shrinks)
	if quick != nil {
		j.region.Fast = true
		j.region.Downscale = quick.downscale
		steps = steps[first:]
	}
	need := whole(h, w)
	var err error
	ws.found = ws.found[:0]
	for i := len(steps) - 1; i >= 0; i-- {
		inH, inW := t.h, t.w
		if i > 0 {
			inH, inW = steps[i-1].h, steps[i-1].w
		}
		s := &steps[i]
		var flipX, flipY bool
		for i > 0 && (s.kind == toFlipX || s.kind == toFlipY) && resizesBefore(steps[:i]) {
			// The weights in reverse order flip for nothing.
			flipX, flipY = flipX != (s.kind == toFlipX), flipY != (s.kind == toFlipY)
			need = flipped(need, s)
			i--
			s = &steps[i]
			inH, inW = t.h, t.w
			if i > 0 {
				inH, inW = steps[i-1].h, steps[i-1].w
			}
		}
		if s.kind == toCrop {
			need = rect{x: span{need.x.from + s.x, need.x.to + s.x}, y: span{need.y.from + s.y, need.y.to + s.y}}
			continue
		}
		st := stage{kind: toGather, h: need.y.size(), w: need.x.size(), factor: s.factor}
		switch s.kind {
		case toResize:
			gx, gy := grid{n: s.w, hi: float64(inW), clip: span{0, inW}}, grid{n: s.h, hi: float64(inH), clip: span{0, inH}}
			if quick != nil && i == 0 {
				gx, gy = quick.x, quick.y
				gx.n, gy.n = s.w, s.h
			}
			need, err = ws.resize(&st, s.filter, gx, gy, need, flipX, flipY)
		case toFlipX, toFlipY:
			in := flipped(need, s)
			if st.x, err = ws.through(need.x, s.kind == toFlipX); err == nil {
				st.y, err = ws.through(need.y, s.kind == toFlipY)
			}
			need = in
		case toPad:
			need, err = ws.padded(&st, s, need, inH, inW, channels)
		default:
			st.kind, st.paint = toPaint, s.kind
			if s.kind == toContrast { // its mean is that of the whole picture
				st.oy, st.ox = need.y.from, need.x.from
				need = whole(inH, inW)
			}
		}
		if err != nil {
			return nil, err
		}
		st.inH, st.inW = need.y.size(), need.x.size()
		ws.found = append(ws.found, st)
	}
	j.region.X, j.region.Y, j.region.Width, j.region.Height = need.x.from, need.y.from, need.x.size(), need.y.size()
	j.stages = ws.stages(ws.found)
	return j, j.bounded()
}

// Into says where Deliver puts the result.
func (j *Job) Into(dst []byte) error {
	if want := int64(j.h) * int64(j.w) * int64(j.channels) * int64(j.p.dtype.Size()); int64(len(dst)) != want {
		return errs.New(errs.Internal, "transform a picture into %d bytes, want %d", len(dst), want)
	}
	j.dst = dst
	return j.space.ready(j)
}

// maxBetween bounds the pixels between two steps, of which up to three pictures are held.
const maxBetween = 2 << 30

// bounded refuses a job that would hold more than that. What the spec says of sizes is not enough
// to tell: often only a small part of a large picture is made.
func (j *Job) bounded() error {
	for i := range j.stages {
		s := &j.stages[i]
		h, w := s.h, s.w
		if s.kind == toResample { // the picture in the middle is as high or as wide as the input
			if s.upright {
				w += s.inW
			} else {
				h = max(h, s.inH)
			}
		} else if i == len(j.stages)-1 && j.plain() {
			continue // straight into the result
		}
		if n := int64(h) * int64(w) * int64(j.channels); n > maxBetween {
			return errs.New(errs.Type, "a picture of %d x %d pixels and %d channels between two steps would take %d bytes, want at most %d; crop or resize to less before",
				s.h, s.w, j.channels, n, int64(maxBetween))
		}
	}
	return nil
}

// plain reports whether the result is the output of the last stage, byte by byte.
func (j *Job) plain() bool { return j.p.floats == nil && (!j.p.chw || j.channels == 1) }

func resizesBefore(steps []step) bool {
	for k := len(steps) - 1; k >= 0; k-- {
		switch steps[k].kind {
		case toFlipX, toFlipY:
		case toResize:
			return steps[k].filter > nearestExact
		default:
			return false
		}
	}
	return false
}

// flipped returns the region that a flip needs for r.
func flipped(r rect, s *step) rect {
	if s.kind == toFlipX {
		r.x = span{s.w - r.x.to, s.w - r.x.from}
	} else {
		r.y = span{s.h - r.y.to, s.h - r.y.from}
	}
	return r
}

// quickening is how a picture that is decoded smaller is resized.
type quickening struct {
	downscale int
	x, y      grid
}

// shrunk finds whether a trace begins with crops and a fast resize to so much less that the decoder
// may shrink, and which step that resize is.
func shrunk(t *Trace, shrinks bool) (int, *quickening) {
	x, y, h, w := 0, 0, t.h, t.w
	for i := range t.steps {
		s := &t.steps[i]
		if s.kind == toCrop {
			x, y, h, w = x+s.x, y+s.y, s.h, s.w
			continue
		}
		if s.kind != toResize || !s.fast || s.filter <= nearestExact || !shrinks {
			return 0, nil
		}
		by := 8
		for by > 1 && (w < s.w*by || h < s.h*by) {
			by /= 2
		}
		part := func(at, n, side int) grid {
			return grid{lo: float64(at) / float64(by), hi: float64(at+n) / float64(by),
				clip: span{at / by, min((at+n+by-1)/by, (side+by-1)/by)}}
		}
		return i, &quickening{downscale: by, x: part(x, w, t.w), y: part(y, h, t.h)}
	}
	return 0, nil
}

// resize fills in a stage that resizes, and says what it needs.
func (ws *Workspace) resize(st *stage, f filter, gx, gy grid, need rect, flipX, flipY bool) (in rect, err error) {
	if f <= nearestExact {
		if st.x, in.x, err = ws.picked(f, need.x, gx.n, gx.clip.to); err == nil {
			st.y, in.y, err = ws.picked(f, need.y, gy.n, gy.clip.to)
		}
		return in, err
	}
	st.kind = toResample
	if st.x, in.x, err = ws.weighed(f, need.x, gx, flipX); err != nil {
		return in, err
	}
	if st.y, in.y, err = ws.weighed(f, need.y, gy, flipY); err != nil {
		return in, err
	}
	// The rule of Pillow 13. Which pass is first shows in the pixels, by one or two.
	narrower, lower := gx.hi-gx.lo-float64(gx.n), gy.hi-gy.lo-float64(gy.n)
	st.upright = lower > 0 && lower > 2*narrower && !st.x.same
	return in, nil
}

// weighed makes the weights of positions need of an axis.
func (ws *Workspace) weighed(f filter, need span, g grid, flip bool) (axis, span, error) {
	if !flip && g.lo == 0 && g.hi == float64(g.n) && g.clip == (span{0, g.n}) {
		return axis{same: true}, need, nil
	}
	begin, step := need.from, 1
	if flip {
		begin, step = g.n-1-need.from, -1
	}
	n, r := need.size(), g.reach(f)
	all, taps := span{g.clip.to, g.clip.from}, 0
	ws.windows = ws.windows[:0]
	for k := range n {
		w := r.window(begin + k*step)
		if w.size() == 0 { // beside the clip: cannot be, but a picture of nothing would be read
			w = span{min(w.from, g.clip.to-1), min(w.from, g.clip.to-1) + 1}
		}
		all, taps = span{min(all.from, w.from), max(all.to, w.to)}, max(taps, w.size())
		ws.windows = append(ws.windows, w)
	}
	a, err := ws.axis(n, taps)
	if err != nil {
		return a, all, err
	}
	clear(a.weights)
	if len(ws.real) < taps {
		ws.real = make([]float64, taps)
	}
	if !a.layFast(&r, ws.windows, begin, step, all) {
		a.lay(&r, ws.windows, begin, step, all, ws.real)
	}
	return a, all, nil
}

// lay fills in first and weights, which are 0. Windows are those of positions begin, begin+step,
// ...; all is their union.
func (a *axis) lay(r *reach, windows []span, begin, step int, all span, real []float64) {
	for k, w := range windows {
		// All taps lie within the input: near the end the window moves back, and its weights move
		// with it.
		from := min(w.from, all.to-a.taps)
		r.weigh(begin+k*step, w, a.weights[k*a.taps+w.from-from:], real)
		a.first[k] = int32(from - all.from)
	}
}

// picked makes the positions of a nearest-neighbour filter.
func (ws *Workspace) picked(f filter, need span, n, size int) (axis, span, error) {
	in := span{pick(f, need.from, n, size), pick(f, need.to-1, n, size) + 1}
	a, err := ws.axis(need.size(), 0)
	if err != nil {
		return a, in, err
	}
	for k := range a.first {
		a.first[k] = int32(pick(f, need.from+k, n, size) - in.from)
	}
	return a, in, nil
}

// through makes positions that are those of before, or all in reverse.
func (ws *Workspace) through(need span, flip bool) (axis, error) {
	a, err := ws.axis(need.size(), 0)
	if err != nil {
		return a, err
	}
	for k := range a.first {
		a.first[k] = int32(k)
		if flip {
			a.first[k] = int32(need.size() - 1 - k)
		}
	}
	return a, nil
}

// padded fills in a stage that pads.
func (ws *Workspace) padded(st *stage, s *step, need rect, inH, inW, channels int) (in rect, err error) {
	for c := range min(channels, maxFill) {
		if len(s.fill) > 0 {
			st.fill[c] = byte(s.fill[min(c, len(s.fill)-1)])
		}
	}
	if st.x, in.x, err = ws.mirrored(s.mode, need.x, s.x, inW); err == nil {
		st.y, in.y, err = ws.mirrored(s.mode, need.y, s.y, inH)
	}
	return in, err
}

// mirrored finds the sources of positions behind a padding of before.
func (ws *Workspace) mirrored(mode byte, need span, before, n int) (axis, span, error) {
	in := span{n, 0}
	a, err := ws.axis(need.size(), 0)
	if err != nil {
		return a, in, err
	}
	for k := range a.first {
		at := need.from + k - before
		switch {
		case at >= 0 && at < n:
		case mode == 'e':
			at = min(max(at, 0), n-1)
		case mode == 'r' && at < 0:
			at = -at
		case mode == 'r':
			at = 2*(n-1) - at
		case mode == 'y' && at < 0:
			at = -1 - at
		case mode == 'y':
			at = 2*n - 1 - at
		default:
			a.first[k] = -1
			continue
		}
		a.first[k] = int32(at)
		in = span{min(in.from, at), max(in.to, at+1)}
	}
	if in.from >= in.to { // nothing but padding: some pixel is read for nothing
		return a, span{0, 1}, nil
	}
	for k := range a.first {
		if a.first[k] >= 0 {
			a.first[k] -= int32(in.from)
		}
	}
	return a, in, nil
}
