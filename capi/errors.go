package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/version"
)

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
	if err != nil || !putText(out.winner[:], string(winner)) {
		out.winner[0] = 0 // half a document is none
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
