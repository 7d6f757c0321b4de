package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"time"

	"deeplake/core/errs"
)

// bound is a dl_context.
type bound struct {
	ctx    context.Context // passed to each call that names the handle
	cancel context.CancelFunc
}

//export dlgo_context_new
func dlgo_context_new(deadlineMS C.int64_t, out *C.dl_context, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if out == nil || deadlineMS < 0 {
			return errs.Op("make context", "").New(errs.Invalid, "deadline is %d ms or the place for the result is NULL", int64(deadlineMS))
		}
		b := &bound{}
		if deadlineMS > 0 {
			b.ctx, b.cancel = context.WithTimeout(context.Background(), time.Duration(deadlineMS)*time.Millisecond)
		} else {
			b.ctx, b.cancel = context.WithCancel(context.Background())
		}
		out.id = C.uint64_t(lib.contexts.put(b))
		return nil
	})
}

//export dlgo_context_cancel
func dlgo_context_cancel(h C.dl_context, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		b, err := lib.contexts.get(uint64(h.id))
		if err != nil {
			return err
		}
		b.cancel()
		return nil
	})
}

//export dlgo_context_close
func dlgo_context_close(h C.dl_context, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		b, err := lib.contexts.take(uint64(h.id))
		if err != nil {
			return err
		}
		b.cancel()
		return nil
	})
}

// contextOf returns the context of a handle. The handle {0} is the background.
func contextOf(h C.dl_context) (context.Context, error) {
	if h.id == 0 {
		return context.Background(), nil
	}
	b, err := lib.contexts.get(uint64(h.id))
	if err != nil {
		return nil, err
	}
	return b.ctx, nil
}
