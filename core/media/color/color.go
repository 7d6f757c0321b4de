// Package color converts decoded pictures to RGB, by integers alone, so that every machine gives
// the same bytes. It knows neither decoders nor files.
//
// # Chroma siting
//
// A plane of chroma with half the columns or rows is interpolated linearly. Its samples lie where
// the picture's Site says; unknown is SiteCenter. Let C be a sample less half of its range, 128 for
// 8 bits. Where samples lie beside the first of two pixels, across or down, these two get
//
//	4 C[k]               2 C[k] + 2 C[k+1]
//
// where they lie between the two, as they do across for SiteCenter, and down for SiteLeft,
//
//	C[k-1] + 3 C[k]      3 C[k] + C[k+1]
//
// and beside the second
//
//	2 C[k-1] + 2 C[k]    4 C[k]
//
// With the full number of samples a pixel gets 4 C. Beyond the edges the last sample repeats. Both
// directions together make 16 times the color, exactly.
//
// # Colors
//
// For numbers of b bits let y be the luma less that of black (16 << b-8, or 0 for the full
// range) times 1 << 15-b, and u and v be these multiples of 16 times 1 << 12-b, so that all fit 16
// bits. Numbers beyond b bits count as the largest. With P(a, k) = (a k + 16384) >> 15,
//
//	R = (P(y, ky) + P(v, krv) + 32) >> 6
//	G = (P(y, ky) + P(u, kgu) + P(v, kgv) + 32) >> 6
//	B = (P(y, ky) + P(u, kbu) + 32) >> 6
//
// brought into 0 to 255. The weights are those of the standards, rounded to 16 bits with their
// sign. For 8 bits:
//
//	                 ky     krv    kgu     kgv     kbu
//	BT.601 limited   19077  13075  -3209   -6660   16525
//	BT.601 full      16384  11485  -2819   -5850   14516
//	BT.709 limited   19077  14686  -1747   -4366   17305
//	BT.709 full      16384  12901  -1535   -3835   15201
//	BT.2020 limited  19077  13752  -1535   -5328   17545
//	BT.2020 full     16384  12080  -1348   -4681   15412
//
// In the full range of b bits they are those of 8 bits times 255 << b-8 over (1 << b) - 1. Gray
// pictures are of the full range, as swscale reads them. The result differs from the exact one by
// less than 0.54.
//
// A picture without a stated matrix has that of BT.601, whatever its size. swscale, and so PyAV and
// torchcodec, take the same.
//
// swscale with the flags bilinear, accurate_rnd, full_chroma_int and full_chroma_inp gives the same
// within 2. Without bilinear it takes bicubic, whose upper and left edges are off by more.
package color

import (
	"math"

	"deeplake/core/errs"
	"deeplake/core/media"
)

// Convert writes the colors of a picture as RGB, three bytes a pixel, with rows of dst stride bytes
// apart. It leaves the bytes between rows, and reads the picture's planes only. A format or a
// matrix that is not known is errs.Unsupported.
func Convert(dst []byte, stride int, p *media.Picture) error {
	return convert(dst, stride, p, fast)
}

// way converts a picture whose brightness and colors are apart.
type way func(dst []byte, stride int, p *media.Picture, j *job)

func convert(dst []byte, stride int, p *media.Picture, by way) error {
	op := errs.Op("convert picture", "")
	l, ok := p.Format.Layout()
	if !ok {
		return op.New(errs.Unsupported, "pixels are %s", p.Format)
	}
	if p.Width < 1 || p.Height < 1 || p.Width > media.MaxSide || p.Height > media.MaxSide {
		return op.New(errs.Invalid, "it has %d x %d pixels, want 1 to %d on each side", p.Width, p.Height, media.MaxSide)
	}
	if row := 3 * p.Width; stride < row || len(dst)-row < (p.Height-1)*stride {
		return op.New(errs.Invalid, "target has %d bytes and rows of %d, want %d rows of %d", len(dst), stride, p.Height, row)
	}
	for i := range l.Planes {
		row, rows := l.Plane(i, p.Width, p.Height)
		if p.Strides[i] < row || len(p.Planes[i])-row < (rows-1)*p.Strides[i] {
			return op.New(errs.Invalid, "plane %d has %d bytes and rows of %d, want %d rows of %d", i, len(p.Planes[i]), p.Strides[i], rows, row)
		}
	}
	j, err := newJob(p, l)
	if err != nil {
		return err
	}
	switch l.Model {
	case media.RGB:
		for y := range p.Height {
			copy(dst[y*stride:][:3*p.Width], p.Planes[0][y*p.Strides[0]:])
		}
	case media.GBR:
		j.green(dst, stride, p)
	default:
		by(dst, stride, p, j)
	}
	return nil
}

// place is where samples of color lie, in one direction.
type place uint8

const (
	every   place = iota // at every pixel
	first                // at the first of two pixels
	between              // between the two
	second               // at the second
)

// job holds the numbers of a conversion, under the names of the package comment.
type job struct {
	layout                   media.Layout
	black                    int
	ky, krv, kgu, kgv, kbu   int
	across, down             place
	columns, rows, maxSample int // of a plane of chroma; the largest number of a sample
}

func newJob(p *media.Picture, l media.Layout) (*job, error) {
	kr, kb, ok := matrix(p.Color.Matrix)
	if !ok {
		return nil, errs.Op("convert picture", "").New(errs.Unsupported, "matrix %d of colors, want BT.601, BT.709 or BT.2020 of constant weights", p.Color.Matrix)
	}
	j := &job{layout: l, maxSample: 1<<l.Bits - 1}
	unit := float64(int(1) << (l.Bits - 8))
	brightness, color := 255.0/219, 255.0/224
	if p.Color.Full || l.Full {
		brightness = 255 * unit / float64(j.maxSample)
		color = brightness
	} else {
		j.black = 16 << (l.Bits - 8)
	}
	round := func(x float64) int { return int(math.Round(x)) }
	kg := 1 - kr - kb
	j.ky = round(brightness * (1 << 14))
	color *= 1 << 14
	j.krv, j.kbu = round((1-kr)*color), round((1-kb)*color)
	j.kgu, j.kgv = round(-kb*(1-kb)/kg*color), round(-kr*(1-kr)/kg*color)

	j.columns = (p.Width + 1<<l.ShiftX - 1) >> l.ShiftX
	j.rows = (p.Height + 1<<l.ShiftY - 1) >> l.ShiftY
	if l.ShiftX > 0 {
		j.across = between
		if p.Site == media.SiteLeft || p.Site == media.SiteTopLeft || p.Site == media.SiteBottomLeft {
			j.across = first
		}
	}
	if l.ShiftY > 0 {
		switch p.Site {
		case media.SiteTopLeft, media.SiteTop:
			j.down = first
		case media.SiteBottomLeft, media.SiteBottom:
			j.down = second
		default:
			j.down = between
		}
	}
	return j, nil
}

// matrix returns the weights of red and blue in the brightness, by the numbers of H.273.
func matrix(n uint8) (kr, kb float64, ok bool) {
	switch n {
	case 1:
		return 0.2126, 0.0722, true
	case 9:
		return 0.2627, 0.0593, true
	case 0, 2, 3, 5, 6: // 0 and 2 say nothing, 3 is reserved
		return 0.299, 0.114, true
	case 4:
		return 0.30, 0.11, true
	case 7:
		return 0.212, 0.087, true
	}
	return 0, 0, false
}

// weights are those of the samples k-1, k and k+1 for pixel i, whose sum is 4.
func (p place) weights(i int) (before, at, after int) {
	switch odd := i&1 == 1; {
	case p == first && odd:
		return 0, 2, 2
	case p == between && odd:
		return 0, 3, 1
	case p == between:
		return 1, 3, 0
	case p == second && !odd:
		return 2, 2, 0
	}
	return 0, 4, 0
}

// sample is the one of pixel i.
func (p place) sample(i int) int {
	if p == every {
		return i
	}
	return i >> 1
}
