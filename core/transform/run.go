package transform

import (
	"encoding/binary"
	"math"
)

// run does the work in Go. The C code does the same, operation by operation.
func (j *Job) run(pix []byte, stride int) {
	ws, c := j.space, j.channels
	plain := j.plain()
	for i := range j.stages {
		s := &j.stages[i]
		out := j.dst
		if !plain || i < len(j.stages)-1 {
			ws.pixels[i%2] = grow(ws.pixels[i%2], s.h*s.w*c)
			out = ws.pixels[i%2]
		}
		switch s.kind {
		case toGather:
			s.gather(out, pix, stride, c)
		case toResample:
			s.resample(out, pix, stride, c, ws)
		case toPaint:
			s.color(out, pix, stride, c)
		}
		pix, stride = out, s.w*c
	}
	switch {
	case !plain:
		j.pack(pix, stride)
	case len(j.stages) == 0:
		for y := range j.h {
			copy(j.dst[y*j.w*c:][:j.w*c], pix[y*stride:])
		}
	}
}

func (s *stage) gather(out, pix []byte, stride, c int) {
	for y := range s.h {
		row := out[y*s.w*c:][:s.w*c]
		from := s.y.first[y]
		for x := range s.w {
			at := s.x.first[x]
			if from < 0 || at < 0 {
				for k := range c {
					row[x*c+k] = s.fill[k%maxFill]
				}
				continue
			}
			copy(row[x*c:][:c], pix[int(from)*stride+int(at)*c:])
		}
	}
}

func clamp(v int32) byte {
	v >>= precision
	return byte(min(max(v, 0), 255))
}

func (s *stage) resample(out, pix []byte, stride, c int, ws *Workspace) {
	if s.upright {
		ws.pixels[2] = grow(ws.pixels[2], s.h*s.inW*c)
		for y := range s.h {
			s.y.down(ws.pixels[2][y*s.inW*c:][:s.inW*c], pix[int(s.y.first[y])*stride:], stride, y)
		}
		for y := range s.h {
			s.x.across(out[y*s.w*c:][:s.w*c], ws.pixels[2][y*s.inW*c:], c)
		}
		return
	}
	if !s.x.same {
		to := out
		if !s.y.same {
			ws.pixels[2] = grow(ws.pixels[2], s.inH*s.w*c)
			to = ws.pixels[2]
		}
		for y := range s.inH {
			s.x.across(to[y*s.w*c:][:s.w*c], pix[y*stride:], c)
		}
		if s.y.same {
			return
		}
		pix, stride = to, s.w*c
	}
	for y := range s.h {
		row := out[y*s.w*c:][:s.w*c]
		if s.y.same {
			copy(row, pix[y*stride:])
			continue
		}
		s.y.down(row, pix[int(s.y.first[y])*stride:], stride, y)
	}
}

// across makes one row of another.
func (a *axis) across(out, in []byte, c int) {
	for x, first := range a.first {
		w := a.weights[x*a.taps:][:a.taps]
		for k := range c {
			sum := int32(1) << (precision - 1)
			for t, v := range w {
				if v != 0 {
					sum += int32(in[(int(first)+t)*c+k]) * v
				}
			}
			out[x*c+k] = clamp(sum)
		}
	}
}

// down makes row y of the rows that begin at in.
func (a *axis) down(out, in []byte, stride, y int) {
	w := a.weights[y*a.taps:][:a.taps]
	for x := range out {
		sum := int32(1) << (precision - 1)
		for t, v := range w {
			if v != 0 {
				sum += int32(in[t*stride+x]) * v
			}
		}
		out[x] = clamp(sum)
	}
}

// color changes brightness, contrast or saturation as torchvision does: in single precision, cut
// off to bytes.
func (s *stage) color(out, pix []byte, stride, c int) {
	if s.paint == toSaturate {
		s.saturate(out, pix, stride, c)
		return
	}
	add := float32(0)
	if s.paint == toContrast {
		add = float32(s.mean(pix, stride, c) * float32(1-float64(s.factor)))
	}
	var table [256]byte
	for v := range table {
		table[v] = cut(float32(float32(v)*s.factor) + add)
	}
	for y := range s.h {
		in := pix[(y+s.oy)*stride+s.ox*c:]
		for x := range s.w * c {
			out[y*s.w*c+x] = table[in[x]]
		}
	}
}

func cut(v float32) byte { return byte(min(max(v, 0), 255)) }

// luma is torchvision's gray value of a pixel, a whole number.
func luma(p []byte) float32 {
	v := float32(float32(p[0]) * 0.2989)
	v += float32(float32(p[1]) * 0.587)
	v += float32(float32(p[2]) * 0.114)
	return float32(int32(v))
}

func (s *stage) mean(pix []byte, stride, c int) float32 {
	sum := 0.0
	for y := range s.inH {
		row := pix[y*stride:]
		for x := range s.inW {
			if c == 3 {
				sum += float64(luma(row[3*x:]))
			} else {
				sum += float64(row[x])
			}
		}
	}
	return float32(sum / (float64(s.inH) * float64(s.inW)))
}

func (s *stage) saturate(out, pix []byte, stride, c int) {
	rest := float32(1 - float64(s.factor))
	for y := range s.h {
		in, to := pix[y*stride:], out[y*s.w*c:][:s.w*c]
		if c != 3 {
			copy(to, in)
			continue
		}
		for x := 0; x < len(to); x += 3 {
			gray := float32(luma(in[x:]) * rest)
			for k := range 3 {
				to[x+k] = cut(float32(float32(in[x+k])*s.factor) + gray)
			}
		}
	}
}

// pack brings bytes to the dtype and layout of the result.
func (j *Job) pack(pix []byte, stride int) {
	c, size := j.channels, j.p.dtype.Size()
	for y := range j.h {
		for x := range j.w {
			for k := range c {
				v := pix[y*stride+x*c+k]
				at := (y*j.w+x)*c + k
				if j.p.chw {
					at = (k*j.h+y)*j.w + x
				}
				entry := int(v)
				if len(j.p.mean) > 1 {
					entry += 256 * k
				}
				switch {
				case j.p.floats == nil:
					j.dst[at] = v
				case j.p.halves != nil:
					binary.NativeEndian.PutUint16(j.dst[at*size:], j.p.halves[entry])
				default:
					putFloat(j.dst[at*size:], j.p.floats[entry])
				}
			}
		}
	}
}

func putFloat(to []byte, v float32) { binary.NativeEndian.PutUint32(to, math.Float32bits(v)) }
