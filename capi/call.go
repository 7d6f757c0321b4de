package main

/*
#include "go.h"
*/
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"unsafe"

	"deeplake/core/errs"
)

// call runs the body of an export and writes the outcome to err. It refuses if the library is
// poisoned. A panic becomes an error and poisons the library, also a panic in a goroutine of the
// call.
func call(err *C.dl_error, body func() error) C.dl_status {
	if first := lib.poison.Load(); first != nil {
		return report(err, errs.Op("call the library", "").New(errs.Internal, "it stopped working after a bug in it; restart the process; first error: %s", *first), C.DL_ERROR_POISONED)
	}
	failure := recovered(body)
	if failure == nil {
		return C.DL_OK
	}
	var p interface {
		error
		Panicked() any // of task.Panic, which is internal to core
	}
	if errors.As(failure, &p) {
		text := failure.Error()
		lib.poison.CompareAndSwap(nil, &text)
		return report(err, failure, C.DL_ERROR_POISONED)
	}
	return report(err, failure, 0)
}

// caught is a panic in the export itself.
type caught struct {
	value any
	stack []byte
}

func (c *caught) Error() string { return fmt.Sprintf("panic: %v\n%s", c.value, c.stack) }

func (c *caught) Panicked() any { return c.value }

func recovered(body func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errs.New(errs.Internal, "%w", &caught{p, debug.Stack()})
		}
	}()
	return body()
}

// text copies a string of the caller; NULL is "".
func text(s *C.dl_text) string { return C.GoString((*C.char)(unsafe.Pointer(s))) }

// numbers returns the caller's memory as a slice, valid during the call.
func numbers(what string, p *C.dl_const_i64, n C.int64_t) ([]int64, error) {
	if n < 0 || n > 1<<40 || (n > 0 && p == nil) {
		return nil, errs.Op("read argument", what).New(errs.Invalid, "count is %d and the pointer is NULL or the count is out of bounds", int64(n))
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(p)), int(n)), nil
}

// fill hands data to the caller.
func fill(out *C.dl_buffer, data []byte) error {
	if out == nil {
		return errs.Op("write result", "").New(errs.Invalid, "the pointer is NULL")
	}
	p := (*C.char)(C.malloc(C.size_t(len(data) + 1)))
	room := unsafe.Slice((*byte)(unsafe.Pointer(p)), len(data)+1)
	room[copy(room, data)] = 0
	C.dli_buffer_fill(out, p, C.int64_t(len(data)))
	return nil
}

// fillJSON hands v to the caller as JSON.
func fillJSON(out *C.dl_buffer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return errs.Wrap(errs.Internal, "write result", "", err)
	}
	return fill(out, data)
}
