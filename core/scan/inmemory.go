//go:build !js

package scan

import (
	"context"
	"fmt"
	"slices"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// keepComputed makes columns of outputs that were computed, or are too costly to be computed on
// each read.
func keepComputed(ctx context.Context, env *dataset.Env, r *query.Result, outputs []int, fields []*field) error {
	if r.N <= fewComputed && !slices.ContainsFunc(outputs, func(i int) bool { return r.Outputs[i].Values == nil }) {
		return holdComputed(ctx, env, r, outputs, fields)
	}
	return cacheComputed(ctx, env, r, outputs, fields)
}

// fewComputed is the number of rows up to which computed values stay as they are. Making a dataset
// of them takes 0.3 ms, more than most sums.
const fewComputed = 256

// computedRows bounds the rows that are computed at once.
const computedRows = 1 << 16

// cacheComputed writes some outputs of r, by their numbers in outputs, to a dataset in memory. The
// fields of these numbers then refer to its columns.
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
