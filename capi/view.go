package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"unsafe"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/session"
)

// onView runs body with the view of a handle.
func onView(h C.dl_view, e *C.dl_error, body func(v *session.View) error) C.dl_status {
	return call(e, func() error {
		v, err := lib.views.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(v)
	})
}

// makeView runs body with the view of a handle, and hands the view that it makes to the caller.
func makeView(op string, h C.dl_view, out *C.dl_view, e *C.dl_error, body func(v *session.View) (*session.View, error)) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut(op, out != nil); err != nil {
			return err
		}
		made, err := body(v)
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(made))
		return nil
	})
}

//export dlgo_view_len
func dlgo_view_len(h C.dl_view, out *C.int64_t, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("count rows", out != nil); err != nil {
			return err
		}
		*out = C.int64_t(v.Len())
		return nil
	})
}

//export dlgo_view_describe
func dlgo_view_describe(h C.dl_view, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error { return fillJSON(out, v.Describe()) })
}

//export dlgo_view_select
func dlgo_view_select(h C.dl_view, rows *C.dl_const_i64, n C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return makeView("select rows", h, out, e, func(v *session.View) (*session.View, error) {
		at, err := numbers("rows", rows, n)
		if err != nil {
			return nil, err
		}
		return v.Select(append([]int64{}, at...))
	})
}

//export dlgo_view_slice
func dlgo_view_slice(h C.dl_view, start, stop, step C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return makeView("slice rows", h, out, e, func(v *session.View) (*session.View, error) {
		return v.Slice(int64(start), int64(stop), int64(step))
	})
}

//export dlgo_view_rows
func dlgo_view_rows(h C.dl_view, rows *C.int64_t, n C.int64_t, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if int64(n) != v.Len() || (n > 0 && rows == nil) {
			return errs.Op("list rows", "").New(errs.Invalid, "there is room for %d, want %d", int64(n), v.Len())
		}
		return v.Rows(unsafe.Slice((*int64)(unsafe.Pointer(rows)), int(n)))
	})
}

//export dlgo_view_outdated
func dlgo_view_outdated(h C.dl_view, tensor *C.dl_text, row C.int64_t, out *C.int32_t, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("compare a view", out != nil); err != nil {
			return err
		}
		if *out = 0; v.Outdated(text(tensor), int64(row)) {
			*out = 1
		}
		return nil
	})
}

//export dlgo_view_sources
func dlgo_view_sources(c C.dl_context, h C.dl_view, rows *C.dl_const_i64, n C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("read sources", out != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		names, err := v.Sources(ctx, at)
		if err != nil {
			return err
		}
		return fillJSON(out, names)
	})
}

//export dlgo_view_read
func dlgo_view_read(c C.dl_context, h C.dl_view, rows *C.dl_const_i64, n C.int64_t, options *C.dl_text, on *C.dl_device_in, out **C.dl_batch_export, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("read rows", out != nil); err != nil {
			return err
		}
		if err := checkDevice("read rows", on, device{}); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		var o loader.ReadOptions
		if err := parse("read rows", text(options), &o); err != nil {
			return err
		}
		b, err := v.Read(ctx, at, o)
		if err != nil {
			return err
		}
		exported, err := exportBatch(b)
		if err != nil {
			return err
		}
		*out = exported
		return nil
	})
}

//export dlgo_row_transform
func dlgo_row_transform(c C.dl_context, columns *C.dl_rows_in, n C.int64_t, options *C.dl_text, out **C.dl_batch_export, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("transform row", out != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		given, err := columnsOf(columns, n)
		if err != nil {
			return err
		}
		var o session.RowOptions
		if err := parse("transform row", text(options), &o); err != nil {
			return err
		}
		b, err := session.TransformRow(ctx, given, o)
		if err != nil {
			return err
		}
		exported, err := exportBatch(b)
		if err != nil {
			return err
		}
		*out = exported
		return nil
	})
}

//export dlgo_view_with_weights
func dlgo_view_with_weights(h C.dl_view, weights *C.dl_const_f64, n C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return makeView("weigh rows", h, out, e, func(v *session.View) (*session.View, error) {
		if int64(n) != v.Len() || (n > 0 && weights == nil) {
			return nil, errs.Op("weigh rows", "").New(errs.Invalid, "%d weights for %d rows, want one for each row", int64(n), v.Len())
		}
		return v.WithWeights(unsafe.Slice((*float64)(unsafe.Pointer(weights)), int(n)))
	})
}

//export dlgo_view_close
func dlgo_view_close(h C.dl_view, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		v, err := lib.views.take(uint64(h.id))
		if err == nil {
			v.Close()
		}
		return err
	})
}

//export dlgo_dataset_save_view
func dlgo_dataset_save_view(c C.dl_context, d C.dl_dataset, h C.dl_view, name, options *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, d, e, func(ctx context.Context, ds *dataset.Dataset) error {
		v, err := lib.views.get(uint64(h.id))
		if err != nil {
			return err
		}
		var o struct {
			Replace bool `json:"replace"`
		}
		if err := parse("save view", text(options), &o); err != nil {
			return err
		}
		return v.Save(ctx, ds, text(name), o.Replace)
	})
}

//export dlgo_dataset_load_view
func dlgo_dataset_load_view(c C.dl_context, d C.dl_dataset, name *C.dl_text, params *C.dl_rows_in, paramsN C.int64_t, functions *C.dl_functions, functionsN C.int64_t, options *C.dl_text, out *C.dl_view, told *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, d, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("load view", out != nil && told != nil); err != nil {
			return err
		}
		q, _, err := (&queryArgs{nil, params, paramsN, functions, functionsN, options}).query()
		if err != nil {
			return err
		}
		v, info, err := lib.session.Load(ctx, ds, text(name), q)
		if err != nil {
			return err
		}
		return handOutView(v, info, out, told)
	})
}

//export dlgo_view_materialize
func dlgo_view_materialize(c C.dl_context, h C.dl_view, uri, options *C.dl_text, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		var o struct {
			reaching
			Overwrite bool   `json:"overwrite"`
			Message   string `json:"message"`
			Threads   int    `json:"threads"`
		}
		if err := parse("materialize", text(options), &o); err != nil {
			return err
		}
		place, err := o.options()
		if err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		return lib.session.Materialize(ctx, v, session.Copy{
			URI: text(uri), Storage: place, Overwrite: o.Overwrite, Message: o.Message, Threads: o.Threads,
		})
	})
}
