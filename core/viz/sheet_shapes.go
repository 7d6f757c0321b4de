package viz

import (
	"context"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/viz/draw"
)

// Bounds of the shapes of one sample, so that a sample cannot stop the process.
const (
	mostShapes = 10_000
	mostPoints = 20_000
	mostPlanes = 256
	mostEdges  = 1000
	tagsFrom   = 40 // pixels of the narrowest box with a name
	pointSize  = 3
)

// read returns the numbers of the samples of a tensor. A row without a sample has none.
func (c *cell) read(ctx context.Context, t *tensorInfo) ([]values, error) {
	if known, ok := c.arrays[t.Name]; ok {
		return known, nil
	}
	var out []values
	for i := range c.samples[t.Name] {
		one := &c.samples[t.Name][i]
		if one.failed != nil {
			return nil, one.failed
		}
		if one.ref.Hole() || one.item < 0 || len(out) == mostShapes {
			continue
		}
		if one.ref.Size > mostBytes {
			return nil, errs.New(errs.Unsupported, "%q: the sample has %d bytes, want at most %d", t.Name, one.ref.Size, mostBytes)
		}
		leave, err := hold(ctx, c.large, one.ref.Size)
		if err != nil {
			return nil, err
		}
		v, err := c.decoded(ctx, one)
		leave()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", t.Name, err)
		}
		out = append(out, v)
	}
	c.arrays[t.Name] = out
	return out, nil
}

// annotate paints one tensor over the picture.
func (c *cell) annotate(ctx context.Context, t *tensorInfo) error {
	all, err := c.read(ctx, t)
	if err != nil || len(all) == 0 {
		return err
	}
	v := &all[0]
	if v.len() == 0 && !t.List {
		return nil
	}
	instances := 1
	switch t.Draw {
	case "boxes":
		instances = v.len() / 4
	case "mask":
		if len(v.shape) == 3 {
			instances = int(v.shape[2])
		}
	case "polygons":
		instances = len(all)
	case "keypoints":
		if len(v.shape) == 2 {
			instances = int(v.shape[1])
		}
	case "points":
		instances = int(v.shape[0])
	}
	names, err := c.classes(ctx, t, instances)
	if err != nil {
		return err
	}
	switch t.Draw {
	case "boxes":
		c.boxes(t, v, names)
	case "mask":
		c.mask(v, names)
	case "segments":
		c.segments(t, v)
	case "polygons":
		c.polygons(all, names)
	case "keypoints":
		c.keypoints(t, v, instances, names)
	case "points":
		c.points(v, names)
	}
	return nil
}

// naming gives the class of an instance, and its name.
type naming struct {
	of    *tensorInfo // nil: an instance is a class of its own
	label *values
}

// classes finds the labels of instances: one for each, or one for the row.
func (c *cell) classes(ctx context.Context, t *tensorInfo, instances int) (naming, error) {
	for _, l := range labelsOf(c.all, t) {
		all, err := c.read(ctx, l)
		if err != nil {
			return naming{}, err
		}
		if len(all) > 0 && (all[0].len() == instances || len(all[0].shape) == 0) {
			return naming{l, &all[0]}, nil
		}
	}
	return naming{}, nil
}

func (n naming) class(instance int) float64 {
	switch {
	case n.label == nil:
		return float64(instance)
	case n.label.len() == 1:
		return n.label.at(0)
	}
	return n.label.at(instance)
}

func (n naming) color(instance int) color.RGBA { return draw.Class(n.class(instance), false) }

func (n naming) name(instance int) string {
	if n.of == nil {
		return ""
	}
	return className(n.of, n.class(instance))
}

// className returns the name of a class, or its number.
func className(t *tensorInfo, value float64) string {
	if at := int(value); value >= 0 && value == math.Floor(value) && at < len(t.ClassNames) && t.ClassNames[at] != "" {
		return t.ClassNames[at]
	}
	return number(value)
}

func (c *cell) boxes(t *tensorInfo, v *values, names naming) {
	if !v.last(4) {
		return
	}
	for i := range min(v.len()/4, mostShapes) {
		left, top, right, bottom := v.at(4*i), v.at(4*i+1), v.at(4*i+2), v.at(4*i+3)
		if t.Boxes == "CCWH" {
			left, top = left-right/2, top-bottom/2
		}
		if t.Boxes != "LTRB" {
			right, bottom = left+right, top+bottom
		}
		if t.Fractional {
			left, right, top, bottom = left*c.size[0], right*c.size[0], top*c.size[1], bottom*c.size[1]
		}
		if math.IsNaN(left + right + top + bottom) {
			continue
		}
		left, right = min(left, right), max(left, right)
		top, bottom = min(top, bottom), max(top, bottom)
		x0, y0 := c.ready(left, top)
		x1, y1 := c.ready(right, bottom)
		c.area.Box(x0, y0, x1, y1, names.color(i))
		if name := names.name(i); name != "" && x1-x0 >= tagsFrom {
			c.area.Tag(name, x0, y0, names.color(i))
		}
	}
}

func (c *cell) mask(v *values, names naming) {
	planes := 1
	if len(v.shape) > 2 {
		planes = int(v.shape[2])
	}
	colors := make([]color.RGBA, min(planes, mostPlanes))
	for i := range colors {
		colors[i] = names.color(i)
	}
	c.eachPixel(v, planes, func(x, y, i int) {
		for k, with := range colors {
			if v.at(i+k) != 0 {
				c.area.Tint(x, y, with, maskOpacity)
			}
		}
	})
}

// segments paints the class of each pixel. Class 0 is the background, unless its name says more.
func (c *cell) segments(t *tensorInfo, v *values) {
	planes := 1
	if len(v.shape) > 2 {
		planes = int(v.shape[2])
	}
	background := len(t.ClassNames) == 0 || isBackground(t.ClassNames[0])
	known := map[float64]color.RGBA{}
	c.eachPixel(v, planes, func(x, y, i int) {
		value := v.at(i)
		for k := planes - 1; k > 0; k-- {
			if v.at(i+k) != 0 {
				value = v.at(i + k)
				break
			}
		}
		if math.IsNaN(value) || value < 0 || value == 0 && background {
			return
		}
		with, ok := known[value]
		if !ok {
			with = draw.Class(value, false)
			known[value] = with
		}
		c.area.Tint(x, y, with, maskOpacity)
	})
}

func isBackground(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	switch letters {
	case "", "background", "bg", "unlabeled", "unlabelled", "void", "none", "ignore", "ignored":
		return true
	}
	return false
}

// polygons paints outlines. A point of NaN ends a part of one.
func (c *cell) polygons(all []values, names naming) {
	points := 0
	for k := range all {
		v := &all[k]
		if !v.last(2) {
			continue
		}
		if points += v.len() / 2; points > mostPoints {
			return
		}
		var xy []float64
		for i := 0; i+1 < v.len(); i += 2 {
			switch {
			case v.finite(i) && v.finite(i+1):
				x, y := c.ready(v.at(i), v.at(i+1))
				xy = append(xy, x, y)
			case math.IsNaN(v.at(i)) && math.IsNaN(v.at(i+1)):
				c.area.Polygon(xy, names.color(k), maskOpacity/2)
				xy = xy[:0]
			}
		}
		c.area.Polygon(xy, names.color(k), maskOpacity/2)
	}
}

// keypoints are x, y and visibility in turn along the first axis, as in COCO.
func (c *cell) keypoints(t *tensorInfo, v *values, instances int, names naming) {
	if len(v.shape) == 0 || v.shape[0]%3 != 0 || v.len() > 3*mostPoints {
		return
	}
	count := int(v.shape[0]) / 3
	edges := skeleton(t.Info, count)
	for i := range instances {
		at := func(k int) (x, y, shown float64) {
			from := 3*k*instances + i
			x, y = c.ready(v.at(from), v.at(from+instances))
			return x, y, v.at(from + 2*instances)
		}
		for k := range count {
			if x, y, shown := at(k); shown > 0 {
				c.area.Disc(x, y, pointSize, names.color(i), shown == 1)
			}
		}
		for _, e := range edges {
			x0, y0, one := at(e[0])
			if x1, y1, other := at(e[1]); one > 0 && other > 0 {
				c.area.Line(x0, y0, x1, y1, names.color(i))
			}
		}
	}
}

// skeleton returns the edges between keypoints that the info of a tensor states. COCO counts from
// 1: pairs that name the keypoint behind the last one, and never keypoint 0, count so.
func skeleton(info map[string]any, count int) [][2]int {
	stated, ok := info["skeleton"].([]any)
	if !ok {
		stated, _ = info["connections"].([]any)
	}
	var pairs [][2]int
	first, beyond := 1, false
	for _, pair := range stated[:min(len(stated), mostEdges)] {
		ends, _ := pair.([]any)
		if len(ends) != 2 {
			continue
		}
		from, ok := infoNumber(ends[0])
		to, also := infoNumber(ends[1])
		if !ok || !also || from != math.Floor(from) || to != math.Floor(to) || math.Abs(from)+math.Abs(to) > mostPoints {
			continue
		}
		if from == 0 || to == 0 {
			first = 0
		}
		beyond = beyond || int(from) == count || int(to) == count
		pairs = append(pairs, [2]int{int(from), int(to)})
	}
	if !beyond {
		first = 0
	}
	edges := pairs[:0]
	for _, p := range pairs {
		if a, b := p[0]-first, p[1]-first; min(a, b) >= 0 && max(a, b) < count {
			edges = append(edges, [2]int{a, b})
		}
	}
	return edges
}

// infoNumber returns a number of the info of a tensor, which may be a json.Number.
func infoNumber(v any) (float64, bool) {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return f, err == nil
	}
	f, ok := v.(float64)
	return f, ok
}

func (c *cell) points(v *values, names naming) {
	if len(v.shape) != 2 || v.shape[1] < 2 || v.shape[1] > 4 {
		return
	}
	width := int(v.shape[1])
	for i := range min(int(v.shape[0]), mostPoints) {
		x, y := c.ready(v.at(width*i), v.at(width*i+1))
		c.area.Disc(x, y, pointSize, names.color(i), false)
	}
}

// caption returns a line of text for a tensor.
func (c *cell) caption(ctx context.Context, t *tensorInfo) (string, error) {
	one := c.first(t.Name)
	if one == nil || one.failed != nil {
		return "", c.failedOf(one)
	}
	if one.ref.Hole() || one.item < 0 {
		return "", nil
	}
	if one.column.DType() == tensor.String {
		if one.ref.Size > mostText*64 {
			return fmt.Sprintf("%d bytes", one.ref.Size), nil
		}
		data, err := textBody(ctx, one, c.worker, &header{})
		return strings.ToValidUTF8(string(data), "?"), err
	}
	all, err := c.read(ctx, t)
	if err != nil || len(all) == 0 {
		return "", err
	}
	var parts []string
	for i := range min(all[0].len(), 8) {
		if t.Draw == "label" {
			parts = append(parts, className(t, all[0].at(i)))
		} else {
			parts = append(parts, fmt.Sprintf("%.6g", all[0].at(i)))
		}
	}
	return strings.Join(parts, ", "), nil
}
