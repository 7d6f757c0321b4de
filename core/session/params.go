package session

import (
	"bytes"
	"slices"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Param is the value of a parameter of a query.
type Param struct {
	value any         // for core/query
	rows  tensor.Rows // the values that it was made of, in units and dtypes that queries have
	given tensor.Rows // the same as the caller gave them: a saved view keeps this form
}

// NewParam returns the parameter that is the one row of rows. It copies the values.
//
// rows.Counts is the unit of int64 numbers: "", "date" (days), "timestamp" or "interval"
// (microseconds); or a NumPy type like "datetime64[ns]". "timestamp+02:00" counts from the same
// epoch and names the zone in which a saved view writes it. float16 becomes float32.
func NewParam(rows *tensor.Rows) (Param, error) {
	p := Param{given: clone(rows)}
	var err error
	if p.rows, err = normal(p.given); err != nil {
		return Param{}, err
	}
	unit, ok := unitOf(p.rows.Counts)
	if !ok {
		return Param{}, errs.New(errs.Invalid, "it counts %q, want a date, a timestamp, an interval or nothing", rows.Counts)
	}
	p.value, err = valueOf(&p.rows, unit)
	return p, err
}

// clone copies rows with their data.
func clone(in *tensor.Rows) tensor.Rows {
	out := *in
	if a := in.Array; a != nil {
		out.Array = &tensor.Array{DType: a.DType, Shape: slices.Clone(a.Shape), Data: bytes.Clone(a.Data)}
	}
	out.Samples = slices.Clone(in.Samples)
	for i := range out.Samples {
		s := &out.Samples[i]
		s.Shape, s.Data = slices.Clone(s.Shape), bytes.Clone(s.Data)
	}
	return out
}

func unitOf(name string) (array.Unit, bool) {
	switch name {
	case "":
		return array.None, true
	case "date":
		return array.Date, true
	case "timestamp":
		return array.Timestamp, true
	case "interval":
		return array.Interval, true
	}
	return array.None, false
}

// valueOf returns the value of a parameter: nil, a Go value where it is a plain one, or a column.
func valueOf(rows *tensor.Rows, unit array.Unit) (any, error) {
	if rows.Array == nil && len(rows.Samples) == 1 && rows.Samples[0].Form == tensor.FormHole {
		return nil, nil
	}
	t := array.Type{Unit: unit}
	if rows.Array != nil {
		t.DType, t.Dims, t.Shape = rows.Array.DType, len(rows.Array.Shape), rows.Array.Shape
	} else if len(rows.Samples) == 1 {
		s := &rows.Samples[0]
		t.DType, t.Dims, t.Shape = s.DType, len(s.Shape), append(tensor.Shape{}, s.Shape...)
	}
	if !HasColumns(t.DType) {
		return nil, errs.New(errs.Type, "its dtype is %s, want another", t.DType)
	}
	c, err := ColumnOf(rows, 1, t)
	if err != nil || t.Dims > 0 || unit != array.None {
		return c, err
	}
	switch v := c.Value(0).(type) {
	case bool:
		return v, nil
	case int64:
		if t.DType == tensor.Int64 {
			return v, nil
		}
	case float64:
		if t.DType == tensor.Float64 {
			return v, nil
		}
	case string:
		if t.DType == tensor.String {
			return v, nil
		}
	}
	return c, nil
}

// appendFingerprint appends bytes that tell one parameter from another.
func (p Param) appendFingerprint(words []byte) []byte {
	words = append(words, p.rows.Counts...)
	words = append(words, 0)
	if a := p.rows.Array; a != nil {
		words = append(words, a.DType.String()+a.Shape.String()...)
		return append(words, a.Data...)
	}
	for _, s := range p.rows.Samples {
		words = append(words, byte(s.Form), byte(s.DType))
		words = append(words, s.Shape.String()...)
		words = append(words, s.Data...)
	}
	return words
}

// HasColumns reports whether columns of values may have a dtype.
func HasColumns(d tensor.DType) bool {
	switch d {
	case tensor.Float16, tensor.BFloat16, tensor.Complex64, tensor.Complex128:
		return false
	}
	return true
}

// ColumnOf returns a column of type t with the n rows of in. It copies the values, converts plain
// numbers of the host language, and refuses another dtype.
func ColumnOf(in *tensor.Rows, n int, t array.Type) (*array.Column, error) {
	if in.RowItems != nil {
		return nil, errs.New(errs.Type, "the rows are lists, want arrays")
	}
	in, err := plainAs(t.DType, in)
	if err != nil {
		return nil, err
	}
	if in.Array != nil {
		if in.Array.DType != t.DType {
			return nil, errs.New(errs.Type, "the values have dtype %s, want %s", in.Array.DType, t.DType)
		}
		if want := int64(n) * elementsOf(in.Array.Shape) * int64(t.DType.Size()); int64(len(in.Array.Data)) != want {
			return nil, errs.New(errs.Invalid, "the values have %d bytes, want %d", len(in.Array.Data), want)
		}
		return array.FromArrays(t, in.Array.Shape, elements(t.DType, in.Array.Data), nil), nil
	}
	if len(in.Samples) != n {
		return nil, errs.New(errs.Invalid, "there are %d values for %d rows", len(in.Samples), n)
	}
	if !t.DType.Fixed() {
		return textColumn(in.Samples, t)
	}
	shapes := make([]tensor.Shape, n)
	var data []byte
	for i := range in.Samples {
		s := &in.Samples[i]
		if s.Form == tensor.FormHole {
			continue
		}
		if s.Form != tensor.FormArray || s.DType != t.DType {
			return nil, errs.New(errs.Type, "row %d has dtype %s, want %s", i, s.DType, t.DType)
		}
		if int64(len(s.Data)) != elementsOf(s.Shape)*int64(s.DType.Size()) {
			return nil, errs.New(errs.Invalid, "row %d has %d bytes, want %d", i, len(s.Data), elementsOf(s.Shape)*int64(s.DType.Size()))
		}
		shapes[i] = append(tensor.Shape{}, s.Shape...)
		data = append(data, s.Data...)
	}
	if n == 1 && len(data) > 0 { // one shape: the loops for arrays are faster
		return array.FromArrays(t, shapes[0], elements(t.DType, data), nil), nil
	}
	return array.FromRows(t, shapes, elements(t.DType, data)), nil
}

// plainAs returns rows with their plain numbers in dtype d.
func plainAs(d tensor.DType, in *tensor.Rows) (*tensor.Rows, error) {
	out := *in
	as := func(from tensor.DType, data []byte) ([]byte, error) {
		if !d.Takes(from) && len(data) > 0 {
			return nil, errs.New(errs.Type, "the values have dtype %s, want %s", from, d)
		}
		data, bad := tensor.Convert(d, from, data)
		if bad >= 0 {
			return nil, errs.New(errs.Type, "value %d does not fit %s", bad, d)
		}
		return data, nil
	}
	if a := in.Array; a != nil && a.Literal && d.Fixed() {
		data, err := as(a.DType, a.Data)
		if err != nil {
			return nil, err
		}
		out.Array = &tensor.Array{DType: d, Shape: a.Shape, Data: data}
	}
	copied := false
	for i := range in.Samples {
		s := in.Samples[i]
		if s.Form != tensor.FormArray || !s.Literal || !d.Fixed() {
			continue
		}
		data, err := as(s.DType, s.Data)
		if err != nil {
			return nil, errs.New(errs.Type, "row %d: %w", i, err)
		}
		if !copied {
			out.Samples, copied = slices.Clone(in.Samples), true
		}
		out.Samples[i].DType, out.Samples[i].Data, out.Samples[i].Literal = d, data, false
	}
	return &out, nil
}

func textColumn(in []tensor.Sample, t array.Type) (*array.Column, error) {
	text, null := make([]string, len(in)), make([]bool, len(in))
	holes := false
	for i := range in {
		s := &in[i]
		if null[i] = s.Form == tensor.FormHole; null[i] {
			holes = true
			continue
		}
		if s.Form != tensor.FormText || s.DType != t.DType {
			return nil, errs.New(errs.Type, "row %d has dtype %s, want %s", i, s.DType, t.DType)
		}
		text[i] = string(s.Data)
	}
	if !holes {
		null = nil
	}
	return array.From(t, text, null), nil
}

func elementsOf(s tensor.Shape) int64 {
	n := int64(1)
	for _, axis := range s {
		n *= axis
	}
	return n
}

// elements copies memory into a slice of the type that a dtype has in columns.
func elements(d tensor.DType, data []byte) any {
	switch d {
	case tensor.Bool:
		return copied[bool](data)
	case tensor.Uint8:
		return copied[uint8](data)
	case tensor.Uint16:
		return copied[uint16](data)
	case tensor.Uint32:
		return copied[uint32](data)
	case tensor.Uint64:
		return copied[uint64](data)
	case tensor.Int8:
		return copied[int8](data)
	case tensor.Int16:
		return copied[int16](data)
	case tensor.Int32:
		return copied[int32](data)
	case tensor.Int64:
		return copied[int64](data)
	case tensor.Float32:
		return copied[float32](data)
	default:
		return copied[float64](data)
	}
}

func copied[T any](data []byte) []T {
	var one T
	out := make([]T, len(data)/int(unsafe.Sizeof(one)))
	if len(out) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), len(data)), data)
	}
	return out
}
