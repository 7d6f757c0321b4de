package main

/*
#include "go.h"
*/
import "C"

import (
	"unsafe"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
)

// viewing is a dl_view.
type viewing struct {
	*dataset.View
	source loader.Source
	reader *loader.Reader

	weights *loader.Weights // nil: none
}

func newViewing(v *dataset.View) *viewing {
	source := loader.SourceOf(v)
	return &viewing{View: v, source: source, reader: loader.NewReader(source)}
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
		*out = C.int64_t(v.Len())
		return nil
	})
}

//export dlgo_view_describe
func dlgo_view_describe(h C.dl_view, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewing) error { return fillJSON(out, v.Describe()) })
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
		part, err := v.Select(append([]int64{}, at...))
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(newViewing(part)))
		return nil
	})
}

//export dlgo_view_slice
func dlgo_view_slice(h C.dl_view, start, stop, step C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewing) error {
		if err := wantOut("slice rows", out != nil); err != nil {
			return err
		}
		part, err := v.Slice(int64(start), int64(stop), int64(step))
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.views.put(newViewing(part)))
		return nil
	})
}

//export dlgo_view_rows
func dlgo_view_rows(h C.dl_view, rows *C.int64_t, n C.int64_t, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewing) error {
		if int64(n) != v.Len() || (n > 0 && rows == nil) {
			return errs.New(errs.Invalid, "list rows: there is room for %d, want %d", int64(n), v.Len())
		}
		v.Rows(unsafe.Slice((*int64)(unsafe.Pointer(rows)), int(n)))
		return nil
	})
}

//export dlgo_view_close
func dlgo_view_close(h C.dl_view, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		v, err := lib.views.take(uint64(h.id))
		if err == nil {
			v.reader.Close()
		}
		return err
	})
}
