package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/scan"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// queryOptions are the options of dl_query.
type queryOptions struct {
	reaching
	Seed    uint64            `json:"seed"`
	Each    []int             `json:"each"`
	Budget  int64             `json:"budget"`
	Threads int               `json:"threads"`
	Commits map[string]string `json:"commits"`
	Places  map[string]string `json:"places"`
	Analyze bool              `json:"analyze"`
	Stored  bool              `json:"stored"`
}

// checkedQuery is a query that was checked, and what it is asked of.
type checkedQuery struct {
	plan        *query.Plan
	view        *viewHandle // nil: the datasets that it names
	owner       *owner      // of what it opened: the checkedQuery's, until there is an answer
	fingerprint string      // what decides the answer, besides the versions
	seed        uint64
}

// queryInfo is what dl_query says of a query.
type queryInfo struct {
	Query       string             `json:"query,omitempty"`
	URI         string             `json:"uri"`
	Origin      string             `json:"origin,omitempty"` // where the rows lie, if elsewhere
	Commits     map[string]string  `json:"commits,omitempty"`
	Outputs     []output           `json:"outputs,omitempty"`
	Explanation *query.Explanation `json:"explanation,omitempty"`
	Text        string             `json:"text,omitempty"`
}

// output is a column of a result.
type output struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Computed bool   `json:"computed"`
}

// queryRequest is a call of dl_query, before anything is done.
type queryRequest struct {
	spec      *viewHandle // instead of view
	stored    bool        // the text is of a saved view
	view      C.dl_view
	text      string
	params    *C.dl_rows_in
	paramsN   C.int64_t
	functions *C.dl_functions
	n         C.int64_t
	options   string
}

// prepare checks a query. The caller leaves the owner of the checkedQuery, or makes a view of it.
func (a *queryRequest) prepare(ctx context.Context) (*checkedQuery, queryOptions, error) {
	var o queryOptions
	if err := parse("query", a.options, &o); err != nil {
		return nil, o, err
	}
	if o.Budget < 0 || o.Threads < 0 {
		return nil, o, errs.New(errs.Invalid, `query: "budget" is %d and "threads" %d, want at least 0`, o.Budget, o.Threads)
	}
	place, err := o.options()
	if err != nil {
		return nil, o, err
	}
	with := query.Options{Seed: o.Seed, Budget: o.Budget, Threads: o.Threads, Batched: o.Each}
	if with.Functions, err = functionsOf(a.functions, a.n); err != nil {
		return nil, o, err
	}
	var spoken []byte
	if with.Params, spoken, err = paramsOf(a.params, a.paramsN); err != nil {
		return nil, o, err
	}
	q := &checkedQuery{seed: o.Seed, view: a.spec}
	if a.view.id != 0 {
		if q.view, err = lib.views.get(uint64(a.view.id)); err != nil {
			return nil, o, err
		}
	}
	home := ""
	if q.view != nil {
		home = q.view.asResult().Base().URI()
	}
	tables := scan.NewTables(lib.env, home, a.stored || o.Stored, place)
	of := &owner{sources: &sources{Tables: tables, commits: o.Commits, names: o.Places}}
	var from query.Table
	if q.view != nil {
		// What it reads stays open, whatever another thread closes meanwhile.
		if err := q.view.owner.take(); err != nil {
			return nil, o, err
		}
		of.above = q.view.owner
		from = q.view.asResult().Table()
		q.fingerprint = q.view.asResult().Fingerprint() + "\x00"
	}
	q.owner = owned(of)
	if q.plan, err = query.Prepare(ctx, a.text, from, of.sources, with); err != nil {
		of.leave()
		return nil, o, err
	}
	q.fingerprint += fmt.Sprintf("%s\x00%d\x00%s", q.plan.Text(), o.Seed, spoken)
	if len(o.Each) > 0 {
		q.fingerprint += fmt.Sprint("\x00", o.Each)
	}
	return q, o, nil
}

// base is the view that the answer describes itself by.
func (q *checkedQuery) base() (*dataset.View, error) {
	if q.view != nil {
		return q.view.asResult().Base(), nil
	}
	opened := q.owner.sources.Views()
	if len(opened) == 0 {
		return nil, errs.New(errs.Invalid, "query: it is asked of no dataset; name one by FROM")
	}
	return opened[0], nil
}

// reads is all views that the query reads.
func (q *checkedQuery) reads() []*dataset.View {
	opened := q.owner.sources.Views()
	if q.view != nil {
		return slices.Concat(q.view.asResult().Reads(), opened)
	}
	return opened
}

func (q *checkedQuery) info() queryInfo {
	t := queryInfo{Query: q.plan.Text(), Commits: q.owner.sources.used}
	if v, err := q.base(); err == nil {
		t.URI = v.URI()
	}
	return t
}

// resultInfo says what the query was, and what came of it.
func (q *checkedQuery) resultInfo(a *scan.Result, outputs []query.Output) queryInfo {
	t := q.info()
	if at := a.Origin(); at != nil && at.URI() != t.URI {
		t.Origin = at.URI()
	}
	for _, o := range outputs {
		t.Outputs = append(t.Outputs, output{o.Name, o.Type.String(), o.Source < 0})
	}
	return t
}

// explain says what the query does, and if it was run what it did.
func (q *checkedQuery) explain(ctx context.Context, done *query.Done) (queryInfo, error) {
	t := q.info()
	e, err := q.plan.Explain(ctx)
	if err != nil {
		return t, err
	}
	e.Done = done
	t.Explanation, t.Text = e, e.String()
	return t, nil
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
		a := queryRequest{view: h, text: text(words), params: params, paramsN: paramsN, functions: functions, n: functionsN, options: text(options)}
		q, _, err := a.prepare(ctx)
		if err != nil {
			return err
		}
		answer, result, err := q.result(ctx)
		if err != nil {
			q.owner.leave()
			return err
		}
		v := viewOfResult(answer, q.owner)
		v.spec, v.done = q, &result.Done
		if err := fillJSON(told, q.resultInfo(answer, result.Outputs)); err != nil {
			v.close()
			return err
		}
		out.id = C.uint64_t(lib.views.put(v))
		return nil
	})
}

// result runs the query.
func (q *checkedQuery) result(ctx context.Context) (*scan.Result, *query.Result, error) {
	base, err := q.base()
	if err != nil {
		return nil, nil, err
	}
	result, err := q.plan.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	answer, err := scan.NewResult(ctx, lib.env, base, q.reads(), result, q.fingerprint)
	return answer, result, err
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
		a := queryRequest{view: h, text: text(words), params: params, paramsN: paramsN, functions: functions, n: functionsN, options: text(options)}
		if a.text == "" && h.id != 0 {
			v, err := lib.views.get(uint64(h.id))
			if err != nil {
				return err
			}
			if v.spec == nil {
				return errs.New(errs.Invalid, "explain query: the view is no answer to one")
			}
			t, err := v.spec.explain(ctx, v.done)
			if err != nil {
				return err
			}
			return fillJSON(told, t)
		}
		q, o, err := a.prepare(ctx)
		if err != nil {
			return err
		}
		defer q.owner.leave()
		var done *query.Done
		if o.Analyze {
			result, err := q.plan.Run(ctx)
			if err != nil {
				return err
			}
			done = &result.Done
		}
		t, err := q.explain(ctx, done)
		if err != nil {
			return err
		}
		return fillJSON(told, t)
	})
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

// units are what int64 parameters may count.
var units = map[string]array.Unit{"": array.None, "date": array.Date, "timestamp": array.Timestamp, "interval": array.Interval}

// paramsOf reads the parameters of a query, and what tells them from others.
func paramsOf(p *C.dl_rows_in, n C.int64_t) (values []any, words []byte, err error) {
	rows, err := columnsOf(p, n)
	if err != nil {
		return nil, nil, err
	}
	for i := range rows {
		in := &unsafe.Slice(p, int(n))[i]
		unit, known := units[rows[i].Tensor]
		if !known || in.n != 1 {
			return nil, nil, errs.New(errs.Invalid, "read parameter %d: it counts %q and has %d rows, want one row", i+1, rows[i].Tensor, int64(in.n))
		}
		v, err := paramOf(&rows[i], unit)
		if err != nil {
			return nil, nil, errs.New(errs.KindOf(err), "read parameter %d: %w", i+1, err)
		}
		values = append(values, v)
		words = appendWords(words, &rows[i])
	}
	return values, words, nil
}

func paramOf(rows *tensor.Rows, unit array.Unit) (any, error) {
	if rows.Array == nil && len(rows.Samples) == 1 && rows.Samples[0].Form == tensor.FormHole {
		return nil, nil
	}
	t := array.Type{Unit: unit}
	if rows.Array != nil {
		t.DType, t.Dims, t.Shape = rows.Array.DType, len(rows.Array.Shape), rows.Array.Shape
	} else if len(rows.Samples) == 1 {
		s := &rows.Samples[0]
		t.DType, t.Dims, t.Shape = s.DType, len(s.Shape), append(tensor.Shape{}, s.Shape...)
	}
	if unheld(t.DType) {
		return nil, errs.New(errs.Type, "its dtype is %s, want another", t.DType)
	}
	c, err := columnOfRows(rows, 1, t)
	if err != nil || t.Dims > 0 || unit != array.None {
		return c, err
	}
	switch v := c.Value(0).(type) {
	case bool:
		return v, nil
	case int64:
		if t.DType == tensor.Int64 {
			return v, nil
		}
	case float64:
		if t.DType == tensor.Float64 {
			return v, nil
		}
	case string:
		if t.DType == tensor.String {
			return v, nil
		}
	}
	return c, nil
}

func appendWords(words []byte, rows *tensor.Rows) []byte {
	words = append(words, rows.Tensor...)
	words = append(words, 0)
	if rows.Array != nil {
		words = append(words, rows.Array.DType.String()+rows.Array.Shape.String()...)
		return append(words, rows.Array.Data...)
	}
	for _, s := range rows.Samples {
		words = append(words, byte(s.Form), byte(s.DType))
		words = append(words, s.Shape.String()...)
		words = append(words, s.Data...)
	}
	return words
}

// sources are the datasets that a query names. It owns them.
type sources struct {
	*scan.Tables
	commits map[string]string // versions to be opened again, by name or name@ref
	names   map[string]string // where the host says that a name lies
	used    map[string]string
}

// Table opens a dataset at a version. Preparing a query calls it from one goroutine.
func (p *sources) Table(ctx context.Context, name, ref string) (query.Table, error) {
	key, uri := name, name
	if ref != "" {
		key += "@" + ref
	}
	if commit := p.commits[key]; commit != "" {
		ref = commit
	}
	if place := p.names[name]; place != "" {
		uri = place
	}
	t, err := p.Tables.Table(ctx, uri, ref)
	if err != nil {
		return nil, err
	}
	if _, commit, _, err := p.View(uri, ref).Identity(); err == nil {
		if p.used == nil {
			p.used = map[string]string{}
		}
		p.used[key] = commit
	}
	return t, nil
}

// close closes what was opened. It was opened for reading: there is nothing to lose.
func (p *sources) close() {
	if p != nil {
		_ = p.Close()
	}
}
