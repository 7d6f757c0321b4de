package scan

import (
	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// lazyRows bounds the rows that are computed at once if their values are computed then: they may be
// large.
const lazyRows = 64

// tensorOf makes rows for a tensor out of columns of a type.
type tensorOf struct {
	name string
	typ  array.Type
}

// rows returns a column as rows that can be appended: NULL is a row without a sample. They share
// memory with c.
func (t *tensorOf) rows(c *array.Column) (tensor.Rows, error) {
	out := tensor.Rows{Tensor: t.name}
	c = c.Expand()
	switch {
	case c.DType != t.typ.DType && c.DType != 0:
		return out, errs.New(errs.Internal, "values have dtype %s, want %s", c.DType, t.typ.DType)
	case t.typ.List:
		return t.lists(c)
	case c.Null == nil && c.Shapes == nil && c.DType.Fixed():
		out.Array = &tensor.Array{DType: c.DType, Shape: c.Same, Data: storedBytes(c)}
		return out, nil
	}
	out.Samples = make([]tensor.Sample, c.N)
	for i := range out.Samples {
		out.Samples[i] = sampleOf(c, i)
	}
	return out, nil
}

// sampleOf is row i.
func sampleOf(c *array.Column, i int) tensor.Sample {
	if c.DType == 0 || c.IsNull(i) {
		return tensor.Sample{Form: tensor.FormHole}
	}
	s := tensor.Sample{Form: tensor.FormText, DType: c.DType, Data: valueBytes(c, i)}
	if c.DType.Fixed() {
		s.Form, s.Shape = tensor.FormArray, c.ShapeAt(i)
	}
	return s
}

// lists returns rows of lists. A dataset stores no NULL items: they are omitted.
func (t *tensorOf) lists(c *array.Column) (tensor.Rows, error) {
	out := tensor.Rows{Tensor: t.name, RowItems: make([]int64, c.N)}
	items := c.Items
	if items != nil {
		items = items.Expand()
	}
	for i := range c.N {
		if c.IsNull(i) {
			out.Samples, out.RowItems[i] = append(out.Samples, tensor.Sample{Form: tensor.FormHole}), 1
			continue
		}
		for at := start(c, i); at < c.Ends[i]; at++ {
			if items.IsNull(at) {
				continue
			}
			out.Samples = append(out.Samples, sampleOf(items, at))
			out.RowItems[i]++
		}
	}
	return out, nil
}
