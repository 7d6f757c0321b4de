package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"encoding/json"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/scan"
)

// saving are the options of dl_dataset_save_view.
type saving struct {
	Params  json.RawMessage `json:"params"`
	Replace bool            `json:"replace"`
}

//export dlgo_dataset_save_view
func dlgo_dataset_save_view(c C.dl_context, d C.dl_dataset, h C.dl_view, name, options *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, d, e, func(ctx context.Context, ds *dataset.Dataset) error {
		v, err := lib.views.get(uint64(h.id))
		if err != nil {
			return err
		}
		var o saving
		if err := parse("save view", text(options), &o); err != nil {
			return err
		}
		q := scan.QuerySpec{Params: o.Params}
		if v.spec != nil {
			q.Query, q.Seed = v.spec.plan.Text(), v.spec.seed
			if err := v.spec.canRepeat(v.result, text(name)); err != nil {
				return err
			}
		}
		return v.asResult().Save(ctx, ds, text(name), q, o.Replace)
	})
}

// canRepeat refuses to save what is computed where the query was asked of something else than all
// rows of a commit: that alone can be asked again.
func (q *checkedQuery) canRepeat(a *scan.Result, name string) error {
	if _, plain := a.View(); plain || (q.view != nil && q.view.whole()) {
		return nil
	}
	return errs.New(errs.Unsupported, "save view %q: it is computed from a part of the rows, or from a result; ask the dataset itself, or materialize it", name)
}

// whole reports whether the view is all rows of a commit.
func (v *viewHandle) whole() bool {
	if v.view == nil {
		return false
	}
	_, _, selection, err := v.view.Identity()
	all, other := v.view.Counted(v.view.Describe().Head.Rows), ""
	if err == nil {
		_, _, other, err = all.Identity()
	}
	return err == nil && selection == other
}

//export dlgo_dataset_load_view
func dlgo_dataset_load_view(c C.dl_context, d C.dl_dataset, name *C.dl_text, params *C.dl_rows_in, paramsN C.int64_t, functions *C.dl_functions, functionsN C.int64_t, options *C.dl_text, out *C.dl_view, told *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, d, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("load view", out != nil && told != nil); err != nil {
			return err
		}
		a := queryRequest{stored: true, params: params, paramsN: paramsN, functions: functions, n: functionsN, options: text(options)}
		var q *checkedQuery
		var result *query.Result
		answer, at, err := scan.Load(ctx, ds, text(name), func(ctx context.Context, base *dataset.View, s dataset.SavedView) (*scan.Result, error) {
			a.text, a.spec = s.Query, newViewHandle(base)
			var err error
			if q, _, err = a.prepare(ctx); err != nil {
				return nil, err
			}
			var answer *scan.Result
			answer, result, err = q.result(ctx)
			return answer, err
		})
		of := owned(&owner{})
		if q != nil {
			of = q.owner
		}
		if err != nil {
			of.leave()
			return err
		}
		of.dataset = at
		v := viewOfResult(answer, of)
		t := queryInfo{URI: ds.URI()}
		if q != nil {
			v.spec, v.done = q, &result.Done
			t = q.resultInfo(answer, result.Outputs)
		}
		if err := fillJSON(told, t); err != nil {
			v.close()
			return err
		}
		out.id = C.uint64_t(lib.views.put(v))
		return nil
	})
}

//export dlgo_view_materialize
func dlgo_view_materialize(c C.dl_context, h C.dl_view, uri, options *C.dl_text, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewHandle) error {
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
		return v.asResult().Materialize(ctx, lib.env, scan.Copy{
			URI: text(uri), Storage: place, Overwrite: o.Overwrite, Message: o.Message, Threads: o.Threads,
		})
	})
}
