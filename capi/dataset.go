package main

/*
#include "go.h"
*/
import "C"

import (
	"context"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/session"
)

// onDataset runs body with the dataset of a handle and the context of another.
func onDataset(c C.dl_context, h C.dl_dataset, e *C.dl_error, body func(ctx context.Context, ds *dataset.Dataset) error) C.dl_status {
	return call(e, func() error {
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		ds, err := lib.datasets.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(ctx, ds)
	})
}

// wantOut refuses a NULL pointer to the result before any work is done.
func wantOut(op string, given bool) error {
	if given {
		return nil
	}
	return errs.Op(op, "").New(errs.Invalid, "the place for the result is NULL")
}

//export dlgo_dataset_create
func dlgo_dataset_create(c C.dl_context, uri, options *C.dl_text, out *C.dl_dataset, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		var o struct {
			reaching
			Overwrite bool                 `json:"overwrite"`
			AtCommit  bool                 `json:"at_commit"`
			Tensors   []dataset.TensorSpec `json:"tensors"`
		}
		if err := parse("create dataset", text(options), &o); err != nil {
			return err
		}
		place, err := o.options()
		if err != nil {
			return err
		}
		if err := wantOut("create dataset", out != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		ds, err := dataset.Create(ctx, lib.env, text(uri), dataset.CreateOptions{Overwrite: o.Overwrite, AtCommit: o.AtCommit, Tensors: o.Tensors, Storage: place})
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.datasets.put(ds))
		return nil
	})
}

//export dlgo_dataset_open
func dlgo_dataset_open(c C.dl_context, uri, options *C.dl_text, out *C.dl_dataset, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		var o struct {
			reaching
			Branch   string `json:"branch"`
			At       string `json:"at"`
			ReadOnly bool   `json:"read_only"`
		}
		if err := parse("open dataset", text(options), &o); err != nil {
			return err
		}
		place, err := o.options()
		if err != nil {
			return err
		}
		if err := wantOut("open dataset", out != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		ds, err := dataset.Open(ctx, lib.env, text(uri), dataset.OpenOptions{Branch: o.Branch, At: o.At, ReadOnly: o.ReadOnly, Storage: place})
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.datasets.put(ds))
		return nil
	})
}

//export dlgo_dataset_exists
func dlgo_dataset_exists(c C.dl_context, uri, options *C.dl_text, out *C.int32_t, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("look for dataset", out != nil); err != nil {
			return err
		}
		place, err := reach("look for dataset", text(options))
		if err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		found, err := dataset.Exists(ctx, lib.env, text(uri), place)
		if err != nil {
			return err
		}
		*out = 0
		if found {
			*out = 1
		}
		return nil
	})
}

//export dlgo_dataset_delete
func dlgo_dataset_delete(c C.dl_context, uri, options *C.dl_text, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		place, err := reach("delete dataset", text(options))
		if err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		return dataset.Delete(ctx, lib.env, text(uri), place)
	})
}

//export dlgo_dataset_list
func dlgo_dataset_list(c C.dl_context, uri, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("list datasets", out != nil); err != nil {
			return err
		}
		place, err := reach("list datasets", text(options))
		if err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		names, err := dataset.List(ctx, lib.env, text(uri), place)
		if err != nil {
			return err
		}
		return fillJSON(out, names)
	})
}

//export dlgo_dataset_describe
func dlgo_dataset_describe(h C.dl_dataset, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(C.dl_context{}, h, e, func(_ context.Context, ds *dataset.Dataset) error {
		d, err := ds.Describe()
		if err != nil {
			return err
		}
		return fillJSON(out, d)
	})
}

//export dlgo_dataset_create_tensor
func dlgo_dataset_create_tensor(c C.dl_context, h C.dl_dataset, spec *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		var s dataset.TensorSpec
		if err := parse("create tensor", text(spec), &s); err != nil {
			return err
		}
		return ds.CreateTensor(ctx, s)
	})
}

//export dlgo_dataset_append
func dlgo_dataset_append(c C.dl_context, h C.dl_dataset, columns *C.dl_rows_in, n, rows C.int64_t, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		cols, err := columnsOf(columns, n)
		if err != nil {
			return err
		}
		return ds.Append(ctx, cols, int64(rows))
	})
}

//export dlgo_dataset_update
func dlgo_dataset_update(c C.dl_context, h C.dl_dataset, rows *C.dl_const_i64, n C.int64_t, columns *C.dl_rows_in, columnsN C.int64_t, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		cols, err := columnsOf(columns, columnsN)
		if err != nil {
			return err
		}
		return ds.Update(ctx, append([]int64(nil), at...), cols)
	})
}

//export dlgo_dataset_delete_rows
func dlgo_dataset_delete_rows(c C.dl_context, h C.dl_dataset, rows *C.dl_const_i64, n C.int64_t, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		return ds.DeleteRows(ctx, append([]int64(nil), at...))
	})
}

// onRowsOf calls body with the rows of a view, for a change of a dataset.
func onRowsOf(op string, c C.dl_context, h C.dl_dataset, view C.dl_view, e *C.dl_error, body func(ctx context.Context, rows dataset.RowsOf) error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		v, err := lib.views.get(uint64(view.id))
		if err != nil {
			return err
		}
		rows, err := v.Origin()
		if err != nil {
			return errs.Wrap(errs.Unsupported, op, "", err)
		}
		return body(ctx, ds.RowsOf(rows))
	})
}

//export dlgo_dataset_update_rows_of
func dlgo_dataset_update_rows_of(c C.dl_context, h C.dl_dataset, view C.dl_view, columns *C.dl_rows_in, columnsN C.int64_t, e *C.dl_error) C.dl_status {
	return onRowsOf("update the rows of a view", c, h, view, e, func(ctx context.Context, rows dataset.RowsOf) error {
		cols, err := columnsOf(columns, columnsN)
		if err != nil {
			return err
		}
		return rows.Update(ctx, cols)
	})
}

//export dlgo_dataset_delete_rows_of
func dlgo_dataset_delete_rows_of(c C.dl_context, h C.dl_dataset, view C.dl_view, e *C.dl_error) C.dl_status {
	return onRowsOf("delete the rows of a view", c, h, view, e, func(ctx context.Context, rows dataset.RowsOf) error {
		return rows.Delete(ctx)
	})
}

//export dlgo_dataset_set_info
func dlgo_dataset_set_info(c C.dl_context, h C.dl_dataset, info *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		values := map[string]any{}
		if err := parse("set info", text(info), &values); err != nil {
			return err
		}
		return ds.SetInfo(ctx, values)
	})
}

//export dlgo_dataset_commit
func dlgo_dataset_commit(c C.dl_context, h C.dl_dataset, message *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("commit", out != nil); err != nil {
			return err
		}
		info, err := ds.Commit(ctx, text(message))
		if err != nil {
			return err
		}
		return fillJSON(out, info)
	})
}

//export dlgo_dataset_discard
func dlgo_dataset_discard(c C.dl_context, h C.dl_dataset, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error { return ds.Discard(ctx) })
}

//export dlgo_dataset_refresh
func dlgo_dataset_refresh(c C.dl_context, h C.dl_dataset, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error { return ds.Refresh(ctx) })
}

//export dlgo_dataset_log
func dlgo_dataset_log(c C.dl_context, h C.dl_dataset, limit C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if limit < 0 || limit > 1<<31-1 {
			return errs.Op("log", "").New(errs.Invalid, "limit is %d, want 0 (all) or more", int64(limit))
		}
		commits, err := ds.Versions().Log(ctx, int(limit))
		if err != nil {
			return err
		}
		return fillJSON(out, commits)
	})
}

//export dlgo_dataset_at
func dlgo_dataset_at(c C.dl_context, h C.dl_dataset, ref *C.dl_text, out *C.dl_dataset, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("open version", out != nil); err != nil {
			return err
		}
		old, err := ds.At(ctx, text(ref))
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.datasets.put(old))
		return nil
	})
}

//export dlgo_dataset_view
func dlgo_dataset_view(c C.dl_context, h C.dl_dataset, out *C.dl_view, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("make view", out != nil); err != nil {
			return err
		}
		v, err := ds.View(ctx)
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(session.NewView(v)))
		return nil
	})
}

//export dlgo_dataset_close
func dlgo_dataset_close(h C.dl_dataset, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		ds, err := lib.datasets.take(uint64(h.id))
		if err != nil {
			return err
		}
		return ds.Close()
	})
}
