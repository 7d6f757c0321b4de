package annotations

// shapeKind is the kind of a shape.
type shapeKind byte

const (
	boxShape shapeKind = iota
	outlineShape
	maskShape
	pointShape
	lineShape
	classShape // a class of the whole picture
)

// shape is one thing that a person has drawn on a picture, with its class.
type shape struct {
	kind       shapeKind
	label      string
	xy         []float32 // of a box: left, top, right, bottom; of a mask: left and top
	isPercent  bool      // xy are percent of the picture's sides
	isOccluded bool
	attributes string // a JSON object; "": none
	mask       rle    // of the mask's own size, row by row
}

// shape stores a shape.
func (w *writer) shape(s *shape) {
	flags := int64(s.kind) << 2
	if s.isPercent {
		flags |= 1
	}
	if s.isOccluded {
		flags |= 2
	}
	w.int(flags)
	w.text(s.label)
	w.numbers(s.xy)
	w.text(s.attributes)
	if s.kind == maskShape {
		w.int(s.mask.width)
		w.int(s.mask.height)
		w.text(s.mask.counts)
	}
}

// shape reads a shape that a writer has stored.
func (r *reader) shape() (s shape) {
	flags := r.int()
	s.kind, s.isPercent, s.isOccluded = shapeKind(flags>>2), flags&1 != 0, flags&2 != 0
	s.label, s.xy, s.attributes = r.text(), r.numbers(nil), r.text()
	if s.kind == maskShape {
		s.mask.width, s.mask.height, s.mask.counts = r.int(), r.int(), r.text()
	}
	return s
}

// toPixels makes pixels of coordinates that are percent.
func (s *shape) toPixels(p Picture) {
	if !s.isPercent {
		return
	}
	for i := range s.xy {
		side := p.Width
		if i%2 == 1 {
			side = p.Height
		}
		s.xy[i] = float32(decimal(s.xy[i]) * float64(side) / 100)
	}
	s.isPercent = false
}

// box returns left, top, right and bottom of a shape.
func (s *shape) box() []float32 {
	switch s.kind {
	case boxShape:
		return s.xy
	case maskShape:
		return []float32{s.xy[0], s.xy[1], s.xy[0] + float32(s.mask.width), s.xy[1] + float32(s.mask.height)}
	}
	left, top, right, bottom := s.xy[0], s.xy[1], s.xy[0], s.xy[1]
	for i := 0; i+1 < len(s.xy); i += 2 {
		left, right = min(left, s.xy[i]), max(right, s.xy[i])
		top, bottom = min(top, s.xy[i+1]), max(bottom, s.xy[i+1])
	}
	return []float32{left, top, right, bottom}
}

// placed returns the mask of a shape in the whole picture, column by column. What lies outside of
// the picture is cut off. one has the pixels of the picture, and is changed.
func (s *shape) placed(p Picture, one []bool) (*rle, error) {
	clear(one)
	left, top, at, isInside := int64(s.xy[0]), int64(s.xy[1]), int64(0), false
	err := s.mask.each(func(n int64) {
		for end := at + n; isInside && at < end; {
			y, x := at/s.mask.width, at%s.mask.width
			if top+y >= p.Height {
				break
			}
			k := min(end-at, s.mask.width-x)
			for i := left + x; i < min(left+x+k, p.Width); i++ {
				one[i*p.Height+top+y] = true
			}
			at += k
			n -= k
		}
		at += n
		isInside = !isInside
	})
	return &rle{p.Width, p.Height, encodeRuns(runsOf(one))}, err
}

// runsOf returns the lengths of runs of pixels outside and inside in turn.
func runsOf(mask []bool) (runs []int64) {
	n, isInside := int64(0), false
	for _, v := range mask {
		if v != isInside {
			runs = append(runs, n)
			n, isInside = 0, v
		}
		n++
	}
	return append(runs, n)
}

// turned returns the corners of a box that is turned clockwise around a point.
func turned(left, top, right, bottom, x, y, degrees float64) []float32 {
	sin, cos := sinCos(degrees)
	out := make([]float32, 0, 8)
	for _, c := range [...][2]float64{{left, top}, {right, top}, {right, bottom}, {left, bottom}} {
		dx, dy := c[0]-x, c[1]-y
		out = append(out, float32(x+dx*cos-dy*sin), float32(y+dx*sin+dy*cos))
	}
	return out
}
