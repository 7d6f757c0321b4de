package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"strings"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/session"
	"deeplake/core/tensor"
)

// function is a dl_function as a query calls it.
type function struct {
	c    C.dl_function
	name string
	typ  array.Type
}

// maxFunctions bounds the functions of one query.
const maxFunctions = 1 << 16

// functionsOf reads the functions of a call.
func functionsOf(p *C.dl_functions, n C.int64_t) (map[string]query.User, error) {
	if n < 0 || n > maxFunctions || (n > 0 && p == nil) {
		return nil, errs.Op("read functions", "").New(errs.Invalid, "there are %d, want 0 to %d and a pointer that is not NULL", int64(n), maxFunctions)
	}
	out := map[string]query.User{}
	for _, c := range unsafe.Slice(p, int(n)) {
		f := &function{c: c, name: strings.ToUpper(text(c.name))}
		d := tensor.DType(c.dtype)
		if !d.Valid() || f.name == "" || c.call == nil || c.done == nil || c.ndim > tensor.MaxDims || c.ndim < -1 || c.ndim > 0 && c.shape == nil {
			return nil, errs.Op("read function", f.name).New(errs.Invalid, "its dtype is %d and it has %d axes, or it has no name, or a pointer is NULL", int32(c.dtype), int32(c.ndim))
		}
		if !session.HasColumns(d) {
			return nil, errs.Op("read function", f.name).New(errs.Type, "its dtype is %s, want another", d)
		}
		f.typ = array.Type{DType: d, Dims: array.Unranked}
		if c.ndim >= 0 {
			f.typ.Dims = int(c.ndim)
			f.typ.Shape = append(tensor.Shape{}, unsafe.Slice((*int64)(unsafe.Pointer(c.shape)), int(c.ndim))...)
		}
		f.c.name, f.c.shape = nil, nil // memory of this call
		out[f.name] = f
	}
	return out, nil
}

// Type returns the type of the function's results.
func (f *function) Type() array.Type { return f.typ }

// Call calls back into the host. An exception of the host's function comes back as a raised error.
func (f *function) Call(ctx context.Context, args []*array.Column) (*array.Column, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, errs.Op("call function", f.name).New(errs.Invalid, "it has no arguments, want at least one")
	}
	full := make([]*array.Column, len(args))
	for i, a := range args {
		full[i] = a.Expand()
	}
	n := full[0].N
	exported := exportColumns(full)
	defer exported.release()
	var (
		e    C.dl_error
		out  C.dl_rows
		kept unsafe.Pointer
	)
	if status := C.dli_function_call(&f.c, (*C.dl_array_in)(exported.all), C.int64_t(exported.n), C.int64_t(n), &out, &kept, &e); status != C.DL_OK {
		return nil, f.raisedBy(status, &e)
	}
	defer C.dli_function_done(&f.c, kept)
	if int64(out.n) != int64(n) {
		return nil, errs.Op("call function", f.name).New(errs.Invalid, "it returned %d values for %d rows", int64(out.n), n)
	}
	var rows tensor.Rows
	if err := columnOf((*C.dl_rows_in)(unsafe.Pointer(&out)), &rows); err != nil {
		return nil, errs.Wrap(errs.Invalid, "take result of function", f.name, err)
	}
	c, err := session.ColumnOf(&rows, n, f.typ)
	if err != nil {
		return nil, errs.Wrap(errs.Type, "take result of function", f.name, err)
	}
	return c, nil
}

// kindOfStatus returns the kind of a status of the host. An unknown status is the host's mistake.
func kindOfStatus(s C.dl_status) errs.Kind {
	if s < 1 || int(s) > len(errs.Table()) {
		return errs.Invalid
	}
	return errs.Kind(s)
}

// raised is the failure of a function of the host, in its words.
type raised struct {
	error
	cause C.uint64_t // the host's own number
}

func (r *raised) Unwrap() error { return r.error }

// raisedBy makes the error of a call that returned status. The status in e has precedence.
func (f *function) raisedBy(status C.dl_status, e *C.dl_error) error {
	e.message[len(e.message)-1] = 0 // the host may have filled all of it
	words := C.GoString(&e.message[0])
	if words == "" {
		return errs.Op("call function", f.name).New(kindOfStatus(status), "it failed with status %d, and does not say why", int32(status))
	}
	if e.status != C.DL_OK {
		status = e.status
	}
	return &raised{errs.New(kindOfStatus(status), "%s", words), e.cause}
}
