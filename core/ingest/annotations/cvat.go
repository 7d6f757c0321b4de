package annotations

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"path"
	"strconv"
	"strings"

	"deeplake/core/errs"
)

// cvatFile reads a file of CVAT for images: elements of pictures, with their shapes.
type cvatFile struct {
	*drawn
	key       string
	s         *xmlStream
	images    int
	hasTracks bool
}

// openCVAT reads XML files with the root "annotations".
func openCVAT(ctx context.Context, p *Place) (Set, error) {
	keys, err := findCVAT(ctx, p)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	d := &drawn{whole: "tags", files: keys, masks: p.Masks}
	for _, key := range keys {
		if err := readCVAT(ctx, p.Source, key, d); err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
	}
	d.finish()
	return d, nil
}

// findCVAT returns the names of files of CVAT: those of the first folder, and all that are called
// "annotations.xml".
func findCVAT(ctx context.Context, p *Place) (found []string, err error) {
	keys := []string{p.File}
	if p.File == "" {
		keys = p.Names.few(".xml")
	}
	for _, key := range keys {
		if p.File == "" && path.Dir(key) != "." && path.Base(key) != "annotations.xml" {
			continue
		}
		head, err := readHead(ctx, p.Source, key, cocoHead)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
		root, err := newXMLStream(bytes.NewReader(head)).root()
		if err == nil && root.Name.Local == "annotations" {
			found = append(found, key)
		} else if p.File != "" && p.Asked {
			return nil, errs.New(errs.Invalid, "%s is none of CVAT: want XML with the root <annotations>", key)
		}
	}
	if len(found) == 0 && p.Asked {
		return nil, errs.New(errs.NotFound, "no XML file there has the root <annotations>; want annotations.xml, as CVAT for images 1.1 exports it")
	}
	return found, nil
}

// readCVAT reads a file as a stream.
func readCVAT(ctx context.Context, source Source, key string, d *drawn) error {
	body, err := source.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	f := &cvatFile{drawn: d, key: key, s: newXMLStream(body)}
	if _, err := f.s.root(); err != nil {
		return err
	}
	err = f.s.children(func(e *xml.StartElement) error {
		switch e.Name.Local {
		case "meta":
			return f.s.children(f.meta)
		case "image":
			if ctx.Err() != nil {
				return errs.Wrap(errs.Canceled, "read", key, ctx.Err())
			}
			return f.image(e)
		case "track":
			f.hasTracks = true
		}
		return f.s.skip()
	})
	if err == nil {
		err = f.s.end()
	}
	if err == nil && f.hasTracks && f.images == 0 {
		err = errs.New(errs.Unsupported, "has tracks of a video, want images: export as %q, or import the pictures alone by format=%q", "CVAT for images 1.1", "images")
	}
	return err
}

// meta takes the names of classes: each <label> has its <name>.
func (f *cvatFile) meta(e *xml.StartElement) error {
	if e.Name.Local != "label" {
		return f.s.children(f.meta)
	}
	return f.s.children(func(e *xml.StartElement) error {
		if e.Name.Local != "name" {
			return f.s.skip()
		}
		name, err := f.s.text()
		if err != nil {
			return err
		}
		return f.addClass(strings.TrimSpace(name))
	})
}

// image takes a picture. A shape that is none gives a fault.
func (f *cvatFile) image(e *xml.StartElement) error {
	if f.images++; f.images > maxEntries {
		return errs.New(errs.Invalid, "has more than %d images", maxEntries)
	}
	p := &drawnPicture{name: attribute(e, "name"), split: attribute(e, "subset")}
	n := 0
	err := f.s.children(func(e *xml.StartElement) error {
		kind := e.Name.Local
		read := shapeOfCVAT(kind)
		if read == nil {
			return f.s.skip()
		}
		attributes, err := f.attributes()
		if err != nil {
			return err
		}
		s := shape{label: attribute(e, "label"), attributes: attributes}
		occluded := attribute(e, "occluded")
		s.isOccluded = isOne(&occluded)
		reason := read(&s, e)
		if reason == nil && s.label == "" {
			reason = errs.New(errs.Invalid, "has no label")
		}
		if reason == nil && len(p.shapes) <= maxObjects {
			p.shapes = append(p.shapes, s)
			f.has.occluded = f.has.occluded || occluded != "" && s.kind <= maskShape
		}
		if reason != nil {
			f.faultOf(f.key, kind, n, "image "+strconv.Quote(p.name), reason)
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	if reason := f.reasonOf(p); reason != nil {
		f.faults.add(f.key, "image "+strconv.Itoa(f.images-1)+" "+reason.Error())
		return nil
	}
	return f.add(p)
}

// attributes reads the attributes of a shape to its end, as a JSON object; "": there are none.
func (f *cvatFile) attributes() (string, error) {
	var all map[string]string
	err := f.s.children(func(e *xml.StartElement) error {
		if e.Name.Local != "attribute" {
			return f.s.skip()
		}
		text, err := f.s.text()
		if all == nil {
			all = map[string]string{}
		}
		all[attribute(e, "name")] = text
		return err
	})
	if err != nil || all == nil {
		return "", err
	}
	data, err := json.Marshal(all)
	return string(data), err
}

// shapeOfCVAT returns what reads an element within a picture; nil: it is no shape.
func shapeOfCVAT(kind string) func(s *shape, e *xml.StartElement) error {
	switch kind {
	case "box":
		return (*shape).cvatBox
	case "polygon":
		return func(s *shape, e *xml.StartElement) error { return s.cvatPoints(outlineShape, e) }
	case "polyline":
		return func(s *shape, e *xml.StartElement) error { return s.cvatPoints(lineShape, e) }
	case "points":
		return func(s *shape, e *xml.StartElement) error { return s.cvatPoints(pointShape, e) }
	case "mask":
		return (*shape).cvatMask
	case "tag":
		return func(s *shape, _ *xml.StartElement) error { s.kind = classShape; return nil }
	case "ellipse", "cuboid", "skeleton":
		return func(*shape, *xml.StartElement) error {
			return errs.New(errs.Unsupported, "is no shape that can be taken, want a box, a polygon, a polyline, points, a mask or a tag")
		}
	}
	return nil
}

// cvatNumber reads a coordinate.
func cvatNumber(text, of string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0, errs.New(errs.Invalid, "has %.40q for %s, want a number", text, of)
	}
	return coordinate(x, of)
}

// cvatBox reads a box. One that is turned is an outline.
func (s *shape) cvatBox(e *xml.StartElement) error {
	s.kind = boxShape
	var v [4]float64
	for i, name := range [...]string{"xtl", "ytl", "xbr", "ybr"} {
		x, err := cvatNumber(attribute(e, name), name)
		if err != nil {
			return err
		}
		v[i], s.xy = x, append(s.xy, float32(x))
	}
	text := attribute(e, "rotation")
	if text == "" {
		return nil
	}
	turn, err := cvatNumber(text, "rotation")
	if err == nil && turn != 0 {
		s.kind = outlineShape
		s.xy = turned(v[0], v[1], v[2], v[3], (v[0]+v[2])/2, (v[1]+v[3])/2, turn)
	}
	return err
}

// cvatPoints reads points, such as "1,2;3,4".
func (s *shape) cvatPoints(kind shapeKind, e *xml.StartElement) error {
	s.kind = kind
	text := strings.TrimSpace(attribute(e, "points"))
	if text == "" {
		return errs.New(errs.Invalid, "has no points")
	}
	for point := range strings.SplitSeq(text, ";") {
		left, top, ok := strings.Cut(point, ",")
		if !ok {
			return errs.New(errs.Invalid, "has the point %.40q, want x and y with a comma between", point)
		}
		for _, text := range [...]string{left, top} {
			x, err := cvatNumber(text, "points")
			if err != nil {
				return err
			}
			s.xy = append(s.xy, float32(x))
		}
	}
	return nil
}

// cvatMask reads a mask: its place, its size, and its runs.
func (s *shape) cvatMask(e *xml.StartElement) error {
	s.kind = maskShape
	var v [4]int64
	for i, name := range [...]string{"left", "top", "width", "height"} {
		least := int64(i / 2) // a mask without pixels is none
		n, err := strconv.ParseInt(strings.TrimSpace(attribute(e, name)), 10, 64)
		if err != nil || n < least || n > maxSide {
			return errs.New(errs.Invalid, "has %.40q for %s, want an integer from %d to %d", attribute(e, name), name, least, maxSide)
		}
		v[i] = n
	}
	s.xy = []float32{float32(v[0]), float32(v[1])}
	var runs []int64
	for text := range strings.SplitSeq(attribute(e, "rle"), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || n < 0 || n > maxMask {
			return errs.New(errs.Invalid, "has the run %.40q in its mask, want the number of its pixels", text)
		}
		runs = append(runs, n)
	}
	s.mask = rle{v[2], v[3], encodeRuns(runs)}
	return s.mask.each(func(int64) {})
}

// maxSide bounds the sides of pictures.
const maxSide = 1 << 20
