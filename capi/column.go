package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"sync"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/loader"
)

// column is a dl_column. Its calls reuse the slices of places.
type column struct {
	*loader.StoredReader
	places sync.Pool // of *[][]byte
}

// onColumn runs body with the column of a handle and the context of another.
func onColumn(c C.dl_context, h C.dl_column, e *C.dl_error, body func(ctx context.Context, col *column) error) C.dl_status {
	return call(e, func() error {
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		col, err := lib.columns.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(ctx, col)
	})
}

//export dlgo_column_open
func dlgo_column_open(h C.dl_view, name *C.dl_text, out *C.dl_column, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("open column", out != nil); err != nil {
			return err
		}
		v, err := lib.views.get(uint64(h.id))
		if err != nil {
			return err
		}
		r, err := v.Stored(text(name))
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.columns.put(&column{StoredReader: r}))
		return nil
	})
}

//export dlgo_column_sizes
func dlgo_column_sizes(c C.dl_context, h C.dl_column, rows *C.dl_const_i64, n C.int64_t, sizes *C.int64_t, e *C.dl_error) C.dl_status {
	return onColumn(c, h, e, func(ctx context.Context, col *column) error {
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		if err := wantOut("read sizes", sizes != nil || n == 0); err != nil {
			return err
		}
		return col.Sizes(ctx, at, unsafe.Slice((*int64)(unsafe.Pointer(sizes)), int(n)))
	})
}

//export dlgo_column_stored
func dlgo_column_stored(c C.dl_context, h C.dl_column, rows *C.dl_const_i64, n C.int64_t, dst *C.dl_mut_ptr, sizes *C.dl_const_i64, e *C.dl_error) C.dl_status {
	return onColumn(c, h, e, func(ctx context.Context, col *column) error {
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		room, err := numbers("sizes", sizes, n)
		if err != nil {
			return err
		}
		if err := wantOut("read stored bytes", dst != nil || n == 0); err != nil {
			return err
		}
		places, _ := col.places.Get().(*[][]byte)
		if places == nil {
			places = new([][]byte)
		}
		defer func() {
			clear(*places)
			col.places.Put(places)
		}()
		*places = (*places)[:0]
		for i, p := range unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(dst)), int(n)) {
			if room[i] > 0 && p == nil {
				return errs.Op("read stored bytes", "").New(errs.Invalid, "the place for row %d is NULL", at[i])
			}
			*places = append(*places, unsafe.Slice((*byte)(p), int(max(room[i], 0))))
		}
		return col.Read(ctx, at, *places)
	})
}

//export dlgo_column_stored_one
func dlgo_column_stored_one(c C.dl_context, h C.dl_column, row C.int64_t, dst unsafe.Pointer, capacity C.int64_t, size *C.int64_t, e *C.dl_error) C.dl_status {
	return onColumn(c, h, e, func(ctx context.Context, col *column) error {
		if size == nil || capacity < 0 || (capacity > 0 && dst == nil) {
			return errs.Op("read stored bytes", "").New(errs.Invalid, "capacity is %d or a pointer is NULL", int64(capacity))
		}
		n, err := col.One(ctx, int64(row), unsafe.Slice((*byte)(dst), int(capacity)))
		if err != nil {
			return err
		}
		*size = C.int64_t(n)
		return nil
	})
}

//export dlgo_column_close
func dlgo_column_close(h C.dl_column, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		col, err := lib.columns.take(uint64(h.id))
		if err != nil {
			return err
		}
		col.Close()
		return nil
	})
}
