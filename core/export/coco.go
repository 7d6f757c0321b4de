package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	categories []int64 // the id of each class
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
	if n := len(labels.of.ClassNames); len(ids) != n {
		ids = make([]int64, n)
		for i := range ids {
			ids[i] = int64(i + 1)
		}
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

// finish writes the documents: one pass over the annotations for each of their lists.
func (c *coco) finish(ctx context.Context, _ [][]byte) error {
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
			doc := &cocoDocument{c: c, parts: bySplit[split], captions: k.name == "captions"}
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
	next     int64 // the id of the next annotation
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
		return strconv.AppendInt(nil, r.number+1, 10), nil
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
	d.next++
	id := d.next
	if i < len(ids) {
		id = ids[i]
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
	}
	for i := range o.n {
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
		if category = o.labels[i]; len(d.c.categories) > 0 {
			if category < 0 || category >= int64(len(d.c.categories)) {
				return errs.New(errs.Invalid, "object %d is of class %d, and there are %d", i, category, len(d.c.categories))
			}
			category = d.c.categories[category]
		}
	}
	d.line = strconv.AppendInt(append(d.line, `, "category_id": `...), category, 10)
	if i < len(o.boxes) {
		d.line = append(d.line, `, "bbox": [`...)
		d.line = append(d.numbers(o.boxes[i][:], d.c.d.boxes), ']')
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
		d.line = append(d.numbers(o.points[i], d.c.d.keypoints), fmt.Sprintf(`], "num_keypoints": %d`, seen)...)
	}
	area := 0.0
	if i < len(o.boxes) {
		area = o.boxes[i][2] * o.boxes[i][3]
	}
	if i >= len(o.areas) {
		d.line = append(append(d.line, `, "area": `...), appendFloat(nil, area, tensor.Float64)...)
	} else if area = o.areas[i]; area == area { // NaN: the file had none
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
func (d *cocoDocument) numbers(all []float64, of *column) []byte {
	for k, v := range all {
		if k > 0 {
			d.line = append(d.line, ", "...)
		}
		d.line = appendFloat(d.line, v, of.dtype)
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
		for k, ring := range rings(o.polygons[i]) {
			if k > 0 {
				d.line = append(d.line, ", "...)
			}
			d.line = append(d.line, '[')
			d.line = append(d.numbers(ring, d.c.d.polygons), ']')
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

// categories returns the items of the categories.
func (d *cocoDocument) categories() string {
	var out []byte
	if d.captions || d.c.d.labels == nil {
		return ""
	}
	for i, name := range d.c.d.labels.of.ClassNames {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(out, fmt.Sprintf(`{"id": %d, "name": `, d.c.categories[i])...)
		out = appendText(out, name)
		if d.c.d.keypoints != nil {
			for _, key := range []string{"keypoints", "skeleton"} {
				if v, ok := d.c.d.keypoints.of.Info[key]; ok {
					text, err := json.Marshal(v)
					if err == nil {
						out = append(out, fmt.Sprintf(`, %q: %s`, key, text)...)
					}
				}
			}
		}
		out = append(out, '}')
	}
	return string(out)
}
