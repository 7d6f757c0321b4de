package annotations

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"deeplake/core/dataset"
	"deeplake/core/errs"
)

// drawn is the shapes on the pictures of a source, of a program that people draw with. A picture is
// one record.
type drawn struct {
	whole    string // the tensor with the classes of whole pictures
	files    []string
	pictures pictureNames
	records  arena
	places   []uint32 // of the pictures
	has      drawnParts
	classes  []string
	known    map[string]bool // the classes
	splits   []string
	masks    bool
	faults   faults
	record   writer
}

// key returns the name of the picture with that of its split, whose folder it may lie in.
func (p *drawnPicture) key() string {
	if p.split == "" {
		return p.name
	}
	return p.split + "/" + p.name
}

// drawnParts says what there is on the pictures.
type drawnParts struct {
	objects, outlines, masks, occluded, attributes, points, lines, wholes, ids bool
}

// drawnPicture is a picture with its shapes.
type drawnPicture struct {
	name, split string
	id          int64
	hasID       bool
	shapes      []shape
}

// addClass adds a class to those that the labels have from the beginning.
func (d *drawn) addClass(name string) error {
	if len(d.classes) == maxClasses {
		return errs.New(errs.Invalid, "it has more than %d classes", maxClasses)
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	if name != "" && !d.known[name] {
		d.known[name], d.classes = true, append(d.classes, name)
	}
	return nil
}

// reasonOf returns why a picture cannot be taken; nil: it can.
func (d *drawn) reasonOf(p *drawnPicture) error {
	switch {
	case cleanName(p.name) == "" || !utf8.ValidString(p.name):
		return errs.New(errs.Invalid, "has %.100q for a name, want the name of a picture", p.name)
	case len(p.shapes) > maxObjects:
		return errs.New(errs.Invalid, "has more than %d shapes", maxObjects)
	case d.pictures.has(p.key()):
		return errs.New(errs.Invalid, "has the picture %.100q, as one before", p.name)
	}
	return nil
}

// add stores a picture that can be taken.
func (d *drawn) add(p *drawnPicture) error {
	w := &d.record
	w.p = w.p[:0]
	w.text(p.split)
	hasID := int64(0)
	if p.hasID {
		hasID = 1
	}
	w.int(hasID)
	w.int(p.id)
	w.int(int64(len(p.shapes)))
	for i := range p.shapes {
		w.shape(&p.shapes[i])
	}
	at, ok := d.records.put(w.p)
	if !ok {
		return errs.New(errs.Invalid, "the shapes of %d pictures take more than %d bytes; divide the file", len(d.places), int64(maxPieces)*pieceBytes)
	}
	if d.pictures.add(p.key()); p.split != "" {
		d.pictures.addEnd(cleanName(p.name))
	}
	d.places = append(d.places, at)
	d.note(p)
	return nil
}

// note notes what there is on a picture.
func (d *drawn) note(p *drawnPicture) {
	h := &d.has
	for i := range p.shapes {
		s := &p.shapes[i]
		switch s.kind {
		case pointShape:
			h.points = true
		case lineShape:
			h.lines = true
		case classShape:
			h.wholes = true
		default:
			h.objects = true
			h.outlines = h.outlines || s.kind == outlineShape
			h.masks = h.masks || s.kind == maskShape
			h.attributes = h.attributes || s.attributes != ""
		}
	}
	h.ids = h.ids || p.hasID
	if p.split != "" && !slices.Contains(d.splits, p.split) && len(d.splits) < maxClasses {
		d.splits = append(d.splits, p.split)
	}
}

// finish ends the reading of files.
func (d *drawn) finish() {
	h := &d.has
	h.objects = h.objects || !h.points && !h.lines && !h.wholes
	h.masks = h.masks || d.masks && h.outlines
	d.known = nil
	d.pictures.finish()
}

func (d *drawn) Tensors() []dataset.TensorSpec {
	classes := func(name string) dataset.TensorSpec {
		return dataset.TensorSpec{Name: name, HType: "class_label", ClassNames: d.classes, AddClasses: true}
	}
	var out []dataset.TensorSpec
	for _, one := range []struct {
		has  bool
		spec dataset.TensorSpec
	}{
		{d.has.objects, dataset.TensorSpec{Name: "boxes", HType: "bbox", DType: "float32", Info: map[string]any{"coords": map[string]any{"mode": "LTRB", "type": "pixel"}}}},
		{d.has.objects, classes("labels")},
		{d.has.outlines, dataset.TensorSpec{Name: "polygons", HType: "polygon", DType: "float32"}},
		{d.has.masks, dataset.TensorSpec{Name: "masks", HType: "binary_mask"}},
		{d.has.occluded, dataset.TensorSpec{Name: "occluded", HType: "generic", DType: "bool", Compression: "shuffle"}},
		{d.has.attributes, dataset.TensorSpec{Name: "attributes", HType: "json"}},
		{d.has.points, dataset.TensorSpec{Name: "points", HType: "json"}},
		{d.has.points, classes("point_labels")},
		{d.has.lines, dataset.TensorSpec{Name: "polylines", HType: "json"}},
		{d.has.lines, classes("polyline_labels")},
		{d.has.wholes, dataset.TensorSpec{Name: d.whole, HType: "class_label", AddClasses: true}},
		{len(d.splits) > 0, dataset.TensorSpec{Name: "split", HType: "class_label", ClassNames: d.splits, AddClasses: true}},
		{d.has.ids, dataset.TensorSpec{Name: "task_id", HType: "generic", DType: "int64"}},
	} {
		if one.has {
			out = append(out, one.spec)
		}
	}
	return out
}

func (d *drawn) Has(key string) bool {
	i, ok := d.pictures.find(key)
	if ok {
		d.pictures.seen[i].Store(true)
	}
	return ok
}

// Why says nothing: files name pictures.
func (d *drawn) Why(string) string { return "" }

func (d *drawn) Lost(after string, fn func(key string)) { d.pictures.lost(after, fn) }

func (d *drawn) Uses(key string) bool { return slices.Contains(d.files, key) }

func (d *drawn) Faults() ([]Fault, int64) { return d.faults.first, d.faults.all }

// drawnRow is the values of a picture. Boxes, outlines and masks are objects, which share one
// order.
type drawnRow struct {
	objects, points, lines []shape
	wholes                 []string
}

func (d *drawn) Read(_ context.Context, p Picture) (*Row, error) {
	i, ok := d.pictures.find(p.Key)
	if !ok {
		return nil, errs.New(errs.NotFound, "%s is none of the pictures of %v", p.Key, d.files)
	}
	from := &reader{d.records.from(d.places[i])}
	split, hasID, id := from.text(), from.int() == 1, from.int()
	r, v := &Row{Objects: from.int()}, &drawnRow{}
	for range r.Objects {
		s := from.shape()
		s.toPixels(p)
		switch s.kind {
		case pointShape:
			v.points = append(v.points, s)
		case lineShape:
			v.lines = append(v.lines, s)
		case classShape:
			v.wholes = append(v.wholes, s.label)
		default:
			v.objects = append(v.objects, s)
		}
	}
	if err := d.rowOf(r, p, v); err != nil {
		return nil, err
	}
	if split != "" {
		r.class("split", split)
	}
	if hasID {
		r.integer("task_id", id)
	}
	return r, nil
}

// rowOf sets the values of shapes.
func (d *drawn) rowOf(r *Row, p Picture, v *drawnRow) error {
	if d.has.objects {
		if err := d.objects(r, p, v.objects); err != nil {
			return err
		}
	}
	for _, one := range []struct {
		has           bool
		shapes        []shape
		name, classes string
	}{{d.has.points, v.points, "points", "point_labels"}, {d.has.lines, v.lines, "polylines", "polyline_labels"}} {
		if !one.has {
			continue
		}
		all, classes := make([][][2]float32, len(one.shapes)), make([]string, len(one.shapes))
		for i := range one.shapes {
			all[i], classes[i] = pairs(one.shapes[i].xy), one.shapes[i].label
		}
		if err := r.json(one.name, all); err != nil {
			return err
		}
		r.labels(one.classes, classes)
	}
	if d.has.wholes {
		r.labels(d.whole, v.wholes)
	}
	return nil
}

// objects sets the values of boxes, outlines and masks.
func (d *drawn) objects(r *Row, p Picture, all []shape) error {
	boxes, labels, occluded := make([]float32, 0, 4*len(all)), make([]string, len(all)), make([]bool, len(all))
	outlines, attributes := make([][]float32, len(all)), make([]json.RawMessage, len(all))
	for i := range all {
		s := &all[i]
		boxes, labels[i], occluded[i] = append(boxes, s.box()...), s.label, s.isOccluded
		if s.kind == outlineShape {
			outlines[i] = s.xy
		}
		if attributes[i] = json.RawMessage(s.attributes); s.attributes == "" {
			attributes[i] = json.RawMessage("{}")
		}
	}
	r.boxes("boxes", boxes)
	r.labels("labels", labels)
	if d.has.outlines {
		r.polygons("polygons", outlines)
	}
	if d.has.masks {
		runs, err := placedMasks(p, all)
		if err != nil {
			return err
		}
		if err := r.masks("masks", p, outlines, runs); err != nil {
			return err
		}
	}
	if d.has.occluded {
		r.bools("occluded", occluded)
	}
	if d.has.attributes {
		return r.json("attributes", attributes)
	}
	return nil
}

// placedMasks returns the masks of shapes in the whole picture; nil: a shape has none.
func placedMasks(p Picture, all []shape) ([]*rle, error) {
	if n := int64(len(all)); p.Width <= 0 || p.Height <= 0 || n > maxMask/p.Width/p.Height {
		return nil, errs.New(errs.Invalid, "%d masks of %d x %d pixels, want at most %d pixels", n, p.Width, p.Height, maxMask)
	}
	runs, one := make([]*rle, len(all)), []bool(nil)
	for i := range all {
		if all[i].kind != maskShape {
			continue
		}
		if one == nil {
			one = make([]bool, p.Width*p.Height)
		}
		placed, err := all[i].placed(p, one)
		if err != nil {
			return nil, err
		}
		runs[i] = placed
	}
	return runs, nil
}

// pairs returns the points of coordinates.
func pairs(xy []float32) [][2]float32 {
	out := make([][2]float32, 0, len(xy)/2)
	for i := 0; i+1 < len(xy); i += 2 {
		out = append(out, [2]float32{xy[i], xy[i+1]})
	}
	return out
}

// sinCos returns the sine and the cosine of an angle. Those of quarters of a turn are exact.
func sinCos(degrees float64) (sin, cos float64) {
	if quarters := degrees / 90; quarters == math.Trunc(quarters) {
		turns := [...][2]float64{{0, 1}, {1, 0}, {0, -1}, {-1, 0}}
		one := turns[int(math.Mod(math.Mod(quarters, 4)+4, 4))]
		return one[0], one[1]
	}
	return math.Sincos(degrees * math.Pi / 180)
}

// farOut bounds coordinates: what turns and scales make of them are numbers, too.
const farOut = 1e9

// coordinate refuses numbers that are no coordinates.
func coordinate(x float64, of string) (float64, error) {
	if math.IsNaN(x) || math.Abs(x) > farOut {
		return 0, errs.New(errs.Invalid, "has %v for %s, want a coordinate", x, of)
	}
	return x, nil
}

// faultOf reports a shape that is left out.
func (d *drawn) faultOf(file, kind string, n int, of string, err error) {
	d.faults.add(file, fmt.Sprintf("%s %d of %s %v", kind, n, of, err))
}
