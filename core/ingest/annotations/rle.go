package annotations

import (
	"deeplake/core/errs"
)

// rle is a mask as COCO stores it: the lengths of runs of pixels outside and inside in turn, column
// by column, in groups of five bits.
type rle struct {
	width, height int64
	counts        string
}

// maxRuns bounds the runs of a mask.
const maxRuns = 1 << 26

// encodeRuns returns runs as text: from the third on, differences to the run two before.
func encodeRuns(runs []int64) string {
	out := make([]byte, 0, 2*len(runs))
	for i, n := range runs {
		if i > 2 {
			n -= runs[i-2]
		}
		for {
			c := byte(n & 0x1f)
			n >>= 5
			more := n != 0
			if c&0x10 != 0 {
				more = n != -1
			}
			if more {
				c |= 0x20
			}
			out = append(out, c+48)
			if !more {
				break
			}
		}
	}
	return string(out)
}

// each calls fn for the runs. Their sum is that of the picture's pixels.
func (r *rle) each(fn func(n int64)) error {
	pixels := r.width * r.height
	var before [2]int64
	total := int64(0)
	at := 0
	for i := 0; at < len(r.counts); i++ {
		n, shift := int64(0), 0
		for more := true; more; {
			if at == len(r.counts) || shift > 40 {
				return errs.New(errs.Corrupt, "the runs of its mask are cut")
			}
			c := int64(r.counts[at]) - 48
			if c < 0 || c > 63 {
				return errs.New(errs.Corrupt, "the runs of its mask have byte %q", r.counts[at])
			}
			n |= (c & 0x1f) << shift
			shift += 5
			at++
			if more = c&0x20 != 0; !more && c&0x10 != 0 {
				n |= -1 << shift
			}
		}
		if i > 2 {
			n += before[i%2]
		}
		before[i%2] = n
		if total += n; n < 0 || total > pixels {
			return errs.New(errs.Corrupt, "run %d of its mask has %d pixels, and the mask %d x %d", i, n, r.width, r.height)
		}
		fn(n)
	}
	if total != pixels {
		return errs.New(errs.Corrupt, "the runs of its mask have %d pixels, want %d x %d", total, r.width, r.height)
	}
	return nil
}

// bounds returns left, top, width and height of the pixels inside.
func (r *rle) bounds() [4]float32 {
	left, top, right, bottom := r.width, r.height, int64(0), int64(0)
	at, inside := int64(0), false
	_ = r.each(func(n int64) {
		if inside && n > 0 {
			x0, y0, x1, y1 := at/r.height, at%r.height, (at+n-1)/r.height, (at+n-1)%r.height
			if x1 > x0 {
				y0, y1 = 0, r.height-1
			}
			left, top, right, bottom = min(left, x0), min(top, y0), max(right, x1+1), max(bottom, y1+1)
		}
		at += n
		inside = !inside
	})
	if right == 0 {
		return [4]float32{}
	}
	return [4]float32{float32(left), float32(top), float32(right - left), float32(bottom - top)}
}

// paint sets the pixels of a mask that lies column by column.
func (r *rle) paint(mask []bool) error {
	at, inside := int64(0), false
	return r.each(func(n int64) {
		if inside {
			for i := range n {
				mask[at+i] = true
			}
		}
		at += n
		inside = !inside
	})
}
