package arrow

import (
	"encoding/json"
	"slices"
	"strings"

	"deeplake/core/tensor"
)

// hints describe a column by the metadata of its table.
type hints struct {
	classes []string // the names of its numbers; nil: none
	labels  bool     // its texts are labels
	fields  map[string]hints
}

// hintsOf reads the metadata of Hugging Face and of pandas: class names and categories.
func hintsOf(metadata map[string]string) map[string]hints {
	out := map[string]hints{}
	var face struct {
		Info struct {
			Features map[string]json.RawMessage `json:"features"`
		} `json:"info"`
	}
	if json.Unmarshal([]byte(metadata["huggingface"]), &face) == nil {
		out = featuresOf(face.Info.Features, 0)
	}
	var frame struct {
		Columns []struct {
			Name string `json:"field_name"`
			Type string `json:"pandas_type"`
		} `json:"columns"`
	}
	if json.Unmarshal([]byte(metadata["pandas"]), &frame) == nil {
		for _, c := range frame.Columns {
			if c.Type == "categorical" {
				out[c.Name] = hints{labels: true}
			}
		}
	}
	return out
}

// featuresOf reads the features of Hugging Face: the names of classes, also of lists of them, and
// the fields of structs.
func featuresOf(features map[string]json.RawMessage, depth int) map[string]hints {
	out := map[string]hints{}
	for name, raw := range features {
		var one struct {
			Type    string          `json:"_type"`
			Names   []string        `json:"names"`
			Feature json.RawMessage `json:"feature"`
		}
		var fields map[string]json.RawMessage
		switch {
		case depth > maxDepth:
		case json.Unmarshal(raw, &one) == nil && one.Type == "ClassLabel" && len(one.Names) > 0:
			out[name] = hints{classes: one.Names}
		case one.Feature != nil:
			out[name] = featuresOf(map[string]json.RawMessage{name: one.Feature}, depth+1)[name]
		case one.Type == "" && json.Unmarshal(raw, &fields) == nil:
			out[name] = hints{fields: featuresOf(fields, depth+1)}
		}
	}
	return out
}

// Infer returns the tensor that the column makes in a dataset without tensors. Texts of a
// dictionary are labels only where the metadata says so: a dictionary is a way to store texts.
func (c *Column) Infer() tensor.Inferred {
	switch {
	case c.field.htype != "":
		return tensor.Inferred{HType: c.field.htype}
	case c.hints.classes != nil && c.field.leaf().holdsLabels():
		return tensor.Inferred{HType: "class_label", ClassNames: c.hints.classes}
	case c.hints.labels && c.field.dictionary != nil && c.field.dictionary.dtype == tensor.String:
		return tensor.Inferred{HType: "class_label"}
	}
	htype := c.field.infer()
	if leaf := c.field.leaf(); leaf.dtype == tensor.Bytes && leaf.extension == "" && (htype == "generic" || htype == "sequence[generic]") {
		return tensor.Inferred{HType: htype, DType: tensor.Bytes} // empty lists do not say so
	}
	if htype != "file" && htype != "sequence[file]" {
		return tensor.Inferred{HType: htype}
	}
	if file := c.firstFile(); file != nil && htype == "file" {
		return tensor.Inferred{File: file}
	}
	return tensor.Inferred{HType: strings.Replace(htype, "file", "image", 1)}
}

// infer returns the htype for a type. "file" stands for structs with the bytes of files.
func (t *dataType) infer() string {
	switch {
	case t.extension == "arrow.uuid":
		return "text"
	case t.extension == "arrow.json":
		return "json"
	case strings.HasPrefix(t.extension, "arrow."):
		return "generic"
	case t.dictionary != nil:
		return t.dictionary.infer()
	case t.kind == kindText || t.kind == kindView:
		if t.dtype == tensor.String {
			return "text"
		}
	case t.isFile():
		return "file"
	case t.kind == kindStruct || t.kind == kindMap:
		return "json"
	case t.isList():
		switch item := t.fields[0].infer(); item {
		case "text", "file":
			return "sequence[" + item + "]"
		case "generic":
			if leaf := t.leaf(); leaf.kind != kindText && leaf.kind != kindView && leaf.kind != kindFixed {
				return "generic"
			}
			return "sequence[generic]"
		}
		return "json"
	}
	return "generic"
}

// holdsLabels reports whether values are numbers of classes, or their names.
func (t *dataType) holdsLabels() bool {
	return t.kind == kindNumber && t.dtype.IsInteger() && (t.dictionary == nil || t.dictionary.dtype == tensor.String)
}

// leaf returns the type of the innermost items of lists.
func (t *dataType) leaf() *dataType {
	for t.isList() {
		t = t.fields[0].dataType
	}
	return t
}

// isFile reports whether a type is a struct of the bytes and the path of a file.
func (t *dataType) isFile() bool {
	if t.kind != kindStruct || len(t.fields) != 2 {
		return false
	}
	named := func(name string, d tensor.DType) bool {
		return slices.ContainsFunc(t.fields, func(f field) bool { return f.name == name && f.dtype == d && f.dictionary == nil })
	}
	noPath := slices.ContainsFunc(t.fields, func(f field) bool { return f.name == "path" && f.kind == kindNull })
	return named("bytes", tensor.Bytes) && (noPath || named("path", tensor.String))
}

// IsFile reports whether rows are structs of the bytes and the path of a file, or lists of them.
func (c *Column) IsFile() bool { return c.field.leaf().isFile() }

// firstFile returns the bytes of the first file; nil: there is none.
func (c *Column) firstFile() []byte {
	for _, v := range c.parts {
		out, err := (&reader{}).files(v, v.missing(nil))
		if err != nil {
			continue // the rows say so when they are read
		}
		for i := range out.Samples {
			if s := &out.Samples[i]; s.Form == tensor.FormEncoded {
				return s.Data
			}
		}
	}
	return nil
}
