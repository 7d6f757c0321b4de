package annotations

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// coco is the annotations of files in the layout of COCO: each names pictures, classes, and objects
// or captions. Files about the same pictures fill one row: objects meet by their ids.
type coco struct {
	source   Source
	files    []*cocoFile
	classes  []string
	ids      []int64 // of the classes
	masks    bool
	tensors  []dataset.TensorSpec
	has      cocoParts
	points   []string // names of the keypoints
	skeleton [][]int64
	faults   faults
	dtype    tensor.DType // of keypoints
}

// cocoRef is a picture of a file.
type cocoRef struct {
	file  *cocoFile
	image int32
}

// cocoParts says which kinds of annotations there are.
type cocoParts struct{ objects, outlines, runs, keypoints, fractions, captions, segments bool }

// openCOCO reads the files of a place that are in the layout of COCO.
func openCOCO(ctx context.Context, p *Place) (Set, error) {
	keys, err := findCOCO(ctx, p)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	c := &coco{source: p.Source, masks: p.Masks}
	for _, key := range keys {
		f, err := readCOCO(ctx, p.Source, key)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
		f.locate(p.Names)
		f.locateSegments(p.Names)
		c.files = append(c.files, f)
	}
	c.join()
	c.describe()
	return c, nil
}

// cocoHead is the number of bytes that tell whether a file is of COCO.
const cocoHead = 64 << 10

// findCOCO returns the names of files in the layout of COCO.
func findCOCO(ctx context.Context, p *Place) ([]string, error) {
	keys := []string{p.File}
	if p.File == "" {
		keys = p.Names.few(".json")
	}
	var found []string
	for _, key := range keys {
		head, err := readHead(ctx, p.Source, key, cocoHead)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
		if isCOCO(head) {
			found = append(found, key)
		} else if p.File != "" && p.Asked {
			return nil, errs.New(errs.Invalid, "%s is none of COCO: want an object with images, annotations and categories", key)
		}
	}
	if len(found) == 0 && p.Asked {
		return nil, errs.New(errs.NotFound, "no .json file there is of COCO; name it by annotations=, as in %q", "annotations/instances_train2017.json")
	}
	return found, nil
}

// isCOCO reports whether a document that begins so has members of COCO.
func isCOCO(head []byte) bool {
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\xef\xbb\xbf"), " \t\r\n")
	if !strings.HasPrefix(text, "{") {
		return false
	}
	n := 0
	for _, key := range []string{`"images"`, `"annotations"`, `"categories"`, `"licenses"`, `"info"`} {
		if strings.Contains(text, key) {
			n++
		}
	}
	first := strings.TrimLeft(text[1:], " \t\r\n")
	return n > 1 || n == 1 && (strings.HasPrefix(first, `"images"`) || strings.HasPrefix(first, `"annotations"`))
}

// locate finds the folder with the pictures of a file: "instances_val2017.json" is about those in
// "val2017", and "train/_annotations.coco.json" about those in "train".
func (f *cocoFile) locate(names *Names) {
	dir, name := path.Split(f.key)
	word := strings.TrimSuffix(name, path.Ext(name))
	if _, after, found := strings.Cut(word, "_"); found {
		for ; found; _, after, found = strings.Cut(after, "_") {
			word = after
		}
	}
	switch {
	case names.hasFolder(word):
		f.folder = word
	case dir != "" && names.pictures(path.Clean(dir)) > 0:
		f.below = dir
	}
}

// of reports whether a picture may be one of the file's.
func (f *cocoFile) of(key string) bool {
	if f.below != "" {
		return strings.HasPrefix(key, f.below)
	}
	return f.folder == "" || slices.Contains(strings.Split(path.Dir(key), "/"), f.folder)
}

// join makes one list of classes, and one index of the pictures.
func (c *coco) join() {
	named := map[int64]string{}
	for _, f := range c.files {
		for _, k := range f.categories {
			if _, ok := named[k.id]; !ok {
				named[k.id] = k.name
				c.ids = append(c.ids, k.id)
			}
			if len(k.keypoints) > len(c.points) {
				c.points, c.skeleton = k.keypoints, k.skeleton
			}
		}
	}
	slices.Sort(c.ids)
	seen := map[string]bool{}
	for _, id := range c.ids {
		name := named[id]
		if seen[name] || name == "" {
			name = strings.TrimSpace(fmt.Sprintf("%s (%d)", name, id))
		}
		seen[name] = true
		c.classes = append(c.classes, name)
	}
	for _, f := range c.files {
		f.index(named)
		c.faults.all += f.faults.all
		c.faults.first = append(c.faults.first, f.faults.first[:min(len(f.faults.first), shownFaults-len(c.faults.first))]...)
		c.has.objects = c.has.objects || len(f.objects) > 0 && !f.isCaptions && f.pngs == nil
		c.has.segments = c.has.segments || f.pngs != nil
		c.has.captions = c.has.captions || f.isCaptions
		c.has.outlines = c.has.outlines || f.has.outlines
		c.has.runs = c.has.runs || f.has.runs
		c.has.keypoints = c.has.keypoints || f.has.keypoints
		c.has.fractions = c.has.fractions || f.has.fractions
	}
	c.has.objects = c.has.objects || len(c.ids) > 0 && !c.has.segments
}

// cleanName returns a name of a picture as a listing has it.
func cleanName(name string) string {
	if _, rest, found := strings.Cut(name, "://"); found {
		_, name, _ = strings.Cut(rest, "/")
	}
	return strings.TrimLeft(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// describe makes the tensors.
func (c *coco) describe() {
	add := func(spec dataset.TensorSpec) { c.tensors = append(c.tensors, spec) }
	if c.has.objects {
		add(dataset.TensorSpec{Name: "boxes", HType: "bbox", DType: "float32", Info: map[string]any{"coords": map[string]any{"mode": "LTWH", "type": "pixel"}}})
		add(dataset.TensorSpec{Name: "labels", HType: "class_label", ClassNames: c.classes, AddClasses: len(c.classes) == 0, Info: map[string]any{"category_ids": c.ids}})
		if c.has.outlines {
			add(dataset.TensorSpec{Name: "polygons", HType: "polygon", DType: "float32"})
		}
		if c.has.runs {
			add(dataset.TensorSpec{Name: "rle", HType: "json"})
		}
		if c.masks && (c.has.outlines || c.has.runs) {
			add(dataset.TensorSpec{Name: "masks", HType: "binary_mask"})
		}
		if c.has.keypoints {
			if c.dtype = tensor.Int32; c.has.fractions {
				c.dtype = tensor.Float32
			}
			info := map[string]any{}
			if c.points != nil {
				info["keypoints"] = c.points
			}
			if c.skeleton != nil {
				info["skeleton"] = c.skeleton
			}
			add(dataset.TensorSpec{Name: "keypoints", HType: "keypoints_coco", DType: c.dtype.String(), Info: info})
		}
		add(dataset.TensorSpec{Name: "areas", HType: "generic", DType: "float64", Compression: "shuffle"})
		add(dataset.TensorSpec{Name: "crowds", HType: "generic", DType: "bool", Compression: "shuffle"})
		add(dataset.TensorSpec{Name: "object_ids", HType: "generic", DType: "int64", Compression: "shuffle"})
	}
	if c.has.captions {
		add(dataset.TensorSpec{Name: "captions", HType: "sequence[text]"})
		add(dataset.TensorSpec{Name: "caption_ids", HType: "generic", DType: "int64", Compression: "shuffle"})
	}
	if c.has.segments {
		c.describePanoptic(add)
	}
	add(dataset.TensorSpec{Name: "image_id", HType: "generic", DType: "int64"})
}

func (c *coco) Tensors() []dataset.TensorSpec { return c.tensors }

func (c *coco) Faults() ([]Fault, int64) { return c.faults.first, c.faults.all }

// Uses reports whether an object is one of the files with annotations, or a mask of segments.
func (c *coco) Uses(key string) bool {
	return slices.ContainsFunc(c.files, func(f *cocoFile) bool {
		return f.key == key || f.pngs != nil && strings.HasPrefix(key, f.masksIn+"/")
	})
}

// refs returns the places of a picture in the files. Of each file the longest name counts.
func (c *coco) refs(key string) (refs []cocoRef) {
	for name, more := key, true; more; _, name, more = strings.Cut(name, "/") {
		for _, f := range c.files {
			i, ok := f.named(name)
			if ok && f.of(key) && !slices.ContainsFunc(refs, func(o cocoRef) bool { return o.file == f }) {
				refs = append(refs, cocoRef{f, i})
			}
		}
	}
	return refs
}

func (c *coco) Has(key string) bool {
	refs := c.refs(key)
	for _, r := range refs {
		r.file.seen[r.image].Store(true)
	}
	return len(refs) > 0
}

func (c *coco) Lost(after string, fn func(key string)) {
	for _, f := range c.files {
		for i := range f.seen {
			if name := f.names[i]; name != "" && !f.seen[i].Load() && f.below+name > after {
				fn(f.below + name)
			}
		}
	}
}

// cocoObject is an object of a picture, as the files tell of it.
type cocoObject struct {
	cocoEntry
	files []*cocoFile
}

// join adds what another file tells of the object.
func (o *cocoObject) join(more cocoEntry, f *cocoFile) {
	o.files = append(o.files, f)
	if o.outline == nil {
		o.outline = more.outline
	}
	if o.runs == nil {
		o.runs = more.runs
	}
	if o.points == nil {
		o.points = more.points
	}
}

func (c *coco) Read(ctx context.Context, p Picture) (*Row, error) {
	r := &Row{}
	var objects []cocoObject
	var captions []string
	var captionIDs []int64
	imageID := int64(-1)
	byID := map[int64]int{}
	for _, ref := range c.refs(p.Key) {
		f := ref.file
		imageID = f.ids[ref.image]
		if f.pngs != nil {
			if err := c.segments(ctx, r, p, ref); err != nil {
				return nil, err
			}
			continue
		}
		for _, n := range f.objectsOf(ref.image) {
			o := f.object(n)
			if f.isCaptions {
				captions, captionIDs = append(captions, o.caption), append(captionIDs, o.id)
				continue
			}
			at, ok := byID[o.id]
			if ok && !slices.Contains(objects[at].files, f) {
				objects[at].join(o, f)
				continue
			}
			byID[o.id], objects = len(objects), append(objects, cocoObject{o, []*cocoFile{f}})
		}
	}
	if len(objects) > maxObjects || len(captions) > maxObjects {
		return nil, errs.New(errs.Invalid, "it has %d objects and %d captions, want at most %d", len(objects), len(captions), maxObjects)
	}
	r.Objects += int64(len(objects) + len(captions))
	if c.has.objects {
		if err := c.rowOf(r, p, objects); err != nil {
			return nil, err
		}
	}
	if c.has.captions {
		r.texts("captions", captions)
		r.ints("caption_ids", captionIDs)
	}
	r.integer("image_id", imageID)
	return r, nil
}

// className returns the name of a category that drop has let pass.
func (c *coco) className(category int64) string {
	at, _ := slices.BinarySearch(c.ids, category)
	return c.classes[at]
}

// rowOf sets the values of a picture's objects.
func (c *coco) rowOf(r *Row, p Picture, objects []cocoObject) error {
	n := len(objects)
	boxes, labels, ids := make([]float32, 0, 4*n), make([]string, n), make([]int64, n)
	areas, crowds := make([]float64, n), make([]bool, n)
	outlines, runs := make([][]float32, n), make([]*rle, n)
	points := make([]float32, 3*len(c.points)*n)
	for i := range objects {
		o := &objects[i]
		boxes = append(boxes, o.box[:]...)
		labels[i], ids[i], areas[i], crowds[i] = c.className(o.category), o.id, o.area, o.crowd
		outlines[i], runs[i] = o.outline, o.runs
		for k, v := range o.points[:min(len(o.points), 3*len(c.points))] {
			points[k*n+i] = v
		}
	}
	r.boxes("boxes", boxes)
	r.labels("labels", labels)
	if c.has.outlines {
		r.polygons("polygons", outlines)
	}
	if c.has.runs {
		all := make([]any, n)
		for i, one := range runs {
			if one != nil {
				all[i] = map[string]any{"size": []int64{one.height, one.width}, "counts": one.counts}
			}
		}
		if err := r.json("rle", all); err != nil {
			return err
		}
	}
	if c.masks && (c.has.outlines || c.has.runs) {
		if err := r.masks("masks", p, outlines, runs); err != nil {
			return err
		}
	}
	if c.has.keypoints {
		r.points("keypoints", c.dtype, []int64{int64(3 * len(c.points)), int64(n)}, points)
	}
	r.doubles("areas", areas)
	r.bools("crowds", crowds)
	r.ints("object_ids", ids)
	return nil
}
