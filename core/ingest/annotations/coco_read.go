package annotations

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/internal/jsontext"
)

// cocoFile is one file, in memory: its texts are gone, and numbers lie in few pieces.
type cocoFile struct {
	key           string
	folder, below string // where its pictures lie; "": anywhere

	names      []string // of the pictures
	ids        []int64
	byID       map[int64]int32
	seen       []atomic.Bool
	categories []cocoCategory
	objects    []cocoEntry
	outlines   []float32 // of all objects
	keypoints  []float32
	runs       []rle
	captions   []string // by object
	isCaptions bool
	pngs       map[int64]string // of a panoptic file: masks by the ids of pictures; nil: it is none
	masksIn    string           // their folder
	texts      map[string]int64 // ids that are texts
	faults     faults

	first []int32 // of the pictures, and the end: places in order
	order []int32 // objects by picture
}

// cocoEntry is an object as its file has it.
type cocoEntry struct {
	id, image, category  int64
	box                  [4]float32
	area                 float64
	crowd                bool
	picture              int32
	runs                 int32 // in runs, from 1; 0: none
	outline, outlineEnd  int   // in outlines
	keypoint, keypointTo int   // in keypoints
}

type cocoCategory struct {
	id        int64
	name      string
	keypoints []string
	skeleton  [][]int64
}

const (
	// maxElement bounds the JSON of one picture, class or object.
	maxElement = 64 << 20
	// maxEntries bounds the pictures, and the objects, of a file.
	maxEntries = 1 << 27
	// maxClasses bounds the classes.
	maxClasses = 1 << 20
	// maxKeypoints bounds the keypoints of an object.
	maxKeypoints = 10_000
)

// readCOCO reads a file as a stream. Objects that are none give faults.
func readCOCO(ctx context.Context, source Source, key string) (*cocoFile, error) {
	body, err := source.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	f := &cocoFile{key: key, byID: map[int64]int32{}}
	s := jsontext.NewStream(body, maxElement)
	err = s.Object(func(name string) error {
		var each func(e *element) error
		switch name {
		case "images":
			each = f.addImage
		case "categories":
			each = f.addCategory
		case "annotations":
			each = f.addObject
		default:
			return s.Skip()
		}
		n := 0
		return s.List(func() error {
			if n++; n%1024 == 0 && ctx.Err() != nil {
				return errs.Wrap(errs.Canceled, "read", key, ctx.Err())
			}
			if n > maxEntries {
				return errs.New(errs.Invalid, "%s has more than %d entries", name, maxEntries)
			}
			p, err := s.Value()
			if err != nil {
				return err
			}
			return each(&element{p: p, of: name, at: n - 1})
		})
	})
	if err == nil {
		err = s.End()
	}
	f.seen = make([]atomic.Bool, len(f.names))
	f.isCaptions = f.captions != nil
	return f, err
}

// element is an entry of a list, as JSON.
type element struct {
	p  []byte
	of string
	at int
}

// members calls each with the members of an element that is an object.
func (e *element) members(each func(key string, v []byte, kind jsontext.Kind) error) error {
	s := &jsontext.Scanner{P: e.p}
	if s.Space(); s.At >= len(s.P) || s.P[s.At] != '{' {
		return errs.New(errs.Invalid, "is no object")
	}
	return s.Members(0, func(quoted []byte) error {
		key, err := jsontext.Plain(quoted)
		if err != nil {
			return err
		}
		s.Space()
		from := s.At
		kind, err := s.Value(1)
		if err != nil {
			return err
		}
		return each(textOf(key), s.P[from:s.At], kind)
	})
}

// textOf is p as a text, which lives as long as p.
func textOf(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// fault reports an element that cannot be taken.
func (f *cocoFile) fault(e *element, err error) {
	f.faults.add(f.key, e.of+" "+strconv.Itoa(e.at)+" "+err.Error())
}

// idOf reads an id: a number, or a text.
func (f *cocoFile) idOf(v []byte, kind jsontext.Kind) (int64, error) {
	switch kind {
	case jsontext.Int, jsontext.Float:
		if n, err := strconv.ParseInt(textOf(v), 10, 64); err == nil {
			return n, nil
		}
		x, err := strconv.ParseFloat(textOf(v), 64)
		if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return 0, errs.New(errs.Invalid, "has the id %s, want an integer", v)
		}
		return int64(x), nil
	case jsontext.Text:
		text, err := jsontext.Plain(v[1 : len(v)-1])
		if err != nil {
			return 0, err
		}
		if n, err := strconv.ParseInt(textOf(text), 10, 64); err == nil {
			return n, nil
		}
		id, ok := f.texts[textOf(text)]
		if !ok {
			if f.texts == nil {
				f.texts = map[string]int64{}
			}
			id = -1 - int64(len(f.texts))
			f.texts[string(text)] = id
		}
		return id, nil
	}
	return 0, errs.New(errs.Type, "has %s for an id, want a number", kind)
}

func nameOf(v []byte, kind jsontext.Kind, key string) (string, error) {
	if kind != jsontext.Text {
		return "", errs.New(errs.Type, "has %s for %q, want a text", kind, key)
	}
	text, err := jsontext.Plain(v[1 : len(v)-1])
	return string(text), err
}

// addImage takes a picture.
func (f *cocoFile) addImage(e *element) error {
	id, name, has := int64(0), "", false
	err := e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "id":
			id, err = f.idOf(v, kind)
			has = true
		case "file_name":
			name, err = nameOf(v, kind, key)
		}
		return err
	})
	if _, twice := f.byID[id]; err == nil && twice {
		err = errs.New(errs.Invalid, "has the id %d, as an image before", id)
	}
	switch {
	case err != nil:
	case !has:
		err = errs.New(errs.Invalid, "has no id")
	case name == "":
		err = errs.New(errs.Invalid, "has no file_name")
	}
	if err != nil {
		f.fault(e, err)
		return nil
	}
	f.byID[id] = int32(len(f.names))
	f.names, f.ids = append(f.names, name), append(f.ids, id)
	return nil
}

// addCategory takes a class.
func (f *cocoFile) addCategory(e *element) error {
	c, has := cocoCategory{}, false
	err := e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "id":
			c.id, err = f.idOf(v, kind)
			has = true
		case "name":
			c.name, err = nameOf(v, kind, key)
		case "keypoints":
			err = items(v, kind, key, func(v []byte, kind jsontext.Kind) error {
				name, err := nameOf(v, kind, key)
				c.keypoints = append(c.keypoints, name)
				return err
			})
		case "skeleton":
			err = items(v, kind, key, func(v []byte, kind jsontext.Kind) error {
				edge, err := numbersOf(nil, v, kind, key)
				if err != nil || len(edge) != 2 {
					return errs.New(errs.Invalid, "has an edge of %d points in its skeleton, want 2", len(edge))
				}
				c.skeleton = append(c.skeleton, []int64{int64(edge[0]), int64(edge[1])})
				return nil
			})
		}
		return err
	})
	if len(f.categories) == maxClasses {
		return errs.New(errs.Invalid, "it has more than %d categories", maxClasses)
	}
	if err == nil && !has {
		err = errs.New(errs.Invalid, "has no id")
	}
	if err == nil && len(c.keypoints) > maxKeypoints {
		err = errs.New(errs.Invalid, "has %d keypoints, want at most %d", len(c.keypoints), maxKeypoints)
	}
	if err != nil {
		f.fault(e, err)
		return nil
	}
	f.categories = append(f.categories, c)
	return nil
}

// items calls each with the items of a list.
func items(v []byte, kind jsontext.Kind, key string, each func(v []byte, kind jsontext.Kind) error) error {
	if kind != jsontext.List {
		return errs.New(errs.Type, "has %s for %q, want a list", kind, key)
	}
	s := &jsontext.Scanner{P: v}
	return s.Items(0, func() error {
		s.Space()
		from := s.At
		kind, err := s.Value(1)
		if err != nil {
			return err
		}
		return each(s.P[from:s.At], kind)
	})
}

// numbersOf appends the numbers of a list. They are finite.
func numbersOf(to []float32, v []byte, kind jsontext.Kind, key string) ([]float32, error) {
	err := items(v, kind, key, func(v []byte, kind jsontext.Kind) error {
		x, err := numberOf(v, kind, key)
		to = append(to, float32(x))
		return err
	})
	return to, err
}

func numberOf(v []byte, kind jsontext.Kind, key string) (float64, error) {
	if kind != jsontext.Int && kind != jsontext.Float {
		return 0, errs.New(errs.Type, "has %s in %q, want a number", kind, key)
	}
	x, err := strconv.ParseFloat(textOf(v), 64)
	if err != nil || math.Abs(x) > math.MaxFloat32 {
		return 0, errs.New(errs.Invalid, "has %.40s in %q, want a finite number", v, key)
	}
	return x, nil
}

// addObject takes an object, or a caption.
func (f *cocoFile) addObject(e *element) error {
	var o cocoEntry
	var caption string
	hasImage, hasCategory, hasCaption, hasID, hasBox, isPanoptic := false, false, false, false, false, false
	outlines, keypoints, runs := len(f.outlines), len(f.keypoints), len(f.runs)
	err := e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "id":
			o.id, err = f.idOf(v, kind)
			hasID = true
		case "image_id":
			o.image, err = f.idOf(v, kind)
			hasImage = true
		case "category_id":
			o.category, err = f.idOf(v, kind)
			hasCategory = true
		case "bbox", "area", "iscrowd":
			var box bool
			box, err = f.common(&o, key, v, kind)
			hasBox = hasBox || box
		case "segments_info":
			isPanoptic = true
		case "caption":
			caption, err = nameOf(v, kind, key)
			hasCaption = true
		case "segmentation":
			err = f.segmentation(&o, v, kind)
		case "keypoints":
			o.keypoint = len(f.keypoints)
			if f.keypoints, err = numbersOf(f.keypoints, v, kind, key); err == nil && (len(f.keypoints)-o.keypoint)%3 != 0 {
				err = errs.New(errs.Invalid, "has %d numbers in its keypoints, want x, y and visibility of each", len(f.keypoints)-o.keypoint)
			}
			o.keypointTo = len(f.keypoints)
		}
		return err
	})
	if isPanoptic {
		f.outlines, f.keypoints, f.runs = f.outlines[:outlines], f.keypoints[:keypoints], f.runs[:runs]
		if f.pngs == nil {
			f.pngs = map[int64]string{}
		}
		return f.addSegments(e)
	}
	switch {
	case err != nil:
	case !hasImage:
		err = errs.New(errs.Invalid, "has no image_id")
	case !hasCaption && !hasCategory:
		err = errs.New(errs.Invalid, "has no category_id")
	case hasCaption && f.captions == nil && len(f.objects) > 0, !hasCaption && f.captions != nil:
		err = errs.New(errs.Invalid, "is a caption among objects, or an object among captions")
	}
	if err != nil {
		f.outlines, f.keypoints, f.runs = f.outlines[:outlines], f.keypoints[:keypoints], f.runs[:runs]
		f.fault(e, err)
		return nil
	}
	if !hasID {
		o.id = int64(e.at)
	}
	if !hasBox && o.outlineEnd > o.outline {
		o.box = boundsOf(f.outlines[o.outline:o.outlineEnd])
	}
	f.objects = append(f.objects, o)
	if hasCaption {
		f.captions = append(f.captions, caption)
	}
	return nil
}

// common reads a member that objects and segments have. It returns whether it is a box.
func (f *cocoFile) common(o *cocoEntry, key string, v []byte, kind jsontext.Kind) (hasBox bool, err error) {
	switch {
	case kind == jsontext.Null:
	case key == "bbox":
		box, err := numbersOf(nil, v, kind, key)
		if err == nil && len(box) != 4 && len(box) != 0 {
			err = errs.New(errs.Invalid, "has %d numbers in its bbox, want 4: left, top, width, height", len(box))
		}
		return copy(o.box[:], box) == 4, err
	case key == "area":
		o.area, err = numberOf(v, kind, key)
	case key == "iscrowd":
		o.crowd = string(v) == "1" || string(v) == "true"
	}
	return false, err
}

// boundsOf returns left, top, width and height of an outline.
func boundsOf(xy []float32) [4]float32 {
	left, top, right, bottom := float32(math.Inf(1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Inf(-1))
	for i := 0; i+1 < len(xy); i += 2 {
		if xy[i] == xy[i] {
			left, right = min(left, xy[i]), max(right, xy[i])
			top, bottom = min(top, xy[i+1]), max(bottom, xy[i+1])
		}
	}
	return [4]float32{left, top, right - left, bottom - top}
}

// segmentation takes the outlines of an object, or its mask.
func (f *cocoFile) segmentation(o *cocoEntry, v []byte, kind jsontext.Kind) error {
	switch kind {
	case jsontext.Null:
		return nil
	case jsontext.Object:
		return f.mask(o, v)
	}
	nan := float32(math.NaN())
	o.outline = len(f.outlines)
	err := items(v, kind, "segmentation", func(v []byte, kind jsontext.Kind) (err error) {
		if len(f.outlines) > o.outline {
			f.outlines = append(f.outlines, nan, nan)
		}
		from := len(f.outlines)
		if f.outlines, err = numbersOf(f.outlines, v, kind, "segmentation"); err == nil && (len(f.outlines)-from)%2 != 0 {
			err = errs.New(errs.Invalid, "has an outline of %d numbers, want x and y of each point", len(f.outlines)-from)
		}
		return err
	})
	o.outlineEnd = len(f.outlines)
	return err
}

// mask takes the mask of an object: its size, and its runs as a list or a text.
func (f *cocoFile) mask(o *cocoEntry, v []byte) error {
	var m rle
	e := &element{p: v}
	var list []int64
	isList := false
	err := e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch {
		case key == "size":
			size, err := numbersOf(nil, v, kind, key)
			if err != nil || len(size) != 2 || !isSide(size[0]) || !isSide(size[1]) {
				return errs.New(errs.Invalid, "has a mask of size %.60s, want height and width", v)
			}
			m.height, m.width = int64(size[0]), int64(size[1])
			return nil
		case key == "counts" && kind == jsontext.Text:
			m.counts, err = nameOf(v, kind, key)
		case key == "counts":
			isList = true
			err = items(v, kind, key, func(v []byte, kind jsontext.Kind) error {
				n, err := strconv.ParseInt(textOf(v), 10, 64)
				if err != nil || n < 0 || n > maxMask || len(list) == maxRuns {
					return errs.New(errs.Invalid, "has the run %.40s in its mask", v)
				}
				list = append(list, n)
				return nil
			})
		}
		return err
	})
	if err != nil {
		return err
	}
	if isList {
		m.counts = encodeRuns(list)
	}
	if err := m.each(func(int64) {}); err != nil {
		return errs.New(errs.Invalid, "has no mask: %w", err)
	}
	f.runs = append(f.runs, m)
	o.runs = int32(len(f.runs))
	return nil
}

func isSide(v float32) bool { return v > 0 && v == float32(int64(v)) && v <= 1<<20 }

// drop leaves out objects of unknown pictures and classes, and those that come twice.
func (f *cocoFile) drop(classes map[int64]string) {
	kept := f.objects[:0]
	captions := f.captions[:0]
	for i := range f.objects {
		o := f.objects[i]
		image, known := f.byID[o.image]
		_, isClass := classes[o.category]
		switch {
		case !known:
			f.faults.add(f.key, fmt.Sprintf("object %d is of image %d, which is none of its images", o.id, o.image))
			continue
		case !f.isCaptions && !isClass:
			f.faults.add(f.key, fmt.Sprintf("object %d is of category %d, which is none of its categories", o.id, o.category))
			continue
		}
		o.picture = image
		kept = append(kept, o)
		if f.isCaptions {
			captions = append(captions, f.captions[i])
		}
	}
	f.objects = kept
	if f.isCaptions {
		f.captions = captions
	}
}

// index sorts the objects by their pictures, in the order of the file.
func (f *cocoFile) index() {
	f.first = make([]int32, len(f.names)+1)
	for i := range f.objects {
		f.first[f.objects[i].picture+1]++
	}
	for i := range f.names {
		f.first[i+1] += f.first[i]
	}
	next := append([]int32{}, f.first...)
	f.order = make([]int32, len(f.objects))
	for i := range f.objects {
		at := &next[f.objects[i].picture]
		f.order[*at] = int32(i)
		*at++
	}
	f.byID = nil
}

func (f *cocoFile) objectsOf(image int32) []int32 { return f.order[f.first[image]:f.first[image+1]] }

func (f *cocoFile) outline(o *cocoEntry) []float32 {
	if o.outlineEnd == o.outline {
		return nil
	}
	return f.outlines[o.outline:o.outlineEnd]
}

func (f *cocoFile) points(o *cocoEntry) []float32 { return f.keypoints[o.keypoint:o.keypointTo] }
