package scan

import (
	"strings"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

// The compressions of computed pictures.
const (
	uncompressed = "none"
	asPNG        = "png"
)

// htypeOf returns the htype of a tensor for values of a type.
func htypeOf(t *array.Type) string {
	name := "generic"
	switch {
	case t.DType == tensor.String:
		name = "text"
	case t.DType == tensor.JSON:
		name = "json"
	case t.Names != nil && t.Dims >= 0 && t.Dims <= 1 && (t.DType >= tensor.Uint8 && t.DType <= tensor.Int64):
		name = "class_label"
	case means(t):
		name = t.HType
	}
	if t.List && name != "polygon" { // a row of polygons is a list by nature
		return "sequence[" + name + "]"
	}
	return name
}

// means reports whether all values of a type may be samples of its htype.
func means(t *array.Type) bool {
	h, err := tensor.ParseHType(t.HType)
	if err != nil || t.Dims < 0 || h.CheckDType(t.DType) != nil || h.List() && !t.List || h.Base == "class_label" {
		return false
	}
	s, want := t.Axes().Clone(), h.Shape()
	for i := range s {
		switch {
		case s[i] >= 0:
		case h.Fixed():
			return false
		case i < len(want) && want[i] >= 0:
			s[i] = want[i] // the type of a part has lost the htype where this may be wrong
		case h.Base == "point" || h.Base == "polygon":
			s[i] = 2
		default:
			s[i] = 3
		}
	}
	return h.CheckShape(s) == nil
}

// infoOf returns the info of such a tensor: the convention of its boxes.
func infoOf(t *array.Type) map[string]any {
	info, coords := map[string]any{}, map[string]any{}
	if t.Boxes != "" {
		coords["mode"] = t.Boxes
	}
	if t.BoxUnit != array.NoBoxUnit {
		coords["type"] = t.BoxUnit.String()
	}
	if len(coords) > 0 {
		info["coords"] = coords
	}
	return info
}

// specOf returns a tensor for values of a type. Pictures are not compressed.
func specOf(name string, t *array.Type) dataset.TensorSpec {
	spec := dataset.TensorSpec{Name: name, HType: htypeOf(t), Info: infoOf(t)}
	switch {
	case t.Unit != array.None:
		spec.DType = timeOf(t.Unit).String()
	case t.DType != 0:
		spec.DType = t.DType.String()
	}
	if strings.Contains(spec.HType, "class_label") || strings.Contains(spec.HType, "segment_mask") {
		spec.ClassNames = t.Names
	}
	if picture(&spec) {
		spec.Compression = uncompressed
	}
	return spec
}

// picture reports whether samples of a tensor are pictures.
func picture(spec *dataset.TensorSpec) bool {
	h, err := tensor.ParseHType(spec.HType)
	return err == nil && h.IsImage()
}

// describeType describes a column that is computed when it is read.
func describeType(name string, t array.Type) dataset.TensorDescription {
	spec := specOf(name, &t)
	d := dataset.TensorDescription{Name: name, HType: spec.HType, Shape: t.Shape, Compression: "none", Sequence: t.List, ClassNames: spec.ClassNames, Info: spec.Info,
		Time: timeOf(t.Unit).String()}
	if t.DType != 0 {
		dtype := t.DType.String()
		d.DType = &dtype
	}
	return d
}
