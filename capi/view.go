package main

/*
#include "go.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/query"
	"deeplake/core/scan"
)

// viewHandle is a dl_view: rows of a view of a dataset, or of what a query answered.
type viewHandle struct {
	view   *dataset.View // nil: an answer
	result *scan.Result  // of the view once it is asked for
	once   sync.Once
	source loader.Source
	reader *loader.Reader

	weights *order.Weights // nil: none
	owner   *owner         // nil: nobody
	spec    *checkedQuery  // that it answers; nil: none
	done    *query.Done
}

func newViewHandle(v *dataset.View) *viewHandle {
	source := loader.SourceOf(v)
	return &viewHandle{view: v, source: source, reader: loader.NewReader(source)}
}

// viewOfResult makes the view of a query result. The view and its subsets share the datasets that
// the query opened. viewOfResult takes over the caller's share of.
func viewOfResult(a *scan.Result, of *owner) *viewHandle {
	return &viewHandle{result: a, source: a, reader: loader.NewReader(a), owner: of}
}

// owner closes what a query opened when the last share of it is left: each view that reads it has
// one.
type owner struct {
	shares  atomic.Int64
	sources *sources
	dataset *dataset.Dataset // that a saved view opened; nil: none
	above   *owner           // of the view that was asked; nil: nobody
}

// owned is o with one share, the caller's.
func owned(o *owner) *owner {
	o.shares.Store(1)
	return o
}

// take takes another share; errs.Closed if the last one was left.
func (o *owner) take() error {
	if o == nil {
		return nil
	}
	for {
		n := o.shares.Load()
		if n == 0 {
			return errs.New(errs.Closed, "use view: it is closed")
		}
		if o.shares.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (o *owner) leave() {
	if o != nil && o.shares.Add(-1) == 0 {
		o.sources.close()
		if o.dataset != nil {
			_ = o.dataset.Close() // opened for reading
		}
		o.above.leave()
	}
}

// asResult returns the rows as a table of queries.
func (v *viewHandle) asResult() *scan.Result {
	v.once.Do(func() {
		if v.result == nil {
			v.result = scan.Plain(v.view)
		}
	})
	return v.result
}

// subset makes a view of other rows of v.
func (v *viewHandle) subset(ofView func(*dataset.View) (*dataset.View, error), ofAnswer func(*scan.Result) (*scan.Result, error)) (*viewHandle, error) {
	if v.view != nil {
		part, err := ofView(v.view)
		if err != nil {
			return nil, err
		}
		return newViewHandle(part), nil
	}
	if err := v.owner.take(); err != nil {
		return nil, err
	}
	part, err := ofAnswer(v.result)
	if err != nil {
		v.owner.leave()
		return nil, err
	}
	return viewOfResult(part, v.owner), nil
}

func (v *viewHandle) close() {
	v.reader.Close()
	v.owner.leave()
}

// onView runs body with the view of a handle.
func onView(h C.dl_view, e *C.dl_error, body func(v *viewHandle) error) C.dl_status {
	return call(e, func() error {
		v, err := lib.views.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(v)
	})
}

//export dlgo_view_len
func dlgo_view_len(h C.dl_view, out *C.int64_t, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewHandle) error {
		if err := wantOut("count rows", out != nil); err != nil {
			return err
		}
		*out = C.int64_t(v.source.Len())
		return nil
	})
}

//export dlgo_view_describe
func dlgo_view_describe(h C.dl_view, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewHandle) error {
		if v.view != nil {
			return fillJSON(out, v.view.Describe())
		}
		return fillJSON(out, v.result.Describe())
	})
}

//export dlgo_view_select
func dlgo_view_select(h C.dl_view, rows *C.dl_const_i64, n C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewHandle) error {
		if err := wantOut("select rows", out != nil); err != nil {
			return err
		}
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		rows := append([]int64{}, at...)
		part, err := v.subset(func(d *dataset.View) (*dataset.View, error) { return d.Select(rows) },
			func(a *scan.Result) (*scan.Result, error) { return a.Select(rows) })
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(part))
		return nil
	})
}

//export dlgo_view_slice
func dlgo_view_slice(h C.dl_view, start, stop, step C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewHandle) error {
		if err := wantOut("slice rows", out != nil); err != nil {
			return err
		}
		part, err := v.subset(
			func(d *dataset.View) (*dataset.View, error) { return d.Slice(int64(start), int64(stop), int64(step)) },
			func(a *scan.Result) (*scan.Result, error) { return a.Slice(int64(start), int64(stop), int64(step)) })
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(part))
		return nil
	})
}

//export dlgo_view_rows
func dlgo_view_rows(h C.dl_view, rows *C.int64_t, n C.int64_t, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewHandle) error {
		if int64(n) != v.source.Len() || (n > 0 && rows == nil) {
			return errs.New(errs.Invalid, "list rows: there is room for %d, want %d", int64(n), v.source.Len())
		}
		room := unsafe.Slice((*int64)(unsafe.Pointer(rows)), int(n))
		if v.view == nil {
			return v.result.Rows(room)
		}
		v.view.Rows(room)
		return nil
	})
}

//export dlgo_view_close
func dlgo_view_close(h C.dl_view, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		v, err := lib.views.take(uint64(h.id))
		if err == nil {
			v.close()
		}
		return err
	})
}
