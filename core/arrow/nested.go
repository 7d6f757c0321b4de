package arrow

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func le32(p []byte) uint32 { return binary.LittleEndian.Uint32(p) }

func bytesOf(numbers []int64) []byte {
	out := make([]byte, 8*len(numbers))
	for i, v := range numbers {
		binary.LittleEndian.PutUint64(out[8*i:], uint64(v))
	}
	return out
}

// int64sOf widens integers. Those of uint64 beyond int64 become negative.
func int64sOf(d tensor.DType, data []byte) []int64 {
	out := make([]int64, len(data)/d.Size())
	switch d {
	case tensor.Uint8:
		for i := range out {
			out[i] = int64(data[i])
		}
	case tensor.Int8:
		for i := range out {
			out[i] = int64(int8(data[i]))
		}
	case tensor.Uint16:
		for i := range out {
			out[i] = int64(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case tensor.Int16:
		for i := range out {
			out[i] = int64(int16(binary.LittleEndian.Uint16(data[2*i:])))
		}
	case tensor.Uint32:
		for i := range out {
			out[i] = int64(le32(data[4*i:]))
		}
	case tensor.Int32:
		for i := range out {
			out[i] = int64(int32(le32(data[4*i:])))
		}
	default:
		for i := range out {
			out[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
	}
	return out
}

// codes returns the numbers of a dictionary's rows, -1 for a row that is missing or whose value is
// null.
func (r *reader) codes(v *values, missing []bool) ([]int64, error) {
	n, err := r.numbers(&values{dataType: &dataType{kind: kindNumber, dtype: v.dtype}, n: v.n, offset: v.offset, data: v.data}, 0, v.n)
	if err != nil {
		return nil, err
	}
	out := int64sOf(n.dtype, n.data)
	for i, code := range out {
		switch {
		case missing != nil && missing[i]:
			out[i] = -1
		case code < 0 || code >= v.dict.n:
			return nil, r.wrong(int64(i), errs.Invalid, "has number %d of a dictionary of %d values", code, v.dict.n)
		case v.dict.null(code):
			out[i] = -1
		}
	}
	return out, nil
}

// dictionary converts numbers of values: into labels with names for a class_label, else into the
// values.
func (r *reader) dictionary(v *values, missing []bool) (tensor.Rows, error) {
	codes, err := r.codes(v, missing)
	if err != nil {
		return tensor.Rows{}, err
	}
	d := v.dict
	if r.target.HType.Base == "class_label" && d.dtype == tensor.String && d.dictionary == nil {
		return labels(codes, d), nil
	}
	sub := reader{target: r.target}
	all, err := sub.rows(d, d.missing(nil))
	if err != nil {
		return tensor.Rows{}, errs.New(errs.KindOf(err), "the dictionary: %w", err)
	}
	if t := all.Texts; t != nil && all.Missing == nil {
		return picked(t, codes), nil
	}
	if len(all.RowItems) > 0 {
		return tensor.Rows{}, errs.New(errs.Type, "the column has type %s, want lists of samples", v.name)
	}
	spread := all.Spread()
	out := tensor.Rows{Samples: make([]tensor.Sample, len(codes)), Counts: spread.Counts, Names: spread.Names}
	for i, code := range codes {
		if code < 0 {
			out.Samples[i].Form = tensor.FormHole
			continue
		}
		out.Samples[i] = spread.Samples[code]
	}
	return out, nil
}

// labels returns the numbers of a dictionary of texts with its names, each once. Its order is that
// of new classes.
func labels(codes []int64, d *values) tensor.Rows {
	out := tensor.Rows{Names: []string{}}
	to, seen := make([]int64, d.n), map[string]int64{}
	for i := range to {
		to[i] = -1
		if d.null(int64(i)) {
			continue
		}
		name := string(d.text(int64(i)))
		n, ok := seen[name]
		if !ok {
			n = int64(len(out.Names))
			seen[name] = n
			out.Names = append(out.Names, name)
		}
		to[i] = n
	}
	numbers := make([]int64, 0, len(codes))
	for i, code := range codes {
		if code >= 0 {
			numbers = append(numbers, to[code])
			continue
		}
		if out.Missing == nil {
			out.Missing = make([]bool, len(codes))
		}
		out.Missing[i] = true
	}
	out.Array = &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: bytesOf(numbers)}
	return out
}

// picked returns the texts of some codes, where they are.
func picked(t *tensor.Texts, codes []int64) tensor.Rows {
	out := tensor.Rows{Texts: &tensor.Texts{DType: t.DType, Data: t.Data, Starts: make([]int64, 0, len(codes)), Ends: make([]int64, 0, len(codes))}}
	for i, code := range codes {
		if code >= 0 {
			out.Texts.Starts, out.Texts.Ends = append(out.Texts.Starts, t.Starts[code]), append(out.Texts.Ends, t.Ends[code])
			continue
		}
		if out.Missing == nil {
			out.Missing = make([]bool, len(codes))
		}
		out.Missing[i] = true
	}
	return out
}

// decimals converts decimals into the float that the creator of the tensor chose, rounded.
func (r *reader) decimals(v *values, missing []bool) (tensor.Rows, error) {
	if !r.target.DType.IsFloat() || r.target.Open {
		return tensor.Rows{}, errs.New(errs.Type, "the column has type %s, which tensors hold as float64 if they were created with that dtype; else cast it to float64 or to text", v.name)
	}
	out := make([]byte, 0, 8*v.n)
	ten := new(big.Float).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(v.scale, -v.scale))), nil))
	for i := range v.n {
		if missing != nil && missing[i] {
			out = append(out, make([]byte, 8)...)
			continue
		}
		p := slices.Clone(v.data[(v.offset+i)*v.width:][:v.width])
		slices.Reverse(p)
		n := new(big.Int).SetBytes(p)
		if p[0]&0x80 != 0 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*v.width)))
		}
		f := new(big.Float).SetPrec(320).SetInt(n)
		if v.scale > 0 {
			f.Quo(f, ten)
		} else {
			f.Mul(f, ten)
		}
		value, _ := f.Float64()
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(value))
	}
	return compact(numbered{tensor.Float64, "", out}, nil, missing), nil
}

// files converts structs of the bytes and the path of a picture, as Hugging Face stores them.
func (r *reader) files(v *values, missing []bool) (tensor.Rows, error) {
	at := slices.IndexFunc(v.fields, func(f field) bool { return f.name == "bytes" && f.dtype == tensor.Bytes && f.kind != kindNull })
	if at < 0 {
		return tensor.Rows{}, errs.New(errs.Type, "the column has type %s, want the bytes of files: binary, or a struct with a field \"bytes\"", v.name)
	}
	child := *v.children[at]
	child.slice(v.offset, v.n)
	out := tensor.Rows{Samples: make([]tensor.Sample, v.n)}
	for i := range out.Samples {
		switch {
		case missing != nil && missing[i]:
			out.Samples[i].Form = tensor.FormHole
		case child.null(int64(i)):
			return tensor.Rows{}, r.wrong(int64(i), errs.Type, "has no bytes of its file; embed the files in the table first")
		default:
			out.Samples[i] = child.file(int64(i))
		}
	}
	return out, nil
}

// file returns the sample of a file. Its link says where the file lies, if that is known.
func (v *values) file(row int64) tensor.Sample {
	s := tensor.Sample{Form: tensor.FormEncoded, Data: v.text(row)}
	if v.at != nil && v.at[v.offset+row] >= 0 {
		s.Link = &tensor.Link{Offset: v.at[v.offset+row], Length: int64(len(s.Data))}
	}
	return s
}

// leafOf returns the type of the innermost items of lists, and the sizes of the axes below the
// rows: -1 where they vary.
func (v *values) leafOf() (leaf *values, axes []int64) {
	leaf = v
	for leaf.isList() && leaf.extension == "" {
		axis := int64(-1)
		if leaf.kind == kindFixedList {
			axis = leaf.width
		}
		axes, leaf = append(axes, axis), leaf.children[0]
	}
	return leaf, axes
}

// lists converts lists of numbers into arrays, and those of names into labels.
func (r *reader) lists(v *values, missing []bool) (tensor.Rows, error) {
	leaf, axes := v.leafOf()
	texts := leaf.dtype == tensor.String && leaf.dictionary == nil && leaf.kind != kindNull
	named := leaf.dictionary != nil && leaf.dictionary.dtype == tensor.String
	if r.target.HType.Base == "class_label" && len(axes) == 1 && (texts || named) {
		return r.labelLists(v, leaf, missing)
	}
	isNumber := leaf.kind == kindBool || leaf.kind == kindNumber || leaf.kind == kindTime
	if leaf.kind == kindNull && leaf.n == 0 {
		leaf, isNumber = &values{dataType: &dataType{kind: kindNumber, name: "null", dtype: tensor.Float64}}, true
	}
	if !isNumber || leaf.dictionary != nil {
		return tensor.Rows{}, errs.New(errs.Type, "the column has type %s, want lists of numbers; a list of texts suits htype class_label or tag, and others htype json or a sequence", v.name)
	}
	isFixed, elements := slices.Index(axes, -1) < 0, int64(1)
	for _, axis := range axes {
		if elements *= max(axis, 0); elements > maxLength {
			return tensor.Rows{}, errs.New(errs.Invalid, "the column has type %s, whose samples are too large", v.name)
		}
	}
	if isFixed && elements > 0 {
		return r.equalLists(v, leaf, axes, elements, missing)
	}
	all, err := r.numbers(leaf, 0, leaf.n)
	if err != nil {
		return tensor.Rows{}, err
	}
	out := tensor.Rows{Samples: make([]tensor.Sample, v.n), Counts: all.counts}
	shapes := make([]int64, 0, int64(len(axes))*v.n)
	size := int64(all.dtype.Size())
	for i := range out.Samples {
		if missing != nil && missing[i] {
			out.Samples[i].Form = tensor.FormHole
			continue
		}
		from := len(shapes)
		var at, to int64
		if shapes, at, to, err = r.array(v, int64(i), shapes); err != nil {
			return tensor.Rows{}, err
		}
		shape := tensor.Shape(shapes[from:len(shapes):len(shapes)])
		if at == to && shape[0] == 0 && r.target.HType.Empty() != nil {
			shape = shape[:1]
		}
		s := tensor.Sample{DType: all.dtype, Shape: shape, Literal: at == to && leaf.name == "null"}
		if at < to {
			s.Data = all.data[at*size : to*size]
		}
		out.Samples[i] = s
	}
	return out, nil
}

// array appends the shape of row i to shapes, and returns where its elements lie in the leaf.
func (r *reader) array(v *values, i int64, shapes []int64) (_ []int64, from, to int64, err error) {
	from, to = v.span(i)
	shapes = append(shapes, to-from)
	level := v.children[0]
	for ; level.isList(); level = level.children[0] {
		if from == to {
			shapes = append(shapes, max(0, level.width))
			continue
		}
		start, end := level.span(from)
		axis := end - start
		for k := from; k < to; k++ {
			a, b := level.span(k)
			switch {
			case level.null(k):
				return shapes, 0, 0, r.hasNull(i)
			case b-a != axis:
				return shapes, 0, 0, r.wrong(i, errs.Type, "has lists of unequal lengths, which make no array; pad them, or use htype \"json\"")
			case a != end && k > from:
				return shapes, 0, 0, r.wrong(i, errs.Unsupported, "has views of lists out of order; cast the column to lists")
			}
			end = b
		}
		shapes = append(shapes, axis)
		from, to = start, end
	}
	if level.valid != nil || level.kind == kindNull {
		for k := from; k < to; k++ {
			if level.null(k) {
				return shapes, 0, 0, r.hasNull(i)
			}
		}
	}
	return shapes, from, to, nil
}

func (r *reader) hasNull(i int64) error {
	return r.wrong(i, errs.Type, "has a null inside its list, and no dtype of numbers has a missing value; fill it, or use htype json")
}

// equalLists converts lists of a fixed size, each of n elements.
func (r *reader) equalLists(v, leaf *values, axes []int64, n int64, missing []bool) (tensor.Rows, error) {
	from := v.offset
	for _, axis := range axes {
		from *= axis
	}
	for level, below, offset := v.children[0], n/axes[0], v.offset*axes[0]; ; level = level.children[0] {
		// Null lists of rows that are null have places, which say nothing.
		if level.valid != nil || level.kind == kindNull {
			each := n / below
			for i := range v.n * each {
				if row := i / each; level.null(offset+i) && !(missing != nil && missing[row]) {
					return tensor.Rows{}, r.hasNull(row)
				}
			}
		}
		if !level.isList() {
			break
		}
		offset = (offset + level.offset) * level.width
		from += level.offset * below
		below /= level.width
	}
	all, err := r.numbers(leaf, from, from+v.n*n)
	return compact(all, axes, missing), err
}

// labelLists converts lists of names. The names are those of all lists, in the order of their first
// use, or of the dictionary.
func (r *reader) labelLists(v, leaf *values, missing []bool) (tensor.Rows, error) {
	out := tensor.Rows{Samples: make([]tensor.Sample, v.n), Names: []string{}}
	seen := map[string]int64{}
	number := func(name []byte) int64 {
		n, ok := seen[string(name)]
		if !ok {
			n = int64(len(out.Names))
			seen[string(name)] = n
			out.Names = append(out.Names, string(name))
		}
		return n
	}
	var codes []int64
	if leaf.dictionary != nil {
		var err error
		if codes, err = r.codes(leaf, leaf.missing(nil)); err != nil {
			return out, err
		}
		for i := range leaf.dict.n {
			if !leaf.dict.null(i) {
				number(leaf.dict.text(i))
			}
		}
	}
	for i := range out.Samples {
		if missing != nil && missing[i] {
			out.Samples[i].Form = tensor.FormHole
			continue
		}
		from, to := v.span(int64(i))
		row := make([]int64, 0, to-from)
		for k := from; k < to; k++ {
			switch {
			case codes != nil && codes[k] < 0, codes == nil && leaf.null(k):
				return out, r.hasNull(int64(i))
			case codes != nil:
				row = append(row, number(leaf.dict.text(codes[k])))
			default:
				row = append(row, number(leaf.text(k)))
			}
		}
		out.Samples[i] = tensor.Sample{DType: tensor.Int64, Shape: tensor.Shape{int64(len(row))}, Data: bytesOf(row)}
	}
	return out, nil
}

// sequences converts lists of samples.
func (r *reader) sequences(v *values, missing []bool) (tensor.Rows, error) {
	if !v.isList() || v.extension != "" || v.dictionary != nil {
		return tensor.Rows{}, errs.New(errs.Type, "the column has type %s, want lists: a row of htype %s is a list of samples", v.name, r.target.HType)
	}
	inner := reader{target: r.target, row: r.row, itemsOf: v}
	inner.target.HType.Sequence = false
	child := v.children[0]
	convert := inner.plain
	if r.target.DType == tensor.JSON {
		convert = inner.documents
	}
	items, err := convert(child, child.missing(nil))
	if err != nil {
		return tensor.Rows{}, err
	}
	spread := items.Spread()
	out := tensor.Rows{RowItems: make([]int64, v.n), Counts: items.Counts, Names: items.Names, Samples: make([]tensor.Sample, 0, len(spread.Samples))}
	for i := range v.n {
		if missing != nil && missing[i] {
			out.RowItems[i] = 1
			out.Samples = append(out.Samples, tensor.Sample{Form: tensor.FormHole})
			continue
		}
		from, to := v.span(i)
		for k := from; k < to; k++ {
			if spread.Samples[k].Form == tensor.FormHole {
				return tensor.Rows{}, r.wrong(i, errs.Type, "has a null in its list; leave the item out")
			}
		}
		out.RowItems[i] = to - from
		out.Samples = append(out.Samples, spread.Samples[from:to]...)
	}
	return out, nil
}

// extension converts columns of extension types. ok is false for those that are as they are
// stored.
func (r *reader) extension(v *values, missing []bool) (out tensor.Rows, err error, ok bool) {
	switch v.extension {
	case "arrow.bool8":
		if v.kind != kindNumber || v.dtype != tensor.Int8 {
			return out, errs.New(errs.Invalid, "a bool8 is stored as %s", v.name), true
		}
		n, err := r.numbers(v, 0, v.n)
		truths := make([]byte, len(n.data))
		for i, b := range n.data {
			truths[i] = min(b, 1)
		}
		return compact(numbered{tensor.Bool, "", truths}, nil, missing), err, true
	case "arrow.uuid":
		if v.kind != kindFixed || v.width != 16 {
			return out, errs.New(errs.Invalid, "a uuid is stored as %s", v.name), true
		}
		t := &tensor.Texts{DType: tensor.String}
		for i := range v.n {
			if missing != nil && missing[i] {
				continue
			}
			p := v.text(i)
			t.Starts = append(t.Starts, int64(len(t.Data)))
			t.Data = fmt.Appendf(t.Data, "%x-%x-%x-%x-%x", p[:4], p[4:6], p[6:8], p[8:10], p[10:])
			t.Ends = append(t.Ends, int64(len(t.Data)))
		}
		return tensor.Rows{Texts: t, Missing: missing}, nil, true
	case "arrow.fixed_shape_tensor":
		out, err = r.fixedShape(v, missing)
		return out, err, true
	case "arrow.variable_shape_tensor":
		out, err = r.variableShape(v, missing)
		return out, err, true
	}
	return out, nil, false
}

// fixedShape converts tensors of one shape.
func (r *reader) fixedShape(v *values, missing []bool) (tensor.Rows, error) {
	if v.kind != kindFixedList {
		return tensor.Rows{}, errs.New(errs.Invalid, "a fixed_shape_tensor is stored as %s", v.name)
	}
	s, err := parseShape(v.parameter, v.width)
	if err != nil {
		return tensor.Rows{}, err
	}
	stored := *v
	plain := *v.dataType
	plain.extension = ""
	stored.dataType = &plain
	out, err := r.lists(&stored, missing)
	if err != nil {
		return out, err
	}
	shape, isTurned := tensor.Shape(s.Shape), !slices.IsSorted(s.Permutation)
	turned := shape
	if isTurned {
		turned = make(tensor.Shape, len(shape))
		for i, axis := range s.Permutation {
			turned[i] = shape[axis]
		}
	}
	for i := range out.Samples { // of a shape without elements
		out.Samples[i].Shape = turned
	}
	if out.Array != nil {
		out.Array.Shape = turned
	}
	if out.Array != nil && isTurned {
		out.Array.Data = transposed(out.Array.Data, shape, s.Permutation, out.Array.DType.Size())
	}
	return out, nil
}

// transposed returns the elements of arrays with their axes in another order: axis i is axis
// order[i] of shape.
func transposed(data []byte, shape tensor.Shape, order []int, size int) []byte {
	strides, n := make([]int, len(shape)), size
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= int(shape[i])
	}
	out := make([]byte, 0, len(data))
	at := make([]int64, len(order))
	for base := 0; base < len(data); base += n {
		clear(at)
		for range n / size {
			from := base
			for i, k := range at {
				from += int(k) * strides[order[i]]
			}
			out = append(out, data[from:from+size]...)
			for i := len(at) - 1; i >= 0; i-- {
				if at[i]++; at[i] < shape[order[i]] {
					break
				}
				at[i] = 0
			}
		}
	}
	return out
}

// variableShape converts tensors with a shape each: a struct of data and shape.
func (r *reader) variableShape(v *values, missing []bool) (tensor.Rows, error) {
	data := slices.IndexFunc(v.fields, func(f field) bool { return f.name == "data" })
	shape := slices.IndexFunc(v.fields, func(f field) bool { return f.name == "shape" })
	if v.kind != kindStruct || data < 0 || shape < 0 || !v.children[data].isList() || !v.children[shape].isList() {
		return tensor.Rows{}, errs.New(errs.Invalid, "a variable_shape_tensor is stored as %s", v.name)
	}
	elements, shapes := *v.children[data], *v.children[shape]
	elements.slice(v.offset, v.n)
	shapes.slice(v.offset, v.n)
	out, err := r.lists(&elements, elements.missing(missing))
	if err != nil {
		return out, err
	}
	out = out.Spread()
	axes, err := r.lists(&shapes, shapes.missing(missing))
	if err != nil {
		return out, err
	}
	axes = axes.Spread()
	for i := range out.Samples {
		s, of := &out.Samples[i], &axes.Samples[i]
		if s.Form == tensor.FormHole {
			continue
		}
		if of.Form == tensor.FormHole || !of.DType.IsInteger() {
			return out, r.wrong(int64(i), errs.Invalid, "is a tensor without a shape")
		}
		want := tensor.Shape(int64sOf(of.DType, of.Data))
		if n, err := want.Elements(); err != nil || n != int64(len(s.Data)/s.DType.Size()) || len(want) > tensor.MaxDims {
			return out, r.wrong(int64(i), errs.Invalid, "is a tensor of shape %s with %d elements", want, len(s.Data)/s.DType.Size())
		}
		s.Shape = want
	}
	return out, nil
}
