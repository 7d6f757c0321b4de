package litdata

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"deeplake/core/errs"
)

const (
	// maxLeaves bounds the values of an item.
	maxLeaves = 1 << 12
	// maxDepth bounds the depth of nested values.
	maxDepth = 64
)

// Index is the file index.json of a set: its chunks in their order, and what their items hold.
type Index struct {
	Chunks []Chunk
	Leaves []Leaf // the values of an item, in their order
	Tokens bool   // items are the tokens of one document each, without sizes
	Packed bool   // each item is compressed
}

// Chunk is a file of a set.
type Chunk struct {
	Name  string `json:"filename"`
	Items int64  `json:"chunk_size"`
}

// Leaf is a value of each item.
type Leaf struct {
	Name     string
	Encoding string // such as "jpeg" or "no_header_numpy:9"
}

// stored is an index as the file has it.
type stored struct {
	Chunks []Chunk `json:"chunks"`
	Config *struct {
		Compression string          `json:"compression"`
		Level       any             `json:"compression_level"`
		Format      []string        `json:"data_format"`
		Spec        *string         `json:"data_spec"`
		Encryption  json.RawMessage `json:"encryption"`
		Loader      string          `json:"item_loader"`
	} `json:"config"`
}

// ParseIndex reads an index. It returns nil for JSON of another kind, such as an index of MDS.
func ParseIndex(data []byte) (*Index, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, errs.New(errs.Corrupt, "is no index of chunks: %w", err)
	}
	if s.Chunks == nil {
		return nil, nil
	}
	c := s.Config
	if c == nil {
		return nil, errs.New(errs.Corrupt, "has chunks, and no config")
	}
	out := &Index{Chunks: s.Chunks, Tokens: c.Loader == "TokensLoader"}
	if e := bytes.TrimSpace(c.Encryption); len(e) > 0 && !bytes.Equal(e, []byte("null")) {
		return nil, errs.New(errs.Unsupported, "names encrypted chunks, which are not read; write the set without encryption=")
	}
	switch c.Loader {
	case "", "PyTreeLoader", "TokensLoader":
	case "ParquetLoader":
		return nil, errs.New(errs.Unsupported, `names Parquet files; read the folder with the format "parquet"`)
	default:
		return nil, errs.New(errs.Unsupported, "names chunks of the item loader %q, want PyTreeLoader or TokensLoader", c.Loader)
	}
	if name, _, _ := strings.Cut(c.Compression, ":"); name != "" && name != "zstd" {
		return nil, errs.New(errs.Unsupported, "names chunks compressed by %q, want zstd", c.Compression)
	}
	switch c.Level {
	case nil, "", "chunk", "batch":
	case "sample":
		out.Packed = true
	default:
		return nil, errs.New(errs.Unsupported, "has the compression level %v, want chunk, batch or sample", c.Level)
	}
	if len(c.Format) > maxLeaves {
		return nil, errs.New(errs.Invalid, "has items of %d values, want at most %d", len(c.Format), maxLeaves)
	}
	names, err := leafNames(c.Spec, len(c.Format))
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, errs.New(errs.Unsupported, "has two values named %q", name)
		}
		out.Leaves = append(out.Leaves, Leaf{name, c.Format[i]})
	}
	if out.Tokens && (len(out.Leaves) != 1 || !strings.HasPrefix(out.Leaves[0].Encoding, "no_header_")) {
		return nil, errs.New(errs.Corrupt, "has tokens in the encodings %q, want one of no_header_numpy or no_header_tensor", c.Format)
	}
	return out, nil
}

// tree is the structure of an item: a leaf, or a container of others.
type tree struct {
	Type     string  `json:"type"`
	Context  *string `json:"context"`
	Children []tree  `json:"children_spec"`
}

// leafNames returns the names of the values of an item: keys joined by "/", numbers in lists, and
// "value" for an item that is one value.
func leafNames(spec *string, n int) ([]string, error) {
	if spec == nil { // numbers are all that is known
		var names []string
		for i := range n {
			names = append(names, strconv.Itoa(i))
		}
		return names, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(*spec), &parts); err != nil || len(parts) != 2 {
		return nil, errs.New(errs.Corrupt, "has the data_spec %.80q, want a version and a tree", *spec)
	}
	if version := string(bytes.TrimSpace(parts[0])); version != "1" {
		return nil, errs.New(errs.Unsupported, "has a data_spec of version %s, want 1", version)
	}
	var t tree
	if err := json.Unmarshal(parts[1], &t); err != nil {
		return nil, errs.New(errs.Corrupt, "has a data_spec without a tree: %w", err)
	}
	names, err := t.names("", 0, nil)
	if err != nil {
		return nil, err
	}
	if len(names) != n {
		return nil, errs.New(errs.Corrupt, "has a data_spec of %d values, and %d encodings", len(names), n)
	}
	return names, nil
}

// names appends the names of the leaves of a tree at a name.
func (t *tree) names(at string, depth int, to []string) (_ []string, err error) {
	if depth > maxDepth || len(to) > maxLeaves {
		return nil, errs.New(errs.Invalid, "has items of more than %d values, or deeper than %d", maxLeaves, maxDepth)
	}
	if t.Type == "" && len(t.Children) == 0 {
		if at == "" {
			at = "value"
		}
		return append(to, at), nil
	}
	keys, err := t.keys()
	if err != nil {
		return nil, err
	}
	for i := range t.Children {
		key := strconv.Itoa(i)
		if keys != nil {
			key = keys[i]
		}
		if at != "" {
			key = at + "/" + key
		}
		if to, err = t.Children[i].names(key, depth+1, to); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// keys returns the keys of a dict; nil: the children have numbers.
func (t *tree) keys() ([]string, error) {
	var raw []any
	switch t.Type {
	case "builtins.dict", "collections.OrderedDict":
		if t.Context == nil || json.Unmarshal([]byte(*t.Context), &raw) != nil {
			return nil, errs.New(errs.Corrupt, "has a dict without keys in its data_spec")
		}
	case "collections.defaultdict": // the default, and the keys
		var parts []json.RawMessage
		if t.Context == nil || json.Unmarshal([]byte(*t.Context), &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[1], &raw) != nil {
			return nil, errs.New(errs.Corrupt, "has a defaultdict without keys in its data_spec")
		}
	case "builtins.tuple", "builtins.list", "collections.deque", "collections.namedtuple":
		return nil, nil
	default:
		return nil, errs.New(errs.Unsupported, "has items of the type %q, want dicts, lists and tuples", t.Type)
	}
	if len(raw) != len(t.Children) {
		return nil, errs.New(errs.Corrupt, "has a dict of %d keys and %d values in its data_spec", len(raw), len(t.Children))
	}
	keys := make([]string, len(raw))
	for i, key := range raw {
		switch v := key.(type) {
		case string:
			keys[i] = v
		case float64:
			keys[i] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			return nil, errs.New(errs.Unsupported, "has a dict with the key %v, want a text or a number", key)
		}
	}
	return keys, nil
}
