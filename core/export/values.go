package export

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// integers returns the elements of an array of integers or bools.
func integers(v *tensor.Sample) ([]int64, error) {
	if !v.DType.IsInteger() && v.DType != tensor.Bool {
		return nil, errs.New(errs.Type, "it is of dtype %s, want integers", v.DType)
	}
	data, bad := tensor.Convert(tensor.Int64, v.DType, v.Data)
	if bad >= 0 {
		return nil, errs.New(errs.Range, "a number of dtype %s exceeds int64", v.DType)
	}
	out := make([]int64, len(data)/8)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out, nil
}

// whole64 returns a sample of one integer.
func whole64(v *tensor.Sample) (int64, error) {
	all, err := integers(v)
	if err != nil || len(all) != 1 {
		return 0, errs.New(errs.Type, "it has shape %s, want one integer", v.Shape)
	}
	return all[0], nil
}

// floats returns the elements of an array of numbers, rounded to float64.
func floats(v *tensor.Sample) ([]float64, error) {
	if !v.DType.Fixed() || v.DType.IsComplex() {
		return nil, errs.New(errs.Type, "it is of dtype %s, want real numbers", v.DType)
	}
	data, _ := tensor.Convert(tensor.Float64, v.DType, v.Data)
	out := make([]float64, len(data)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out, nil
}

// appendFloat appends a number in the shortest form that its dtype reads back. A number that JSON
// has not becomes null.
func appendFloat(dst []byte, v float64, d tensor.DType) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	bits := 64
	if d != tensor.Float64 {
		bits = 32
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

// appendText appends a text as JSON.
func appendText(dst []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // a string always has JSON
	return append(dst, quoted...)
}

// singles returns the elements of an array of numbers, rounded to float32.
func singles(v *tensor.Sample) ([]float32, error) {
	wide, err := floats(v)
	out := make([]float32, len(wide))
	for i, x := range wide {
		out[i] = float32(x)
	}
	return out, err
}

// widened returns n numbers of 32 bits as numbers of 64 bits.
func widened(p []byte, n int64) []byte {
	out := make([]byte, 0, 8*n)
	for i := range n {
		out = binary.LittleEndian.AppendUint64(out, uint64(int64(int32(binary.LittleEndian.Uint32(p[4*i:])))))
	}
	return out
}

// asText returns a sample of text.
func asText(v *tensor.Sample) string { return string(v.Data) }

// listJSON returns a list of texts or of JSON documents.
func listJSON(c *column, v *value) []byte {
	data := []byte{'['}
	for i := range v.items {
		if i > 0 {
			data = append(data, ',')
		}
		if c.kind == isJSON {
			data = append(data, v.items[i].Data...)
		} else {
			data = appendText(data, asText(&v.items[i]))
		}
	}
	return append(data, ']')
}
