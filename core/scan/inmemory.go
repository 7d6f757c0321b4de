package scan

import (
	"context"
	"fmt"
	"strings"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// htypeOf returns the htype of a tensor for values of a type.
func htypeOf(t *array.Type) string {
	name := "generic"
	switch {
	case t.DType == tensor.String:
		name = "text"
	case t.DType == tensor.JSON:
		name = "json"
	case t.Names != nil && t.Dims >= 0 && t.Dims <= 1 && (t.DType >= tensor.Uint8 && t.DType <= tensor.Int64):
		name = "class_label"
	case t.HType == "bbox" && t.Dims == 2 && len(t.Shape) == 2 && t.Shape[1] == 4:
		name = "bbox"
	case t.HType == "embedding" && t.Dims == 1 && len(t.Shape) == 1 && t.Shape[0] >= 0:
		name = "embedding"
	}
	if t.List {
		return "sequence[" + name + "]"
	}
	return name
}

// infoOf returns the info of such a tensor: the unit of its numbers.
func infoOf(t *array.Type) map[string]any {
	info := map[string]any{}
	if t.Unit != array.None {
		info["unit"] = unitName(t.Unit)
	}
	if t.Boxes != "" {
		info["coords"] = map[string]any{"mode": t.Boxes}
	}
	return info
}

// specOf returns a tensor for values of a type.
func specOf(name string, t *array.Type) dataset.TensorSpec {
	spec := dataset.TensorSpec{Name: name, HType: htypeOf(t), Info: infoOf(t)}
	if t.DType != 0 {
		spec.DType = t.DType.String()
	}
	if strings.Contains(spec.HType, "class_label") {
		spec.ClassNames = t.Names
	}
	return spec
}

// describeType describes a column that is computed when it is read.
func describeType(name string, t array.Type) dataset.TensorDescription {
	spec := specOf(name, &t)
	d := dataset.TensorDescription{Name: name, HType: spec.HType, Shape: t.Shape, Compression: "none", Sequence: t.List, ClassNames: spec.ClassNames, Info: spec.Info}
	if t.DType != 0 {
		d.DType = &spec.DType
	}
	return d
}

// computedRows bounds the rows that are computed at once.
const computedRows = 1 << 16

// keep writes some outputs of r, by their numbers in outputs, to a dataset in memory. The fields of
// these numbers then refer to its columns.
func cacheComputed(ctx context.Context, env *dataset.Env, r *query.Result, outputs []int, fields []*field) error {
	if len(outputs) == 0 {
		return nil
	}
	own := *env
	own.Stores = storage.Registry{"mem": (&mem.Space{}).Open}
	d, err := dataset.Create(ctx, &own, "mem://computed", dataset.CreateOptions{})
	if err != nil {
		return err
	}
	cols := make([]*tensorOf, len(outputs))
	for k, i := range outputs {
		o := &r.Outputs[i]
		cols[k] = &tensorOf{name: fmt.Sprintf("c%d", k), typ: o.Type}
		if err := d.CreateTensor(ctx, specOf(cols[k].name, &o.Type)); err != nil {
			return errs.Wrap(errs.Internal, "keep column", o.Name, err)
		}
	}
	for from := int64(0); from < r.N; {
		to := min(r.N, from+batchRows(r, outputs))
		rows := make([]tensor.Rows, len(cols))
		for k, i := range outputs {
			c, err := rowsOf(ctx, &r.Outputs[i], from, to)
			if err != nil {
				return err
			}
			if rows[k], err = cols[k].rows(c); err != nil {
				return errs.Wrap(errs.Internal, "keep column", r.Outputs[i].Name, err)
			}
		}
		if err := d.Append(ctx, rows, to-from); err != nil {
			return err
		}
		from = to
	}
	if _, err := d.Commit(ctx, "computed"); err != nil {
		return err
	}
	v, err := d.View(ctx)
	if err != nil {
		return err
	}
	for k, i := range outputs {
		f := fields[i]
		f.view, f.inMemory = v, true
		if f.column, err = v.Column(cols[k].name); err != nil {
			return err
		}
	}
	return nil
}

// lazyRows is keptRows where values are computed at that time: they may be large.
const lazyRows = 64

func batchRows(r *query.Result, outputs []int) int64 {
	for _, i := range outputs {
		if r.Outputs[i].Values == nil {
			return lazyRows
		}
	}
	return computedRows
}

// rowsOf returns rows of a computed output.
func rowsOf(ctx context.Context, o *query.Output, from, to int64) (*array.Column, error) {
	if o.Values != nil {
		return o.Values.Slice(int(from), int(to)), nil
	}
	rows := make([]int64, to-from)
	for i := range rows {
		rows[i] = from + int64(i)
	}
	return o.Compute(ctx, rows)
}

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

// lists returns rows of lists. A dataset stores neither a NULL list nor NULL items: a NULL list
// becomes empty, and NULL items are omitted.
func (t *tensorOf) lists(c *array.Column) (tensor.Rows, error) {
	out := tensor.Rows{Tensor: t.name, RowItems: make([]int64, c.N)}
	items := c.Items
	if items != nil {
		items = items.Expand()
	}
	for i := range c.N {
		if c.IsNull(i) {
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
