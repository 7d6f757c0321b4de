package scan

import (
	"strings"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/tensor"
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
	case t.HType == "bbox" && t.Dims == 2 && len(t.Shape) == 2 && t.Shape[1] == 4:
		name = "bbox"
	case t.HType == "embedding" && t.Dims == 1 && len(t.Shape) == 1 && t.Shape[0] >= 0:
		name = "embedding"
	}
	if t.List {
		return "sequence[" + name + "]"
	}
	return name
}

// infoOf returns the info of such a tensor: the convention of its boxes.
func infoOf(t *array.Type) map[string]any {
	info := map[string]any{}
	if t.Boxes != "" {
		info["coords"] = map[string]any{"mode": t.Boxes}
	}
	return info
}

// specOf returns a tensor for values of a type.
func specOf(name string, t *array.Type) dataset.TensorSpec {
	spec := dataset.TensorSpec{Name: name, HType: htypeOf(t), Info: infoOf(t)}
	switch {
	case t.Unit != array.None:
		spec.DType = timeOf(t.Unit).String()
	case t.DType != 0:
		spec.DType = t.DType.String()
	}
	if strings.Contains(spec.HType, "class_label") {
		spec.ClassNames = t.Names
	}
	return spec
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
