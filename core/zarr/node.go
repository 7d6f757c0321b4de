package zarr

import (
	"encoding/json"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// File is the name of the metadata of a node, in its folder.
const File = "zarr.json"

// maxChunk bounds a chunk that is not compressed: readers hold it as one buffer.
const maxChunk = 2<<30 - 1

// Kind is the kind of the elements of an array.
type Kind uint8

// The kinds of elements.
const (
	Numbers Kind = iota
	Texts        // UTF-8
	Bytes
)

// Array describes an array, whose chunks divide the first axis alone.
type Array struct {
	Kind  Kind
	DType tensor.DType // of Numbers
	Time  tensor.Time  // that Numbers of int64 count
	Shape []int64
	Rows  int64 // of a chunk
	// Attributes are those that users read; nil: none.
	Attributes map[string]any
}

// node is the metadata of an array or a group.
type node struct {
	Format     int            `json:"zarr_format"`
	Type       string         `json:"node_type"`
	Shape      []int64        `json:"shape,omitempty"`
	DataType   any            `json:"data_type,omitempty"`
	Grid       *named         `json:"chunk_grid,omitempty"`
	Keys       *named         `json:"chunk_key_encoding,omitempty"`
	Fill       any            `json:"fill_value,omitempty"`
	Codecs     []named        `json:"codecs,omitempty"`
	Attributes map[string]any `json:"attributes"`
}

// named is an extension point of Zarr with its settings.
type named struct {
	Name          string         `json:"name"`
	Configuration map[string]any `json:"configuration"`
}

// Group returns the metadata of a group.
func Group() ([]byte, error) { return encode(node{Type: "group"}) }

func encode(n node) ([]byte, error) {
	n.Format = 3
	if n.Attributes == nil {
		n.Attributes = map[string]any{}
	}
	return json.MarshalIndent(n, "", "  ")
}

// Metadata returns the metadata of the array.
func (a *Array) Metadata() ([]byte, error) {
	dtype, fill, err := a.dataType()
	if err != nil {
		return nil, err
	}
	first := named{"bytes", map[string]any{"endian": "little"}}
	switch a.Kind {
	case Texts:
		first = named{"vlen-utf8", map[string]any{}}
	case Bytes:
		first = named{"vlen-bytes", map[string]any{}}
	}
	chunk := make([]int64, len(a.Shape))
	for i, n := range a.Shape {
		chunk[i] = max(n, 1)
	}
	chunk[0] = a.Rows
	return encode(node{
		Type: "array", Shape: a.Shape, DataType: dtype, Fill: fill, Attributes: a.Attributes,
		Grid:   &named{"regular", map[string]any{"chunk_shape": chunk}},
		Keys:   &named{"default", map[string]any{"separator": "/"}},
		Codecs: []named{first, {"zstd", map[string]any{"level": zstdLevel, "checksum": false}}},
	})
}

// dataType returns the data type of the elements, and the fill value.
func (a *Array) dataType() (dtype, fill any, err error) {
	switch {
	case a.Kind == Texts:
		return "string", "", nil
	case a.Kind == Bytes:
		return "variable_length_bytes", "", nil
	case a.Time.Kind != tensor.NoTime:
		name, unit := "numpy.datetime64", [...]string{tensor.Second: "s", tensor.Millisecond: "ms", tensor.Microsecond: "us", tensor.Nanosecond: "ns"}[a.Time.Unit]
		switch a.Time.Kind {
		case tensor.Date:
			unit = "D"
		case tensor.Interval:
			name = "numpy.timedelta64"
		}
		return named{name, map[string]any{"unit": unit, "scale_factor": 1}}, int64(tensor.NotATime), nil
	case a.DType == tensor.Bool:
		return "bool", false, nil
	case a.DType.IsComplex():
		return a.DType.String(), []float64{0, 0}, nil
	case a.DType.IsFloat() && a.DType != tensor.BFloat16:
		return a.DType.String(), json.RawMessage("0.0"), nil
	case a.DType.IsInteger():
		return a.DType.String(), 0, nil
	}
	return nil, nil, errs.New(errs.Unsupported, "Zarr has no numbers of %s", a.DType)
}

// Key returns the name of chunk i along the first axis, in the folder of the array.
func (a *Array) Key(i int64) string {
	return "c/" + strconv.FormatInt(i, 10) + strings.Repeat("/0", len(a.Shape)-1)
}
