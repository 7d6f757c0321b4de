package arrow

import (
	"slices"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Column is a column of another program, in one or several arrays. It is a tensor.Foreign.
type Column struct {
	field field
	parts []*values
	above [][]bool // of each part: rows that are null because their struct is; nil: none
	hints hints
}

// NewColumn checks the arrays of a column. They must outlive it.
func NewColumn(s *Schema, arrays []*Array) (*Column, error) {
	t, err := (&parser{left: maxChildren}).describe(s, 0)
	if err != nil {
		return nil, err
	}
	f, err := fieldOf(t)
	if err != nil {
		return nil, err
	}
	c := &Column{field: f, above: make([][]bool, len(arrays))}
	for _, a := range arrays {
		v, err := valuesOf(f.dataType, a, 0)
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, v)
	}
	return c, nil
}

// Name is the name that the producer gave the column.
func (c *Column) Name() string { return c.field.name }

// Len is the number of rows.
func (c *Column) Len() int64 {
	n := int64(0)
	for _, v := range c.parts {
		n += v.n
	}
	return n
}

// Fields returns the columns of a struct by name, those of rows that are null as nulls; ok is false
// for other types.
func (c *Column) Fields() (fields []*Column, ok bool) {
	if c.field.kind != kindStruct || c.field.extension != "" {
		return nil, false
	}
	below := c.hints.fields
	if below == nil {
		below = hintsOf(c.field.metadata)
	}
	for i, f := range c.field.fields {
		one := &Column{field: f, above: make([][]bool, len(c.parts)), hints: below[f.name]}
		if f.metadata["_PL_CATEGORICAL2"] != "" || f.metadata["_PL_ENUM_VALUES2"] != "" || f.metadata["_PL_ENUM_VALUES"] != "" {
			one.hints.labels = true // of polars
		}
		for k, v := range c.parts {
			part := *v.children[i]
			part.slice(v.offset, v.n)
			one.parts = append(one.parts, &part)
			one.above[k] = v.missing(c.above[k])
		}
		fields = append(fields, one)
	}
	return fields, true
}

// slice leaves n rows from row on.
func (v *values) slice(from, n int64) {
	v.offset += from
	v.n = n
	if v.ends != nil {
		v.ends = v.ends[from:]
	}
	if v.sizes != nil {
		v.sizes = v.sizes[from:]
	}
}

// missing marks the null rows; nil: there are none. above marks more of them.
func (v *values) missing(above []bool) []bool {
	if v.valid == nil && v.kind != kindNull {
		return above
	}
	out := make([]bool, v.n)
	for i := range out {
		out[i] = v.null(int64(i)) || above != nil && above[i]
	}
	if !slices.Contains(out, true) {
		return nil
	}
	return out
}

// Rows returns the values for a tensor. Numbers, texts and lists of numbers stay where they are if
// their layout is the tensor's.
func (c *Column) Rows(t tensor.Target) (tensor.Rows, error) {
	all := make([]tensor.Rows, len(c.parts))
	row := int64(0)
	for i, v := range c.parts {
		r := reader{target: t, row: row}
		var err error
		if all[i], err = r.rows(v, v.missing(c.above[i])); err != nil {
			return tensor.Rows{}, err
		}
		row += v.n
	}
	return joined(all), nil
}

// joined puts the rows of several arrays together.
func joined(parts []tensor.Rows) tensor.Rows {
	switch len(parts) {
	case 0:
		return tensor.Rows{Samples: []tensor.Sample{}}
	case 1:
		return parts[0]
	}
	if out, ok := concatenated(parts); ok {
		return out
	}
	out := tensor.Rows{Samples: []tensor.Sample{}}
	numbers := map[string]int64{}
	for i := range parts {
		p := parts[i].Spread()
		if p.Names != nil {
			renumber(&p, numbers, &out.Names)
		}
		out.Counts = p.Counts
		out.Samples = append(out.Samples, p.Samples...)
		out.RowItems = append(out.RowItems, p.RowItems...)
	}
	return out
}

// concatenated puts arrays of one dtype and shape together, or texts; ok is false for others.
func concatenated(parts []tensor.Rows) (out tensor.Rows, ok bool) {
	first := &parts[0]
	rows, some := 0, false
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Names != nil:
			return out, false
		case p.Array != nil && first.Array != nil && p.Array.DType == first.Array.DType && p.Array.Shape.Equal(first.Array.Shape):
		case p.Texts != nil && first.Texts != nil && p.Texts.DType == first.Texts.DType:
		default:
			return out, false
		}
		rows, some = rows+rowCount(p), some || p.Missing != nil
	}
	out.Counts = first.Counts
	if some {
		out.Missing = make([]bool, 0, rows)
	}
	if first.Array != nil {
		out.Array = &tensor.Array{DType: first.Array.DType, Shape: first.Array.Shape}
	} else {
		out.Texts = &tensor.Texts{DType: first.Texts.DType}
	}
	for i := range parts {
		p := &parts[i]
		if some && p.Missing == nil {
			out.Missing = append(out.Missing, make([]bool, rowCount(p))...)
		}
		out.Missing = append(out.Missing, p.Missing...)
		if p.Array != nil {
			out.Array.Data = append(out.Array.Data, p.Array.Data...)
			continue
		}
		for k := range p.Texts.Starts {
			from := int64(len(out.Texts.Data))
			out.Texts.Data = append(out.Texts.Data, p.Texts.At(k)...)
			out.Texts.Starts, out.Texts.Ends = append(out.Texts.Starts, from), append(out.Texts.Ends, int64(len(out.Texts.Data)))
		}
	}
	return out, true
}

// rowCount counts the rows of an array of elements, or of texts.
func rowCount(p *tensor.Rows) int {
	if p.Missing != nil {
		return len(p.Missing)
	}
	if p.Texts != nil {
		return len(p.Texts.Starts)
	}
	size, err := p.Array.Shape.Bytes(p.Array.DType)
	if err != nil || size == 0 {
		return 0
	}
	return len(p.Array.Data) / int(size)
}

// renumber gives labels the numbers that their names have in names, which grows.
func renumber(p *tensor.Rows, numbers map[string]int64, names *[]string) {
	to := make([]int64, len(p.Names))
	for i, name := range p.Names {
		n, ok := numbers[name]
		if !ok {
			n = int64(len(*names))
			numbers[name] = n
			*names = append(*names, name)
		}
		to[i] = n
	}
	if *names == nil {
		*names = []string{}
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Form != tensor.FormArray {
			continue
		}
		labels := int64sOf(s.DType, s.Data)
		for k, v := range labels {
			if v < 0 || v >= int64(len(to)) {
				labels[k] = -1 // which the tensor refuses
				continue
			}
			labels[k] = to[v]
		}
		s.DType, s.Data = tensor.Int64, bytesOf(labels)
	}
}

// reader converts one array for a tensor.
type reader struct {
	target  tensor.Target
	row     int64   // the number of the first row, for messages
	itemsOf *values // the rows whose items the array has; nil: it has the rows
	limit   int     // the most bytes of the documents so far and the present one
}

// wrong returns an error about row i, or about the row of item i.
func (r *reader) wrong(i int64, kind errs.Kind, format string, args ...any) error {
	if r.itemsOf != nil {
		i = r.itemsOf.rowOf(i)
	}
	return errs.New(kind, "row %d %w", r.row+i, errs.New(kind, format, args...))
}

// rows converts an array. missing marks rows without a sample; nil: none.
func (r *reader) rows(v *values, missing []bool) (tensor.Rows, error) {
	switch {
	case v.kind == kindNull:
		return holes(v.n), nil
	case r.target.HType.List():
		return r.sequences(v, missing)
	case r.target.DType == tensor.JSON:
		return r.documents(v, missing)
	}
	return r.plain(v, missing)
}

// holes are rows without samples.
func holes(n int64) tensor.Rows {
	out := tensor.Rows{Samples: make([]tensor.Sample, n)}
	for i := range out.Samples {
		out.Samples[i].Form = tensor.FormHole
	}
	return out
}

// plain converts an array whose rows are one sample each.
func (r *reader) plain(v *values, missing []bool) (tensor.Rows, error) {
	if v.kind == kindNull {
		return holes(v.n), nil
	}
	if v.extension != "" {
		if out, err, ok := r.extension(v, missing); ok {
			return out, err
		}
	}
	switch {
	case v.dictionary != nil:
		return r.dictionary(v, missing)
	case v.kind == kindBool || v.kind == kindNumber || v.kind == kindTime:
		n, err := r.numbers(v, 0, v.n)
		return compact(n, nil, missing), err
	case v.kind == kindDecimal:
		return r.decimals(v, missing)
	case v.kind == kindText || v.kind == kindView || v.kind == kindFixed:
		return r.texts(v, missing)
	case v.isList():
		return r.lists(v, missing)
	case v.kind == kindStruct && (r.target.HType.IsImage() || r.target.HType.IsMask()):
		return r.files(v, missing)
	case v.isFile():
		out, err := r.files(v, missing)
		for i := range out.Samples {
			if s := &out.Samples[i]; s.Form == tensor.FormEncoded {
				s.Form, s.DType = tensor.FormText, tensor.Bytes
			}
		}
		return out, err
	case v.kind == kindStruct || v.kind == kindMap:
		return tensor.Rows{}, errs.New(errs.Type, "the column has type %s, want one value a row; store it in a tensor of htype json, or its fields in tensors of their own", v.name)
	}
	return tensor.Rows{}, errs.New(errs.Type, "the column has type %s, which tensors cannot hold; %s", v.name, remedy(v.name))
}

// remedy says how a type that no tensor holds is stored.
func remedy(name string) string {
	switch {
	case name == "run_end_encoded":
		return "decode its runs first"
	case name == "union":
		return "cast it to one of its types, or to text"
	}
	return "cast it to a duration or an integer"
}

// numbered is numbers in one piece of memory.
type numbered struct {
	dtype  tensor.DType
	counts string // the time that they count
	data   []byte
}

// numbers returns elements from row on to another, whatever lies in those that are null.
func (r *reader) numbers(v *values, from, to int64) (numbered, error) {
	from, to = from+v.offset, to+v.offset
	switch v.kind {
	case kindBool:
		out := make([]byte, to-from)
		for i := range out {
			if bit(v.data, from+int64(i)) {
				out[i] = 1
			}
		}
		return numbered{tensor.Bool, "", out}, nil
	case kindNumber:
		size := int64(v.dtype.Size())
		n := numbered{v.dtype, "", v.data}
		if from < to {
			n.data = v.data[from*size : to*size]
		} else {
			n.data = nil
		}
		return n, nil
	case kindTime:
		if v.width == 8 {
			if from == to {
				return numbered{tensor.Int64, v.counts, nil}, nil
			}
			return numbered{tensor.Int64, v.counts, v.data[from*8 : to*8]}, nil
		}
		days := make([]int64, to-from)
		for i := range days {
			days[i] = int64(int32(le32(v.data[(from+int64(i))*4:])))
		}
		return numbered{tensor.Int64, v.counts, bytesOf(days)}, nil
	}
	return numbered{}, errs.New(errs.Type, "items have type %s, want numbers", v.name)
}

// compact returns numbers as equal samples of a shape, without the rows that are missing.
func compact(n numbered, shape tensor.Shape, missing []bool) tensor.Rows {
	if shape == nil {
		shape = tensor.Shape{}
	}
	out := tensor.Rows{Array: &tensor.Array{DType: n.dtype, Shape: shape, Data: n.data}, Missing: missing, Counts: n.counts}
	if missing == nil {
		return out
	}
	size := len(n.data) / max(1, len(missing))
	kept := make([]byte, 0, len(n.data))
	for from := 0; from < len(missing); {
		if missing[from] {
			from++
			continue
		}
		to := from
		for to < len(missing) && !missing[to] {
			to++
		}
		kept = append(kept, n.data[from*size:to*size]...)
		from = to
	}
	out.Array.Data = kept
	return out
}

// texts converts texts or bytes. Bytes of pictures and masks are files.
func (r *reader) texts(v *values, missing []bool) (tensor.Rows, error) {
	dtype := v.dtype
	if (r.target.HType.IsImage() || r.target.HType.IsMask()) && dtype == tensor.Bytes {
		out := tensor.Rows{Samples: make([]tensor.Sample, v.n)}
		for i := range out.Samples {
			if missing != nil && missing[i] {
				out.Samples[i].Form = tensor.FormHole
				continue
			}
			out.Samples[i] = v.file(int64(i))
		}
		return out, nil
	}
	return tensor.Rows{Texts: v.gathered(dtype, missing), Missing: missing}, nil
}

// gathered returns the texts of rows that are not missing, in place if they lie in one buffer.
func (v *values) gathered(dtype tensor.DType, missing []bool) *tensor.Texts {
	t := &tensor.Texts{DType: dtype, Data: v.data}
	if v.kind == kindText && missing == nil && v.n > 0 {
		t.Starts, t.Ends = v.ends[:v.n], v.ends[1:v.n+1]
		return t
	}
	t.Starts, t.Ends = make([]int64, 0, v.n), make([]int64, 0, v.n)
	if v.kind != kindText {
		t.Data = nil
	}
	for i := range v.n {
		if missing != nil && missing[i] {
			continue
		}
		from := int64(len(t.Data))
		switch v.kind {
		case kindText:
			t.Starts, t.Ends = append(t.Starts, v.ends[i]), append(t.Ends, v.ends[i+1])
			continue
		default:
			t.Data = append(t.Data, v.text(i)...)
		}
		t.Starts, t.Ends = append(t.Starts, from), append(t.Ends, int64(len(t.Data)))
	}
	return t
}
