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
	"deeplake/core/query"
	"deeplake/core/scan"
)

// viewing is a dl_view: rows of a view of a dataset, or of what a query answered.
type viewing struct {
	view   *dataset.View // nil: an answer
	result *scan.Answer  // of the view once it is asked for
	once   sync.Once
	source loader.Source
	reader *loader.Reader

	weights *loader.Weights // nil: none
	owner   *owner          // nil: nobody
	asked   *question       // that it answers; nil: none
	done    *query.Done
}

func newViewing(v *dataset.View) *viewing {
	source := loader.SourceOf(v)
	return &viewing{view: v, source: source, reader: loader.NewReader(source)}
}

// answered is the view of an answer. It owns the datasets that the query opened, with all views that are made of it: of is
// the caller's share, which goes to it.
func answered(a *scan.Answer, of *owner) *viewing {
	source := loader.SourceOf(a)
	return &viewing{result: a, source: source, reader: loader.NewReader(source), owner: of}
}

// owner closes what a query opened when the last share of it is left: each view that reads it has one.
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

// answer is the rows as queries ask them.
func (v *viewing) answer() *scan.Answer {
	v.once.Do(func() {
		if v.result == nil {
			v.result = scan.Plain(v.view)
		}
	})
	return v.result
}

// part is other rows of v.
func (v *viewing) part(ofView func(*dataset.View) (*dataset.View, error), ofAnswer func(*scan.Answer) (*scan.Answer, error)) (*viewing, error) {
	if v.view != nil {
		part, err := ofView(v.view)
		if err != nil {
			return nil, err
		}
		return newViewing(part), nil
	}
	if err := v.owner.take(); err != nil {
		return nil, err
	}
	part, err := ofAnswer(v.result)
	if err != nil {
		v.owner.leave()
		return nil, err
	}
	return answered(part, v.owner), nil
}

func (v *viewing) close() {
	v.reader.Close()
	v.owner.leave()
}

// onView runs body with the view of a handle.
func onView(h C.dl_view, e *C.dl_error, body func(v *viewing) error) C.dl_status {
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
	return onView(h, e, func(v *viewing) error {
		if err := wantOut("count rows", out != nil); err != nil {
			return err
		}
		*out = C.int64_t(v.source.Len())
		return nil
	})
}

//export dlgo_view_describe
func dlgo_view_describe(h C.dl_view, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewing) error {
		if v.view != nil {
			return fillJSON(out, v.view.Describe())
		}
		return fillJSON(out, v.result.Describe())
	})
}

//export dlgo_view_select
func dlgo_view_select(h C.dl_view, rows *C.dl_int, n C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewing) error {
		if err := wantOut("select rows", out != nil); err != nil {
			return err
		}
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		rows := append([]int64{}, at...)
		part, err := v.part(func(d *dataset.View) (*dataset.View, error) { return d.Select(rows) },
			func(a *scan.Answer) (*scan.Answer, error) { return a.Select(rows) })
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(part))
		return nil
	})
}

//export dlgo_view_slice
func dlgo_view_slice(h C.dl_view, start, stop, step C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewing) error {
		if err := wantOut("slice rows", out != nil); err != nil {
			return err
		}
		part, err := v.part(
			func(d *dataset.View) (*dataset.View, error) { return d.Slice(int64(start), int64(stop), int64(step)) },
			func(a *scan.Answer) (*scan.Answer, error) { return a.Slice(int64(start), int64(stop), int64(step)) })
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(part))
		return nil
	})
}

//export dlgo_view_rows
func dlgo_view_rows(h C.dl_view, rows *C.int64_t, n C.int64_t, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewing) error {
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
