package main

/*
#include "go.h"
*/
import "C"

import (
	"context"

	"deeplake/core/dataset"
	"deeplake/core/session"
)

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
