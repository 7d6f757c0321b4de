package annotations

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"

	"deeplake/core/tensor"
)

// Value is the annotations of a picture for one tensor.
type Value struct {
	Tensor string
	Sample tensor.Sample
	// of class labels, in the place of Sample: the name of each object's class
	Names []string
	Items []tensor.Sample // of lists, in the place of Sample
	List  bool
}

// Row is the annotations of a picture.
type Row struct {
	Values  []Value
	Objects int64    // boxes, outlines, and other things that are counted
	Faults  []string // why objects were left out
	Warning string   // about annotations that were taken; "": none
}

// maxObjects bounds the objects of a picture.
const maxObjects = 100_000

func (r *Row) add(v Value) { r.Values = append(r.Values, v) }

func (r *Row) array(name string, d tensor.DType, shape tensor.Shape, data []byte) {
	r.add(Value{Tensor: name, Sample: tensor.Sample{Form: tensor.FormArray, DType: d, Shape: shape, Data: data}})
}

// floats sets a sample of float32.
func (r *Row) floats(name string, shape tensor.Shape, v []float32) {
	r.array(name, tensor.Float32, shape, floatBytes(v))
}

func floatBytes(v []float32) []byte {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// doubles sets a float64 for each object.
func (r *Row) doubles(name string, v []float64) {
	data := make([]byte, 0, 8*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	r.array(name, tensor.Float64, tensor.Shape{int64(len(v))}, data)
}

// points sets keypoints, shape (3 x keypoints, objects), of dtype int32 or float32.
func (r *Row) points(name string, d tensor.DType, shape tensor.Shape, v []float32) {
	data := floatBytes(v)
	if d == tensor.Int32 {
		data = data[:0]
		for _, x := range v {
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(x)))
		}
	}
	r.array(name, d, shape, data)
}

// boxes sets the boxes of the objects, four numbers each.
func (r *Row) boxes(name string, v []float32) {
	r.floats(name, tensor.Shape{int64(len(v) / 4), 4}, v)
}

// ints sets an int64 for each object.
func (r *Row) ints(name string, v []int64) {
	data := make([]byte, 0, 8*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint64(data, uint64(x))
	}
	r.array(name, tensor.Int64, tensor.Shape{int64(len(v))}, data)
}

// integer sets one int64.
func (r *Row) integer(name string, v int64) {
	r.array(name, tensor.Int64, tensor.Shape{}, binary.LittleEndian.AppendUint64(nil, uint64(v)))
}

// bools sets a bool for each object.
func (r *Row) bools(name string, v []bool) {
	data := make([]byte, len(v))
	for i, x := range v {
		if x {
			data[i] = 1
		}
	}
	r.array(name, tensor.Bool, tensor.Shape{int64(len(v))}, data)
}

// labels sets the class of each object by its name.
func (r *Row) labels(name string, names []string) {
	r.add(Value{Tensor: name, Names: append([]string{}, names...)})
}

// polygons sets the outline of each object: x and y in turn. Parts of one object follow one
// another, with a point of NaN between them.
func (r *Row) polygons(name string, all [][]float32) {
	v := Value{Tensor: name, List: true, Items: make([]tensor.Sample, len(all))}
	for i, xy := range all {
		v.Items[i] = tensor.Sample{Form: tensor.FormArray, DType: tensor.Float32, Shape: tensor.Shape{int64(len(xy) / 2), 2}, Data: floatBytes(xy)}
	}
	r.add(v)
}

// text sets a text.
func (r *Row) text(name, text string) {
	r.add(Value{Tensor: name, Sample: tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(text)}})
}

// texts sets a list of texts.
func (r *Row) texts(name string, all []string) {
	v := Value{Tensor: name, List: true, Items: make([]tensor.Sample, len(all))}
	for i, text := range all {
		v.Items[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(text)}
	}
	r.add(v)
}

// json sets a JSON value.
func (r *Row) json(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	r.add(Value{Tensor: name, Sample: tensor.Sample{Form: tensor.FormText, DType: tensor.JSON, Data: data}})
	return nil
}

// file sets an encoded picture, such as a PNG file with a mask.
func (r *Row) file(name string, data []byte) {
	r.add(Value{Tensor: name, Sample: tensor.Sample{Form: tensor.FormEncoded, Data: data}})
}

// Hash tells annotations apart: a later run compares it.
func (r *Row) Hash() uint64 {
	h := fnv.New64a()
	part := func(p []byte) {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		_, _ = h.Write(p)
	}
	for i := range r.Values {
		v := &r.Values[i]
		part([]byte(v.Tensor))
		part(v.Sample.Data)
		for _, n := range v.Sample.Shape {
			part(binary.LittleEndian.AppendUint64(nil, uint64(n)))
		}
		for _, name := range v.Names {
			part([]byte(name))
		}
		for _, item := range v.Items {
			part(item.Data)
		}
	}
	return h.Sum64()
}
