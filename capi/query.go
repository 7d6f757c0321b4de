package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"strconv"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/session"
	"deeplake/core/tql"
)

// queryOptions are the options of dl_query.
type queryOptions struct {
	reaching
	Seed    uint64            `json:"seed"`
	Names   []string          `json:"names"`
	Each    []int             `json:"each"`
	Budget  int64             `json:"budget"`
	Threads int               `json:"threads"`
	Commits map[string]string `json:"commits"`
	Analyze bool              `json:"analyze"`
	Stored  bool              `json:"stored"`
	Saved   json.RawMessage   `json:"saved_params"`
}

// queryArgs are the arguments that calls with a query have in common.
type queryArgs struct {
	text       *C.dl_text // nil: that of a saved view
	params     *C.dl_rows_in
	paramsN    C.int64_t
	functions  *C.dl_functions
	functionsN C.int64_t
	options    *C.dl_text
}

// query reads the arguments. analyze is an option of dl_query_explain alone.
func (a *queryArgs) query() (q *session.Query, analyze bool, err error) {
	var o queryOptions
	if err := parse("query", text(a.options), &o); err != nil {
		return nil, false, err
	}
	q = &session.Query{
		Text: text(a.text), Names: o.Names, Each: o.Each, Seed: o.Seed, Budget: o.Budget, Threads: o.Threads,
		Stored: o.Stored, Commits: o.Commits, SavedParams: o.Saved,
	}
	if q.Storage, err = o.options(); err != nil {
		return nil, false, err
	}
	if q.Functions, err = functionsOf(a.functions, a.functionsN); err != nil {
		return nil, false, err
	}
	q.Params, err = paramsOf(a.params, a.paramsN, o.Names)
	return q, o.Analyze, err
}

// paramsOf reads the parameters of a query.
func paramsOf(p *C.dl_rows_in, n C.int64_t, names []string) ([]session.Param, error) {
	rows, err := columnsOf(p, n)
	if err != nil {
		return nil, err
	}
	var out []session.Param
	label := func(i int) string {
		if i < len(names) {
			return ":" + names[i]
		}
		return strconv.Itoa(i + 1)
	}
	for i := range rows {
		if in := &unsafe.Slice(p, int(n))[i]; in.n != 1 {
			return nil, errs.New(errs.Invalid, "read parameter %s: it has %d rows, want one row", label(i), int64(in.n))
		}
		param, err := session.NewParam(&rows[i])
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "read parameter %s: %w", label(i), err)
		}
		out = append(out, param)
	}
	return out, nil
}

// viewOf returns the view of a handle; nil for {0}.
func viewOf(h C.dl_view) (*session.View, error) {
	if h.id == 0 {
		return nil, nil
	}
	return lib.views.get(uint64(h.id))
}

// handOutView hands a view and the document about it to the caller. It closes the view if it fails.
func handOutView(v *session.View, info session.Info, out *C.dl_view, told *C.dl_buffer) error {
	if err := fillJSON(told, info); err != nil {
		v.Close()
		return err
	}
	out.id = C.uint64_t(lib.views.put(v))
	return nil
}

//export dlgo_query
func dlgo_query(c C.dl_context, h C.dl_view, words *C.dl_text, params *C.dl_rows_in, paramsN C.int64_t, functions *C.dl_functions, functionsN C.int64_t, options *C.dl_text, out *C.dl_view, told *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("query", out != nil && told != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		q, _, err := (&queryArgs{words, params, paramsN, functions, functionsN, options}).query()
		if err != nil {
			return err
		}
		of, err := viewOf(h)
		if err != nil {
			return err
		}
		v, info, err := lib.session.Query(ctx, of, q)
		if err != nil {
			return err
		}
		return handOutView(v, info, out, told)
	})
}

//export dlgo_query_explain
func dlgo_query_explain(c C.dl_context, h C.dl_view, words *C.dl_text, params *C.dl_rows_in, paramsN C.int64_t, functions *C.dl_functions, functionsN C.int64_t, options *C.dl_text, told *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("explain query", told != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		of, err := viewOf(h)
		if err != nil {
			return err
		}
		info, err := explain(ctx, of, &queryArgs{words, params, paramsN, functions, functionsN, options})
		if err != nil {
			return err
		}
		return fillJSON(told, info)
	})
}

// explain explains a query, or the result that of is if there is no text.
func explain(ctx context.Context, of *session.View, a *queryArgs) (session.Info, error) {
	if of != nil && text(a.text) == "" {
		return of.Explain(ctx)
	}
	q, analyze, err := a.query()
	if err != nil {
		return session.Info{}, err
	}
	return lib.session.Explain(ctx, of, q, analyze)
}

//export dlgo_query_functions
func dlgo_query_functions(out *C.dl_buffer, e *C.dl_error) C.dl_status {
	type line struct {
		Name      string `json:"name"`
		Signature string `json:"signature"`
		Doc       string `json:"doc"`
	}
	return call(e, func() error {
		var told struct {
			Functions []line   `json:"functions"`
			Words     []string `json:"words"`
		}
		for _, name := range query.FunctionNames() {
			signature, doc := query.Help(name)
			told.Functions = append(told.Functions, line{name, signature, doc})
		}
		told.Words = tql.Reserved()
		return fillJSON(out, told)
	})
}

//export dlgo_query_parameters
func dlgo_query_parameters(words *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		names, err := query.ParamNames(text(words))
		if err != nil {
			return err
		}
		return fillJSON(out, map[string][]string{"parameters": names})
	})
}

//export dlgo_query_check_function
func dlgo_query_check_function(name *C.dl_text, e *C.dl_error) C.dl_status {
	return call(e, func() error { return query.CheckName(text(name)) })
}
