package annotations

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/internal/jsontext"
)

// labelStudioFile reads an export of Label Studio: a list of tasks, of one picture each.
type labelStudioFile struct {
	*drawn
	key      string
	hasBrush bool // it has masks of brushes, which are left out
}

// openLabelStudio reads JSON files with tasks.
func openLabelStudio(ctx context.Context, p *Place) (Set, error) {
	keys, err := findLabelStudio(ctx, p)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	d := &drawn{whole: "choices", files: keys, masks: p.Masks}
	for _, key := range keys {
		if err := readLabelStudio(ctx, p.Source, key, d); err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
	}
	d.finish()
	return d, nil
}

// findLabelStudio returns the names of files with tasks.
func findLabelStudio(ctx context.Context, p *Place) (found []string, err error) {
	keys := []string{p.File}
	if p.File == "" {
		keys = p.Names.few(".json")
	}
	for _, key := range keys {
		head, err := readHead(ctx, p.Source, key, cocoHead)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
		isFull, isMin := isLabelStudio(string(head))
		switch {
		case isFull:
			found = append(found, key)
		case isMin:
			return nil, errs.New(errs.Unsupported, "%s is JSON-MIN of Label Studio, want JSON: export it as that, or import the pictures alone by format=%q", key, "images")
		case p.File != "" && p.Asked:
			return nil, errs.New(errs.Invalid, "%s is none of Label Studio: want a list of tasks with data and annotations", key)
		}
	}
	if len(found) == 0 && p.Asked {
		return nil, errs.New(errs.NotFound, "no .json file there has tasks of Label Studio; export as JSON, and name it by annotations=, as in %q", "project-1.json")
	}
	return found, nil
}

// isLabelStudio reports whether a document that begins so is a list of tasks, or one of JSON-MIN,
// which lacks the kinds of shapes.
func isLabelStudio(head string) (isFull, isMin bool) {
	text := strings.TrimLeft(strings.TrimPrefix(head, "\xef\xbb\xbf"), " \t\r\n")
	rest, isList := strings.CutPrefix(text, "[")
	if !isList || !strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "{") {
		return false, false
	}
	has := func(key string) bool { return strings.Contains(text, `"`+key+`"`) }
	if has("annotations") || has("completions") {
		return has("data") || has("result") && has("from_name"), false
	}
	return false, has("annotation_id") && has("annotator")
}

// readLabelStudio reads a file as a stream.
func readLabelStudio(ctx context.Context, source Source, key string, d *drawn) error {
	body, err := source.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	f := &labelStudioFile{drawn: d, key: key}
	s := jsontext.NewStream(body, maxElement)
	n := 0
	err = s.List(func() error {
		if n++; n > maxEntries {
			return errs.New(errs.Invalid, "has more than %d tasks", maxEntries)
		}
		if ctx.Err() != nil {
			return errs.Wrap(errs.Canceled, "read", key, ctx.Err())
		}
		p, err := s.Value()
		if err != nil {
			return err
		}
		task, err := f.task(p, n-1)
		if err != nil {
			f.faults.add(key, "task "+strconv.Itoa(n-1)+" "+err.Error())
			return nil
		}
		if err := f.add(task); err != nil {
			return err
		}
		f.addEnds(task.name)
		return nil
	})
	if err == nil {
		err = s.End()
	}
	return err
}

// task reads a task.
func (f *labelStudioFile) task(text []byte, at int) (*drawnPicture, error) {
	p := &drawnPicture{}
	var result []byte
	err := (&element{p: text}).members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "id":
			p.id, err = strconv.ParseInt(textOf(v), 10, 64)
			if p.hasID = err == nil; !p.hasID {
				return errs.New(errs.Invalid, "has %.40s for its id, want an integer", v)
			}
		case "data":
			p.name, err = pictureOf(v)
		case "annotations", "completions":
			result, err = resultOf(v, kind, key)
		}
		return err
	})
	if err == nil && p.name == "" {
		err = errs.New(errs.Invalid, "has no picture in its data")
	}
	if err == nil && result != nil {
		err = f.results(p, result, at)
	}
	if err == nil {
		err = f.reasonOf(p)
	}
	return p, err
}

// pictureOf returns the name of the picture in the data of a task.
func pictureOf(v []byte) (name string, err error) {
	other := ""
	err = (&element{p: v}).members(func(key string, v []byte, kind jsontext.Kind) error {
		if kind != jsontext.Text || key != "image" && other != "" {
			return nil
		}
		text, err := nameOf(v, kind, key)
		if err != nil {
			return err
		}
		text = plainPath(text)
		switch {
		case key == "image":
			name = text
		case kindOf(text) == picture:
			other = text
		}
		return nil
	})
	if name == "" {
		name = other
	}
	return name, err
}

// plainPath returns the path that an address of a picture has.
func plainPath(address string) string {
	if _, local, ok := strings.Cut(address, "/data/local-files/?d="); ok {
		address, _, _ = strings.Cut(local, "&")
	} else if strings.Contains(address, "://") || strings.HasPrefix(address, "/data/") {
		address, _, _ = strings.Cut(address, "?")
	} else {
		return address
	}
	if plain, err := url.PathUnescape(address); err == nil {
		return plain
	}
	return address
}

// addEnds lets pictures in fewer folders be found, and those without the prefix of an upload: eight
// digits and "-".
func (d *drawn) addEnds(name string) {
	name = cleanName(name)
	for _, end, isMore := strings.Cut(name, "/"); isMore; _, end, isMore = strings.Cut(end, "/") {
		d.pictures.addEnd(end)
	}
	prefix, plain, ok := strings.Cut(path.Base(name), "-")
	if ok && plain != "" && len(prefix) == 8 && strings.Trim(prefix, "0123456789abcdef") == "" {
		d.pictures.addEnd(plain)
	}
}

// resultOf returns the result of the first annotation that counts; nil: there is none.
func resultOf(v []byte, kind jsontext.Kind, key string) (result []byte, err error) {
	err = items(v, kind, key, func(v []byte, _ jsontext.Kind) error {
		if result != nil {
			return nil
		}
		isCancelled, found := false, []byte(nil)
		err := (&element{p: v}).members(func(key string, v []byte, kind jsontext.Kind) error {
			switch key {
			case "was_cancelled", "skipped":
				isCancelled = isCancelled || string(v) == "true"
			case "result":
				if found = v; kind != jsontext.List {
					return errs.New(errs.Type, "has %s for %q, want a list", kind, key)
				}
			}
			return nil
		})
		if err == nil && !isCancelled {
			result = found
		}
		return err
	})
	return result, err
}

// results takes the shapes of a picture. One that is none gives a fault.
func (f *labelStudioFile) results(p *drawnPicture, v []byte, task int) error {
	n := 0
	return items(v, jsontext.List, "result", func(v []byte, _ jsontext.Kind) error {
		var r labelStudioResult
		err := (&element{p: v}).members(r.member)
		if r.kind == "brushlabels" {
			if f.hasBrush {
				return nil
			}
			f.hasBrush = true
			err = errs.New(errs.Unsupported, "is the mask of a brush, and those of this file are left out; export them as masks")
		}
		if err == nil {
			err = r.shapes(p)
		}
		if err != nil {
			f.faultOf(f.key, "result", n, "task "+strconv.Itoa(task), err)
		}
		if n++; len(p.shapes) > maxObjects {
			return errs.New(errs.Invalid, "has more than %d shapes", maxObjects)
		}
		return nil
	})
}

// labelStudioResult is a shape of a task, or classes of its picture.
type labelStudioResult struct {
	kind          string
	width, height int64 // of the picture; 0: not known
	value         []byte
}

// member takes a member of a result.
func (r *labelStudioResult) member(key string, v []byte, kind jsontext.Kind) (err error) {
	switch key {
	case "type":
		r.kind, err = nameOf(v, kind, key)
	case "value":
		r.value = v
	case "original_width", "original_height":
		if kind == jsontext.Null {
			return nil
		}
		x, err := numberOf(v, kind, key)
		if err != nil || !isSide(float32(x)) {
			return errs.New(errs.Invalid, "has %.40s for %s, want the pixels of a side", v, key)
		}
		if key == "original_width" {
			r.width = int64(x)
		} else {
			r.height = int64(x)
		}
	}
	return err
}

// labelStudioValue is the value of a result: coordinates are percent.
type labelStudioValue struct {
	numbers map[string]float64
	points  []float64
	labels  []string
}

// read reads a value. labels is the member with the names of classes.
func (u *labelStudioValue) read(v []byte, labels string) error {
	u.numbers = map[string]float64{}
	return (&element{p: v}).members(func(key string, v []byte, kind jsontext.Kind) error {
		switch key {
		case "x", "y", "width", "height", "rotation":
			x, err := percentOf(v, kind, key)
			u.numbers[key] = x
			return err
		case "points":
			return items(v, kind, key, func(v []byte, kind jsontext.Kind) error {
				from := len(u.points)
				err := items(v, kind, key, func(v []byte, kind jsontext.Kind) error {
					x, err := percentOf(v, kind, key)
					u.points = append(u.points, x)
					return err
				})
				if n := len(u.points) - from; err == nil && n != 2 {
					err = errs.New(errs.Invalid, "has a point of %d numbers, want x and y", n)
				}
				return err
			})
		case labels:
			return items(v, kind, key, func(v []byte, kind jsontext.Kind) error {
				name, err := nameOf(v, kind, key)
				if err == nil && (name == "" || !utf8.ValidString(name)) {
					err = errs.New(errs.Invalid, "has the label %.40q, want a name in UTF-8", name)
				}
				u.labels = append(u.labels, name)
				return err
			})
		}
		return nil
	})
}

func percentOf(v []byte, kind jsontext.Kind, key string) (float64, error) {
	x, err := numberOf(v, kind, key)
	if err != nil {
		return 0, err
	}
	return coordinate(x, key)
}

// shapes adds the shapes of a result: one for each of its classes.
func (r *labelStudioResult) shapes(p *drawnPicture) error {
	if r.kind == "relation" {
		return nil
	}
	kinds := map[string]shapeKind{"rectanglelabels": boxShape, "polygonlabels": outlineShape, "keypointlabels": pointShape, "choices": classShape}
	kind, ok := kinds[r.kind]
	if !ok {
		return errs.New(errs.Unsupported, "is of type %.40q, want rectanglelabels, polygonlabels, keypointlabels or choices", r.kind)
	}
	var u labelStudioValue
	if r.value == nil {
		return errs.New(errs.Invalid, "has no value")
	}
	if err := u.read(r.value, r.kind); err != nil {
		return err
	}
	if len(u.labels) == 0 {
		return errs.New(errs.Invalid, "has no label")
	}
	s := shape{kind: kind}
	if err := r.place(&s, &u); err != nil {
		return err
	}
	for _, label := range u.labels {
		s.label, s.xy = label, slices.Clone(s.xy)
		p.shapes = append(p.shapes, s)
	}
	return nil
}

// place sets the coordinates of a shape.
func (r *labelStudioResult) place(s *shape, u *labelStudioValue) error {
	wanted := []string(nil)
	switch s.kind {
	case boxShape:
		wanted = []string{"x", "y", "width", "height"}
	case pointShape:
		wanted = []string{"x", "y"}
	case outlineShape:
		if len(u.points) == 0 {
			return errs.New(errs.Invalid, "has no points")
		}
	}
	for _, name := range wanted {
		if _, ok := u.numbers[name]; !ok {
			return errs.New(errs.Invalid, "has no %s", name)
		}
	}
	across, down := float64(r.width)/100, float64(r.height)/100
	if s.isPercent = r.width == 0 || r.height == 0; s.isPercent {
		across, down = 1, 1
	}
	x, y, turn := u.numbers["x"]*across, u.numbers["y"]*down, u.numbers["rotation"]
	switch s.kind {
	case pointShape:
		s.xy = []float32{float32(x), float32(y)}
	case outlineShape:
		for i := 0; i+1 < len(u.points); i += 2 {
			s.xy = append(s.xy, float32(u.points[i]*across), float32(u.points[i+1]*down))
		}
	case boxShape:
		right, bottom := x+u.numbers["width"]*across, y+u.numbers["height"]*down
		s.xy = []float32{float32(x), float32(y), float32(right), float32(bottom)}
		if turn != 0 && s.isPercent {
			return errs.New(errs.Invalid, "is turned, and has no original_width and original_height")
		}
		if turn != 0 {
			s.kind, s.xy = outlineShape, turned(x, y, right, bottom, x, y, turn)
		}
	}
	return nil
}
