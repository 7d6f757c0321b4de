package export

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// yolo writes images below images, their objects below labels, and data.yaml.
type yolo struct {
	e     *exporter
	d     *detection
	namer *namer
}

// yoloFacts has the figures of a part that data.yaml needs.
type yoloFacts struct {
	Classes int64 `json:"classes"` // above all labels
	Points  int   `json:"points"`  // keypoints of an object
}

func openYOLO(ctx context.Context, e *exporter) (writer, error) {
	d, err := e.findDetection("YOLO")
	if err != nil {
		return nil, err
	}
	for _, c := range []**column{&d.rle, &d.areas, &d.crowds, &d.ids, &d.imageID, &d.captions, &d.captionIDs, &d.masks} {
		if *c != nil {
			e.note((*c).Name(), "left out: YOLO has no place for it")
			*c = nil
		}
	}
	if d.boxes == nil && d.polygons == nil {
		return nil, errs.New(errs.Invalid, "YOLO is of boxes or outlines, and there is no tensor of htype bbox or polygon; for classes of images, take the format folder")
	}
	if d.keypoints != nil && d.polygons != nil {
		e.note(d.polygons.Name(), "left out: lines of YOLO have keypoints or outlines")
		d.polygons = nil
	}
	y := &yolo{e: e, d: d}
	y.namer, err = newNamer(ctx, e, true, inSplit)
	return y, err
}

func (y *yolo) part(ctx context.Context, p *part) (any, error) {
	facts := &yoloFacts{}
	var names []string
	var of *batch
	g := task.New(ctx, y.e.lane())
	err := y.e.eachRow(ctx, p, y.d, true, func(b *batch, i int, image *value, values func(c *column) *value) (err error) {
		if image.hole {
			y.e.note(y.d.image.Name(), "rows without an image are left out")
			return nil
		}
		if of != b {
			if names, err = y.namer.names(ctx, p, b.rows); err != nil {
				return err
			}
			of = b
		}
		width, height, err := sides(image)
		if err != nil {
			return err
		}
		o, err := y.d.read(values, width, height)
		if err == nil {
			err = y.d.checkClasses(o)
		}
		if err != nil {
			return err
		}
		text, err := y.lines(facts, o, width, height)
		if err != nil {
			return err
		}
		name, row := p.in(names[i]), b.rows[i]
		g.Go(func(ctx context.Context) error { return y.e.putPicture(ctx, p, "images/"+name, row, image) })
		g.Go(func(ctx context.Context) error { return y.e.put(ctx, p, "labels/"+name+".txt", text) })
		return nil
	})
	if err != nil {
		g.Stop()
	}
	if failed := g.Wait(); err == nil {
		err = failed
	}
	return facts, err
}

// lines returns the lines of the objects of an image.
func (y *yolo) lines(facts *yoloFacts, o *objects, width, height float64) (out []byte, err error) {
	number := func(v float64, d tensor.DType) {
		out = append(out, ' ')
		out = appendFloat(out, v, d)
	}
	for i := range o.n {
		if !o.isFinite(i) {
			y.e.note("", notFinite)
			continue
		}
		class := int64(0)
		if i < len(o.labels) {
			class = o.labels[i]
		}
		if class < 0 {
			return nil, errs.New(errs.Invalid, "object %d is of class %d, want 0 or more", i, class)
		}
		facts.Classes = max(facts.Classes, class+1)
		out = strconv.AppendInt(out, class, 10)
		outline := y.outline(o, i)
		switch {
		case outline != nil:
			for k, v := range outline {
				side := width
				if k%2 == 1 {
					side = height
				}
				number(v/side, tensor.Float64)
			}
		case i < len(o.boxes):
			d := tensor.Float64
			if y.d.fractional && y.d.mode == "CCWH" {
				d = y.d.boxes.dtype
			}
			for _, v := range y.d.fractions(o.raw[i], o.boxes[i], width, height) {
				number(v, d)
			}
			if i < len(o.points) {
				facts.Points = max(facts.Points, len(o.points[i])/3)
				for k, v := range o.points[i] {
					number(v/[3]float64{width, height, 1}[k%3], tensor.Float64)
				}
			}
		default:
			return nil, errs.New(errs.Invalid, "object %d has neither a box nor an outline", i)
		}
		if i < len(o.scores) && outline == nil {
			number(o.scores[i], y.d.scores.dtype)
		}
		out = append(out, '\n')
	}
	return out, nil
}

// outline returns the outline of an object, nil if the lines have boxes. Parts of an outline are
// joined; an object without one has the corners of its box.
func (y *yolo) outline(o *objects, i int) []float64 {
	if y.d.polygons == nil {
		return nil
	}
	if i < len(o.polygons) && len(o.polygons[i]) >= 6 {
		all := rings(o.polygons[i])
		if len(all) > 1 {
			y.e.note(y.d.polygons.Name(), "parts of an outline are joined to one")
		}
		return slices.Concat(all...)
	}
	if i >= len(o.boxes) {
		return nil
	}
	y.e.note(y.d.polygons.Name(), "objects without an outline have the corners of their box")
	b := o.boxes[i]
	return []float64{b[0], b[1], b[0] + b[2], b[1], b[0] + b[2], b[1] + b[3], b[0], b[1] + b[3]}
}

func (y *yolo) finish(ctx context.Context, facts [][]byte) error {
	var all yoloFacts
	for _, data := range facts {
		var one yoloFacts
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		all.Classes, all.Points = max(all.Classes, one.Classes), max(all.Points, one.Points)
	}
	var out strings.Builder
	splits := y.e.report.Splits
	if len(splits) == 0 {
		out.WriteString("train: images\nval: images\n")
	}
	has := func(split string) bool { return slices.Contains(splits, split) }
	for _, split := range splits {
		fmt.Fprintf(&out, "%s: %s\n", yamlText(split), yamlText("images/"+split))
	}
	if len(splits) > 0 && (!has("train") || !has("val")) {
		y.e.note("", "data.yaml needs train and val: the first and the last split stand for the one that is missing")
	}
	if len(splits) > 0 && !has("train") {
		fmt.Fprintf(&out, "train: %s\n", yamlText("images/"+splits[0]))
	}
	if len(splits) > 0 && !has("val") {
		fmt.Fprintf(&out, "val: %s\n", yamlText("images/"+splits[len(splits)-1]))
	}
	if all.Points > 0 {
		fmt.Fprintf(&out, "kpt_shape: [%d, 3]\n", all.Points)
	}
	if y.d.labels != nil && len(y.d.labels.of.ClassNames) > 0 {
		out.WriteString("names:\n")
		for i, name := range y.d.labels.of.ClassNames {
			fmt.Fprintf(&out, "  %d: %s\n", i, yamlText(name))
		}
	} else {
		fmt.Fprintf(&out, "nc: %d\n", all.Classes)
	}
	return y.e.about(ctx, "data.yaml", []byte(out.String()))
}

// yamlText returns a text in quotes: JSON strings are strings of YAML too.
func yamlText(s string) string { return string(appendText(nil, s)) }
