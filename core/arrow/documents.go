package arrow

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// documents converts rows into JSON. Texts are JSON already.
func (r *reader) documents(v *values, missing []bool) (tensor.Rows, error) {
	if v.dictionary == nil && (v.kind == kindText || v.kind == kindView) && v.dtype == tensor.String {
		return tensor.Rows{Texts: v.gathered(tensor.JSON, missing), Missing: missing}, nil
	}
	if d := v.dictionary; d != nil && d.dictionary == nil && d.dtype == tensor.String {
		return r.dictionary(v, missing)
	}
	t := &tensor.Texts{DType: tensor.JSON}
	for i := range v.n {
		if missing != nil && missing[i] {
			continue
		}
		if err := r.document(t, v, i); err != nil {
			return tensor.Rows{}, err
		}
	}
	return tensor.Rows{Texts: t, Missing: missing}, nil
}

// document appends value i to t.
func (r *reader) document(t *tensor.Texts, v *values, i int64) error {
	start := int64(len(t.Data))
	r.limit = len(t.Data) + maxDocument
	var err error
	if t.Data, err = r.value(t.Data, v, i, i); err != nil {
		return err
	}
	t.Starts, t.Ends = append(t.Starts, start), append(t.Ends, int64(len(t.Data)))
	return nil
}

// value appends value i as JSON. row is the row that it is part of, for messages. Views of lists
// may show the same items again and again, so that small memory makes a large document.
func (r *reader) value(dst []byte, v *values, i, row int64) ([]byte, error) {
	if len(dst) > r.limit {
		return dst, r.wrong(row, errs.Invalid, "has more than %d bytes as JSON", maxDocument)
	}
	if v.null(i) {
		return append(dst, "null"...), nil
	}
	if v.dictionary != nil {
		n, err := r.numbers(&values{dataType: &dataType{kind: kindNumber, dtype: v.dtype}, offset: v.offset, data: v.data}, i, i+1)
		if err != nil {
			return dst, err
		}
		code := int64sOf(n.dtype, n.data)[0]
		if code < 0 || code >= v.dict.n {
			return dst, r.wrong(row, errs.Invalid, "has number %d of a dictionary of %d values", code, v.dict.n)
		}
		return r.value(dst, v.dict, code, row)
	}
	switch {
	case v.kind == kindBool:
		return strconv.AppendBool(dst, bit(v.data, v.offset+i)), nil
	case v.kind == kindNumber:
		return r.number(dst, v, i, row)
	case v.dtype == tensor.String:
		return r.quoted(dst, v.text(i), row)
	case v.isList():
		from, to := v.span(i)
		return r.bracketed(dst, '[', ']', from, to, func(dst []byte, k int64) ([]byte, error) {
			return r.value(dst, v.children[0], k, row)
		})
	case v.kind == kindStruct:
		return r.bracketed(dst, '{', '}', 0, int64(len(v.fields)), func(dst []byte, k int64) ([]byte, error) {
			dst, err := r.quoted(dst, []byte(v.fields[k].name), row)
			if err != nil {
				return dst, err
			}
			return r.value(append(dst, ':'), v.children[k], v.offset+i, row)
		})
	case v.kind == kindMap:
		pair := v.children[0]
		from, to := v.span(i)
		return r.bracketed(dst, '[', ']', from, to, func(dst []byte, k int64) ([]byte, error) {
			return r.bracketed(dst, '[', ']', 0, 2, func(dst []byte, side int64) ([]byte, error) {
				return r.value(dst, pair.children[side], pair.offset+k, row)
			})
		})
	}
	return dst, r.wrong(row, errs.Type, "has a value of type %s, which JSON does not have; cast it to text or to numbers", v.name)
}

// bracketed appends items from one on to another between brackets, with commas.
func (r *reader) bracketed(dst []byte, open, end byte, from, to int64, item func([]byte, int64) ([]byte, error)) ([]byte, error) {
	dst = append(dst, open)
	for k := from; k < to; k++ {
		if k > from {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = item(dst, k); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

// number appends a number. Floats keep a point or an exponent, which makes them floats again.
func (r *reader) number(dst []byte, v *values, i, row int64) ([]byte, error) {
	n, err := r.numbers(v, i, i+1)
	if err != nil {
		return dst, err
	}
	if v.dtype == tensor.Uint64 {
		return strconv.AppendUint(dst, uint64(int64sOf(v.dtype, n.data)[0]), 10), nil
	}
	if v.dtype.IsInteger() {
		return strconv.AppendInt(dst, int64sOf(v.dtype, n.data)[0], 10), nil
	}
	wide, _ := tensor.Convert(tensor.Float64, v.dtype, n.data)
	f := math.Float64frombits(uint64(int64sOf(tensor.Int64, wide)[0]))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, r.wrong(row, errs.Type, "has the value %v, which JSON does not have; use None", f)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
	if !bytes.ContainsAny(dst[start:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}

// quoted appends a text as a JSON string.
func (r *reader) quoted(dst, text []byte, row int64) ([]byte, error) {
	if !utf8.Valid(text) {
		return dst, r.wrong(row, errs.Type, "has a text that is not valid UTF-8")
	}
	out := bytes.NewBuffer(dst)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(string(text)); err != nil {
		return dst, r.wrong(row, errs.Type, "has a text that is not JSON: %v", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
