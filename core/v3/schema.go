package v3

import (
	"encoding/json"
	"fmt"
	"maps"

	"deeplake/core/codec"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// schemaOf makes the schema of a commit. A name that stands twice gets digits behind it.
func (s *state) schemaOf() *format.Schema {
	out := &format.Schema{Info: plainInfo(s.info)}
	used := map[string]bool{}
	for _, t := range s.tensors {
		ts := t.schemaOf()
		if used[ts.Name] {
			ts.Name += "-" + t.id.String()[:8]
		}
		used[ts.Name] = true
		out.Tensors = append(out.Tensors, ts)
	}
	return out
}

// schemaOf makes the schema of a tensor.
func (s *tensorState) schemaOf() format.TensorSchema {
	k := &s.kind
	ts := format.TensorSchema{
		ID: s.id, Name: s.name, HType: k.htype.String(), Compression: codec.None.Name(), ChunkBytes: format.DefaultChunk, Time: k.time, Info: plainInfo(s.info),
	}
	if len(ts.Name) > format.MaxTensorNameLen {
		ts.Name = ts.Name[:200] + s.id.String()[:8]
	}
	if k.dtype != 0 {
		ts.DType = k.dtype.String()
	}
	if id := k.codec(); id != codec.None {
		ts.Compression = id.Name()
		if id.PerSample() {
			ts.Files = format.FilesOwn
		}
	}
	delete(ts.Info, "class_names")
	if k.htype.Base == "class_label" || k.htype.Base == "segment_mask" {
		ts.ClassNames = classNames(s.info)
	}
	if is := k.was(&s.meta); is != nil {
		ts.Info["deeplake3"] = is
	}
	return ts
}

// codec is the codec that the schema names.
func (k *kind) codec() codec.ID {
	switch {
	case k.sample == "lz4" || k.chunk == "lz4":
		if k.dtype.Fixed() || k.chunk == "lz4" && k.dtype == tensor.String {
			return codec.LZ4
		}
	case k.sample == "jpeg" && k.dtype == tensor.Uint8 && k.image:
		return codec.JPEG
	case k.sample == "webp" && k.dtype == tensor.Uint8 && k.image:
		return codec.WebP
	case k.sample == "png" && (k.image || k.htype.IsMask()) && k.dtype == tensor.Uint8:
		return codec.PNG
	}
	return codec.None
}

// was returns the htype and the compression in Deep Lake 3; nil: the tensor has them here too.
func (k *kind) was(m *tensorMeta) map[string]any {
	if !k.opaque && k.htype.Base == m.HType || m.HType == "" {
		return nil
	}
	out := map[string]any{"htype": m.HType}
	if m.Link {
		out["htype"] = "link[" + m.HType + "]"
	}
	if m.Sequence {
		out["htype"] = fmt.Sprintf("sequence[%s]", out["htype"])
	}
	if c := m.Sample + m.Chunk; c != "" {
		out["compression"] = c
	}
	return out
}

// classNames returns the names of classes, nil if there are none.
func classNames(info map[string]any) []string {
	list, _ := info["class_names"].([]any)
	var out []string
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return nil
		}
		out = append(out, name)
	}
	return out
}

// plainInfo copies an info without members that the format does not take.
func plainInfo(info map[string]any) map[string]any {
	out := maps.Clone(info)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range out {
		if data, err := json.Marshal(value); err != nil || len(data) > maxInfo || depth(value) > maxDepth {
			delete(out, name)
		}
	}
	return out
}

const (
	maxInfo  = 16 << 20
	maxDepth = 40
)

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			deepest = max(deepest, depth(x))
		}
	case []any:
		for _, x := range v {
			deepest = max(deepest, depth(x))
		}
	default:
		return 0
	}
	return deepest + 1
}
