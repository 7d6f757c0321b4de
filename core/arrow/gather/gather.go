package gather

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Column collects the values of a column.
type Column interface {
	// Add takes a value, or changes nothing. at is its position in the file; -1: the file has the
	// value in another form.
	Add(p []byte, at int64) error
	// Drop takes the last value back.
	Drop()
	// Build returns the array of the values.
	Build() (*arrow.Type, *arrow.Data)
}

// formatOf returns the format of Arrow for numbers of a dtype; "": none.
func formatOf(d tensor.DType) string {
	return map[tensor.DType]string{
		tensor.Int8: "c", tensor.Uint8: "C", tensor.Int16: "s", tensor.Uint16: "S", tensor.Int32: "i", tensor.Uint32: "I", tensor.Int64: "l",
		tensor.Uint64: "L", tensor.Float16: "e", tensor.Float32: "f", tensor.Float64: "g", tensor.Bool: "b",
	}[d]
}

// DTypeOf returns the dtype of a name, such as "uint8"; 0: none of a number.
func DTypeOf(name string) tensor.DType {
	if d, err := tensor.ParseDType(name); err == nil && d != tensor.Bool && formatOf(d) != "" {
		return d
	}
	return 0
}

// Texts are texts, JSON values or bytes.
type Texts struct {
	Format string // of Arrow
	JSON   bool
	Plain  func(p []byte) ([]byte, error) // returns the JSON of a value; nil: it is JSON
	data   []byte
	ends   []int64
	at     []int64 // positions of bytes, which may be files
}

// Add takes a text, JSON value or bytes.
func (c *Texts) Add(p []byte, at int64) error {
	if c.Plain != nil {
		plain, err := c.Plain(p)
		if err != nil {
			return err
		}
		p = plain
	}
	if c.Format == "U" && !utf8.Valid(p) {
		return errs.New(errs.Invalid, "has a text that is not UTF-8")
	}
	if c.JSON && !json.Valid(p) {
		return errs.New(errs.Invalid, "has %.40q, which is no JSON", p)
	}
	c.data = append(c.data, p...)
	c.ends = append(c.ends, int64(len(c.data)))
	if c.Format == "Z" {
		c.at = append(c.at, at)
	}
	return nil
}

// Drop takes the last value back.
func (c *Texts) Drop() {
	c.ends = c.ends[:len(c.ends)-1]
	c.at = c.at[:min(len(c.at), len(c.ends))]
	c.data = c.data[:last(c.ends)]
}

// last returns the last end of values; 0: there is none.
func last(ends []int64) int64 {
	if len(ends) == 0 {
		return 0
	}
	return ends[len(ends)-1]
}

// Build returns the array of the texts.
func (c *Texts) Build() (*arrow.Type, *arrow.Data) {
	t := &arrow.Type{Format: c.Format}
	if c.JSON {
		t.Metadata = extension("arrow.json", "")
	}
	return t, &arrow.Data{Rows: int64(len(c.ends)), Values: c.data, Ends: append([]int64{0}, c.ends...), At: c.at}
}

func extension(name, parameter string) map[string]string {
	return map[string]string{"ARROW:extension:name": name, "ARROW:extension:metadata": parameter}
}

// Numbers are numbers of one dtype, or their decimal digits.
type Numbers struct {
	DType  tensor.DType
	Digits bool
	data   []byte
}

// Add takes a number.
func (c *Numbers) Add(p []byte, _ int64) error {
	switch {
	case c.Digits && c.DType == tensor.Int64:
		v, err := strconv.ParseInt(string(p), 10, 64)
		if err != nil {
			return errs.New(errs.Invalid, "has %.40q, want an integer of 64 bits; take the column as text by schema=", p)
		}
		c.data = binary.LittleEndian.AppendUint64(c.data, uint64(v))
	case c.Digits:
		v, err := strconv.ParseFloat(string(p), 64)
		if err != nil {
			return errs.New(errs.Invalid, "has %.40q, want a number", p)
		}
		c.data = binary.LittleEndian.AppendUint64(c.data, math.Float64bits(v))
	case len(p) != c.DType.Size():
		return errs.New(errs.Corrupt, "has %d bytes for a %s", len(p), c.DType)
	default:
		c.data = append(c.data, p...)
	}
	return nil
}

// Drop takes the last value back.
func (c *Numbers) Drop() { c.data = c.data[:len(c.data)-c.DType.Size()] }

// Build returns the array of the numbers.
func (c *Numbers) Build() (*arrow.Type, *arrow.Data) {
	return &arrow.Type{Format: formatOf(c.DType)}, elements(c.DType, c.data)
}

// elements is the array of numbers. Bools have a bit each there.
func elements(d tensor.DType, data []byte) *arrow.Data {
	out := &arrow.Data{Rows: int64(len(data) / d.Size()), Values: data}
	if d != tensor.Bool {
		return out
	}
	out.Values = make([]byte, (len(data)+7)/8)
	for i, b := range data {
		if b != 0 {
			out.Values[i/8] |= 1 << (i % 8)
		}
	}
	return out
}

// Files are image files, or lists of them.
type Files struct {
	List, Zero bool // Zero: lists have a number in front
	data       []byte
	ends       []int64
	at         []int64 // positions of the files
	lists      []int64 // ends of lists in files
}

// Add takes a file, or a list of them.
func (c *Files) Add(p []byte, at int64) error {
	all := int64(len(p))
	if !c.List {
		c.add(p, at)
		return nil
	}
	if c.Zero { // a list of a writer's own, which has a number in front
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
		size, from := binary.LittleEndian.Uint32(sizes[4*i:]), int64(-1)
		if at >= 0 {
			from = at + all - int64(len(rest))
		}
		c.add(rest[:size], from)
		rest = rest[size:]
	}
	c.lists = append(c.lists, int64(len(c.ends)))
	return nil
}

// add takes a file.
func (c *Files) add(p []byte, at int64) {
	c.data = append(c.data, p...)
	c.ends = append(c.ends, int64(len(c.data)))
	c.at = append(c.at, at)
}

// Drop takes the last value back.
func (c *Files) Drop() {
	n := len(c.ends) - 1
	if c.List {
		c.lists = c.lists[:len(c.lists)-1]
		n = int(last(c.lists))
	}
	c.ends, c.at = c.ends[:n], c.at[:n]
	c.data = c.data[:last(c.ends)]
}

// Build returns the array of the files.
func (c *Files) Build() (*arrow.Type, *arrow.Data) {
	n := int64(len(c.ends))
	t := &arrow.Type{Format: "+s", Children: []*arrow.Type{{Name: "bytes", Format: "Z"}, {Name: "path", Format: "U"}}}
	d := &arrow.Data{Rows: n, Children: []*arrow.Data{
		{Rows: n, Values: c.data, Ends: append([]int64{0}, c.ends...), At: c.at}, {Rows: n, Valid: make([]byte, (n+7)/8), Ends: make([]int64, n+1)},
	}}
	if !c.List {
		return t, d
	}
	return &arrow.Type{Format: "+L", Children: []*arrow.Type{t}},
		&arrow.Data{Rows: int64(len(c.lists)), Ends: append([]int64{0}, c.lists...), Children: []*arrow.Data{d}}
}

// Arrays are arrays of one dtype, each with its shape. The first one decides the dtype, unless the
// encoding states it.
type Arrays struct {
	Read      func(p []byte) (d tensor.DType, shape []int64, data []byte, err error)
	DType     tensor.DType
	HType     string // of the tensor that the arrays make; "": generic
	data      []byte
	ends      []int64 // elements
	shapes    []byte
	shapeEnds []int64
}

// Add takes an array.
func (c *Arrays) Add(p []byte, _ int64) error {
	d, shape, data, err := c.Read(p)
	if err != nil {
		return err
	}
	if c.DType != 0 && d != c.DType {
		return errs.New(errs.Type, "has an array of %s, and samples before have %s", d, c.DType)
	}
	n, err := tensor.Shape(shape).Elements()
	if err != nil || n*int64(d.Size()) != int64(len(data)) || len(shape) > tensor.MaxDims {
		return errs.New(errs.Corrupt, "has an array of %s and shape %v in %d bytes", d, shape, len(data))
	}
	c.DType = d
	c.data = append(c.data, data...)
	c.ends = append(c.ends, int64(len(c.data)/d.Size()))
	for _, axis := range shape {
		c.shapes = binary.LittleEndian.AppendUint64(c.shapes, uint64(axis))
	}
	c.shapeEnds = append(c.shapeEnds, int64(len(c.shapes)/8))
	return nil
}

// Drop takes the last value back.
func (c *Arrays) Drop() {
	c.ends, c.shapeEnds = c.ends[:len(c.ends)-1], c.shapeEnds[:len(c.shapeEnds)-1]
	c.data, c.shapes = c.data[:last(c.ends)*int64(c.DType.Size())], c.shapes[:8*last(c.shapeEnds)]
}

// Build returns the array of the arrays.
func (c *Arrays) Build() (*arrow.Type, *arrow.Data) {
	if c.DType == 0 {
		return &arrow.Type{Format: "n"}, &arrow.Data{Rows: int64(len(c.ends))}
	}
	n := int64(len(c.ends))
	list := func(values *arrow.Data, ends []int64) *arrow.Data {
		return &arrow.Data{Rows: n, Ends: append([]int64{0}, ends...), Children: []*arrow.Data{values}}
	}
	t := &arrow.Type{Format: "+s", HType: c.HType, Metadata: extension("arrow.variable_shape_tensor", "{}"), Children: []*arrow.Type{
		{Name: "data", Format: "+L", Children: []*arrow.Type{{Format: formatOf(c.DType)}}},
		{Name: "shape", Format: "+L", Children: []*arrow.Type{{Format: "l"}}},
	}}
	return t, &arrow.Data{Rows: n, Children: []*arrow.Data{list(elements(c.DType, c.data), c.ends), list(elements(tensor.Int64, c.shapes), c.shapeEnds)}}
}

// Pixels reads an image of PIL that is not compressed, as (height, width, channels).
func Pixels(p []byte) (d tensor.DType, shape []int64, data []byte, err error) {
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
		return 0, nil, nil, errs.New(errs.Corrupt, "has an image of %d x %d Pixels", width, height)
	}
	return tensor.Uint8, []int64{height, width, channels}, slices.Clip(p[n:]), nil
}

// Struct makes the struct of the columns; those that are nil are left out.
func Struct(names []string, columns []Column) (*arrow.Column, error) {
	all, data := &arrow.Type{Format: "+s"}, &arrow.Data{}
	for i, c := range columns {
		if c == nil {
			continue
		}
		t, d := c.Build()
		t.Name, data.Rows = names[i], d.Rows
		all.Children, data.Children = append(all.Children, t), append(data.Children, d)
	}
	return arrow.MakeColumn(all, data)
}
