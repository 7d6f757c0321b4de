package episodes

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/parquet"
	"deeplake/core/tensor"
)

// openTable opens a file of Parquet.
func openTable(ctx context.Context, f *files, key string) (*parquet.File, *object, error) {
	o, err := f.open(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if o.size == 0 {
		return nil, nil, errs.New(errs.Invalid, "the file is empty")
	}
	table, err := parquet.Open(ctx, o, o.size)
	return table, o, err
}

// batch is rows of a table, by columns.
type batch struct {
	columns map[string]*arrow.Column
	rows    int64
}

// eachBatch calls each with the rows of a table.
func eachBatch(ctx context.Context, table *parquet.File, o parquet.Options, each func(b *batch) error) error {
	have := table.Columns()
	for _, name := range o.Columns {
		if !slices.Contains(have, name) {
			return errs.New(errs.Invalid, "it has no column %q", short(name))
		}
	}
	rows, err := table.Read(ctx, o)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		c, err := rows.Next(ctx)
		if err != nil || c == nil {
			return err
		}
		fields, _ := c.Fields()
		b := &batch{columns: map[string]*arrow.Column{}, rows: c.Len()}
		for _, field := range fields {
			b.columns[field.Name()] = field
		}
		if err := each(b); err != nil {
			return err
		}
	}
}

// values returns numbers of a column as a dtype, one of a shape for each row. No row is null.
func values(c *arrow.Column, d tensor.DType, shape tensor.Shape) ([]byte, error) {
	fail := func(format string, args ...any) ([]byte, error) {
		return nil, errs.New(errs.Type, "column %q %w", short(c.Name()), errs.New(errs.Type, format, args...))
	}
	rows, err := c.Rows(tensor.Target{HType: tensor.HType{Base: "generic"}, DType: d})
	if err != nil {
		return nil, errs.New(errs.KindOf(err), "column %q: %w", short(c.Name()), err)
	}
	if rows.Counts != "" || rows.Names != nil {
		return fail("has type %s, want numbers", c.Type())
	}
	if slices.Contains(rows.Missing, true) {
		return fail("has a row without a value, which is null")
	}
	isShape := func(s tensor.Shape) bool {
		return s.Equal(shape) || len(shape) == 0 && len(s) == 1 && s[0] == 1
	}
	convert := func(from tensor.DType, data []byte) ([]byte, error) {
		if !d.Takes(from) {
			return fail("has type %s, want %s", c.Type(), d)
		}
		out, at := tensor.Convert(d, from, data)
		if at >= 0 {
			return fail("has a value that %s does not hold", d)
		}
		return out, nil
	}
	if a := rows.Array; a != nil {
		if !isShape(a.Shape) {
			return fail("has values of shape %s, want %s", a.Shape, shape)
		}
		return convert(a.DType, a.Data)
	}
	if rows.Samples == nil && c.Len() > 0 {
		return fail("has type %s, want numbers", c.Type())
	}
	var out []byte
	for i := range rows.Samples {
		s := &rows.Samples[i]
		if s.Form == tensor.FormHole {
			return fail("has a row without a value, which is null")
		}
		if s.Form != tensor.FormArray || !isShape(s.Shape) {
			return fail("has a value of shape %s, want %s", s.Shape, shape)
		}
		one, err := convert(s.DType, s.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// ints returns a column of whole numbers.
func (b *batch) ints(name string) ([]int64, error) {
	data, err := values(b.columns[name], tensor.Int64, nil)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(data)/8)
	for i := range out {
		out[i] = int64(binary.NativeEndian.Uint64(data[8*i:]))
	}
	return out, nil
}

// floats returns a column of numbers.
func (b *batch) floats(name string) ([]float64, error) {
	data, err := values(b.columns[name], tensor.Float64, nil)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(data)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.NativeEndian.Uint64(data[8*i:]))
	}
	return out, nil
}

// texts returns a column of texts.
func (b *batch) texts(name string) ([]string, error) {
	out, ok := b.columns[name].Texts()
	if !ok {
		return nil, errs.New(errs.Type, "column %q has type %s, want texts", short(name), b.columns[name].Type())
	}
	return out, nil
}
