package color

import "deeplake/core/media"

// plain is the conversion as the package comment writes it, one pixel after the other.
func plain(dst []byte, stride int, p *media.Picture, j *job) {
	bits := int(j.layout.Bits)
	for y := range p.Height {
		for x := range p.Width {
			v := j.product((j.number(p, 0, x, y)-j.black)<<(15-bits), j.ky)
			var cb, cr int
			if j.layout.Model != media.Gray {
				cb, cr = j.between(p, 0, x, y)<<(12-bits), j.between(p, 1, x, y)<<(12-bits)
			}
			to := dst[y*stride+3*x:][:3]
			to[0] = finish(v + j.product(cr, j.krv))
			to[1] = finish(v + j.product(cb, j.kgu) + j.product(cr, j.kgv))
			to[2] = finish(v + j.product(cb, j.kbu))
		}
	}
}

// green converts pictures of green, blue and red.
func (j *job) green(dst []byte, stride int, p *media.Picture) {
	shift := 15 - int(j.layout.Bits)
	for y := range p.Height {
		for x := range p.Width {
			to := dst[y*stride+3*x:][:3]
			for i, plane := range [3]int{2, 0, 1} {
				to[i] = finish(j.product(j.number(p, plane, x, y)<<shift, j.ky))
			}
		}
	}
}

func (j *job) product(a, k int) int { return (a*k + 1<<14) >> 15 }

func finish(v int) byte { return byte(min(max((v+32)>>6, 0), 255)) }

// number is number x of row y of a plane.
func (j *job) number(p *media.Picture, plane, x, y int) int {
	row := p.Planes[plane][y*p.Strides[plane]:]
	if j.layout.Bits == 8 {
		return int(row[x])
	}
	return min(int(row[2*x])|int(row[2*x+1])<<8, j.maxSample)
}

// between is 16 times Cb or Cr, which are 0 and 1, at a pixel.
func (j *job) between(p *media.Picture, which, x, y int) int {
	k, line := j.across.sample(x), j.down.sample(y)
	var left, at, right int
	for i, weight := range three(j.down.weights(y)) {
		r := min(max(line+i-1, 0), j.rows-1)
		left += weight * j.color(p, which, max(k-1, 0), r)
		at += weight * j.color(p, which, k, r)
		right += weight * j.color(p, which, min(k+1, j.columns-1), r)
	}
	before, same, after := j.across.weights(x)
	return before*left + same*at + after*right
}

// color is a sample of Cb or Cr less half of the range.
func (j *job) color(p *media.Picture, which, k, r int) int {
	middle := 1 << (j.layout.Bits - 1)
	if j.layout.Model == media.NV12 {
		return j.number(p, 1, 2*k+which, r) - middle
	}
	return j.number(p, 1+which, k, r) - middle
}

func three(a, b, c int) [3]int { return [3]int{a, b, c} }
