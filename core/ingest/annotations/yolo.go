package annotations

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"deeplake/core/dataset"
	"deeplake/core/errs"
)

// yolo is the annotations of text files, one of each picture, as YOLO has them: a line is a class
// and a box, an outline, or a box with keypoints. Coordinates are shares of the picture's sides.
type yolo struct {
	source   Source
	names    *Names
	settings []string // the files with names of classes
	classes  []string // nil: numbers are the names
	points   int      // of an object; 0: none
	axes     int      // numbers of a keypoint: 2 or 3
	outlines bool
	scores   bool
	masks    bool
}

const (
	// lookedAt bounds the files that tell which kind of lines there are.
	lookedAt = 64
	// yoloHead is the number of bytes of a file that tell which kind of lines it has.
	yoloHead = 64 << 10
	// maxSettings bounds a file with names of classes.
	maxSettings = 1 << 20
	// A coordinate may lie somewhat outside of its picture.
	leastShare, mostShare = -0.5, 1.5
)

// openYOLO recognizes text files in "labels" beside "images", or beside the pictures themselves.
func openYOLO(ctx context.Context, p *Place) (Set, error) {
	y := &yolo{source: p.Source, names: p.Names, masks: p.Masks}
	files := y.someLabels()
	if !p.Asked && len(files) == 0 {
		return nil, nil
	}
	labels, blank, kinds := 0, 0, map[int]bool{} // blank: files of backgrounds
	for _, key := range files {
		data, err := readHead(ctx, p.Source, key, yoloHead)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
		if len(data) == yoloHead {
			data = data[:bytes.LastIndexByte(data, '\n')+1]
		}
		switch {
		case look(string(data), kinds):
			labels++
		case len(bytes.TrimSpace(data)) == 0 && strings.Contains("/"+key, "/labels/"):
			blank++
		}
	}
	if !p.Asked && labels+blank == 0 {
		return nil, nil
	}
	if err := y.readSettings(ctx, p); err != nil {
		return nil, err
	}
	y.decide(kinds)
	inFolders := slices.ContainsFunc(files, func(key string) bool { return strings.Contains("/"+key, "/labels/") })
	if !p.Asked && len(y.settings) == 0 && (!inFolders || labels == 0) {
		return nil, nil
	}
	y.outlines = y.outlines || labels == 0 && y.points == 0 // later files may have some
	if labels == 0 && len(y.settings) == 0 {
		return nil, errs.New(errs.NotFound, "there are neither data.yaml nor files with labels; want labels/a.txt for images/a.jpg, or a.txt beside a.jpg")
	}
	return y, nil
}

// labelPlaces returns where the labels of a picture may be.
func (y *yolo) labelPlaces(key string) (keys []string) {
	if beside := replaced(key, "images", "labels"); beside != "" {
		keys = append(keys, withExt(beside, ".txt"))
	}
	if f := y.names.folders[path.Dir(key)]; f != nil && f.count[".txt"] > 0 {
		keys = append(keys, withExt(key, ".txt"))
	}
	return keys
}

// someLabels returns files with labels: of the first pictures of each folder.
func (y *yolo) someLabels() (keys []string) {
	for _, dir := range y.names.PictureFolders() {
		of := map[string]bool{}
		for _, key := range y.names.folders[dir].first[picture] {
			for _, place := range y.labelPlaces(key) {
				of[place] = true
			}
		}
		for _, place := range y.labelPlaces(path.Join(dir, "x.jpg")) {
			f := y.names.folders[path.Dir(place)]
			if f == nil {
				continue
			}
			for _, key := range f.first[".txt"] {
				if len(keys) < lookedAt && (of[key] || strings.Contains("/"+key, "/labels/")) {
					keys = append(keys, key)
				}
			}
		}
	}
	return slices.Compact(keys)
}

// readSettings reads the names of the classes, and the number of keypoints.
func (y *yolo) readSettings(ctx context.Context, p *Place) error {
	keys := []string{p.File}
	if p.File == "" {
		keys = append(p.Names.few(".yaml"), p.Names.few(".yml")...)
		keys = append(keys, p.Names.few(".names")...)
		for _, key := range p.Names.allFirst(".txt") {
			if path.Base(key) == "classes.txt" {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		data, err := readHead(ctx, p.Source, key, maxSettings+1)
		if err != nil {
			return errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
		if len(data) > maxSettings {
			return errs.New(errs.Invalid, "%s has more than %d bytes", key, maxSettings)
		}
		switch strings.ToLower(path.Ext(key)) {
		case ".yaml", ".yml":
			err = y.readYAML(key, data, p.File != "")
		default:
			err = y.readNames(key, data)
		}
		if err != nil {
			return err
		}
	}
	if p.File != "" && y.classes == nil {
		return errs.New(errs.Invalid, "%s names no classes; want names: in a .yaml file, or a name in each line", p.File)
	}
	return nil
}

// readNames reads a name of a class from each line.
func (y *yolo) readNames(key string, data []byte) error {
	if !utf8.Valid(data) {
		return errs.New(errs.Invalid, "%s is no text in UTF-8", key)
	}
	var names []string
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		names = append(names, strings.TrimSpace(line))
	}
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	if y.settings = append(y.settings, key); y.classes == nil && len(names) > 0 {
		y.classes = distinct(names)
	}
	return nil
}

// readYAML reads the settings of a set. It passes over a document without names, unless the user
// has named it.
func (y *yolo) readYAML(key string, data []byte, isAsked bool) error {
	var of struct {
		Names  yaml.Node `yaml:"names"`
		Points []int     `yaml:"kpt_shape"`
	}
	if err := yaml.Unmarshal(data, &of); err != nil {
		if isAsked {
			return errs.New(errs.Invalid, "%s is no YAML: %w", key, err)
		}
		return nil
	}
	names, err := classNames(&of.Names)
	if err != nil {
		return errs.New(errs.Invalid, "%s: %w", key, err)
	}
	if names == nil || y.classes != nil {
		return nil
	}
	y.settings, y.classes = append(y.settings, key), distinct(names)
	if len(of.Points) == 0 {
		return nil
	}
	if len(of.Points) != 2 || of.Points[0] < 1 || of.Points[0] > maxKeypoints || of.Points[1] != 2 && of.Points[1] != 3 {
		return errs.New(errs.Invalid, "%s: kpt_shape is %v, want the number of keypoints, and 2 or 3", key, of.Points)
	}
	y.points, y.axes = of.Points[0], of.Points[1]
	return nil
}

// classNames reads a list of names, or a map of names by numbers. Gaps get their number.
func classNames(n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.SequenceNode:
		names := []string{}
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, errs.New(errs.Invalid, "line %d is no name of a class", item.Line)
			}
			names = append(names, item.Value)
		}
		return names, nil
	case yaml.MappingNode:
		by, last := map[int]string{}, -1
		for i := 0; i+1 < len(n.Content); i += 2 {
			number, err := strconv.Atoi(n.Content[i].Value)
			if err != nil || number < 0 || number >= maxClasses || n.Content[i+1].Kind != yaml.ScalarNode {
				return nil, errs.New(errs.Invalid, "line %d: names has %q, want the number of a class and its name", n.Content[i].Line, n.Content[i].Value)
			}
			by[number], last = n.Content[i+1].Value, max(last, number)
		}
		names := make([]string, last+1)
		for i := range names {
			names[i] = by[i]
		}
		return names, nil
	}
	return nil, nil
}

// distinct gives names that come twice, or are empty, their number.
func distinct(names []string) []string {
	out, seen := make([]string, len(names)), map[string]bool{}
	for i, name := range names {
		if seen[name] || name == "" {
			name = strings.TrimSpace(fmt.Sprintf("%s (%d)", name, i))
		}
		out[i], seen[name] = name, true
	}
	return out
}

func (y *yolo) Tensors() []dataset.TensorSpec {
	out := []dataset.TensorSpec{
		{Name: "boxes", HType: "bbox", DType: "float32", Info: map[string]any{"coords": map[string]any{"mode": "CCWH", "type": "fractional"}}},
		{Name: "labels", HType: "class_label", ClassNames: y.classes, AddClasses: y.classes != nil},
	}
	if y.outlines {
		out = append(out, dataset.TensorSpec{Name: "polygons", HType: "polygon", DType: "float32"})
		if y.masks {
			out = append(out, dataset.TensorSpec{Name: "masks", HType: "binary_mask"})
		}
	}
	if y.points > 0 {
		out = append(out, dataset.TensorSpec{Name: "keypoints", HType: "keypoints_coco", DType: "float32"})
	}
	if y.scores {
		out = append(out, dataset.TensorSpec{Name: "scores", HType: "generic", DType: "float32", Compression: "shuffle"})
	}
	return out
}

// Has reports true: a picture without labels is background.
func (y *yolo) Has(string) bool { return true }

// Why says nothing: all pictures belong to the set.
func (y *yolo) Why(string) string { return "" }

// Lost calls nothing: labels name no pictures.
func (y *yolo) Lost(string, func(string)) {}

func (y *yolo) Faults() ([]Fault, int64) { return nil, 0 }

// Uses reports whether a file has labels, or names of classes.
func (y *yolo) Uses(key string) bool {
	if slices.Contains(y.settings, key) {
		return true
	}
	if strings.ToLower(path.Ext(key)) != ".txt" {
		return false
	}
	dir := path.Dir(key)
	return slices.Contains(strings.Split(dir, "/"), "labels") || y.names.pictures(dir) > 0
}

// yoloObjects is the objects of a picture.
type yoloObjects struct {
	boxes    []float32
	classes  []int64
	outlines [][]float32
	points   [][]float32 // x, y and visibility of each keypoint
	scores   []float32
}

func (y *yolo) Read(ctx context.Context, p Picture) (*Row, error) {
	var data []byte
	for _, key := range y.labelPlaces(p.Key) {
		found, err := readAll(ctx, y.source, key)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(found) {
			return nil, errs.New(errs.Invalid, "its labels, %s, are no text in UTF-8", key)
		}
		data = found
		break
	}
	r := &Row{}
	var o yoloObjects
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(o.classes) == maxObjects {
			return nil, errs.New(errs.Invalid, "it has more than %d objects", maxObjects)
		}
		if err := y.object(&o, fields, p); err != nil {
			r.Faults = append(r.Faults, fmt.Sprintf("line %d %v", number, err))
		}
	}
	return r, y.rowOf(r, p, &o)
}

// object adds the object of a line, or nothing.
func (y *yolo) object(o *yoloObjects, fields []string, p Picture) error {
	class, err := y.classOf(fields[0])
	if err != nil {
		return err
	}
	v := make([]float64, len(fields)-1)
	for i, f := range fields[1:] {
		x, err := strconv.ParseFloat(f, 64)
		switch {
		case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
			return errs.New(errs.Invalid, "has %.40q, want a number", f)
		case y.isShare(i, len(v)) && (x < leastShare || x > mostShare):
			return errs.New(errs.Invalid, "has the coordinate %s, want a share of the picture, 0 to 1", f)
		case math.Abs(x) > math.MaxFloat32:
			return errs.New(errs.Invalid, "has %.40q, want a number of float32", f)
		}
		v[i] = x
	}
	switch n := len(v); {
	case y.points > 0:
		if err := y.pose(o, v, p); err != nil {
			return err
		}
	case n == 4 || n == 5:
		o.box(v[:4])
		o.outlines = append(o.outlines, nil)
		o.score(v[4:])
	case n >= 6 && n%2 == 0 && !y.outlines:
		return errs.New(errs.Invalid, "is an outline, and the first %d files with labels have boxes alone", lookedAt)
	case n >= 6 && n%2 == 0:
		o.outline(v, p)
		o.score(nil)
	default:
		return errs.New(errs.Invalid, "has %d numbers behind its class, want 4 of a box, or an even number of an outline", n)
	}
	o.classes = append(o.classes, class)
	return nil
}

// isShare reports whether the number at i of n behind the class is a coordinate. Visibility and
// confidence are none.
func (y *yolo) isShare(i, n int) bool {
	if y.points > 0 {
		return i < 4 || i < 4+y.points*y.axes && (i-4)%y.axes < 2
	}
	return i < 4 || n != 5
}

// classOf reads the number of a class.
func (y *yolo) classOf(number string) (int64, error) {
	n, err := classNumber(number)
	if err != nil || n < 0 {
		return 0, errs.New(errs.Invalid, "begins with %.40q, want the number of a class", number)
	}
	if y.classes != nil && n >= len(y.classes) {
		return 0, errs.New(errs.Invalid, "has class %d, and there are names of %d", n, len(y.classes))
	}
	return int64(n), nil
}

func (o *yoloObjects) box(v []float64) {
	for _, x := range v {
		o.boxes = append(o.boxes, float32(x))
	}
}

// score adds the confidence of a box. Without one it is 1, as of a label that a person has made.
func (o *yoloObjects) score(v []float64) {
	if len(v) == 0 {
		v = []float64{1}
	}
	o.scores = append(o.scores, float32(v[0]))
}

// outline adds an outline, and the box around it.
func (o *yoloObjects) outline(v []float64, p Picture) {
	left, top, right, bottom := v[0], v[1], v[0], v[1]
	xy := make([]float32, len(v))
	for i := 0; i < len(v); i += 2 {
		left, right = min(left, v[i]), max(right, v[i])
		top, bottom = min(top, v[i+1]), max(bottom, v[i+1])
		xy[i], xy[i+1] = float32(v[i]*float64(p.Width)), float32(v[i+1]*float64(p.Height))
	}
	o.box([]float64{(left + right) / 2, (top + bottom) / 2, right - left, bottom - top})
	o.outlines = append(o.outlines, xy)
}

// pose adds a box with keypoints.
func (y *yolo) pose(o *yoloObjects, v []float64, p Picture) error {
	n := 4 + y.points*y.axes
	if len(v) != n && len(v) != n+1 {
		return errs.New(errs.Invalid, "has %d numbers behind its class, want %d: a box, and %d keypoints of %d", len(v), n, y.points, y.axes)
	}
	points := make([]float32, 0, 3*y.points)
	for k := range y.points {
		at := v[4+k*y.axes:]
		seen := float32(2)
		switch {
		case y.axes == 3:
			seen = float32(at[2])
		case at[0] == 0 && at[1] == 0:
			seen = 0
		}
		points = append(points, float32(at[0]*float64(p.Width)), float32(at[1]*float64(p.Height)), seen)
	}
	o.box(v[:4])
	o.points = append(o.points, points)
	o.score(v[n:])
	return nil
}

// rowOf sets the values of a picture's objects.
func (y *yolo) rowOf(r *Row, p Picture, o *yoloObjects) error {
	n := len(o.classes)
	r.Objects = int64(n)
	r.boxes("boxes", o.boxes)
	if y.classes != nil {
		names := make([]string, n)
		for i, class := range o.classes {
			names[i] = y.classes[class]
		}
		r.labels("labels", names)
	} else {
		r.ints("labels", o.classes)
	}
	if y.outlines {
		r.polygons("polygons", o.outlines)
		if y.masks {
			if err := r.masks("masks", p, o.outlines, nil); err != nil {
				return err
			}
		}
	}
	if y.points > 0 {
		all := make([]float32, 3*y.points*n)
		for i, points := range o.points {
			for k, v := range points {
				all[k*n+i] = v
			}
		}
		r.floats("keypoints", []int64{int64(3 * y.points), int64(n)}, all)
	}
	if y.scores {
		r.floats("scores", []int64{int64(n)}, o.scores)
	}
	return nil
}
