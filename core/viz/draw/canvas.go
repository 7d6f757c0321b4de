package draw

import (
	"image"
	"image/color"
	stddraw "image/draw"
	"math"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// The size of a character of Text in pixels.
const (
	CharWidth  = 7
	CharHeight = 13
)

// Canvas is a picture that is painted on. Methods keep to its bounds.
type Canvas struct {
	*image.RGBA
}

// New returns a canvas of one colour.
func New(width, height int, ground color.RGBA) Canvas {
	c := Canvas{image.NewRGBA(image.Rect(0, 0, width, height))}
	c.Fill(c.Bounds(), ground)
	return c
}

// Fill paints a rectangle.
func (c Canvas) Fill(r image.Rectangle, with color.RGBA) {
	stddraw.Draw(c.RGBA, r, image.NewUniform(with), image.Point{}, stddraw.Src)
}

// Paste copies a picture to a place.
func (c Canvas) Paste(from image.Image, at image.Point) {
	b := from.Bounds()
	stddraw.Draw(c.RGBA, image.Rectangle{at, at.Add(b.Size())}, from, b.Min, stddraw.Over)
}

// Part returns a part of the canvas, of the same pixels, with its corner at (0, 0).
func (c Canvas) Part(r image.Rectangle) Canvas {
	part, _ := c.SubImage(r).(*image.RGBA)
	part.Rect = part.Rect.Sub(part.Rect.Min)
	return Canvas{part}
}

// Tint mixes a colour into a pixel. opacity is 0 to 1.
func (c Canvas) Tint(x, y int, with color.RGBA, opacity float64) {
	if !(image.Point{x, y}).In(c.Rect) {
		return
	}
	p := c.Pix[c.PixOffset(x, y):]
	mix := func(below, above uint8) uint8 {
		return uint8(float64(below) + (float64(above)-float64(below))*opacity + 0.5)
	}
	p[0], p[1], p[2] = mix(p[0], with.R), mix(p[1], with.G), mix(p[2], with.B)
}

// Box paints the outline of a box, inside of its sides.
func (c Canvas) Box(left, top, right, bottom float64, with color.RGBA) {
	far := func(v float64, most int) int { return int(min(max(math.Floor(v), -4), float64(most)+4)) }
	size := c.Rect.Size()
	x0, y0, x1, y1 := far(left, size.X), far(top, size.Y), far(right, size.X), far(bottom, size.Y)
	const thick = 2
	c.Fill(image.Rect(x0, y0, x1, min(y0+thick, y1)), with)
	c.Fill(image.Rect(x0, max(y1-thick, y0), x1, y1), with)
	c.Fill(image.Rect(x0, y0, min(x0+thick, x1), y1), with)
	c.Fill(image.Rect(max(x1-thick, x0), y0, x1, y1), with)
}

// Line paints a line of two pixels.
func (c Canvas) Line(x0, y0, x1, y1 float64, with color.RGBA) {
	size := c.Rect.Size()
	x0, y0, x1, y1, ok := clip(x0, y0, x1, y1, -4, -4, float64(size.X)+4, float64(size.Y)+4)
	if !ok {
		return
	}
	steps := int(math.Ceil(max(math.Abs(x1-x0), math.Abs(y1-y0)))) + 1
	for i := range steps + 1 {
		t := float64(i) / float64(steps)
		x, y := int(math.Floor(x0+t*(x1-x0))), int(math.Floor(y0+t*(y1-y0)))
		c.Fill(image.Rect(x, y, x+2, y+2).Intersect(c.Rect), with)
	}
}

// clip returns the part of a segment within a rectangle (Liang and Barsky).
func clip(x0, y0, x1, y1, left, top, right, bottom float64) (_, _, _, _ float64, ok bool) {
	dx, dy, enter, leave := x1-x0, y1-y0, 0.0, 1.0
	for _, side := range [4][2]float64{{-dx, x0 - left}, {dx, right - x0}, {-dy, y0 - top}, {dy, bottom - y0}} {
		p, q := side[0], side[1]
		switch {
		case p == 0 && q < 0:
			return 0, 0, 0, 0, false
		case p < 0:
			enter = max(enter, q/p)
		case p > 0:
			leave = min(leave, q/p)
		}
	}
	if !(enter <= leave) { // NaN is outside
		return 0, 0, 0, 0, false
	}
	return x0 + enter*dx, y0 + enter*dy, x0 + leave*dx, y0 + leave*dy, true
}

// Disc paints a point, or a ring.
func (c Canvas) Disc(x, y, radius float64, with color.RGBA, hollow bool) {
	size := c.Rect.Size()
	if !(x > -radius && y > -radius && x < float64(size.X)+radius && y < float64(size.Y)+radius) {
		return
	}
	for py := int(y - radius - 1); py <= int(y+radius+1); py++ {
		for px := int(x - radius - 1); px <= int(x+radius+1); px++ {
			far := math.Hypot(float64(px)+0.5-x, float64(py)+0.5-y)
			if far <= radius && (!hollow || far > radius-1.2) {
				c.Tint(px, py, with, 1)
			}
		}
	}
}

// Text paints a line of text whose upper left corner is at (x, y), and cuts it to a width. It knows
// the characters of ASCII; others are boxes.
func (c Canvas) Text(text string, x, y, width int, with color.RGBA) {
	text = Cut(text, width)
	d := font.Drawer{
		Dst: c.RGBA, Src: image.NewUniform(with), Face: basicfont.Face7x13,
		Dot: fixed.P(x, y+basicfont.Face7x13.Ascent),
	}
	d.DrawString(text)
}

// Tag paints text on a ground of its own, above a place where that fits, else below it.
func (c Canvas) Tag(text string, x, y float64, ground color.RGBA) {
	size := c.Rect.Size()
	left := int(min(max(x, 0), float64(size.X)))
	text = Cut(text, size.X-left-2)
	if text == "" || !(y < float64(size.Y)) {
		return
	}
	top := int(max(y, 0)) - CharHeight
	if top < 0 {
		top = int(max(y, 0))
	}
	c.Fill(image.Rect(left, top, left+CharWidth*len([]rune(text))+2, top+CharHeight), ground)
	c.Text(text, left+1, top, size.X, Contrast(ground))
}

// Cut shortens text to a width in pixels, and makes spaces of control characters.
func Cut(text string, width int) string {
	most := max(width/CharWidth, 0)
	out := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text[:min(len(text), 4*most+4)]))
	if len(out) <= most {
		return string(out)
	}
	if most < 3 {
		return string(out[:most])
	}
	return string(out[:most-2]) + ".."
}
