package color

import (
	"deeplake/core/errs"
	"deeplake/core/media"
)

// tile is the side of the squares that are turned at a time, so that they stay in the cache.
const tile = 32

// Turn writes an RGB picture of width x height pixels turned clockwise by quarters of a turn, of
// which negative ones turn the other way. The target of an odd number is height x width. Strides
// are bytes from row to row; source and target do not overlap.
func Turn(dst []byte, dstStride int, src []byte, srcStride, width, height, turns int) error {
	op := errs.Op("turn picture", "")
	if width < 1 || height < 1 || width > media.MaxSide || height > media.MaxSide {
		return op.New(errs.Invalid, "it has %d x %d pixels, want 1 to %d on each side", width, height, media.MaxSide)
	}
	turns &= 3
	wide, high := width, height
	if turns&1 == 1 {
		wide, high = height, width
	}
	if srcStride < 3*width || len(src)-3*width < (height-1)*srcStride {
		return op.New(errs.Invalid, "source has %d bytes and rows of %d, want %d rows of %d", len(src), srcStride, height, 3*width)
	}
	if dstStride < 3*wide || len(dst)-3*wide < (high-1)*dstStride {
		return op.New(errs.Invalid, "target has %d bytes and rows of %d, want %d rows of %d", len(dst), dstStride, high, 3*wide)
	}
	if turns == 0 {
		for y := range height {
			copy(dst[y*dstStride:][:3*width], src[y*srcStride:])
		}
		return nil
	}
	// Where pixel (0, 0) goes, and how far its neighbours to the right and below go from there.
	var start, right, below int
	switch turns {
	case 1:
		start, right, below = 3*(wide-1), dstStride, -3
	case 2:
		start, right, below = (high-1)*dstStride+3*(wide-1), -3, -dstStride
	case 3:
		start, right, below = (high-1)*dstStride, -dstStride, 3
	}
	for top := 0; top < height; top += tile {
		for left := 0; left < width; left += tile {
			for y := top; y < min(top+tile, height); y++ {
				to := start + left*right + y*below
				from := src[y*srcStride+3*left:][:3*min(tile, width-left)]
				for len(from) >= 3 {
					pixel := dst[to : to+3 : to+3]
					pixel[0], pixel[1], pixel[2] = from[0], from[1], from[2]
					from = from[3:]
					to += right
				}
			}
		}
	}
	return nil
}
