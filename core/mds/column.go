package mds

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// column collects the values of a column.
type column interface {
	// add takes a value, or changes nothing.
	add(p []byte) error
	// drop takes the last value back.
	drop()
	// build returns the array of the values.
	build() (*arrow.Type, *arrow.Data)
}

// formatOf returns the format of Arrow for numbers of a dtype; "": none.
func formatOf(d tensor.DType) string {
	return map[tensor.DType]string{
		tensor.Int8: "c", tensor.Uint8: "C", tensor.Int16: "s", tensor.Uint16: "S", tensor.Int32: "i", tensor.Uint32: "I", tensor.Int64: "l",
		tensor.Uint64: "L", tensor.Float16: "e", tensor.Float32: "f", tensor.Float64: "g",
	}[d]
}

// dtypeOf returns the dtype of a name, such as "uint8"; 0: none that arrays have.
func dtypeOf(name string) tensor.DType {
	if d, err := tensor.ParseDType(name); err == nil && formatOf(d) != "" {
		return d
	}
	return 0
}

// newColumn returns the column of an encoding.
func newColumn(text string) (column, error) {
	name, parameters := encoding(text)
	switch name {
	case "str", "str_decimal":
		return &texts{format: "U"}, nil
	case "json":
		return &texts{format: "U", isJSON: true}, nil
	case "bytes":
		return &texts{format: "Z"}, nil
	case "int":
		return &numbers{dtype: tensor.Int64}, nil
	case "str_int":
		return &numbers{dtype: tensor.Int64, isText: true}, nil
	case "str_float":
		return &numbers{dtype: tensor.Float64, isText: true}, nil
	case "jpeg", "png":
		return &files{}, nil
	case "jpeg_array", "jpegarray":
		return &files{isList: true}, nil
	case "list[jpeg]", "list[png]":
		return &files{isList: true, hasZero: true}, nil
	case "pil":
		return &arrays{read: pixels}, nil
	case "ndarray":
		return newArrays(parameters)
	case "pkl":
		return nil, errs.New(errs.Unsupported, "has pickles, which can run programs; leave the column out by columns=")
	}
	if d := dtypeOf(name); d != 0 {
		return &numbers{dtype: d}, nil
	}
	return nil, errs.New(errs.Unsupported, "has the encoding %q, which is none that is read; leave the column out by columns=", text)
}

// texts are texts, JSON values or bytes.
type texts struct {
	format string
	isJSON bool
	data   []byte
	ends   []int64
}

func (c *texts) add(p []byte) error {
	if c.format == "U" && !utf8.Valid(p) {
		return errs.New(errs.Invalid, "has a text that is not UTF-8")
	}
	if c.isJSON && !json.Valid(p) {
		return errs.New(errs.Invalid, "has %.40q, which is no JSON", p)
	}
	c.data = append(c.data, p...)
	c.ends = append(c.ends, int64(len(c.data)))
	return nil
}

func (c *texts) drop() {
	c.ends = c.ends[:len(c.ends)-1]
	c.data = c.data[:last(c.ends)]
}

// last returns the last end of values; 0: there is none.
func last(ends []int64) int64 {
	if len(ends) == 0 {
		return 0
	}
	return ends[len(ends)-1]
}

func (c *texts) build() (*arrow.Type, *arrow.Data) {
	t := &arrow.Type{Format: c.format}
	if c.isJSON {
		t.Metadata = extension("arrow.json", "")
	}
	return t, &arrow.Data{Rows: int64(len(c.ends)), Values: c.data, Ends: append([]int64{0}, c.ends...)}
}

func extension(name, parameter string) map[string]string {
	return map[string]string{"ARROW:extension:name": name, "ARROW:extension:metadata": parameter}
}

// numbers are numbers of one dtype, or their decimal digits.
type numbers struct {
	dtype  tensor.DType
	isText bool
	data   []byte
}

func (c *numbers) add(p []byte) error {
	switch {
	case c.isText && c.dtype == tensor.Int64:
		v, err := strconv.ParseInt(string(p), 10, 64)
		if err != nil {
			return errs.New(errs.Invalid, "has %.40q, want an integer of 64 bits; take the column as text by schema=", p)
		}
		c.data = binary.LittleEndian.AppendUint64(c.data, uint64(v))
	case c.isText:
		v, err := strconv.ParseFloat(string(p), 64)
		if err != nil {
			return errs.New(errs.Invalid, "has %.40q, want a number", p)
		}
		c.data = binary.LittleEndian.AppendUint64(c.data, math.Float64bits(v))
	case len(p) != c.dtype.Size():
		return errs.New(errs.Corrupt, "has %d bytes for a %s", len(p), c.dtype)
	default:
		c.data = append(c.data, p...)
	}
	return nil
}

func (c *numbers) drop() { c.data = c.data[:len(c.data)-c.dtype.Size()] }

func (c *numbers) build() (*arrow.Type, *arrow.Data) {
	return &arrow.Type{Format: formatOf(c.dtype)}, &arrow.Data{Rows: int64(len(c.data) / c.dtype.Size()), Values: c.data}
}

// files are image files, or lists of them.
type files struct {
	isList, hasZero bool
	data            []byte
	ends            []int64
	lists           []int64 // ends of lists in files
}

func (c *files) add(p []byte) error {
	if !c.isList {
		c.data = append(c.data, p...)
		c.ends = append(c.ends, int64(len(c.data)))
		return nil
	}
	if c.hasZero { // a list of a writer's own, which has a number in front
		if len(p) < 4 {
			return errs.New(errs.Corrupt, "has %d bytes for a list of images", len(p))
		}
		p = p[4:]
	}
	if len(p) < 4 {
		return errs.New(errs.Corrupt, "has %d bytes for a list of images", len(p))
	}
	n := int64(binary.LittleEndian.Uint32(p))
	if p = p[4:]; n > int64(len(p))/4 {
		return errs.New(errs.Corrupt, "has a list of %d images in %d bytes", n, len(p))
	}
	sizes, rest := p[:4*n], p[4*n:]
	total := int64(0)
	for i := range n {
		total += int64(binary.LittleEndian.Uint32(sizes[4*i:]))
	}
	if total != int64(len(rest)) {
		return errs.New(errs.Corrupt, "has images of %d bytes in %d", total, len(rest))
	}
	for i := range n {
		size := binary.LittleEndian.Uint32(sizes[4*i:])
		c.data, rest = append(c.data, rest[:size]...), rest[size:]
		c.ends = append(c.ends, int64(len(c.data)))
	}
	c.lists = append(c.lists, int64(len(c.ends)))
	return nil
}

func (c *files) drop() {
	n := len(c.ends) - 1
	if c.isList {
		c.lists = c.lists[:len(c.lists)-1]
		n = int(last(c.lists))
	}
	c.ends = c.ends[:n]
	c.data = c.data[:last(c.ends)]
}

func (c *files) build() (*arrow.Type, *arrow.Data) {
	n := int64(len(c.ends))
	t := &arrow.Type{Format: "+s", Children: []*arrow.Type{{Name: "bytes", Format: "Z"}, {Name: "path", Format: "U"}}}
	d := &arrow.Data{Rows: n, Children: []*arrow.Data{
		{Rows: n, Values: c.data, Ends: append([]int64{0}, c.ends...)}, {Rows: n, Valid: make([]byte, (n+7)/8), Ends: make([]int64, n+1)},
	}}
	if !c.isList {
		return t, d
	}
	return &arrow.Type{Format: "+L", Children: []*arrow.Type{t}},
		&arrow.Data{Rows: int64(len(c.lists)), Ends: append([]int64{0}, c.lists...), Children: []*arrow.Data{d}}
}

// arrays are arrays of one dtype, each with its shape. The first one decides the dtype, unless the
// encoding states it.
type arrays struct {
	read      func(p []byte) (d tensor.DType, shape []int64, data []byte, err error)
	dtype     tensor.DType
	data      []byte
	ends      []int64 // elements
	shapes    []byte
	shapeEnds []int64
}

func (c *arrays) add(p []byte) error {
	d, shape, data, err := c.read(p)
	if err != nil {
		return err
	}
	if c.dtype != 0 && d != c.dtype {
		return errs.New(errs.Type, "has an array of %s, and samples before have %s", d, c.dtype)
	}
	n, err := tensor.Shape(shape).Elements()
	if err != nil || n*int64(d.Size()) != int64(len(data)) || len(shape) > tensor.MaxDims {
		return errs.New(errs.Corrupt, "has an array of %s and shape %v in %d bytes", d, shape, len(data))
	}
	c.dtype = d
	c.data = append(c.data, data...)
	c.ends = append(c.ends, int64(len(c.data)/d.Size()))
	for _, axis := range shape {
		c.shapes = binary.LittleEndian.AppendUint64(c.shapes, uint64(axis))
	}
	c.shapeEnds = append(c.shapeEnds, int64(len(c.shapes)/8))
	return nil
}

func (c *arrays) drop() {
	c.ends, c.shapeEnds = c.ends[:len(c.ends)-1], c.shapeEnds[:len(c.shapeEnds)-1]
	c.data, c.shapes = c.data[:last(c.ends)*int64(c.dtype.Size())], c.shapes[:8*last(c.shapeEnds)]
}

func (c *arrays) build() (*arrow.Type, *arrow.Data) {
	if c.dtype == 0 {
		return &arrow.Type{Format: "n"}, &arrow.Data{Rows: int64(len(c.ends))}
	}
	n := int64(len(c.ends))
	list := func(values []byte, size int, ends []int64) *arrow.Data {
		return &arrow.Data{Rows: n, Ends: append([]int64{0}, ends...), Children: []*arrow.Data{{Rows: int64(len(values) / size), Values: values}}}
	}
	t := &arrow.Type{Format: "+s", Metadata: extension("arrow.variable_shape_tensor", "{}"), Children: []*arrow.Type{
		{Name: "data", Format: "+L", Children: []*arrow.Type{{Format: formatOf(c.dtype)}}},
		{Name: "shape", Format: "+L", Children: []*arrow.Type{{Format: "l"}}},
	}}
	return t, &arrow.Data{Rows: n, Children: []*arrow.Data{list(c.data, c.dtype.Size(), c.ends), list(c.shapes, 8, c.shapeEnds)}}
}

// arrayType returns the dtype of arrays with a code; 0: none.
func arrayType(code byte) tensor.DType {
	return map[byte]tensor.DType{
		8: tensor.Uint8, 9: tensor.Int8, 16: tensor.Uint16, 17: tensor.Int16, 18: tensor.Float16, 32: tensor.Uint32, 33: tensor.Int32, 34: tensor.Float32,
		64: tensor.Uint64, 65: tensor.Int64, 66: tensor.Float64,
	}[code]
}

// newArrays returns the column of arrays whose encoding may state a dtype, and then a shape.
func newArrays(parameters []string) (column, error) {
	var dtype tensor.DType
	var fixed []int64
	if len(parameters) > 0 {
		if dtype = dtypeOf(parameters[0]); dtype == 0 {
			return nil, errs.New(errs.Unsupported, "has arrays of %q", parameters[0])
		}
	}
	if len(parameters) > 1 {
		for text := range strings.SplitSeq(parameters[1], ",") {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				return nil, errs.New(errs.Corrupt, "has arrays of the shape %q", parameters[1])
			}
			fixed = append(fixed, n)
		}
	}
	return &arrays{dtype: dtype, read: func(p []byte) (tensor.DType, []int64, []byte, error) {
		d := dtype
		if d == 0 {
			if len(p) == 0 || arrayType(p[0]) == 0 {
				return 0, nil, nil, errs.New(errs.Corrupt, "has an array without a dtype")
			}
			d, p = arrayType(p[0]), p[1:]
		}
		if fixed != nil {
			return d, fixed, p, nil
		}
		shape, rest, err := shapeOf(p)
		return d, shape, rest, err
	}}, nil
}

// shapeOf reads a shape: a byte with the number of axes and the width of their sizes.
func shapeOf(p []byte) (shape []int64, rest []byte, err error) {
	if len(p) == 0 {
		return nil, nil, errs.New(errs.Corrupt, "has an array without a shape")
	}
	axes, width := int(p[0]>>2), 1<<(p[0]&3)
	if p = p[1:]; len(p) < axes*width {
		return nil, nil, errs.New(errs.Corrupt, "has an array whose shape is cut")
	}
	for range axes {
		var size [8]byte
		copy(size[:], p[:width])
		n := binary.LittleEndian.Uint64(size[:])
		if n > math.MaxInt32 {
			return nil, nil, errs.New(errs.Corrupt, "has an array with an axis of %d", n)
		}
		shape, p = append(shape, int64(n)), p[width:]
	}
	return shape, p, nil
}

// pixels reads an image of PIL that is not compressed, as (height, width, channels).
func pixels(p []byte) (d tensor.DType, shape []int64, data []byte, err error) {
	if len(p) < 12 {
		return 0, nil, nil, errs.New(errs.Corrupt, "has %d bytes for an image", len(p))
	}
	width, height, n := int64(binary.LittleEndian.Uint32(p)), int64(binary.LittleEndian.Uint32(p[4:])), int64(binary.LittleEndian.Uint32(p[8:]))
	if p = p[12:]; n > int64(len(p)) || n > 16 {
		return 0, nil, nil, errs.New(errs.Corrupt, "has an image whose mode is cut")
	}
	mode := string(p[:n])
	channels := int64(map[string]int{"L": 1, "P": 1, "LA": 2, "RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3, "RGBA": 4, "CMYK": 4, "RGBX": 4}[mode])
	if channels == 0 {
		return 0, nil, nil, errs.New(errs.Unsupported, "has an image of mode %q, want one with channels of 8 bits", mode)
	}
	if width > math.MaxInt32 || height > math.MaxInt32 {
		return 0, nil, nil, errs.New(errs.Corrupt, "has an image of %d x %d pixels", width, height)
	}
	return tensor.Uint8, []int64{height, width, channels}, slices.Clip(p[n:]), nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
