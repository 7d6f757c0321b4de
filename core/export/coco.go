package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// coco writes images as files, and a document of COCO for each split:
// annotations/instances_train.json is about images below train.
type coco struct {
	e          *exporter
	d          *detection
	namer      *namer
	categories []int64  // the id of each class
	free       [2]int64 // the first ids that no image and no object has
}

func openCOCO(ctx context.Context, e *exporter) (writer, error) {
	d, err := e.findDetection("COCO")
	if err != nil {
		return nil, err
	}
	if d.scores != nil {
		e.note(d.scores.Name(), "left out: COCO has no place for it")
		d.scores = nil
	}
	c := &coco{e: e, d: d}
	if d.labels != nil {
		if c.categories, err = categoriesOf(d.labels); err != nil {
			return nil, err
		}
	}
	c.namer, err = newNamer(ctx, e, true, inSplit)
	return c, err
}

// categoriesOf returns the id of each class: as the tensor's info has them, else from 1 on.
func categoriesOf(labels *column) (ids []int64, err error) {
	const key = "category_ids" // as imports name it
	if given, ok := labels.of.Info[key]; ok {
		text, err := json.Marshal(given)
		if err == nil {
			err = json.Unmarshal(text, &ids)
		}
		if err != nil {
			return nil, errs.New(errs.Invalid, "info[%q] of tensor %q is %.40q, want a list of integers", key, labels.Name(), text)
		}
	}
	ids = ids[:min(len(ids), len(labels.of.ClassNames))]
	next := int64(1)
	for _, id := range ids {
		next = max(next, id+1)
	}
	for len(ids) < len(labels.of.ClassNames) { // of classes that came later
		ids, next = append(ids, next), next+1
	}
	return ids, nil
}

// inSplit is the folder of a layout whose files lie by their splits.
func inSplit(_ context.Context, p *part, rows []int64) ([]string, error) {
	out := make([]string, len(rows))
	for i := range out {
		out[i] = p.split
	}
	return out, nil
}

// folder returns the folder of the images of a split.
func (c *coco) folder(p *part) string {
	if p.split == "" {
		return "images/"
	}
	return p.split + "/"
}

func (c *coco) part(ctx context.Context, p *part) (any, error) {
	return nil, c.e.batches(ctx, p, []*column{c.d.image}, func(b *batch) error {
		names, err := c.namer.names(ctx, p, b.rows)
		if err != nil {
			return err
		}
		g := task.New(ctx, c.e.lane())
		for i := range b.rows {
			if v := &b.columns[0][i]; v.hole {
				c.e.note(c.d.image.Name(), "rows without an image are left out")
			} else {
				g.Go(func(ctx context.Context) error {
					return c.e.putPicture(ctx, p, c.folder(p)+names[i], b.rows[i], v)
				})
			}
		}
		return g.Wait()
	})
}

// findFree finds ids for rows and objects that have none. Ids that repeat in a document are not
// used.
func (c *coco) findFree(ctx context.Context) error {
	for k, place := range []**column{&c.d.imageID, &c.d.ids} {
		of := *place
		c.free[k] = 1
		if of == nil || of.kind == isText || of.list {
			continue
		}
		seen, split, repeats := map[int64]struct{}{}, "", false
		for _, p := range c.e.parts {
			if p.split != split { // each split has a document of its own
				split = p.split
				clear(seen)
			}
			for at := int64(0); at < p.n && !repeats; {
				b, err := c.e.batch(ctx, p, at, []*column{of})
				if err != nil {
					return err
				}
				for i := range b.rows {
					v := &b.columns[0][i]
					if v.hole {
						continue
					}
					ids, err := integers(&v.Sample)
					if err != nil {
						return errs.InRow(errs.KindOf(err), b.rows[i], "row %d of tensor %q: %w", b.rows[i], of.Name(), err)
					}
					for _, id := range ids {
						_, is := seen[id]
						repeats = repeats || is
						seen[id] = struct{}{}
						c.free[k] = max(c.free[k], id+1)
					}
				}
				at += int64(len(b.rows))
			}
		}
		if repeats {
			c.e.note(of.Name(), "ids repeat: the files have others")
			*place, c.free[k] = nil, 1
		}
	}
	return nil
}

func (c *coco) finish(context.Context, [][]byte) error { return nil }

// begin writes the documents: one pass over the annotations for each of their lists. A fault in
// them shows before images are copied.
func (c *coco) begin(ctx context.Context) error {
	if err := c.findFree(ctx); err != nil {
		return err
	}
	bySplit := map[string][]*part{}
	var splits []string
	for _, p := range c.e.parts {
		if bySplit[p.split] == nil {
			splits = append(splits, p.split)
		}
		bySplit[p.split] = append(bySplit[p.split], p)
	}
	for _, split := range splits {
		suffix := ".json"
		if split != "" {
			suffix = "_" + split + ".json"
		}
		kinds := []struct {
			name string
			has  bool
		}{{"instances", c.d.boxes != nil || c.d.polygons != nil || c.d.keypoints != nil || c.d.rle != nil || c.d.masks != nil || c.d.captions == nil}, {"captions", c.d.captions != nil}}
		for _, k := range kinds {
			if !k.has {
				continue
			}
			doc := &cocoDocument{c: c, parts: bySplit[split], captions: k.name == "captions", next: c.free[1], used: map[int64]bool{}}
			if err := doc.write(ctx, "annotations/"+k.name+suffix); err != nil {
				return err
			}
		}
	}
	return nil
}

// cocoDocument writes a document.
type cocoDocument struct {
	c        *coco
	parts    []*part
	captions bool
	out      *file
	line     []byte
	lines    int
	next     int64          // a free id of an annotation
	used     map[int64]bool // categories, where classes have no names
	points   int            // keypoints of an object, at most
}

func (d *cocoDocument) write(ctx context.Context, key string) error {
	t := &tally{}
	f, err := d.c.e.create(ctx, key)
	if err != nil {
		return err
	}
	defer f.Abort()
	d.out = f
	if err := d.text(`{"images": [`); err != nil {
		return err
	}
	if err := d.rows(ctx, d.image); err != nil {
		return err
	}
	if err := d.text("\n],\n\"annotations\": ["); err != nil {
		return err
	}
	row := d.objects
	if d.captions {
		row = d.captionsOf
	}
	d.lines = 0
	if err := d.rows(ctx, row); err != nil {
		return err
	}
	if err := d.text("\n],\n\"categories\": [" + d.categories() + "]}\n"); err != nil {
		return err
	}
	if err := f.finish(ctx, t); err != nil {
		return err
	}
	d.c.e.count(t.sum())
	return nil
}

func (d *cocoDocument) text(s string) error {
	_, err := d.out.Write([]byte(s))
	return err
}

// item writes the line in d.line as an item of the list.
func (d *cocoDocument) item() error {
	before := ",\n"
	if d.lines == 0 {
		before = "\n"
	}
	d.lines++
	if err := d.text(before); err != nil {
		return err
	}
	_, err := d.out.Write(d.line)
	return err
}

// cocoRow is a row that a document is about.
type cocoRow struct {
	name          string
	number        int64 // of the row in the view
	width, height float64
	id            []byte // of the image, as JSON
	values        func(c *column) *value
}

func (d *cocoDocument) rows(ctx context.Context, fn func(r *cocoRow) error) error {
	e := d.c.e
	for _, p := range d.parts {
		var names []string
		var of *batch
		err := e.eachRow(ctx, p, d.c.d, false, func(b *batch, i int, image *value, values func(c *column) *value) (err error) {
			if image.hole {
				return nil
			}
			if of != b {
				if names, err = d.c.namer.names(ctx, p, b.rows); err != nil {
					return err
				}
				of = b
			}
			r := &cocoRow{name: names[i] + image.extension, number: b.rows[i], values: values}
			if r.width, r.height, err = sides(image); err != nil {
				return err
			}
			if r.id, err = d.imageID(r); err != nil {
				return err
			}
			return fn(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// imageID returns the id of an image as JSON: that of the tensor image_id, else the row's number.
func (d *cocoDocument) imageID(r *cocoRow) ([]byte, error) {
	v := r.values(d.c.d.imageID)
	switch {
	case v == nil:
		return strconv.AppendInt(nil, d.c.free[0]+r.number, 10), nil
	case d.c.d.imageID.kind == isText:
		return appendText(nil, asText(&v.Sample)), nil
	}
	id, err := whole64(&v.Sample)
	return strconv.AppendInt(nil, id, 10), err
}

// image writes the entry of an image.
func (d *cocoDocument) image(r *cocoRow) error {
	d.line = append(append(d.line[:0], `{"id": `...), r.id...)
	d.line = append(d.line, `, "file_name": `...)
	d.line = appendText(d.line, r.name)
	d.line = append(d.line, fmt.Sprintf(`, "width": %d, "height": %d}`, int64(r.width), int64(r.height))...)
	return d.item()
}

// captionsOf writes the captions of an image.
func (d *cocoDocument) captionsOf(r *cocoRow) error {
	v := r.values(d.c.d.captions)
	if v == nil {
		return nil
	}
	items := v.items
	if !d.c.d.captions.list {
		items = []tensor.Sample{v.Sample}
	}
	var ids []int64
	if v := r.values(d.c.d.captionIDs); v != nil {
		var err error
		if ids, err = integers(&v.Sample); err != nil {
			return err
		}
	}
	for i := range items {
		d.begin(r, i, ids)
		d.line = append(d.line, `, "caption": `...)
		d.line = append(appendText(d.line, asText(&items[i])), '}')
		if err := d.item(); err != nil {
			return err
		}
	}
	return nil
}

// begin begins the line of an annotation with its id and that of the image.
func (d *cocoDocument) begin(r *cocoRow, i int, ids []int64) {
	id := d.next
	if i < len(ids) {
		id = ids[i]
	} else {
		d.next++
	}
	d.line = strconv.AppendInt(append(d.line[:0], `{"id": `...), id, 10)
	d.line = append(append(d.line, `, "image_id": `...), r.id...)
}

// objects writes the objects of an image.
func (d *cocoDocument) objects(r *cocoRow) error {
	o, err := d.c.d.read(r.values, r.width, r.height)
	if err != nil {
		return err
	}
	var ids []int64
	var texts []tensor.Sample
	if v := r.values(d.c.d.ids); v != nil && d.c.d.ids.list {
		texts = v.items
	} else if v != nil {
		if ids, err = integers(&v.Sample); err != nil {
			return err
		}
	}
	var runs []json.RawMessage
	if v := r.values(d.c.d.rle); v != nil {
		if err := json.Unmarshal(v.Data, &runs); err != nil {
			return errs.New(errs.Invalid, "tensor %q has no list of masks: %w", d.c.d.rle.Name(), err)
		}
		if o.n == 0 {
			o.n = len(runs)
		}
		if len(runs) != o.n {
			return errs.New(errs.Invalid, "tensor %q has %d objects, and others have %d", d.c.d.rle.Name(), len(runs), o.n)
		}
	}
	if err := d.c.d.checkClasses(o); err != nil {
		return err
	}
	for i := range o.n {
		if !o.isFinite(i) {
			d.c.e.note("", notFinite)
			continue
		}
		if d.begin(r, i, ids); i < len(texts) {
			d.line = appendText(append(d.line[:0], `{"id": `...), asText(&texts[i]))
			d.line = append(append(d.line, `, "image_id": `...), r.id...)
		}
		if err := d.object(o, i, runs); err != nil {
			return err
		}
		if err := d.item(); err != nil {
			return err
		}
	}
	return nil
}

// object appends the fields of an object.
func (d *cocoDocument) object(o *objects, i int, runs []json.RawMessage) error {
	category := int64(1)
	if i < len(o.labels) {
		category = o.labels[i]
	}
	if n := int64(len(d.c.categories)); n == 0 {
		d.used[category] = true
	} else if i < len(o.labels) {
		if category < 0 || category >= n {
			return errs.New(errs.Invalid, "object %d is of class %d, and there are %d", i, category, n)
		}
		category = d.c.categories[category]
	}
	d.line = strconv.AppendInt(append(d.line, `, "category_id": `...), category, 10)
	var box [4]float64
	area, known := 0.0, i < len(o.boxes)
	if known {
		box, area = o.boxes[i], o.boxes[i][2]*o.boxes[i][3]
		d.line = append(d.line, `, "bbox": [`...)
		d.line = append(d.numbers(box[:], d.c.d.boxes.dtype), ']')
	}
	if around, size, ok := o.bounds(i); ok {
		if area = size; !known {
			d.line = append(d.line, `, "bbox": [`...)
			d.line = append(d.numbers(around[:], tensor.Float64), ']')
		}
		known = true
	}
	if err := d.segmentation(o, i, runs); err != nil {
		return err
	}
	if i < len(o.points) {
		seen := 0
		for k := 2; k < len(o.points[i]); k += 3 {
			if o.points[i][k] > 0 {
				seen++
			}
		}
		d.line = append(d.line, `, "keypoints": [`...)
		d.points = max(d.points, len(o.points[i])/3)
		d.line = append(d.numbers(o.points[i], d.c.d.keypoints.dtype), fmt.Sprintf(`], "num_keypoints": %d`, seen)...)
	}
	if i < len(o.areas) {
		area, known = o.areas[i], !math.IsNaN(o.areas[i]) // NaN: the file had none
	}
	if known {
		d.line = append(append(d.line, `, "area": `...), appendFloat(nil, area, tensor.Float64)...)
	}
	crowd := int64(0)
	if i < len(o.crowds) {
		crowd = o.crowds[i]
	}
	d.line = append(strconv.AppendInt(append(d.line, `, "iscrowd": `...), crowd, 10), '}')
	return nil
}

// numbers appends numbers of a tensor, separated by commas.
func (d *cocoDocument) numbers(all []float64, dtype tensor.DType) []byte {
	for k, v := range all {
		if k > 0 {
			d.line = append(d.line, ", "...)
		}
		d.line = appendFloat(d.line, v, dtype)
	}
	return d.line
}

// segmentation appends the outline of an object, or its mask.
func (d *cocoDocument) segmentation(o *objects, i int, runs []json.RawMessage) error {
	isNull := func(m json.RawMessage) bool { return len(m) == 0 || bytes.Equal(m, []byte("null")) }
	switch {
	case i < len(runs) && !isNull(runs[i]):
		d.line = append(append(d.line, `, "segmentation": `...), runs[i]...)
	case i < len(o.polygons) && len(o.polygons[i]) > 0:
		d.line = append(d.line, `, "segmentation": [`...)
		some := false
		for _, ring := range rings(o.polygons[i]) {
			if len(ring) < 6 {
				d.c.e.note(d.c.d.polygons.Name(), "outlines of less than three points are left out")
				continue
			}
			if some {
				d.line = append(d.line, ", "...)
			}
			some = true
			d.line = append(d.line, '[')
			d.line = append(d.numbers(ring, d.c.d.polygons.dtype), ']')
		}
		d.line = append(d.line, ']')
	case o.polygons == nil && o.masks != nil:
		counts, err := runsOf(o.masks, i)
		if err != nil {
			return err
		}
		d.line = append(d.line, fmt.Sprintf(`, "segmentation": {"size": [%d, %d], "counts": [`, o.masks.Shape[0], o.masks.Shape[1])...)
		for k, n := range counts {
			if k > 0 {
				d.line = append(d.line, ", "...)
			}
			d.line = strconv.AppendInt(d.line, n, 10)
		}
		d.line = append(d.line, "]}"...)
	}
	return nil
}

// runsOf returns the lengths of the runs of a mask, of shape (height, width, objects), down its
// columns: pixels outside first.
func runsOf(v *tensor.Sample, object int) ([]int64, error) {
	if v.DType != tensor.Bool && v.DType != tensor.Uint8 {
		return nil, errs.New(errs.Type, "masks are of %s, want bools", v.DType)
	}
	height, width, n := int(v.Shape[0]), int(v.Shape[1]), int(v.Shape[2])
	counts, inside := []int64{0}, false
	for x := range width {
		for y := range height {
			if (v.Data[(y*width+x)*n+object] != 0) != inside {
				counts, inside = append(counts, 0), !inside
			}
			counts[len(counts)-1]++
		}
	}
	return counts, nil
}

// categories returns the items of the categories. Classes without names have their numbers.
func (d *cocoDocument) categories() string {
	if d.captions {
		return ""
	}
	var ids []int64
	var names []string
	if len(d.c.categories) > 0 {
		ids, names = d.c.categories, d.c.d.labels.of.ClassNames
	} else {
		ids = slices.Sorted(maps.Keys(d.used))
		for _, id := range ids {
			name := "object"
			if d.c.d.labels != nil {
				name = strconv.FormatInt(id, 10)
			}
			names = append(names, name)
		}
	}
	var out []byte
	for i, name := range names {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(out, fmt.Sprintf(`{"id": %d, "name": `, ids[i])...)
		out = append(appendText(out, name), d.skeleton()...)
		out = append(out, '}')
	}
	return string(out)
}

// skeleton returns the names of the keypoints of a category, and the edges between them.
func (d *cocoDocument) skeleton() string {
	if d.points == 0 {
		return ""
	}
	info := maps.Clone(d.c.d.keypoints.of.Info)
	if _, is := info["keypoints"]; !is {
		names := make([]string, d.points)
		for k := range names {
			names[k] = fmt.Sprintf("k%d", k+1)
		}
		info = map[string]any{"keypoints": names}
		d.c.e.note(d.c.d.keypoints.Name(), "keypoints without names are k1, k2 and so on")
	}
	out := ""
	for _, key := range []string{"keypoints", "skeleton"} {
		if v, ok := info[key]; ok {
			if text, err := json.Marshal(v); err == nil {
				out += fmt.Sprintf(`, %q: %s`, key, text)
			}
		}
	}
	return out
}
