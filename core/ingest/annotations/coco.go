package annotations

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	ids      *cocoIDs
	numbers  []int64 // ids of the classes; nil: files disagree, or have texts
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
type cocoParts struct{ objects, outlines, runs, keypoints, fractions, areas, captions, segments, words bool }

// openCOCO reads the files of a place that are in the layout of COCO.
func openCOCO(ctx context.Context, p *Place) (Set, error) {
	keys, err := findCOCO(ctx, p)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	c := &coco{source: p.Source, masks: p.Masks, ids: &cocoIDs{texts: map[string]int64{}}}
	for _, key := range keys {
		f, err := readCOCO(ctx, p.Source, key, c.ids)
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
	has := func(key string) bool { return strings.Contains(text, `"`+key+`"`) }
	if has("images") {
		return has("annotations") || has("categories") || has("info") || strings.HasPrefix(strings.TrimLeft(text[1:], " \t\r\n"), `"images"`)
	}
	return has("annotations") && (has("image_id") || has("categories"))
}

// locate finds the folder with the pictures of a file: "instances_val2017.json" is about those in
// "val2017", "train/_annotations.coco.json" and "train/labels.json" about those below "train", and
// so is "train/annotations/x.json".
func (f *cocoFile) locate(names *Names) {
	dir, name := path.Split(f.key)
	word := strings.TrimSuffix(name, path.Ext(name))
	word = word[strings.LastIndex(word, "_")+1:]
	if word != "" && names.hasFolder(word) {
		f.folder, f.isExact = word, names.words[word]
		return
	}
	for dir = path.Clean(dir); dir != "." && dir != "/"; dir = path.Dir(dir) {
		isOwn := strings.EqualFold(path.Base(dir), "annotations") // pictures below it are masks
		if isOwn && names.pictures(dir) > 0 || !isOwn && names.below(dir) {
			f.below = dir + "/"
			return
		}
	}
}

// of reports whether a picture may be one of the file's.
func (f *cocoFile) of(key string) bool {
	if f.below != "" {
		return strings.HasPrefix(key, f.below)
	}
	return f.folder == "" || slices.ContainsFunc(strings.Split(path.Dir(key), "/"), func(part string) bool { return part == f.folder || !f.isExact && isNamed(part, f.folder) })
}

// isNamed reports whether a folder is called by a word, as "images_train" is by "train".
func isNamed(folder, word string) bool {
	return folder == word || strings.HasSuffix(folder, "_"+word) || strings.HasPrefix(folder, word+"_")
}

// join makes one list of classes, and one index of the pictures.
func (c *coco) join() {
	places := map[string]int32{}
	agree := true
	for n, f := range c.files {
		f.classes = map[int64]int32{}
		slices.SortStableFunc(f.categories, func(a, b cocoCategory) int { return cmp.Compare(a.id, b.id) })
		own := map[string]bool{}
		for _, k := range f.categories {
			if _, twice := f.classes[k.id]; twice {
				continue
			}
			name := k.name
			if own[name] || name == "" {
				name = strings.TrimSpace(fmt.Sprintf("%s (%s)", name, c.ids.word(k.id)))
			}
			own[name] = true
			at, known := places[name]
			if !known {
				at = int32(len(c.classes))
				places[name], c.classes, c.numbers = at, append(c.classes, name), append(c.numbers, k.id)
			}
			f.classes[k.id] = at
			agree = agree && (n == 0 || c.numbers[at] == k.id) && !isText(k.id)
			if len(k.keypoints) > len(c.points) {
				c.points, c.skeleton = k.keypoints, k.skeleton
			}
		}
		if len(f.categories) == 0 && !f.isCaptions {
			c.number(f, places)
		}
	}
	if !agree {
		c.numbers = nil
	}
	for _, f := range c.files {
		f.index()
		c.faults.all += f.faults.all
		c.faults.first = append(c.faults.first, f.faults.first[:min(len(f.faults.first), shownFaults-len(c.faults.first))]...)
		c.has.objects = c.has.objects || len(f.objects) > 0 && !f.isCaptions && f.pngs == nil
		c.has.segments = c.has.segments || f.pngs != nil
		c.has.captions = c.has.captions || f.isCaptions
		c.has.areas = c.has.areas || f.has.areas
		c.has.outlines = c.has.outlines || f.has.outlines
		c.has.runs = c.has.runs || f.has.runs
		c.has.keypoints = c.has.keypoints || f.has.keypoints
		c.has.fractions = c.has.fractions || f.has.fractions
	}
	c.has.objects = c.has.objects || len(c.classes) > 0 && !c.has.segments
}

// number makes classes of the numbers that objects have, in a file that names none.
func (c *coco) number(f *cocoFile, places map[string]int32) {
	ids := map[int64]bool{}
	for i := range f.objects {
		ids[f.object(f.objects[i]).category] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		name := c.ids.word(id)
		at, known := places[name]
		if !known {
			at = int32(len(c.classes))
			places[name], c.classes, c.numbers = at, append(c.classes, name), append(c.numbers, id)
		}
		f.classes[id] = at
	}
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
		add(dataset.TensorSpec{Name: "labels", HType: "class_label", ClassNames: c.classes, AddClasses: true, Info: c.idInfo()})
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
		if c.has.areas {
			add(dataset.TensorSpec{Name: "areas", HType: "generic", DType: "float64", Compression: "shuffle"})
		}
		add(dataset.TensorSpec{Name: "crowds", HType: "generic", DType: "bool", Compression: "shuffle"})
		if c.hasWords() {
			add(dataset.TensorSpec{Name: "object_ids", HType: "sequence[text]"})
		} else {
			add(dataset.TensorSpec{Name: "object_ids", HType: "generic", DType: "int64", Compression: "shuffle"})
		}
	}
	if c.has.captions {
		add(dataset.TensorSpec{Name: "captions", HType: "sequence[text]"})
		add(dataset.TensorSpec{Name: "caption_ids", HType: "generic", DType: "int64", Compression: "shuffle"})
	}
	if c.has.segments {
		c.describePanoptic(add)
	}
	if c.hasWords() {
		add(dataset.TensorSpec{Name: "image_id", HType: "text"})
		return
	}
	add(dataset.TensorSpec{Name: "image_id", HType: "generic", DType: "int64"})
}

// idInfo is the info of labels: the ids of the classes, if files agree on them.
func (c *coco) idInfo() map[string]any {
	if c.numbers == nil {
		return nil
	}
	return map[string]any{"category_ids": c.numbers}
}

// hasWords reports whether ids of pictures or objects are texts.
func (c *coco) hasWords() bool {
	return slices.ContainsFunc(c.files, func(f *cocoFile) bool { return f.has.words })
}

func (c *coco) Tensors() []dataset.TensorSpec { return c.tensors }

func (c *coco) Faults() ([]Fault, int64) { return c.faults.first, c.faults.all }

// Uses reports whether an object is one of the files with annotations, or a mask of segments.
func (c *coco) Uses(key string) bool {
	return slices.ContainsFunc(c.files, func(f *cocoFile) bool {
		return f.key == key || f.pngs != nil && strings.HasPrefix(key, f.masksIn+"/")
	})
}

// refs returns the places in the files that a name fits.
func (c *coco) refs(key string) (refs []cocoRef) {
	for _, f := range c.files {
		if i, ok := f.find(key); ok {
			refs = append(refs, cocoRef{f, i})
		}
	}
	return refs
}

// claimed returns the places of a picture in the files. The first picture that a name fits has it.
func (c *coco) claimed(key string) []cocoRef {
	return slices.DeleteFunc(c.refs(key), func(r cocoRef) bool { return !r.file.claim(r.image, key) })
}

// Has reports whether a file names a picture.
func (c *coco) Has(key string) bool { return len(c.claimed(key)) > 0 }

// claim gives the name of a picture to a file of the source, unless another one has it.
func (f *cocoFile) claim(image int32, key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[image].Store(true)
	if f.claims[image] == "" {
		f.claims[image] = key
	}
	return f.claims[image] == key
}

// Why returns why a picture is none of the set.
func (c *coco) Why(key string) string {
	if refs := c.refs(key); len(refs) > 0 {
		f, image := refs[0].file, refs[0].image
		f.mu.Lock()
		defer f.mu.Unlock()
		return fmt.Sprintf("%s names one image %q, which %s is too", f.key, f.names[image], f.claims[image])
	}
	named := ""
	if f := c.files[0]; len(f.byName) > 0 {
		named = fmt.Sprintf(", whose first image is %q", f.names[f.byName[0]])
	}
	return fmt.Sprintf("the annotations do not name it: %s%s", c.files[0].key, named)
}

func (c *coco) Lost(after string, fn func(key string)) {
	for _, f := range c.files {
		for i := range f.seen {
			name := f.names[i]
			if f.below != "" && !strings.HasPrefix(name, f.below) {
				name = f.below + name
			}
			if f.names[i] != "" && !f.seen[i].Load() && name > after {
				fn(name)
			}
		}
	}
}

// cocoObject is an object of a picture, as the files tell of it.
type cocoObject struct {
	cocoEntry
	files []*cocoFile
}

// conflict refuses an object of another file with the same id, if its box or class differs.
func (c *coco) conflict(o *cocoObject, more *cocoEntry, f *cocoFile) error {
	first := o.files[0]
	if (more.box == [4]float32{} || o.box == more.box) && first.classes[o.category] == f.classes[more.category] {
		return nil
	}
	return errs.New(errs.Invalid, "%s and %s have different objects %s for it; name one of them by annotations=, or put each beside its images", first.key, f.key, c.ids.word(o.id))
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
	imageID, of := int64(-1), (*cocoFile)(nil)
	byID := map[int64]int{}
	for _, ref := range c.claimed(p.Key) {
		f := ref.file
		if of != nil && f.ids[ref.image] != imageID {
			return nil, errs.New(errs.Invalid, "%s and %s name it, as image %s and %s; name one of them by annotations=, or put each beside its images",
				of.key, f.key, c.ids.word(imageID), c.ids.word(f.ids[ref.image]))
		}
		imageID, of = f.ids[ref.image], f
		if size := f.sizes[ref.image]; r.Warning == "" && size[0] > 0 && size[1] > 0 && (int64(size[0]) != p.Width || int64(size[1]) != p.Height) {
			r.Warning = fmt.Sprintf("it has %d x %d pixels, and %s says %d x %d", p.Width, p.Height, f.key, size[0], size[1])
			if int64(size[0]) == p.Height && int64(size[1]) == p.Width {
				r.Warning += "; apply_exif_orientation turns it as its Exif data says"
			}
		}
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
				if err := c.conflict(&objects[at], &o, f); err != nil {
					return nil, err
				}
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
	switch {
	case c.hasWords() && of != nil:
		r.text("image_id", c.ids.word(imageID))
	case !c.hasWords():
		r.integer("image_id", imageID)
	}
	return r, nil
}

// className returns the name of a category that index has let pass.
func (c *coco) className(f *cocoFile, category int64) string { return c.classes[f.classes[category]] }

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
		labels[i], ids[i], areas[i], crowds[i] = c.className(o.files[0], o.category), o.id, o.area, o.crowd
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
	if c.has.areas {
		r.doubles("areas", areas)
	}
	r.bools("crowds", crowds)
	if !c.hasWords() {
		r.ints("object_ids", ids)
		return nil
	}
	words := make([]string, n)
	for i := range objects {
		words[i] = c.ids.word(ids[i])
	}
	r.texts("object_ids", words)
	return nil
}
