package draw

import (
	"image"
	"image/color"
	"math"
	"testing"
)

// TestClassColours has the values of web/src/draw/colors.test.ts.
func TestClassColours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value       float64
		dark, light [3]uint8
	}{
		{0, [3]uint8{253, 128, 121}, [3]uint8{211, 58, 60}},
		{1, [3]uint8{129, 234, 186}, [3]uint8{13, 104, 72}},
		{7, [3]uint8{189, 208, 255}, [3]uint8{49, 78, 176}},
		{21, [3]uint8{252, 147, 125}, [3]uint8{200, 51, 22}},
		{64, [3]uint8{99, 235, 220}, [3]uint8{11, 102, 94}},
		{4095, [3]uint8{222, 157, 1}, [3]uint8{160, 112, 2}},
		{4096, [3]uint8{253, 128, 121}, [3]uint8{211, 58, 60}},
		{65534, [3]uint8{180, 126, 250}, [3]uint8{151, 109, 209}},
		{65535, [3]uint8{161, 103, 241}, [3]uint8{167, 128, 230}},
		{70000, [3]uint8{142, 145, 252}, [3]uint8{119, 120, 222}},
		{-1, [3]uint8{180, 126, 250}, [3]uint8{151, 109, 209}},
		{0.5, [3]uint8{253, 128, 121}, [3]uint8{211, 58, 60}},
	} {
		for i, want := range [][3]uint8{c.light, c.dark} {
			got := Class(c.value, i == 1)
			if [3]uint8{got.R, got.G, got.B} != want {
				t.Errorf("Class(%v, %v) = %v, want %v", c.value, i == 1, got, want)
			}
		}
	}
}

func TestShapesKeepToTheCanvas(t *testing.T) {
	t.Parallel()
	red := color.RGBA{255, 0, 0, 255}
	whole := New(40, 40, color.RGBA{A: 255})
	part := whole.Part(image.Rect(10, 10, 30, 30))
	nan, inf := math.NaN(), math.Inf(1)
	for _, v := range []float64{-1e300, -5, 0, 7.5, 25, 1e300, nan, inf, -inf} {
		part.Box(v, -3, 15, v, red)
		part.Line(v, 3, 12, -v, red)
		part.Disc(v, 5, 3, red, false)
		part.Polygon([]float64{v, 0, 9, v, 3, 19}, red, 0.5)
		part.Tag("name", v, 4, red)
	}
	for y := range 40 {
		for x := range 40 {
			inside := x >= 10 && x < 30 && y >= 10 && y < 30
			if got := whole.RGBAAt(x, y); !inside && got != (color.RGBA{A: 255}) {
				t.Fatalf("pixel %d, %d outside of the part is %v", x, y, got)
			}
		}
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	black, red := color.RGBA{A: 255}, color.RGBA{255, 0, 0, 255}
	c := New(30, 30, black)
	c.Box(5, 6, 20, 22, red)
	for _, p := range []struct {
		x, y int
		want color.RGBA
	}{{5, 6, red}, {19, 21, red}, {6, 15, red}, {12, 15, black}, {4, 6, black}, {20, 22, black}} {
		if got := c.RGBAAt(p.x, p.y); got != p.want {
			t.Errorf("box: pixel %d, %d is %v, want %v", p.x, p.y, got, p.want)
		}
	}
	c = New(30, 30, black)
	c.fillPolygon([]float64{5, 5, 25, 5, 25, 25, 5, 25}, red, 0.5)
	count := 0
	for i := 0; i < len(c.Pix); i += 4 {
		if c.Pix[i] == 128 {
			count++
		}
	}
	if count != 400 {
		t.Errorf("a square of 20 has %d tinted pixels, want 400", count)
	}
	c = New(30, 30, black)
	c.Disc(15, 15, 5, red, true)
	if c.RGBAAt(15, 15) != black || c.RGBAAt(19, 15) != red {
		t.Errorf("a ring has %v in its middle and %v at its edge", c.RGBAAt(15, 15), c.RGBAAt(19, 15))
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"cat", 100, "cat"}, {"a long name", 49, "a lon.."}, {"a\x1bb\n", 100, "a b "}, {"abc", 14, "ab"}, {"abc", -5, ""}, {"äöü", 21, "äöü"}} {
		if got := Cut(c.text, c.width); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
