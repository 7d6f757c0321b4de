package transform

import (
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// The values and structs of packed.h.
const (
	passCopy uint32 = iota
	passGather
	passAcross
	passDown
	passBrighten
	passContrast
	passSaturate
)

const (
	resultUint8 uint32 = iota
	resultFloat32
	resultFloat16
	resultBFloat16
)

type packedJob struct {
	size, passes            uint32
	x, y, inWidth, inHeight uint32
	channels                uint32
	width, height           uint32
	form, planar            uint32
	means, constants        uint32
	scale                   float32
}

type packedPass struct {
	what                         uint32
	inWidth, inHeight            uint32
	width, height                uint32
	left, top                    uint32
	taps                         uint32
	columnsAt, rowsAt, weightsAt uint32
	sumAt                        uint32
	factor                       float32
	fill                         [maxFill]byte
	_                            uint32
}

const (
	jobSize  = int(unsafe.Sizeof(packedJob{}))
	passSize = int(unsafe.Sizeof(packedPass{}))
)

// Both are multiples of 8.
var _ = [1]struct{}{}[jobSize%8+passSize%8]

// Packed is a job that is written down for a device, which has the pixels of its Region. It is
// valid as long as the job.
type Packed struct {
	job    packedJob
	passes []pass
	means  []float32
	std    []float32
}

// pass is a pass with its tables.
type pass struct {
	packedPass
	columns, rows, weights []int32
}

// Pack returns the job for a device.
func (j *Job) Pack() (Packed, error) {
	p := Packed{job: packedJob{
		x: uint32(j.region.X), y: uint32(j.region.Y), inWidth: uint32(j.region.Width), inHeight: uint32(j.region.Height),
		channels: uint32(j.channels), width: uint32(j.w), height: uint32(j.h),
	}}
	w, h := j.region.Width, j.region.Height
	for i := range j.stages {
		s := &j.stages[i]
		if s.inW != w || s.inH != h || !s.fits() {
			return Packed{}, errs.New(errs.Internal, "pack step %d of a transform: it takes %d x %d pixels, there are %d x %d, or its tables lie outside of them", i, s.inH, s.inW, h, w)
		}
		p.add(s, j.channels)
		w, h = s.w, s.h
	}
	if len(p.passes) == 0 {
		p.pass(passCopy, w, h, w, h)
	}
	p.result(j.p)
	p.place()
	return p, nil
}

// Size returns the bytes of Write, a multiple of 8.
func (p *Packed) Size() int { return int(p.job.size) }

// pass appends a pass.
func (p *Packed) pass(what uint32, inW, inH, w, h int) *pass {
	p.passes = append(p.passes, pass{packedPass: packedPass{what: what,
		inWidth: uint32(inW), inHeight: uint32(inH), width: uint32(w), height: uint32(h)}})
	return &p.passes[len(p.passes)-1]
}

// add appends the passes of a stage.
func (p *Packed) add(s *stage, channels int) {
	switch {
	case s.kind == toResample && s.upright:
		p.down(s, s.inW)
		p.across(s, s.h)
	case s.kind == toResample && s.x.same && s.y.same:
		p.pass(passCopy, s.inW, s.inH, s.w, s.h)
	case s.kind == toResample:
		if !s.x.same {
			p.across(s, s.inH)
		}
		if !s.y.same {
			p.down(s, s.w)
		}
	case s.kind == toGather:
		g := p.pass(passGather, s.inW, s.inH, s.w, s.h)
		g.columns, g.rows = s.x.first, s.y.first
		g.fill = s.fill
	default:
		p.paint(s, channels)
	}
}

func (p *Packed) across(s *stage, h int) {
	a := p.pass(passAcross, s.inW, h, s.w, h)
	a.columns, a.weights, a.taps = s.x.first, s.x.weights, uint32(s.x.taps)
}

func (p *Packed) down(s *stage, w int) {
	d := p.pass(passDown, w, s.inH, w, s.h)
	d.rows, d.weights, d.taps = s.y.first, s.y.weights, uint32(s.y.taps)
}

// paint appends a change of colours. A picture without colours has no saturation.
func (p *Packed) paint(s *stage, channels int) {
	what := passBrighten
	switch {
	case s.paint == toContrast:
		what = passContrast
	case s.paint == toSaturate && channels == 3:
		what = passSaturate
	case s.paint == toSaturate:
		what = passCopy
	}
	c := p.pass(what, s.inW, s.inH, s.w, s.h)
	c.left, c.top, c.factor = uint32(s.ox), uint32(s.oy), s.factor
}

// result describes the dtype and layout of the result.
func (p *Packed) result(of *Pipeline) {
	if of.chw {
		p.job.planar = 1
	}
	switch {
	case of.floats == nil:
		p.job.form = resultUint8
	case of.dtype == tensor.Float16:
		p.job.form = resultFloat16
	case of.dtype == tensor.BFloat16:
		p.job.form = resultBFloat16
	default:
		p.job.form = resultFloat32
	}
	p.job.scale, p.means, p.std = of.affine[0], of.mean, of.std
}

// place gives everything its offset.
func (p *Packed) place() {
	at := jobSize + passSize*len(p.passes)
	next := func(bytes int) uint32 {
		from := at
		at += (bytes + 7) &^ 7
		return uint32(from)
	}
	for i := range p.passes {
		s := &p.passes[i]
		s.columnsAt, s.rowsAt = next(4*len(s.columns)), next(4*len(s.rows))
		s.weightsAt = next(4 * len(s.weights))
		if s.what == passContrast {
			s.sumAt = next(8)
		}
	}
	p.job.means = uint32(len(p.means))
	p.job.constants = next(4 * (len(p.means) + len(p.std)))
	p.job.passes = uint32(len(p.passes))
	p.job.size = uint32(at)
}

// Write writes the job to the front of dst, which has Size bytes at an address that is a multiple
// of 8.
func (p *Packed) Write(dst []byte) {
	base := unsafe.Pointer(unsafe.SliceData(dst[:p.Size()]))
	clear(dst[:p.Size()])
	*(*packedJob)(base) = p.job
	for i := range p.passes {
		s := &p.passes[i]
		*(*packedPass)(unsafe.Add(base, jobSize+i*passSize)) = s.packedPass
		write(base, s.columnsAt, s.columns)
		write(base, s.rowsAt, s.rows)
		write(base, s.weightsAt, s.weights)
	}
	write(base, p.job.constants, p.means)
	write(base, p.job.constants+uint32(4*len(p.means)), p.std)
}

func write[T int32 | float32](base unsafe.Pointer, at uint32, values []T) {
	copy(unsafe.Slice((*T)(unsafe.Add(base, at)), len(values)), values)
}

// fits reports whether a stage reads nothing but the pixels that go in.
func (s *stage) fits() bool {
	switch s.kind {
	case toGather:
		return s.x.fits(s.w, s.inW, false) && s.y.fits(s.h, s.inH, false)
	case toResample:
		return !(s.upright && s.x.same) && s.x.fits(s.w, s.inW, true) && s.y.fits(s.h, s.inH, true)
	}
	return s.ox >= 0 && s.oy >= 0 && s.w <= s.inW-s.ox && s.h <= s.inH-s.oy
}

// fits reports whether n samples of an axis read nothing but the size ones that go in. Without
// weights, negative positions stand for the fill.
func (a *axis) fits(n, size int, weighed bool) bool {
	if weighed && a.same {
		return n == size
	}
	taps := 1
	if weighed {
		taps = a.taps
	}
	if taps < 1 || taps > size || len(a.first) != n || weighed && len(a.weights) != n*taps {
		return false
	}
	for _, first := range a.first {
		if int(first) > size-taps || weighed && first < 0 {
			return false
		}
	}
	return true
}
