package webp

import (
	"slices"

	"deeplake/core/errs"
)

// paintAlpha decodes the ALPH chunk of a lossy image into the fourth channel.
func (d *decoder) paintAlpha(to canvas, f *frame) error {
	n := f.width * f.height
	if len(f.plane) < 1 {
		return errs.Op("decode webp", "").New(errs.Corrupt, "the alpha plane is empty")
	}
	about, body := f.plane[0], f.plane[1:]
	switch about & 3 {
	case 0:
		if len(body) < n {
			return errs.Op("decode webp", "").New(errs.Corrupt, "the alpha plane has %d bytes, want %d", len(body), n)
		}
		d.plane = append(d.plane[:0], body[:n]...)
	case 1:
		if err := d.packedAlpha(body, f); err != nil {
			return err
		}
	default:
		return errs.Op("decode webp", "").New(errs.Corrupt, "the alpha plane has compression %d, want 0 or 1", about&3)
	}
	unfilter(d.plane, f.width, about>>2&3)
	for y := range f.height {
		row := to.row(f, y)
		for x, a := range d.plane[y*f.width:][:f.width] {
			row[4*x+3] = a
		}
	}
	return nil
}

// packedAlpha decodes a plane that is the green of a VP8L image without its header.
func (d *decoder) packedAlpha(body []byte, f *frame) error {
	w, h := f.width-1, f.height-1
	head := []byte{0x2f, byte(w), byte(w>>8 | h<<6), byte(h >> 2), byte(h >> 10)}
	img, err := d.exact(append(head, body...), f)
	if err != nil {
		return err
	}
	n := f.width * f.height
	d.plane = slices.Grow(d.plane[:0], n)[:n]
	for i := range d.plane {
		d.plane[i] = img.Pix[4*i+1]
	}
	return nil
}

// unfilter adds the prediction of each value: 1 from the left, 2 from above, 3 from both. The first
// row has nothing above and the first column nothing to the left: they take the other.
func unfilter(plane []byte, width int, filter byte) {
	if filter == 0 {
		return
	}
	for x := 1; x < width; x++ {
		plane[x] += plane[x-1]
	}
	for ; len(plane) > width; plane = plane[width:] {
		above, row := plane[:width], plane[width:2*width]
		row[0] += above[0]
		for x := 1; x < width; x++ {
			switch filter {
			case 1:
				row[x] += row[x-1]
			case 2:
				row[x] += above[x]
			default:
				row[x] += byte(min(max(int(row[x-1])+int(above[x])-int(above[x-1]), 0), 255))
			}
		}
	}
}
