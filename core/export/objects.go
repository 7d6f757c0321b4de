package export

import (
	"context"
	"math"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// detection is the tensors with the objects of images. Each may be missing.
type detection struct {
	image, boxes, labels, polygons, keypoints *column
	masks, rle                                *column
	areas, crowds, ids, imageID, scores       *column
	captions, captionIDs                      *column

	mode       string // of boxes: LTRB, LTWH or CCWH
	fractional bool   // boxes are shares of the sides
}

// findDetection finds the tensors by htype, and those that are plain numbers by the names that
// imports give them. Others are noted as left out.
func (e *exporter) findDetection(format string) (*detection, error) {
	d := &detection{mode: "LTRB"}
	byName := map[string]**column{
		"areas": &d.areas, "crowds": &d.crowds, "object_ids": &d.ids, "image_id": &d.imageID, "scores": &d.scores,
		"captions": &d.captions, "caption_ids": &d.captionIDs, "rle": &d.rle,
	}
	for _, c := range e.columns {
		place := byName[c.Name()]
		switch base := c.htype.Base; {
		case place != nil:
		case strings.Contains(c.Name(), "/"): // of a group, such as that of panoptic segments
		case c.kind == isImage && !c.list && !c.htype.IsMask():
			place = &d.image
		case base == "bbox":
			place = &d.boxes
		case c.kind == isLabel && !c.scalar():
			place = &d.labels
		case base == "polygon":
			place = &d.polygons
		case base == "keypoints_coco":
			place = &d.keypoints
		case base == "binary_mask":
			place = &d.masks
		}
		if place == nil || *place != nil {
			e.note(c.Name(), "left out: "+format+" has no place for it")
			continue
		}
		*place = c
	}
	if d.image == nil {
		return nil, errs.New(errs.Invalid, "%s is of images, and there is no tensor of htype image; take another format", format)
	}
	if d.boxes != nil {
		coords, _ := d.boxes.of.Info["coords"].(map[string]any)
		if mode, ok := coords["mode"].(string); ok {
			d.mode = strings.ToUpper(mode)
		}
		kind, _ := coords["type"].(string)
		d.fractional = kind == "fractional"
	}
	return d, nil
}

// columns returns the tensors that are found, without the image.
func (d *detection) columns() (out []*column) {
	for _, c := range []*column{d.boxes, d.labels, d.polygons, d.keypoints, d.masks, d.rle, d.areas, d.crowds, d.ids, d.imageID, d.scores, d.captions, d.captionIDs} {
		if c != nil {
			out = append(out, c)
		}
	}
	return out
}

// objects is the objects of a row. Lists that the row lacks are nil.
type objects struct {
	n        int
	boxes    [][4]float64 // left, top, width, height in pixels
	raw      [][4]float64 // as they are stored
	labels   []int64
	polygons [][]float64 // x and y in turn, NaN between parts
	points   [][]float64 // x, y and visibility of each keypoint
	masks    *tensor.Sample
	areas    []float64
	crowds   []int64
	scores   []float64
}

// read returns the objects of a row. values gives the value of a tensor, nil if it has none.
func (d *detection) read(values func(c *column) *value, width, height float64) (*objects, error) {
	o := &objects{n: -1}
	size := func(c *column, n int) error {
		if o.n >= 0 && n != o.n {
			return errs.New(errs.Invalid, "tensor %q has %d objects, and others have %d", c.Name(), n, o.n)
		}
		o.n = n
		return nil
	}
	if v := values(d.boxes); v != nil {
		all, err := floats(&v.Sample)
		if err == nil && len(all)%4 != 0 {
			err = errs.New(errs.Invalid, "boxes have %d numbers, want four each", len(all))
		}
		if err == nil {
			err = size(d.boxes, len(all)/4)
		}
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(all); i += 4 {
			box := [4]float64(all[i:])
			o.raw, o.boxes = append(o.raw, box), append(o.boxes, d.pixels(box, width, height))
		}
	}
	if v := values(d.labels); v != nil {
		var err error
		if o.labels, err = integers(&v.Sample); err == nil {
			err = size(d.labels, len(o.labels))
		}
		if err != nil {
			return nil, err
		}
	}
	if v := values(d.polygons); v != nil {
		for i := range v.items {
			one, err := floats(&v.items[i])
			if err != nil {
				return nil, err
			}
			o.polygons = append(o.polygons, one)
		}
		if err := size(d.polygons, len(o.polygons)); err != nil {
			return nil, err
		}
	}
	if err := d.readPoints(values, o, size); err != nil {
		return nil, err
	}
	if v := values(d.masks); v != nil {
		one := v.Sample
		if len(one.Shape) == 2 {
			one.Shape = append(one.Shape.Clone(), 1) // of one object
		}
		if len(one.Shape) != 3 || float64(one.Shape[0]) != height || float64(one.Shape[1]) != width {
			return nil, errs.New(errs.Invalid, "masks have shape %s, want height, width and objects of an image of %g x %g", v.Shape, height, width)
		}
		if err := size(d.masks, int(one.Shape[2])); err != nil {
			return nil, err
		}
		o.masks = &one
	}
	o.n = max(o.n, 0)
	return o, d.readNumbers(values, o, size)
}

// checkClasses refuses objects without classes where others have some: they would get the first
// one.
func (d *detection) checkClasses(o *objects) error {
	if d.labels == nil || o.labels != nil || o.n == 0 {
		return nil
	}
	return errs.New(errs.Invalid, "it has %d objects, and tensor %q has no classes of them; give it some, or leave out the row or the tensor", o.n, d.labels.Name())
}

const notFinite = "objects with coordinates that are NaN or infinite are left out"

// isFinite reports whether an object has finite coordinates. Points of NaN divide its outline.
func (o *objects) isFinite(i int) bool {
	isBad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	switch {
	case i < len(o.boxes) && slices.ContainsFunc(o.boxes[i][:], isBad):
		return false
	case i < len(o.points) && slices.ContainsFunc(o.points[i], isBad):
		return false
	case i < len(o.polygons):
		xy := o.polygons[i]
		for k := 0; k+1 < len(xy); k += 2 {
			if math.IsNaN(xy[k]) != math.IsNaN(xy[k+1]) || math.IsInf(xy[k], 0) || math.IsInf(xy[k+1], 0) {
				return false
			}
		}
	}
	return true
}

// bounds returns the box around an object and its area: those of its outline, or of its mask. ok is
// false if it has neither.
func (o *objects) bounds(i int) (box [4]float64, area float64, ok bool) {
	switch {
	case i < len(o.polygons) && len(o.polygons[i]) >= 6:
		left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
		for _, ring := range rings(o.polygons[i]) {
			sum := 0.0
			for k := 0; k+1 < len(ring); k += 2 {
				left, right = min(left, ring[k]), max(right, ring[k])
				top, bottom = min(top, ring[k+1]), max(bottom, ring[k+1])
				next := (k + 2) % len(ring)
				sum += ring[k]*ring[next+1] - ring[next]*ring[k+1]
			}
			area += math.Abs(sum) / 2
		}
		return [4]float64{left, top, right - left, bottom - top}, area, true
	case o.masks != nil:
		height, width, n := int(o.masks.Shape[0]), int(o.masks.Shape[1]), int(o.masks.Shape[2])
		left, top, right, bottom := width, height, -1, -1
		for y := range height {
			for x := range width {
				if o.masks.Data[(y*width+x)*n+i] != 0 {
					left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
					area++
				}
			}
		}
		if area > 0 {
			return [4]float64{float64(left), float64(top), float64(right - left + 1), float64(bottom - top + 1)}, area, true
		}
	}
	return box, 0, false
}

// readPoints reads keypoints, of shape (3 x keypoints, objects).
func (d *detection) readPoints(values func(c *column) *value, o *objects, size func(*column, int) error) error {
	v := values(d.keypoints)
	if v == nil {
		return nil
	}
	all, err := floats(&v.Sample)
	if err != nil {
		return err
	}
	if len(v.Shape) != 2 {
		return errs.New(errs.Invalid, "keypoints have shape %s, want (3 x keypoints, objects)", v.Shape)
	}
	rows, n := int(v.Shape[0]), int(v.Shape[1])
	o.points = make([][]float64, n)
	for i := range n {
		for k := range rows {
			o.points[i] = append(o.points[i], all[k*n+i])
		}
	}
	return size(d.keypoints, n)
}

// readNumbers reads the numbers of each object.
func (d *detection) readNumbers(values func(c *column) *value, o *objects, size func(*column, int) error) error {
	for _, one := range []struct {
		c  *column
		to *[]float64
	}{{d.areas, &o.areas}, {d.scores, &o.scores}} {
		if v := values(one.c); v != nil {
			all, err := floats(&v.Sample)
			if err == nil {
				err = size(one.c, len(all))
			}
			if err != nil {
				return err
			}
			*one.to = all
		}
	}
	if v := values(d.crowds); v != nil {
		all, err := integers(&v.Sample)
		if err == nil {
			err = size(d.crowds, len(all))
		}
		if err != nil {
			return err
		}
		o.crowds = all
	}
	return nil
}

// pixels returns a box as left, top, width and height in pixels.
func (d *detection) pixels(b [4]float64, width, height float64) [4]float64 {
	if d.fractional {
		b[0], b[1], b[2], b[3] = b[0]*width, b[1]*height, b[2]*width, b[3]*height
	}
	switch d.mode {
	case "LTWH":
		return b
	case "CCWH":
		return [4]float64{b[0] - b[2]/2, b[1] - b[3]/2, b[2], b[3]}
	}
	return [4]float64{b[0], b[1], b[2] - b[0], b[3] - b[1]}
}

// fractions returns a box as center, width and height, in shares of the sides.
func (d *detection) fractions(raw, box [4]float64, width, height float64) [4]float64 {
	if d.fractional && d.mode == "CCWH" {
		return raw
	}
	return [4]float64{(box[0] + box[2]/2) / width, (box[1] + box[3]/2) / height, box[2] / width, box[3] / height}
}

// rings returns the parts of a polygon, which points of NaN divide.
func rings(xy []float64) (out [][]float64) {
	for len(xy) > 0 {
		end := slices.IndexFunc(xy, math.IsNaN)
		if end < 0 {
			return append(out, xy)
		}
		if end > 0 {
			out = append(out, xy[:end])
		}
		xy = xy[min(len(xy), end+2):]
	}
	return out
}

// eachRow calls fn with the rows of a part, their images or the shapes of these, and a function
// that gives the values of other tensors.
func (e *exporter) eachRow(ctx context.Context, p *part, d *detection, withImage bool, fn func(b *batch, i int, image *value, values func(c *column) *value) error) error {
	head := *d.image
	head.headsOnly = !withImage
	columns := append([]*column{&head}, d.columns()...)
	return e.batches(ctx, p, columns, func(b *batch) error {
		for i, row := range b.rows {
			image := &b.columns[0][i]
			err := fn(b, i, image, func(c *column) *value {
				at := slices.Index(columns, c)
				if at < 0 || b.columns[at][i].hole {
					return nil
				}
				return &b.columns[at][i]
			})
			if err != nil {
				return errs.InRow(errs.KindOf(err), row, "row %d: %w", row, err)
			}
		}
		return nil
	})
}

// sides returns the width and the height of an image.
func sides(v *value) (width, height float64, err error) {
	if len(v.Shape) < 2 {
		return 0, 0, errs.New(errs.Invalid, "its image has shape %s, want height and width", v.Shape)
	}
	return float64(v.Shape[1]), float64(v.Shape[0]), nil
}
