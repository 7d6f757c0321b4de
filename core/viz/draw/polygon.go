package draw

import (
	"image/color"
	"math"
	"slices"
)

// Polygon fills a polygon by the even-odd rule, and paints its outline. xy has x and y in turn; two
// points are a line.
func (c Canvas) Polygon(xy []float64, with color.RGBA, opacity float64) {
	n := len(xy) / 2
	if n < 2 {
		return
	}
	if n > 2 {
		c.fillPolygon(xy, with, opacity)
	}
	for i := range n {
		if j := (i + 1) % n; j != 0 || n > 2 {
			c.Line(xy[2*i], xy[2*i+1], xy[2*j], xy[2*j+1], with)
		}
	}
}

func (c Canvas) fillPolygon(xy []float64, with color.RGBA, opacity float64) {
	n, size := len(xy)/2, c.Rect.Size()
	var crossings []float64
	for y := range size.Y {
		middle := float64(y) + 0.5
		crossings = crossings[:0]
		for i := range n {
			j := (i + 1) % n
			x0, y0, x1, y1 := xy[2*i], xy[2*i+1], xy[2*j], xy[2*j+1]
			if (y0 <= middle) != (y1 <= middle) {
				if at := x0 + (middle-y0)/(y1-y0)*(x1-x0); !math.IsNaN(at) {
					crossings = append(crossings, min(max(at, -1), float64(size.X)+1))
				}
			}
		}
		slices.Sort(crossings)
		for k := 0; k+1 < len(crossings); k += 2 {
			from := int(math.Ceil(max(crossings[k]-0.5, 0)))
			to := min(crossings[k+1]-0.5, float64(size.X-1))
			for x := from; float64(x) <= to; x++ {
				c.Tint(x, y, with, opacity)
			}
		}
	}
}
