package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/version"
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

// report writes failure to out, which may be NULL, and returns its status.
func report(out *C.dl_error, failure error, flags C.uint32_t) C.dl_status {
	status := C.dl_status(kindOf(failure))
	if out == nil {
		return status
	}
	out.status, out.flags, out.reserved32 = status, flags, 0
	clear(out.reserved[:])
	if !putText(out.message[:], failure.Error()) {
		out.flags |= C.DL_ERROR_TRUNCATED
	}
	fields := errs.FieldsOf(failure)
	putText(out.operation[:], fields.Operation)
	putText(out.object[:], fields.Object)
	putText(out.request_id[:], fields.RequestID)
	out.retryable, out.cause = C.int32_t(fields.Retry), 0
	var r *raised
	if errors.As(failure, &r) {
		out.cause = r.cause
	}
	var conflict *version.ConflictError
	if errors.As(failure, &conflict) {
		out.flags |= C.DL_ERROR_CONFLICT
		reportConflict(&out.conflict, conflict)
	}
	return status
}

// reportConflict writes the fields of a conflict.
func reportConflict(out *C.dl_conflict, conflict *version.ConflictError) {
	putText(out.kind[:], conflict.Kind)
	putText(out.tensor[:], conflict.Tensor)
	out.count, out.rows_n, out.reserved = C.int64_t(conflict.Count), 0, 0
	for i, row := range conflict.Rows[:min(len(conflict.Rows), len(out.rows))] {
		out.rows[i] = C.int64_t(row)
		out.rows_n++
	}
	winner, err := json.Marshal(conflict.Winner)
	if conflict.Winner.Commit == "" || err != nil || !putText(out.winner[:], string(winner)) {
		out.winner[0] = 0 // tasks have none, and half a document is none
	}
}

// putText writes text and a NUL. It reports false if it cut the text, which it does at a character.
func putText(to []C.char, text string) bool {
	room := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(to))), len(to))
	whole := len(text) < len(room)
	if !whole {
		text = strings.ToValidUTF8(text[:len(room)-1], "")
	}
	room[copy(room, text)] = 0
	return whole
}

// kindOf classifies a failure that the core left unclassified: an ended context is a cancellation.
func kindOf(err error) errs.Kind {
	if kind := errs.KindOf(err); kind != errs.Internal {
		return kind
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errs.Canceled
	}
	return errs.Internal
}
