package annotations

import (
	"math"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// maxMask bounds the pixels of the masks of one picture, of all its objects.
const maxMask = 1 << 30

// masks sets a mask of the size of the picture for each object, on the third axis.
func (r *Row) masks(name string, p Picture, outlines [][]float32, runs []*rle) error {
	n := int64(len(outlines))
	if p.Width <= 0 || p.Height <= 0 || n > maxMask/p.Width/p.Height {
		return errs.New(errs.Invalid, "%d masks of %d x %d pixels, want at most %d pixels", n, p.Width, p.Height, maxMask)
	}
	data := make([]byte, p.Width*p.Height*n)
	one := make([]bool, p.Width*p.Height) // column by column
	for i, xy := range outlines {
		clear(one)
		if runs != nil && runs[i] != nil {
			if runs[i].width != p.Width || runs[i].height != p.Height {
				return errs.New(errs.Invalid, "a mask has %d x %d pixels, and the picture %d x %d", runs[i].width, runs[i].height, p.Width, p.Height)
			}
			if err := runs[i].paint(one); err != nil {
				return err
			}
		} else {
			for part := range parts(xy) {
				fill(one, part, p.Width, p.Height)
			}
		}
		at := int64(i)
		for y := range p.Height {
			for x := range p.Width {
				if one[x*p.Height+y] {
					data[at] = 1
				}
				at += n
			}
		}
	}
	r.array(name, tensor.Bool, tensor.Shape{p.Height, p.Width, n}, data)
	return nil
}

// parts yields the parts of an outline, between points of NaN.
func parts(xy []float32) func(yield func([]float32) bool) {
	return func(yield func([]float32) bool) {
		from := 0
		for i := 0; i+1 < len(xy); i += 2 {
			if xy[i] == xy[i] {
				continue
			}
			if i > from && !yield(xy[from:i]) {
				return
			}
			from = i + 2
		}
		if from < len(xy) {
			yield(xy[from:])
		}
	}
}

// finer is the number of steps within a pixel at which outlines are followed.
const finer = 5

// fill adds the pixels within a polygon to a mask that lies column by column. Its pixels are those
// that pycocotools gives: the outline is followed in steps of a fifth of a pixel, and each time it
// passes the middle of a column, all pixels below it in that column change sides.
func fill(mask []bool, xy []float32, width, height int64) {
	n := len(xy) / 2
	if n == 0 || width <= 0 || height <= 0 {
		return
	}
	at := func(i int) (x, y int64) {
		i %= n
		return step(xy[2*i], width), step(xy[2*i+1], height)
	}
	// turns[i] says whether pixels from i on change sides. The next column follows the last row.
	turns := make([]bool, width*height+1)
	var lastX, lastY int64
	seen := false
	pass := func(x, y int64) {
		if seen && x != lastX {
			left := x
			if x > lastX {
				left = x - 1
			}
			middle := (float64(left)+.5)/finer - .5
			if middle == math.Floor(middle) && middle >= 0 && middle <= float64(width-1) {
				row := math.Ceil(min(max((float64(min(y, lastY))+.5)/finer-.5, 0), float64(height)))
				i := int64(middle)*height + int64(row)
				turns[i] = !turns[i]
			}
		}
		lastX, lastY, seen = x, y, true
	}
	for i := range n {
		x0, y0 := at(i)
		x1, y1 := at(i + 1)
		line(x0, y0, x1, y1, pass)
	}
	inside := false
	for i := range mask {
		inside = inside != turns[i]
		mask[i] = mask[i] || inside
	}
}

// step returns a coordinate in steps. Those far outside of the picture are brought near: memory and
// time are bounded by the size of the picture.
func step(v float32, size int64) int64 {
	far := float64(size) + 64
	return int64(finer*min(max(decimal(v), -far), far+float64(size)) + .5)
}

// decimal returns the number with the fewest digits that float32 stores as v. Files have decimal
// numbers, and the middle between two steps is one: the neighbour of 2.1 would take the other.
func decimal(v float32) float64 {
	exact := float64(v)
	for scale := 1.0; scale <= 1e6; scale *= 10 {
		if near := math.Round(exact*scale) / scale; float32(near) == v {
			return near
		}
	}
	return exact
}

// line passes over the points between two points, from the first to the second.
func line(x0, y0, x1, y1 int64, pass func(x, y int64)) {
	dx, dy := abs(x1-x0), abs(y1-y0)
	if dx >= dy {
		// The slope is taken from left to right, so that both directions pass the same points.
		left, top, slope := x0, y0, 0.0
		if x0 > x1 {
			left, top = x1, y1
		}
		if dx > 0 {
			slope = float64(y0+y1-2*top) / float64(dx)
		}
		for d := range dx + 1 {
			t := d
			if x0 > x1 {
				t = dx - d
			}
			pass(left+t, int64(float64(top)+slope*float64(t)+.5))
		}
		return
	}
	top, left := y0, x0
	if y0 > y1 {
		top, left = y1, x1
	}
	slope := float64(x0+x1-2*left) / float64(dy)
	for d := range dy + 1 {
		t := d
		if y0 > y1 {
			t = dy - d
		}
		pass(int64(float64(left)+slope*float64(t)+.5), top+t)
	}
}

func abs(v int64) int64 { return max(v, -v) }
