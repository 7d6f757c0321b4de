package annotations

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/internal/jsontext"
)

// cocoFile is one file, in memory: its objects are records.
type cocoFile struct {
	key           string
	folder, below string // where its pictures lie; "": anywhere
	isExact       bool   // a folder has that name, not only one like "images_train"

	names      []string // of the pictures; "": objects name an image that the file does not have
	ids        []int64
	sizes      [][2]int32 // width and height of the pictures; 0: the file states none
	claims     []string   // the picture that has a name
	byID       map[int64]int32
	byName     []int32 // pictures in the order of their names
	byBase     []int32 // those in folders, in the order of the last parts of their names
	seen       []atomic.Bool
	categories []cocoCategory
	classes    map[int64]int32 // by id: places in the classes of all files
	isCaptions bool
	texts      *cocoIDs
	pngs       map[int32]string // of a panoptic file: masks by picture; nil: it is none
	masksIn    string           // their folder
	has        cocoParts
	twins      map[int32]int32 // second entries of a picture, while the file is read
	faults     faults

	mu      sync.Mutex // of claims
	records arena
	objects []cocoPlace // after index by picture, in the order of the file
	first   []int32     // of each picture, and the end: places in objects

	outlines []float32 // of the object that is read, with points of NaN between parts
	points   []float32
	record   writer
}

// cocoPlace is where the record of an object lies.
type cocoPlace struct {
	at      uint32
	picture int32 // -1: it is left out
}

// cocoEntry is an object as its file has it.
type cocoEntry struct {
	id, category int64
	box          [4]float32
	area         float64
	crowd        bool
	runs         *rle
	outline      []float32
	points       []float32
	caption      string
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
func readCOCO(ctx context.Context, source Source, key string, texts *cocoIDs) (*cocoFile, error) {
	body, err := source.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	f := &cocoFile{key: key, byID: map[int64]int32{}, texts: texts}
	s := jsontext.NewStream(body, maxElement)
	s.Lax = true // Python writes NaN
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
	f.seen, f.claims = make([]atomic.Bool, len(f.names)), make([]string, len(f.names))
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
	s := &jsontext.Scanner{P: e.p, Lax: true}
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
		return f.texts.number(text), nil
	}
	return 0, errs.New(errs.Type, "has %s for an id, want a number", kind)
}

// cocoIDs gives numbers to ids that are texts, the same ones in all files.
type cocoIDs struct {
	texts map[string]int64
	words []string
}

const (
	// firstText is the number of the first id that is a text, maxTexts bounds those ids.
	firstText = math.MinInt64
	maxTexts  = 1 << 32
)

// number returns the number of a text.
func (c *cocoIDs) number(text []byte) int64 {
	id, ok := c.texts[textOf(text)]
	if !ok {
		id = firstText + int64(len(c.words))
		word := string(text)
		c.texts[word], c.words = id, append(c.words, word)
	}
	return id
}

// isText reports whether an id is the number of a text.
func isText(id int64) bool { return id < firstText+maxTexts }

// word returns an id as its file has it.
func (c *cocoIDs) word(id int64) string {
	if at := id - firstText; isText(id) && at < int64(len(c.words)) {
		return c.words[at]
	}
	return strconv.FormatInt(id, 10)
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
	id, name, url, has := int64(0), "", "", false
	var size [2]int32
	err := e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "id":
			id, err = f.idOf(v, kind)
			has = true
		case "file_name":
			name, err = nameOf(v, kind, key)
		case "coco_url": // LVIS has no file_name
			if kind == jsontext.Text {
				url, err = nameOf(v, kind, key)
			}
		case "width", "height":
			at := map[string]int{"width": 0, "height": 1}[key]
			if x, err := numberOf(v, kind, key); err == nil && x == math.Trunc(x) && x > 0 && x <= maxSide {
				size[at] = int32(x)
			}
		}
		return err
	})
	if name == "" {
		name = url
	}
	if i, known := f.byID[id]; err == nil && known && f.names[i] != "" {
		err = errs.New(errs.Invalid, "has the id %d, as an image before", id)
	}
	switch {
	case err != nil:
	case !has:
		err = errs.New(errs.Invalid, "has no id")
	case cleanName(name) == "":
		err = errs.New(errs.Invalid, "has no file_name")
	}
	if err != nil {
		f.fault(e, err)
		return nil
	}
	f.has.words = f.has.words || isText(id)
	i := f.imageOf(id)
	f.names[i], f.sizes[i] = cleanName(name), size
	return nil
}

// imageOf returns the number of the picture with an id.
func (f *cocoFile) imageOf(id int64) int32 {
	i, known := f.byID[id]
	if !known {
		i = int32(len(f.names))
		f.byID[id] = i
		f.names, f.ids, f.sizes = append(f.names, ""), append(f.ids, id), append(f.sizes, [2]int32{})
	}
	return i
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
	s := &jsontext.Scanner{P: v, Lax: true}
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
	if err != nil || math.IsNaN(x) || math.Abs(x) > math.MaxFloat32 {
		return 0, errs.New(errs.Invalid, "has %.40s in %q, want a finite number", v, key)
	}
	return x, nil
}

// addObject takes an object, or a caption.
func (f *cocoFile) addObject(e *element) error {
	o := cocoEntry{id: int64(e.at), area: math.NaN()}
	image := int64(0)
	hasImage, hasCategory, hasCaption, hasBox, isPanoptic := false, false, false, false, false
	f.outlines, f.points = f.outlines[:0], f.points[:0]
	err := e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "id":
			o.id, err = f.idOf(v, kind)
		case "image_id":
			image, err = f.idOf(v, kind)
			hasImage = true
		case "category_id":
			o.category, err = f.idOf(v, kind)
			hasCategory = true
		case "bbox", "area", "iscrowd":
			var box bool
			box, err = o.common(key, v, kind)
			hasBox = hasBox || box
		case "segments_info":
			isPanoptic = true
		case "caption":
			o.caption, err = nameOf(v, kind, key)
			hasCaption = true
		case "segmentation":
			err = f.segmentation(&o, v, kind)
		case "keypoints":
			if f.points, err = numbersOf(f.points[:0], v, kind, key); err == nil && len(f.points)%3 != 0 {
				err = errs.New(errs.Invalid, "has %d numbers in its keypoints, want x, y and visibility of each", len(f.points))
			}
		}
		return err
	})
	if isPanoptic {
		return f.addSegments(e)
	}
	switch {
	case err != nil:
	case !hasImage:
		err = errs.New(errs.Invalid, "has no image_id")
	case !hasCaption && !hasCategory:
		err = errs.New(errs.Invalid, "has no category_id")
	case len(f.objects) > 0 && hasCaption != f.isCaptions:
		err = errs.New(errs.Invalid, "is a caption among objects, or an object among captions")
	case len(f.points) > 3*maxKeypoints:
		err = errs.New(errs.Invalid, "has %d keypoints, want at most %d", len(f.points)/3, maxKeypoints)
	}
	if err != nil {
		f.fault(e, err)
		return nil
	}
	f.isCaptions = hasCaption
	if !hasBox && !hasCaption {
		switch {
		case len(f.outlines) > 0:
			o.box = boundsOf(f.outlines)
		case o.runs != nil:
			o.box = o.runs.bounds()
		case len(f.points) > 0:
			o.box = boundsOf(seenPoints(f.points))
		default:
			f.fault(e, errs.New(errs.Invalid, "has no bbox, segmentation or keypoints"))
			return nil
		}
	}
	return f.put(&o, image)
}

// common reads a member that objects and segments have. It returns whether it is a box.
func (o *cocoEntry) common(key string, v []byte, kind jsontext.Kind) (hasBox bool, err error) {
	switch {
	case kind == jsontext.Null:
	case key == "bbox":
		box, err := numbersOf(nil, v, kind, key)
		if err == nil && len(box) != 4 && len(box) != 0 {
			err = errs.New(errs.Invalid, "has %d numbers in its bbox, want 4: left, top, width, height", len(box))
		}
		return copy(o.box[:], box) == 4, err
	case key == "area" && string(v) == "NaN": // as without one
	case key == "area":
		o.area, err = numberOf(v, kind, key)
	case key == "iscrowd":
		o.crowd = string(v) == "1" || string(v) == "true"
	}
	return false, err
}

// seenPoints returns x and y of the keypoints that are labelled.
func seenPoints(points []float32) (xy []float32) {
	for i := 0; i+2 < len(points); i += 3 {
		if points[i+2] > 0 {
			xy = append(xy, points[i], points[i+1])
		}
	}
	return xy
}

// boundsOf returns left, top, width and height of an outline; zeros of one without points.
func boundsOf(xy []float32) [4]float32 {
	if len(xy) == 0 {
		return [4]float32{}
	}
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
		return o.mask(v)
	}
	nan := float32(math.NaN())
	f.outlines = f.outlines[:0]
	return items(v, kind, "segmentation", func(v []byte, kind jsontext.Kind) (err error) {
		if len(f.outlines) > 0 {
			f.outlines = append(f.outlines, nan, nan)
		}
		from := len(f.outlines)
		if f.outlines, err = numbersOf(f.outlines, v, kind, "segmentation"); err == nil && (len(f.outlines)-from)%2 != 0 {
			err = errs.New(errs.Invalid, "has an outline of %d numbers, want x and y of each point", len(f.outlines)-from)
		}
		return err
	})
}

// mask takes the mask of an object: its size, and its runs as a list or a text.
func (o *cocoEntry) mask(v []byte) error {
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
	o.runs = &m
	return nil
}

func isSide(v float32) bool { return v > 0 && v == float32(int64(v)) && v <= 1<<20 }
