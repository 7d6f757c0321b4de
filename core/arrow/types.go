package arrow

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// kind is a layout of memory with a meaning.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindTime    // dates, timestamps and durations
	kindDecimal // of dataType.width bytes
	kindOther   // no tensor holds it: times of a day, calendar intervals, unions, run ends
	kindText    // or bytes, by offsets
	kindView    // text or bytes, by views
	kindFixed   // bytes, all of dataType.width
	kindList
	kindListView
	kindFixedList // of dataType.width items
	kindStruct
	kindMap
)

// dataType is the type of a column.
type dataType struct {
	kind   kind
	name   string       // as Arrow prints it
	dtype  tensor.DType // of numbers, text and bytes
	counts string       // the name of a time, as tensor.ParseTime reads it
	width  int64
	scale  int  // of a decimal
	wide   bool // offsets have 64 bits
	fields []field

	dictionary *dataType // the values that the numbers of this type stand for

	metadata  map[string]string
	htype     string // as Type.HType
	extension string
	parameter string // the extension's
}

type field struct {
	name string
	*dataType
}

// plain are the formats of one letter.
var plain = map[string]dataType{
	"n":  {kind: kindNull, name: "null"},
	"b":  {kind: kindBool, name: "bool", dtype: tensor.Bool},
	"c":  {kind: kindNumber, name: "int8", dtype: tensor.Int8},
	"C":  {kind: kindNumber, name: "uint8", dtype: tensor.Uint8},
	"s":  {kind: kindNumber, name: "int16", dtype: tensor.Int16},
	"S":  {kind: kindNumber, name: "uint16", dtype: tensor.Uint16},
	"i":  {kind: kindNumber, name: "int32", dtype: tensor.Int32},
	"I":  {kind: kindNumber, name: "uint32", dtype: tensor.Uint32},
	"l":  {kind: kindNumber, name: "int64", dtype: tensor.Int64},
	"L":  {kind: kindNumber, name: "uint64", dtype: tensor.Uint64},
	"e":  {kind: kindNumber, name: "halffloat", dtype: tensor.Float16},
	"f":  {kind: kindNumber, name: "float", dtype: tensor.Float32},
	"g":  {kind: kindNumber, name: "double", dtype: tensor.Float64},
	"z":  {kind: kindText, name: "binary", dtype: tensor.Bytes},
	"Z":  {kind: kindText, name: "large_binary", dtype: tensor.Bytes, wide: true},
	"u":  {kind: kindText, name: "string", dtype: tensor.String},
	"U":  {kind: kindText, name: "large_string", dtype: tensor.String, wide: true},
	"vz": {kind: kindView, name: "binary_view", dtype: tensor.Bytes},
	"vu": {kind: kindView, name: "string_view", dtype: tensor.String},

	"tdD": {kind: kindTime, name: "date32[day]", counts: "date", width: 4},
	"tdm": {kind: kindTime, name: "date64[ms]", counts: "timestamp[ms]", width: 8},
	"tDs": {kind: kindTime, name: "duration[s]", counts: "interval[s]", width: 8},
	"tDm": {kind: kindTime, name: "duration[ms]", counts: "interval[ms]", width: 8},
	"tDu": {kind: kindTime, name: "duration[us]", counts: "interval[us]", width: 8},
	"tDn": {kind: kindTime, name: "duration[ns]", counts: "interval[ns]", width: 8},
	"tts": {kind: kindOther, name: "time32[s]"},
	"ttm": {kind: kindOther, name: "time32[ms]"},
	"ttu": {kind: kindOther, name: "time64[us]"},
	"ttn": {kind: kindOther, name: "time64[ns]"},
	"tiM": {kind: kindOther, name: "month_interval"},
	"tiD": {kind: kindOther, name: "day_time_interval"},
	"tin": {kind: kindOther, name: "month_day_nano_interval"},

	"+l":  {kind: kindList, name: "list"},
	"+L":  {kind: kindList, name: "large_list", wide: true},
	"+vl": {kind: kindListView, name: "list_view"},
	"+vL": {kind: kindListView, name: "large_list_view", wide: true},
	"+s":  {kind: kindStruct, name: "struct"},
	"+m":  {kind: kindMap, name: "map"},
	"+r":  {kind: kindOther, name: "run_end_encoded"},
}

var units = map[byte]string{'s': "s", 'm': "ms", 'u': "us", 'n': "ns"}

// parseFormat reads the format of a type, without its children.
func parseFormat(format string) (*dataType, error) {
	if t, ok := plain[format]; ok {
		return &t, nil
	}
	bad := errs.New(errs.Type, "unknown Arrow format %q", format)
	head, rest, _ := strings.Cut(format, ":")
	switch {
	case len(format) > 3 && strings.HasPrefix(format, "ts") && format[3] == ':' && units[format[2]] != "":
		zone := format[4:]
		t := &dataType{kind: kindTime, name: "timestamp[" + units[format[2]] + "]", width: 8}
		if zone != "" {
			t.name = fmt.Sprintf("timestamp[%s, tz=%s]", units[format[2]], zone)
			zone = ", " + zone
		}
		t.counts = fmt.Sprintf("timestamp[%s%s]", units[format[2]], zone)
		return t, nil
	case head == "w" || head == "+w":
		n, err := strconv.ParseInt(rest, 10, 32)
		if err != nil || n < 0 {
			return nil, bad
		}
		if head == "w" {
			return &dataType{kind: kindFixed, name: fmt.Sprintf("fixed_size_binary[%d]", n), dtype: tensor.Bytes, width: n}, nil
		}
		return &dataType{kind: kindFixedList, name: "fixed_size_list", width: n}, nil
	case head == "d":
		return parseDecimal(rest, bad)
	case head == "+ud", head == "+us":
		return &dataType{kind: kindOther, name: "union"}, nil
	}
	return nil, bad
}

// parseDecimal reads "precision,scale" or "precision,scale,bits".
func parseDecimal(text string, bad error) (*dataType, error) {
	numbers := []int{}
	for one := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(one)
		if err != nil {
			return nil, bad
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 2 {
		numbers = append(numbers, 128)
	}
	if len(numbers) != 3 || numbers[2] != 32 && numbers[2] != 64 && numbers[2] != 128 && numbers[2] != 256 || numbers[0] < 1 || numbers[0] > 76 || max(numbers[1], -numbers[1]) > 1000 {
		return nil, bad
	}
	name := fmt.Sprintf("decimal%d(%d, %d)", numbers[2], numbers[0], numbers[1])
	return &dataType{kind: kindDecimal, name: name, width: int64(numbers[2] / 8), scale: numbers[1]}, nil
}

// Type describes the type of a column with its name, as the schema of Arrow's C data interface.
type Type struct {
	Name, Format string
	Metadata     map[string]string
	Children     []*Type
	Dictionary   *Type // the values that the numbers of this type stand for; nil: they are values
	// HType is that of the tensor that a column of this process makes; "": as its type says.
	HType string
}

// parser reads a schema. left bounds its types: children may be the same one many times.
type parser struct{ left int }

// describe copies a schema from the memory of its producer.
func (p *parser) describe(s *Schema, depth int) (*Type, error) {
	if depth > maxDepth {
		return nil, errs.New(errs.Invalid, "types lie in each other more than %d deep", maxDepth)
	}
	if p.left--; p.left < 0 {
		return nil, errs.New(errs.Invalid, "the schema has more than %d types", maxChildren)
	}
	if s.release == 0 {
		return nil, errs.New(errs.Invalid, "the schema was released before")
	}
	t := &Type{}
	var err error
	if t.Name, err = cText(s.name); err != nil {
		return nil, err
	}
	if t.Format, err = cText(s.format); err != nil {
		return nil, err
	}
	children, err := childrenOf(s.children, s.nChildren)
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		child, err := p.describe(c, depth+1)
		if err != nil {
			return nil, err
		}
		t.Children = append(t.Children, child)
	}
	if s.dictionary != nil {
		if t.Dictionary, err = p.describe(s.dictionary, depth+1); err != nil {
			return nil, err
		}
	}
	t.Metadata, err = metadataOf(s.metadata)
	return t, err
}

// fieldOf checks a type with its children.
func fieldOf(of *Type) (field, error) {
	t, err := parseFormat(of.Format)
	if err != nil {
		return field{}, err
	}
	for _, c := range of.Children {
		child, err := fieldOf(c)
		if err != nil {
			return field{}, err
		}
		t.fields = append(t.fields, child)
	}
	if err := t.checkFields(); err != nil {
		return field{}, err
	}
	if of.Dictionary != nil {
		values, err := fieldOf(of.Dictionary)
		if err != nil {
			return field{}, err
		}
		if t.kind != kindNumber || !t.dtype.IsInteger() {
			return field{}, errs.New(errs.Invalid, "a dictionary has numbers of type %s, want integers", t.name)
		}
		t.dictionary = values.dataType
		t.name = fmt.Sprintf("dictionary<values=%s, indices=%s>", values.dataType.name, t.name)
	}
	t.metadata, t.htype = of.Metadata, of.HType
	if name := t.metadata["ARROW:extension:name"]; extensions[name] {
		t.extension, t.parameter = name, t.metadata["ARROW:extension:metadata"]
	}
	return field{of.Name, t}, nil
}

// checkFields holds the number of children against the type, and names it as Arrow does.
func (t *dataType) checkFields() error {
	want := map[kind]int{kindList: 1, kindListView: 1, kindFixedList: 1, kindMap: 1}[t.kind]
	if n := len(t.fields); t.kind != kindStruct && t.kind != kindOther && n != want {
		return errs.New(errs.Invalid, "type %s has %d children, want %d", t.name, n, want)
	}
	switch t.kind {
	case kindList, kindListView:
		t.name += "<" + t.fields[0].dataType.name + ">"
	case kindFixedList:
		t.name += fmt.Sprintf("<%s>[%d]", t.fields[0].dataType.name, t.width)
	case kindMap:
		pair := t.fields[0].dataType
		if pair.kind != kindStruct || len(pair.fields) != 2 {
			return errs.New(errs.Invalid, "the items of a map have type %s, want a struct of two fields", pair.name)
		}
		t.name = fmt.Sprintf("map<%s, %s>", pair.fields[0].dataType.name, pair.fields[1].dataType.name)
	case kindStruct:
		parts := []string{}
		for _, f := range t.fields[:min(len(t.fields), 8)] {
			parts = append(parts, f.name+": "+f.dataType.name)
		}
		t.name = "struct<" + strings.Join(parts, ", ") + ">"
	}
	if len(t.name) > maxName {
		t.name = strings.ToValidUTF8(t.name[:maxName], "") + "..."
	}
	return nil
}

// extensions are the extension types with a meaning of their own. Columns of others count as
// columns of their storage type.
var extensions = map[string]bool{
	"arrow.bool8": true, "arrow.uuid": true, "arrow.json": true, "arrow.fixed_shape_tensor": true, "arrow.variable_shape_tensor": true,
}

// tensorShape is the parameter of Arrow's extension types of tensors.
type tensorShape struct {
	Shape       []int64 `json:"shape"`
	Permutation []int   `json:"permutation"`
}

// parseShape reads the parameter of a fixed_shape_tensor of n elements.
func parseShape(parameter string, n int64) (tensorShape, error) {
	var s tensorShape
	if err := json.Unmarshal([]byte(parameter), &s); err != nil {
		return s, errs.New(errs.Invalid, "the shape of a fixed_shape_tensor cannot be read from %q", parameter)
	}
	size, err := tensor.Shape(s.Shape).Elements()
	if err != nil || size != n {
		return s, errs.New(errs.Invalid, "a fixed_shape_tensor has the shape %v, and %d elements are stored", s.Shape, n)
	}
	seen := make([]bool, len(s.Shape))
	for _, axis := range s.Permutation {
		if len(s.Permutation) != len(seen) || axis < 0 || axis >= len(seen) || seen[axis] {
			return s, errs.New(errs.Invalid, "a fixed_shape_tensor of shape %v has the permutation %v", s.Shape, s.Permutation)
		}
		seen[axis] = true
	}
	return s, nil
}
