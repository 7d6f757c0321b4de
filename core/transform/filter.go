package transform

import "math"

// filter is a kernel of resizing.
type filter uint8

const (
	nearest filter = iota
	nearestExact
	bilinear
	bicubic
	box
	hamming
	lanczos
)

// filterNames are torchvision's, in the order of the constants.
var filterNames = []string{"nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos"}

func filterOf(name string) (filter, bool) {
	for i, n := range filterNames {
		if n == name {
			return filter(i), true
		}
	}
	return 0, false
}

func (f filter) support() float64 {
	switch f {
	case box:
		return 0.5
	case bicubic:
		return 2
	case lanczos:
		return 3
	}
	return 1
}

// at is the kernel at x, whose sum over the samples need not be 1.
func (f filter) at(x float64) float64 {
	switch f {
	case bilinear:
		if x = math.Abs(x); x < 1 {
			return 1 - x
		}
	case box:
		if x > -0.5 && x <= 0.5 {
			return 1
		}
	case bicubic:
		return cubic(math.Abs(x))
	case hamming:
		if x = math.Abs(x); x == 0 {
			return 1
		} else if x < 1 {
			x *= math.Pi
			return math.Sin(x) / x * (0.54 + float64(0.46*math.Cos(x)))
		}
	case lanczos:
		if -3 <= x && x < 3 {
			return sinc(x) * sinc(x/3)
		}
	}
	return 0
}

// cubic is Keys' kernel with a = -0.5.
func cubic(x float64) float64 {
	const a = -0.5
	switch {
	case x < 1:
		return float64(float64((float64((a+2)*x)-(a+3))*x)*x) + 1
	case x < 2:
		return (float64((float64((x-5)*x)+8)*x) - 4) * a
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// precision is the number of fraction bits of a weight: 8 bits of pixel and 2 of overshoot fit
// beside it.
const precision = 32 - 8 - 2

// axis says how to make the samples of one direction: sample i is the weighted sum of those from
// first[i], taps weights at weights[i*taps], the unused ones 0. Without weights it is sample
// first[i] itself, -1 for none.
type axis struct {
	first   []int32
	weights []int32
	taps    int
	same    bool // samples do not change: nothing to do
}

// span is a range of positions along an axis.
type span struct{ from, to int }

func (s span) size() int { return s.to - s.from }

// grid is a mapping of n samples onto [lo, hi) of an axis, of which the samples in [clip.from,
// clip.to) exist.
type grid struct {
	n      int
	lo, hi float64
	clip   span
}

// reach is a filter laid over a grid: what all of its samples have in common, since divisions take
// most of the time.
type reach struct {
	filter
	lo, scale float64 // sample i has its center at lo + (i + 0.5) * scale
	support   float64 // and needs samples within this distance
	inverse   float64 // factor from distances to those of the filter
	clip      span
}

func (g *grid) reach(f filter) reach {
	scale := (g.hi - g.lo) / float64(g.n)
	return reach{filter: f, lo: g.lo, scale: scale, support: f.support() * max(scale, 1), inverse: 1 / max(scale, 1), clip: g.clip}
}

func (r *reach) center(i int) float64 { return r.lo + float64((float64(i)+0.5)*r.scale) }

// window returns the input that sample i needs, without regard to other samples.
func (r *reach) window(i int) span {
	center := r.center(i)
	from := max(int(center-r.support+0.5), r.clip.from)
	return span{from, max(min(int(center+r.support+0.5), r.clip.to), from)}
}

// weigh fills in the weights of sample i over w.
func (r *reach) weigh(i int, w span, out []int32, real []float64) {
	center, inverse := r.center(i), r.inverse
	sum := 0.0
	real = real[:w.size()]
	if r.filter == bilinear { // by far the most frequent one; the values are those of at
		for k := range real {
			v := max(1-math.Abs((float64(k+w.from)-center+0.5)*inverse), 0)
			real[k] = v
			sum += v
		}
	} else {
		for k := range real {
			v := r.at((float64(k+w.from) - center + 0.5) * inverse)
			real[k] = v
			sum += v
		}
	}
	for k, v := range real {
		if sum != 0 && sum != 1 {
			v /= sum
		}
		v *= 1 << precision
		if v < 0 {
			out[k] = int32(v - 0.5)
		} else {
			out[k] = int32(v + 0.5)
		}
	}
}

// pick is the sample that the nearest-neighbour filters take, in single precision as torch computes
// it.
func pick(f filter, i, n, size int) int {
	scale := float32(size) / float32(n)
	at := float32(i)
	if f == nearestExact {
		at += 0.5
	}
	return min(int(float32(at*scale)), size-1)
}
