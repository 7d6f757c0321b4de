package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"errors"
	"sync"
	"time"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/session"
)

// loading is a dl_loader. Closing it ends its epochs; it has their handles.
type loading struct {
	*loader.Loader
	device device
	mu     sync.Mutex
	epochs map[uint64]struct{}
}

// epochHandle is a dl_epoch.
type epochHandle struct {
	*loader.Epoch
	of *loading
}

// handOutLoader returns the handle of a new loader.
func handOutLoader(l *loader.Loader, on device) C.uint64_t {
	return C.uint64_t(lib.loaders.put(&loading{Loader: l, device: on, epochs: map[uint64]struct{}{}}))
}

//export dlgo_loader_open
func dlgo_loader_open(c C.dl_context, h C.dl_view, options *C.dl_text, out *C.dl_loader, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("open loader", out != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		o, on, err := parseLoader("open loader", text(options))
		if err != nil {
			return err
		}
		l, err := v.Load(ctx, o)
		if err != nil {
			return err
		}
		out.id = handOutLoader(l, on)
		return nil
	})
}

//export dlgo_loader_mix
func dlgo_loader_mix(c C.dl_context, views *C.dl_views, n C.int64_t, mix, options *C.dl_text, out *C.dl_loader, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("mix views", out != nil && (n <= 0 || views != nil)); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		var how struct {
			order.MixPolicy
			Labels []string `json:"labels"`
		}
		if err := parse("mix views", text(mix), &how); err != nil {
			return err
		}
		if n < 0 || int64(len(how.Labels)) != int64(n) {
			return errs.New(errs.Invalid, "mix %d views: there are %d labels, want one for each", int64(n), len(how.Labels))
		}
		parts := make([]session.Part, n)
		for i, h := range unsafe.Slice(views, int(n)) {
			if parts[i].View, err = lib.views.get(uint64(h.id)); err != nil {
				return err
			}
			parts[i].Label = how.Labels[i]
		}
		o, on, err := parseLoader("mix views", text(options))
		if err != nil {
			return err
		}
		l, err := session.Mix(ctx, parts, how.MixPolicy, o)
		if err != nil {
			return err
		}
		out.id = handOutLoader(l, on)
		return nil
	})
}

// onLoader runs body with the loader of a handle.
func onLoader(h C.dl_loader, e *C.dl_error, body func(l *loading) error) C.dl_status {
	return call(e, func() error {
		l, err := lib.loaders.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(l)
	})
}

//export dlgo_loader_len
func dlgo_loader_len(h C.dl_loader, pass *C.dl_text, out *C.int64_t, e *C.dl_error) C.dl_status {
	return onLoader(h, e, func(l *loading) error {
		if err := wantOut("count batches", out != nil); err != nil {
			return err
		}
		var p order.Pass
		if err := parse("count batches", text(pass), &p); err != nil {
			return err
		}
		n, err := l.Batches(p)
		*out = C.int64_t(n)
		return err
	})
}

//export dlgo_loader_start
func dlgo_loader_start(h C.dl_loader, pass *C.dl_text, out *C.dl_epoch, e *C.dl_error) C.dl_status {
	return onLoader(h, e, func(l *loading) error {
		if err := wantOut("start epoch", out != nil); err != nil {
			return err
		}
		var at order.Pass
		if err := parse("start epoch", text(pass), &at); err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.epochs == nil {
			return errs.Op("start epoch", "").New(errs.Closed, "the loader is closed")
		}
		p, err := l.Start(context.Background(), at)
		if err != nil {
			return err
		}
		id := lib.epochs.put(&epochHandle{Epoch: p, of: l})
		l.epochs[id] = struct{}{}
		out.id = C.uint64_t(id)
		return nil
	})
}

//export dlgo_loader_state
func dlgo_loader_state(h C.dl_loader, epoch, position C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onLoader(h, e, func(l *loading) error {
		s, err := l.State(int64(epoch), int64(position))
		if err != nil {
			return err
		}
		return fillJSON(out, s)
	})
}

//export dlgo_loader_resume
func dlgo_loader_resume(h C.dl_loader, state *C.dl_text, epoch, position *C.int64_t, e *C.dl_error) C.dl_status {
	return onLoader(h, e, func(l *loading) error {
		if err := wantOut("load loader state", epoch != nil && position != nil); err != nil {
			return err
		}
		p, err := l.Resume([]byte(text(state)))
		*epoch, *position = C.int64_t(p.Epoch), C.int64_t(p.Position)
		return err
	})
}

//export dlgo_loader_memory
func dlgo_loader_memory(h C.dl_loader, size C.int64_t, out **C.dl_memory, e *C.dl_error) C.dl_status {
	return onLoader(h, e, func(l *loading) error {
		if err := wantOut("get memory of a loader", out != nil); err != nil {
			return err
		}
		s, err := l.Memory(int64(size))
		if err != nil {
			return err
		}
		*out = C.dli_memory_hand_out(s.Pointer())
		return nil
	})
}

//export dlgo_loader_stats
func dlgo_loader_stats(h C.dl_loader, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onLoader(h, e, func(l *loading) error { return fillJSON(out, l.Stats()) })
}

//export dlgo_loader_trace
func dlgo_loader_trace(h C.dl_loader, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onLoader(h, e, func(l *loading) error {
		data, err := l.Trace()
		if err != nil {
			return err
		}
		return fill(out, data)
	})
}

//export dlgo_loader_close
func dlgo_loader_close(h C.dl_loader, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		l, err := lib.loaders.take(uint64(h.id))
		if err != nil {
			return err
		}
		l.mu.Lock()
		epochs := l.epochs
		l.epochs = nil
		l.mu.Unlock()
		for id := range epochs {
			if p, err := lib.epochs.take(id); err == nil {
				p.Close()
			}
		}
		l.Close()
		return nil
	})
}

//export dlgo_epoch_next
func dlgo_epoch_next(h C.dl_epoch, timeoutMS C.int64_t, on *C.dl_device_in, state *C.int32_t, out **C.dl_batch_export, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("next batch", state != nil && out != nil); err != nil {
			return err
		}
		p, err := lib.epochs.get(uint64(h.id))
		if err != nil {
			return err
		}
		if err := checkDevice("next batch", on, p.of.device); err != nil {
			return err
		}
		b, found, err := p.nextBatch(timeoutMS)
		if err != nil {
			return err
		}
		if b != nil {
			if *out, err = exportBatch(b); err != nil {
				return err
			}
		}
		*state = found
		return nil
	})
}

// nextBatch returns the next batch of an epoch and its state. Without a batch the state is
// DL_NEXT_END or DL_NEXT_PENDING.
func (p *epochHandle) nextBatch(timeoutMS C.int64_t) (*loader.Batch, C.int32_t, error) {
	// Try first: a context with a deadline costs more than all the rest.
	b, ready, err := p.Try()
	if !ready && err == nil {
		ctx := context.Background()
		if timeoutMS >= 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(timeoutMS)*time.Millisecond)
			defer cancel()
		}
		b, err = p.Next(ctx)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && kindOf(err) == errs.Canceled {
			return nil, C.DL_NEXT_PENDING, nil
		}
	}
	switch {
	case err != nil:
		return nil, 0, err
	case b == nil:
		return nil, C.DL_NEXT_END, nil
	}
	return b, C.DL_NEXT_BATCH, nil
}

//export dlgo_epoch_close
func dlgo_epoch_close(h C.dl_epoch, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		p, err := lib.epochs.take(uint64(h.id))
		if err != nil {
			return err
		}
		p.of.mu.Lock()
		delete(p.of.epochs, uint64(h.id))
		p.of.mu.Unlock()
		p.Close()
		return nil
	})
}
