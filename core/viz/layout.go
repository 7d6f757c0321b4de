package viz

import (
	"cmp"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

// The roles of a tensor in a cell.
const (
	primary = "primary" // the picture itself
	overlay = "overlay" // drawn over a primary tensor
	side    = "side"    // beside it
)

// tensorInfo describes a tensor to the page.
type tensorInfo struct {
	Name       string         `json:"name"`
	Group      string         `json:"group"`
	HType      string         `json:"htype"`
	Sequence   bool           `json:"sequence"`
	List       bool           `json:"list"`
	DType      *string        `json:"dtype"`
	Time       string         `json:"time,omitempty"` // numbers count time, see tensor.Time
	Shape      tensor.Shape   `json:"shape"`
	MinShape   tensor.Shape   `json:"min_shape"`
	MaxShape   tensor.Shape   `json:"max_shape"`
	ClassNames []string       `json:"class_names"`
	Info       map[string]any `json:"info"`
	Computed   bool           `json:"computed"`
	Role       string         `json:"role"`
	Over       string         `json:"over"`
	Draw       string         `json:"draw"`
	Labels     []string       `json:"labels,omitempty"` // tensors that may name the instances
	Boxes      string         `json:"boxes,omitempty"`
	Fractional bool           `json:"fractional,omitempty"`
}

// layout decides how each tensor is drawn. Within a group, annotations belong to its first picture.
// A group without pictures (predictions, say) is drawn over the first picture of all. A video
// counts as one where there is no picture. Annotations that are sequences prefer, by the same
// rules, a picture that has an item for each of theirs: a sequence of pictures, or a video.
func layout(all []dataset.TensorDescription) []tensorInfo {
	out := make([]tensorInfo, len(all))
	var pictures, lists firsts
	for i := range all {
		out[i] = describe(&all[i])
	}
	for _, draw := range []string{"image", video} {
		for i := range out {
			t := &out[i]
			if t.Draw != draw {
				continue
			}
			t.Role = primary
			pictures.add(t)
			if t.Sequence != (draw == video) {
				lists.add(t)
			}
		}
	}
	for i := range out {
		t := &out[i]
		if t.Role != overlay {
			continue
		}
		if t.Over = pictures.of(t.Group); t.Sequence && (pictures.groups[t.Group] == "" || lists.groups[t.Group] != "") {
			t.Over = cmp.Or(lists.of(t.Group), t.Over)
		}
		if t.Over == "" {
			t.Role = side
		}
	}
	for i := range out {
		switch t := &out[i]; t.Draw {
		case "boxes", "mask", "polygons", "keypoints", "points":
			for _, l := range labelsOf(out, t) {
				t.Labels = append(t.Labels, l.Name)
			}
		}
	}
	return out
}

// firsts are the first pictures of some kind: of each group, and of all.
type firsts struct {
	groups map[string]string
	all    string
}

func (f *firsts) add(t *tensorInfo) {
	if f.groups == nil {
		f.groups = map[string]string{}
	}
	if f.groups[t.Group] == "" {
		f.groups[t.Group] = t.Name
	}
	f.all = cmp.Or(f.all, t.Name)
}

// of returns the picture to which the annotations of a group belong, "" if there is none.
func (f *firsts) of(group string) string { return cmp.Or(f.groups[group], f.all) }

func describe(d *dataset.TensorDescription) tensorInfo {
	t := tensorInfo{
		Name: d.Name, HType: d.HType, Sequence: d.Sequence, DType: d.DType, Time: d.Time, Shape: d.Shape, MinShape: d.MinShape, MaxShape: d.MaxShape,
		ClassNames: d.ClassNames, Info: d.Info, Role: side,
	}
	if at := strings.LastIndexByte(d.Name, '/'); at >= 0 {
		t.Group = d.Name[:at]
	}
	if h, err := tensor.ParseHType(d.HType); err == nil {
		t.HType, t.Sequence, t.List = h.Base, h.Sequence, h.List() && !h.Sequence
	}
	t.Draw = drawn(&t)
	switch t.Draw {
	case "boxes", "mask", "segments", "polygons", "keypoints", "points", "label", "text":
		t.Role = overlay
	}
	if t.Draw == "boxes" {
		coords, _ := d.Info["coords"].(map[string]any)
		t.Boxes, _ = coords["mode"].(string)
		if t.Boxes != "LTWH" && t.Boxes != "CCWH" {
			t.Boxes = "LTRB"
		}
		kind, _ := coords["type"].(string)
		t.Fractional = kind == "fractional"
	}
	if t.ClassNames == nil {
		t.ClassNames = []string{}
	}
	if t.Info == nil {
		t.Info = map[string]any{}
	}
	return t
}

// drawn returns the way in which samples of a tensor are drawn.
func drawn(t *tensorInfo) string {
	base, _, _ := strings.Cut(t.HType, ".")
	switch base {
	case "image", video:
		return base
	case "bbox":
		return "boxes"
	case "binary_mask":
		return "mask"
	case "segment_mask":
		return "segments"
	case "instance_label":
		if len(t.MaxShape) >= 2 {
			return "segments"
		}
	case "polygon":
		return "polygons"
	case "keypoints_coco":
		return "keypoints"
	case "point":
		return "points"
	case "class_label":
		return "label"
	case "text":
		return "text"
	case "json", "tag", "list":
		return "json"
	case "embedding":
		return "embedding"
	}
	if t.DType != nil {
		switch *t.DType {
		case "string":
			return "text"
		case "json":
			return "json"
		}
	}
	if t.MaxShape != nil && len(t.MaxShape) == 0 || t.Shape != nil && len(t.Shape) == 0 {
		return "number"
	}
	return "array"
}
