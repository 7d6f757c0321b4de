package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"sync"
	"unsafe"

	"deeplake/core/arrow"
	"deeplake/core/arrow/stream"
	"deeplake/core/errs"
	"deeplake/core/session"
)

// batches is a dl_batches.
type batches struct {
	mu sync.Mutex // one call at a time reads
	*stream.Stream
}

// onBatches runs body with the batches of a handle. hasOut is false if the result has no place.
func onBatches(h C.dl_batches, hasOut bool, e *C.dl_error, body func(b *batches) error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("convert to Arrow", hasOut); err != nil {
			return err
		}
		b, err := lib.batches.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(b)
	})
}

//export dlgo_view_batches
func dlgo_view_batches(c C.dl_context, h C.dl_view, options *C.dl_text, out *C.dl_batches, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("convert to Arrow", out != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		var o stream.Options
		if err := parse("convert to Arrow", text(options), &o); err != nil {
			return err
		}
		s, err := v.Batches(ctx, o)
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.batches.put(&batches{Stream: s}))
		return nil
	})
}

//export dlgo_batches_schema
func dlgo_batches_schema(h C.dl_batches, out *C.struct_ArrowSchema, e *C.dl_error) C.dl_status {
	return onBatches(h, out != nil, e, func(b *batches) error { return exportSchema(b.Type(), out) })
}

//export dlgo_batches_next
func dlgo_batches_next(c C.dl_context, h C.dl_batches, out *C.struct_ArrowArray, e *C.dl_error) C.dl_status {
	return onBatches(h, out != nil, e, func(b *batches) error {
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		*out = C.struct_ArrowArray{}
		return b.next(ctx, out)
	})
}

func (b *batches) next(ctx context.Context, out *C.struct_ArrowArray) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch, err := b.Next(ctx)
	if batch == nil || err != nil {
		return err
	}
	held := lib.held.put(batch)
	if err := exportArray(b.Type(), batch.Data, held, out); err != nil {
		_, _ = lib.held.take(held)
		batch.Release()
		return err
	}
	return nil
}

//export dlgo_batches_close
func dlgo_batches_close(h C.dl_batches, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		b, err := lib.batches.take(uint64(h.id))
		if err != nil {
			return err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Close()
		return nil
	})
}

// dli_batch_released frees the memory of a batch, after the last of its arrays was released.
//
//export dli_batch_released
func dli_batch_released(held C.uint64_t) {
	if batch, err := lib.held.take(uint64(held)); err == nil {
		batch.Release()
	}
}

// nullable is ARROW_FLAG_NULLABLE.
const nullable = 2

// exportSchema describes a type in memory that its release frees.
func exportSchema(t *arrow.Type, out *C.struct_ArrowSchema) error {
	nodes, texts := 0, 0
	eachType(t, func(t *arrow.Type) { nodes, texts = nodes+1, texts+len(t.Name)+len(t.Format)+2 })
	shared := C.dli_shared_new(0, C.int64_t(nodes), C.int64_t(nodes*(C.sizeof_struct_ArrowSchema+8)+texts))
	if shared == nil {
		return errs.Op("convert to Arrow", "").New(errs.Internal, "the process is out of memory")
	}
	a := &exported{shared: shared, at: C.dli_shared_data(shared)}
	a.schema(t, out)
	return nil
}

// exportArray describes a batch in memory that its release frees, with the batch.
func exportArray(t *arrow.Type, d *arrow.Data, held uint64, out *C.struct_ArrowArray) error {
	nodes := 0
	eachType(t, func(*arrow.Type) { nodes++ })
	shared := C.dli_shared_new(C.uint64_t(held), C.int64_t(nodes), C.int64_t(nodes*(C.sizeof_struct_ArrowArray+4*8)))
	if shared == nil {
		return errs.Op("convert to Arrow", "").New(errs.Internal, "the process is out of memory")
	}
	a := &exported{shared: shared, at: C.dli_shared_data(shared)}
	a.array(t, d, out)
	return nil
}

func eachType(t *arrow.Type, do func(*arrow.Type)) {
	do(t)
	for _, c := range t.Children {
		eachType(c, do)
	}
	if t.Dictionary != nil {
		eachType(t.Dictionary, do)
	}
}

// exported cuts the structures of a type or an array from memory that they share.
type exported struct {
	shared *C.struct_dli_shared
	at     unsafe.Pointer
}

// take returns the next bytes, which are zero. Callers take multiples of eight, and texts last.
func (a *exported) take(bytes int) unsafe.Pointer {
	p := a.at
	a.at = unsafe.Add(p, bytes)
	return p
}

func (a *exported) text(s string) *C.char {
	p := (*byte)(a.take(len(s) + 1))
	copy(unsafe.Slice(p, len(s)), s)
	return (*C.char)(unsafe.Pointer(p))
}

// schema fills out. Structures come first, so that texts do not move them from their alignment.
func (a *exported) schema(t *arrow.Type, out *C.struct_ArrowSchema) {
	type pair struct {
		t *arrow.Type
		c *C.struct_ArrowSchema
	}
	all := []pair{{t, out}}
	for k := 0; k < len(all); k++ {
		t, c := all[k].t, all[k].c
		*c = C.struct_ArrowSchema{flags: nullable, private_data: unsafe.Pointer(a.shared)}
		C.dli_schema_shares(c)
		if n := len(t.Children); n > 0 {
			c.n_children, c.children = C.int64_t(n), (**C.struct_ArrowSchema)(a.take(8*n))
			for i := range n {
				p := (*C.struct_ArrowSchema)(a.take(C.sizeof_struct_ArrowSchema))
				unsafe.Slice(c.children, n)[i] = p
				all = append(all, pair{t.Children[i], p})
			}
		}
		if t.Dictionary != nil {
			c.dictionary = (*C.struct_ArrowSchema)(a.take(C.sizeof_struct_ArrowSchema))
			all = append(all, pair{t.Dictionary, c.dictionary})
		}
	}
	for _, p := range all {
		p.c.name, p.c.format = a.text(p.t.Name), a.text(p.t.Format)
	}
}

func (a *exported) array(t *arrow.Type, d *arrow.Data, out *C.struct_ArrowArray) {
	*out = C.struct_ArrowArray{length: C.int64_t(d.Rows), private_data: unsafe.Pointer(a.shared)}
	C.dli_array_shares(out)
	buffers := []unsafe.Pointer{nil}
	if d.Valid != nil {
		buffers[0], out.null_count = place(d.Valid), -1 // not counted
	}
	switch t.Format {
	case "u", "U", "Z":
		buffers = append(buffers, place(d.Ends), place(d.Values))
		if d.Ends32 != nil {
			buffers[1] = place(d.Ends32)
		}
	case "+L":
		buffers = append(buffers, place(d.Ends))
	default:
		if t.Format[0] != '+' {
			buffers = append(buffers, place(d.Values))
		}
	}
	out.n_buffers, out.buffers = C.int64_t(len(buffers)), (*unsafe.Pointer)(a.take(8*len(buffers)))
	copy(unsafe.Slice(out.buffers, len(buffers)), buffers)
	if n := len(t.Children); n > 0 {
		out.n_children, out.children = C.int64_t(n), (**C.struct_ArrowArray)(a.take(8*n))
		for i, c := range t.Children {
			p := (*C.struct_ArrowArray)(a.take(C.sizeof_struct_ArrowArray))
			unsafe.Slice(out.children, n)[i] = p
			a.array(c, d.Children[i], p)
		}
	}
	if t.Dictionary != nil {
		out.dictionary = (*C.struct_ArrowArray)(a.take(C.sizeof_struct_ArrowArray))
		a.array(t.Dictionary, d.Dictionary, out.dictionary)
	}
}

// place returns where a buffer lies: slabs and mappings, never Go's heap. One without elements has
// an address, too, since some readers require it.
func place[T any](buffer []T) unsafe.Pointer {
	if len(buffer) == 0 {
		return C.dli_nothing()
	}
	return unsafe.Pointer(unsafe.SliceData(buffer))
}
