package stream

import (
	"slices"
	"strconv"

	"deeplake/core/array"
	"deeplake/core/arrow"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// form is how values of a column lie in its arrays.
type form uint8

const (
	formNumbers form = iota
	formTexts        // texts, documents and opaque values
	formFiles        // files as they are stored
)

// column is a tensor with its type there.
type column struct {
	name   string
	index  int // in the table
	form   form
	typ    *arrow.Type
	leaf   *arrow.Type // of the elements
	dtype  tensor.DType
	time   tensor.Time
	labels []string     // that numbers stand for; nil: none
	list   bool         // a row is a list of arrays
	axes   int          // of an array
	fixed  tensor.Shape // nil: axes vary
	bytes  int64        // of a row, at most; an estimate
	uneven bool         // some rows may have many more bytes
}

// files are the compressions whose samples are files.
var files = []string{"jpeg", "png", "webp"}

// describe finds the type of a tensor. Without rows in memory the number of axes may be unknown:
// then axes is array.Unranked, and first sets it.
func describe(d *dataset.TensorDescription, t array.Type, images string) (*column, error) {
	c := &column{name: d.Name, axes: t.Dims, list: t.List}
	var err error
	if d.DType != nil {
		if c.dtype, err = tensor.ParseDType(*d.DType); err != nil {
			return nil, err
		}
	} else if c.dtype = t.DType; c.dtype == 0 {
		c.dtype = tensor.Float64 // of no value at all
	}
	if d.Time != "" {
		if c.time, err = tensor.ParseTime(d.Time); err != nil {
			return nil, err
		}
	}
	if images == Encoded && !c.list && slices.Contains(files, d.Compression) {
		c.form, c.axes, c.leaf = formFiles, 0, &arrow.Type{Format: "Z"}
		c.settle()
		return c, nil
	}
	if h, err := tensor.ParseHType(d.HType); err == nil && h.Base == "class_label" && c.dtype.IsInteger() && len(d.ClassNames) > 0 {
		c.labels = d.ClassNames
	}
	switch c.dtype {
	case tensor.String, tensor.JSON:
		c.form, c.leaf, c.axes = formTexts, &arrow.Type{Format: "U"}, 0
	case tensor.Bytes:
		c.form, c.leaf, c.axes = formTexts, &arrow.Type{Format: "Z"}, 0
	default:
		if c.leaf, err = c.numbers(); err != nil {
			return nil, err
		}
	}
	if c.fixed = fixedShape(t.Shape, c.axes); c.fixed == nil {
		c.fixed = fixedShape(d.Shape, c.axes)
	}
	if c.axes != array.Unranked {
		c.settle()
	}
	return c, nil
}

// fixedShape returns a shape that all arrays have, nil if it may vary or has no elements.
func fixedShape(s tensor.Shape, axes int) tensor.Shape {
	if len(s) != axes || len(s) == 0 || slices.ContainsFunc(s, func(n int64) bool { return n < 1 }) {
		return nil
	}
	if n, err := s.Elements(); err != nil || n > 1<<31 {
		return nil
	}
	return s
}

// formats are the numbers of Arrow.
var formats = map[tensor.DType]string{
	tensor.Bool: "b", tensor.Int8: "c", tensor.Uint8: "C", tensor.Int16: "s", tensor.Uint16: "S", tensor.Int32: "i", tensor.Uint32: "I",
	tensor.Int64: "l", tensor.Uint64: "L", tensor.Float16: "e", tensor.BFloat16: "f", tensor.Float32: "f", tensor.Float64: "g",
}

// numbers returns the type of the elements of arrays.
func (c *column) numbers() (*arrow.Type, error) {
	if c.time.Kind != tensor.NoTime {
		unit := [...]string{tensor.Second: "s", tensor.Millisecond: "m", tensor.Microsecond: "u", tensor.Nanosecond: "n"}[c.time.Unit]
		switch c.time.Kind {
		case tensor.Date:
			return &arrow.Type{Format: "tdD"}, nil
		case tensor.Interval:
			return &arrow.Type{Format: "tD" + unit}, nil
		}
		return &arrow.Type{Format: "ts" + unit + ":" + c.time.Zone}, nil
	}
	format := formats[c.dtype]
	if format == "" {
		return nil, errs.New(errs.Unsupported, "Arrow has no %s; leave it out by tensors=", c.dtype)
	}
	if c.labels != nil {
		return &arrow.Type{Format: "i", Dictionary: &arrow.Type{Format: "u"}}, nil
	}
	return &arrow.Type{Format: format}, nil
}

// settle makes the type of the column, once its axes are known.
func (c *column) settle() {
	t := *c.leaf
	for axis := c.axes - 1; axis >= 0; axis-- {
		t.Name = "item"
		item := t
		if t = (arrow.Type{Format: "+L", Children: []*arrow.Type{&item}}); c.fixed != nil {
			t.Format = "+w:" + strconv.FormatInt(c.fixed[axis], 10)
		}
	}
	if c.list {
		t.Name = "item"
		item := t
		t = arrow.Type{Format: "+L", Children: []*arrow.Type{&item}}
	}
	t.Name = c.name
	c.typ = &t
}

// first settles the axes of a column by its first arrays.
func (c *column) first(values *array.Column) {
	if c.list {
		values = values.Items
	}
	c.axes = 1
	if values != nil {
		isKnown := false
		for i := range values.N {
			s := values.ShapeAt(i)
			isEmpty := len(s) > 0 && s[0] == 0
			if s == nil || values.IsNull(i) || isKnown && isEmpty {
				continue
			}
			if c.axes, isKnown = len(s), true; !isEmpty { // which alone tells all axes
				break
			}
		}
	}
	c.settle()
}
