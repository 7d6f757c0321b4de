package dataset

import (
	"encoding/binary"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// renumber replaces the labels of a column that numbers classes by names of its own by those of the
// tensor. The first such column fixes the numbers of a tensor without classes. Later ones add the
// names that the tensor does not have, in their order, used or not.
func (c *checker) renumber(col *tensor.Rows) error {
	if col.Names == nil {
		return nil
	}
	if c.ct.htype.Base != "class_label" {
		return errs.New(errs.Type, "the column has names of classes, which htype %s does not have", c.ct.htype)
	}
	labels := make([]int64, len(col.Names))
	for i, name := range col.Names {
		var err error
		if labels[i], err = c.classNumber(name); err != nil {
			return err
		}
	}
	if a := col.Array; a != nil {
		rowBytes, err := a.Shape.Bytes(a.DType)
		if err != nil {
			return err
		}
		data, err := translate(labels, a.DType, a.Data, int(rowBytes))
		col.Array = &tensor.Array{DType: tensor.Int64, Shape: a.Shape, Data: data}
		return err
	}
	samples := append([]tensor.Sample{}, col.Samples...)
	for i := range samples {
		s := &samples[i]
		if s.Form != tensor.FormArray {
			continue
		}
		data, err := translate(labels, s.DType, s.Data, 0)
		if err != nil {
			return rowError(i, err)
		}
		s.DType, s.Data = tensor.Int64, data
	}
	col.Samples = samples
	return nil
}

// translate returns the labels of numbers of dtype d. rowBytes is as of convert.
func translate(labels []int64, d tensor.DType, data []byte, rowBytes int) ([]byte, error) {
	if !d.IsInteger() {
		return nil, errs.New(errs.Type, "the numbers of classes have dtype %s, want integers", d)
	}
	size := d.Size()
	out := make([]byte, 0, len(data)/size*8)
	for at := 0; at+size <= len(data); at += size {
		v, ok := readInt(d, data[at:])
		if !ok || v < 0 || v >= int64(len(labels)) {
			err := errs.New(errs.Invalid, "class number %d is outside the %d names of the column; use None for a row without a label", v, len(labels))
			if rowBytes > 0 {
				err = rowError(at/rowBytes, err)
			}
			return nil, err
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(labels[v]))
	}
	return out, nil
}
