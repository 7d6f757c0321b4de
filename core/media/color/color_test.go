package color

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
)

var formats = []media.PixelFormat{
	"gray", "gray10le", "gray12le", "yuv420p", "yuv422p", "yuv440p", "yuv444p", "yuvj420p", "yuvj422p", "yuvj440p", "yuvj444p",
	"yuv420p10le", "yuv422p10le", "yuv444p10le", "yuv420p12le", "yuv422p12le", "yuv444p12le", "nv12", "gbrp", "gbrp10le", "gbrp12le", "rgb24",
}

// noise makes a picture of random numbers, some of them beyond the bits of the format, whose planes
// end where their last row does.
func noise(r *rand.Rand, f media.PixelFormat, width, height int) *media.Picture {
	p := &media.Picture{Width: width, Height: height, Format: f, Site: media.Site(r.IntN(7))}
	p.Color = media.Color{Matrix: []uint8{0, 1, 2, 5, 9}[r.IntN(5)], Full: r.IntN(2) == 0}
	l, _ := f.Layout()
	extremes := r.IntN(2) == 0
	for i := range l.Planes {
		row, rows := l.Plane(i, width, height)
		p.Strides[i] = row + r.IntN(40)
		plane := make([]byte, (rows-1)*p.Strides[i]+row)
		for k := range plane {
			plane[k] = byte(r.Uint32())
			if extremes {
				plane[k] = byte(-int(r.Uint32() & 1))
			}
			if l.Bits > 8 && k&1 == 1 && r.IntN(20) > 0 {
				plane[k] &= 1<<(l.Bits-8) - 1
			}
		}
		p.Planes[i] = plane
	}
	return p
}

// converted is a picture by one of the ways. Bytes between rows must stay as they are.
func converted(t *testing.T, p *media.Picture, pad int, by way) []byte {
	t.Helper()
	stride := 3*p.Width + pad
	dst := bytes.Repeat([]byte{0xa5}, (p.Height-1)*stride+3*p.Width)
	if err := convert(dst, stride, p, by); err != nil {
		t.Fatal(err)
	}
	for y := range p.Height - 1 {
		for _, b := range dst[y*stride+3*p.Width : (y+1)*stride] {
			if b != 0xa5 {
				t.Fatal("a byte between rows has changed")
			}
		}
	}
	return dst
}

// TestWays: every way makes the same bytes of everything.
func TestWays(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			const seed = 1
			r := rand.New(rand.NewPCG(seed, seed))
			for range 150 {
				width, height := 1+r.IntN(80), 1+r.IntN(9)
				if r.IntN(10) == 0 {
					width = 500 + r.IntN(600)
				}
				p := noise(r, f, width, height)
				pad := r.IntN(9)
				want := converted(t, p, pad, plain)
				for name, by := range ways() {
					if got := converted(t, p, pad, by); !bytes.Equal(got, want) {
						i := 0
						for got[i] == want[i] {
							i++
						}
						t.Fatalf("seed %d: %s of %d x %d pixels, site %d, %+v: byte %d is %d, want %d", seed, name, width, height, p.Site, p.Color, i, got[i], want[i])
					}
				}
			}
		})
	}
}

// TestWeights holds the weights against the table of the package comment.
func TestWeights(t *testing.T) {
	t.Parallel()
	cases := []struct {
		matrix uint8
		full   bool
		want   [5]int
	}{
		{5, false, [5]int{19077, 13075, -3209, -6660, 16525}},
		{0, false, [5]int{19077, 13075, -3209, -6660, 16525}},
		{6, true, [5]int{16384, 11485, -2819, -5850, 14516}},
		{1, false, [5]int{19077, 14686, -1747, -4366, 17305}},
		{1, true, [5]int{16384, 12901, -1535, -3835, 15201}},
		{9, false, [5]int{19077, 13752, -1535, -5328, 17545}},
		{9, true, [5]int{16384, 12080, -1348, -4681, 15412}},
	}
	for _, c := range cases {
		l, _ := media.PixelFormat("yuv444p").Layout()
		j, err := newJob(&media.Picture{Width: 1, Height: 1, Color: media.Color{Matrix: c.matrix, Full: c.full}}, l)
		if err != nil {
			t.Fatal(err)
		}
		if got := [5]int{j.ky, j.krv, j.kgu, j.kgv, j.kbu}; got != c.want {
			t.Errorf("weights of matrix %d, full %v: %d, want %d", c.matrix, c.full, got, c.want)
		}
	}
}

// TestAgainstReal compares with the formulas of the standards in floating point.
func TestAgainstReal(t *testing.T) {
	t.Parallel()
	const seed, most = 7, 0.54
	r := rand.New(rand.NewPCG(seed, seed))
	worst := 0.0
	for _, f := range []media.PixelFormat{"yuv444p", "yuvj444p", "yuv444p10le", "yuv444p12le"} {
		l, _ := f.Layout()
		for range 40 {
			p := noise(r, f, 64, 4)
			j, err := newJob(p, l)
			if err != nil {
				t.Fatal(err)
			}
			got := converted(t, p, 0, plain)
			kr, kb, _ := matrix(p.Color.Matrix)
			kg := 1 - kr - kb
			unit := float64(int(1) << (l.Bits - 8))
			yScale, cScale, black := 219*unit, 224*unit, 16*unit
			if p.Color.Full || l.Full {
				yScale, cScale, black = 256*unit-1, 256*unit-1, 0
			}
			for i := range 64 * 4 {
				x, y := i%64, i/64
				luma := (float64(j.number(p, 0, x, y)) - black) / yScale
				cb, cr := float64(j.color(p, 0, x, y))/cScale, float64(j.color(p, 1, x, y))/cScale
				red, blue := luma+2*(1-kr)*cr, luma+2*(1-kb)*cb
				for c, v := range []float64{red, (luma - kr*red - kb*blue) / kg, blue} {
					v = min(max(255*v, 0), 255)
					worst = max(worst, math.Abs(v-float64(got[3*i+c])))
				}
			}
		}
	}
	t.Logf("at most %.3f from the real value", worst)
	if worst >= most {
		t.Errorf("%.3f from the real value, want less than %v", worst, most)
	}
}

// TestSites: colors lie where the site says. The picture rises by 16 from its first sample to the
// one at the right and to those below.
func TestSites(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		site media.Site
		want [4]int // in 16ths, at (0, 0), (1, 0), (0, 1), (1, 1)
	}{
		{"center", media.SiteCenter, [4]int{0, 64, 64, 112}},
		{"unknown", media.SiteUnknown, [4]int{0, 64, 64, 112}},
		{"left", media.SiteLeft, [4]int{0, 128, 64, 160}},
		{"top left", media.SiteTopLeft, [4]int{0, 128, 128, 192}},
		{"top", media.SiteTop, [4]int{0, 64, 128, 160}},
		{"bottom left", media.SiteBottomLeft, [4]int{0, 128, 0, 128}},
		{"bottom", media.SiteBottom, [4]int{0, 64, 0, 64}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &media.Picture{Width: 4, Height: 4, Format: "yuv420p", Site: c.site, Strides: [4]int{4, 2, 2}}
			ramp := []byte{128, 144, 144, 144}
			p.Planes = [4][]byte{make([]byte, 16), ramp, ramp}
			l, _ := p.Format.Layout()
			j, err := newJob(p, l)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := j.between(p, 0, i%2, i/2); got != want {
					t.Errorf("pixel (%d, %d): %d / 16, want %d", i%2, i/2, got, want)
				}
			}
		})
	}
}

// TestRefused gives pictures whose planes do not fit their sizes.
func TestRefused(t *testing.T) {
	t.Parallel()
	good := func() *media.Picture {
		return &media.Picture{
			Width: 5, Height: 3, Format: "yuv420p", Strides: [4]int{5, 3, 3},
			Planes: [4][]byte{make([]byte, 15), make([]byte, 6), make([]byte, 6)},
		}
	}
	cases := []struct {
		name   string
		change func(p *media.Picture)
		bytes  int
		stride int
		want   errs.Kind
	}{
		{"format", func(p *media.Picture) { p.Format = "pal8" }, 45, 15, errs.Unsupported},
		{"matrix", func(p *media.Picture) { p.Color.Matrix = 8 }, 45, 15, errs.Unsupported},
		{"no columns", func(p *media.Picture) { p.Width = 0 }, 45, 15, errs.Invalid},
		{"many rows", func(p *media.Picture) { p.Height = media.MaxSide + 1 }, 45, 15, errs.Invalid},
		{"short plane", func(p *media.Picture) { p.Planes[2] = p.Planes[2][:5] }, 45, 15, errs.Invalid},
		{"short row", func(p *media.Picture) { p.Strides[1] = 2 }, 45, 15, errs.Invalid},
		{"negative row", func(p *media.Picture) { p.Strides[0] = -5 }, 45, 15, errs.Invalid},
		{"short target", func(*media.Picture) {}, 44, 15, errs.Invalid},
		{"short row of target", func(*media.Picture) {}, 45, 14, errs.Invalid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := good()
			if err := Convert(make([]byte, 45), 15, p); err != nil {
				t.Fatal(err)
			}
			c.change(p)
			if err := Convert(make([]byte, c.bytes), c.stride, p); !errs.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func BenchmarkConvert(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{640, 360}, {1920, 1080}} {
		for _, f := range []media.PixelFormat{"yuv420p", "yuv444p", "yuv420p10le", "nv12", "gray"} {
			for name, by := range ways() {
				b.Run(string(f)+"/"+name, func(b *testing.B) {
					p := noise(r, f, size[0], size[1])
					p.Site = media.SiteLeft
					dst := make([]byte, 3*size[0]*size[1])
					b.SetBytes(int64(size[0] * size[1])) // so that MB are megapixels
					for b.Loop() {
						if err := convert(dst, 3*size[0], p, by); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
