package main

/*
#include "go.h"
*/
import "C"

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/loader"
)

// batch is a dl_batch. It owns one reference to its slab, and the description of its columns in C
// memory.
type batch struct {
	*loader.Batch
	mu sync.Mutex
	// dl_array[len(Columns)] and what they point at, in one piece; made on demand
	layout unsafe.Pointer
	gone   bool
}

func (b *batch) memory() *C.dl_memory { return (*C.dl_memory)(b.Slab.Pointer()) }

// release gives everything back. The handle is dead already.
func (b *batch) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
	C.free(b.layout)
	b.Release()
}

// arrays describes the columns, in C memory that lives as long as b.
func (b *batch) arrays() ([]C.dl_array, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return nil, errs.New(errs.Closed, "describe batch: it is released")
	}
	if b.layout == nil {
		size := describedBytes(b.Batch)
		b.layout = C.calloc(1, C.size_t(size+8))
		describeAll(b.Batch, b.layout, size)
	}
	return unsafe.Slice((*C.dl_array)(b.layout), len(b.Columns)), nil
}

// describedBytes is what describeAll fills.
func describedBytes(b *loader.Batch) int {
	size := len(b.Columns) * C.sizeof_dl_array
	for i := range b.Columns {
		size += layoutBytes(&b.Columns[i])
	}
	return size
}

// describeAll writes the dl_arrays of a batch, and what they point at, to size zeroed bytes of C
// memory.
func describeAll(b *loader.Batch, to unsafe.Pointer, size int) {
	n := len(b.Columns)
	rest := arena(unsafe.Slice((*byte)(to), size)[n*C.sizeof_dl_array:])
	all := unsafe.Slice((*C.dl_array)(to), n)
	for i := range all {
		describe(b, &b.Columns[i], &all[i], &rest)
	}
}

// export makes plain memory of b, which is released or lives on in it.
func batchExport(b *loader.Batch) (*C.dl_batch_export, error) {
	size := describedBytes(b)
	p := C.dl_batch_export_new((*C.dl_memory)(b.Slab.Pointer()), C.int64_t(size))
	if p == nil {
		b.Release()
		return nil, errs.New(errs.Storage, "describe batch: no memory for %d bytes", size)
	}
	arrays := unsafe.Add(unsafe.Pointer(p), C.sizeof_dl_batch_export)
	describeAll(b, arrays, size)
	p.arrays, p.n = (*C.dl_array_in)(arrays), C.int64_t(len(b.Columns))
	p.rows, p.position = C.int64_t(b.Rows), C.int64_t(b.Position)
	if b.Last {
		p.last = 1
	}
	return p, nil
}

// arena is C memory that is handed out from the front, in multiples of 8 bytes.
type arena []byte

func (a *arena) numbers(n int) []int64 {
	if n == 0 {
		return nil
	}
	out := unsafe.Slice((*int64)(unsafe.Pointer(&(*a)[0])), n)
	*a = (*a)[8*n:]
	return out
}

func (a *arena) text(s string) *C.dl_text {
	out := (*C.dl_text)(unsafe.Pointer(&(*a)[0]))
	copy(*a, s) // the NUL is there: the memory was cleared
	*a = (*a)[textBytes(s):]
	return out
}

func textBytes(s string) int { return (len(s) + 8) &^ 7 }

// layoutBytes is what describe takes from the arena.
func layoutBytes(c *loader.BatchColumn) int {
	count := 0
	switch c.Kind {
	case loader.KindArray:
		count = len(c.Shape)
	case loader.KindList:
		count = 3 * c.Count
		for i := range c.Items {
			count += len(c.Items[i].Shape)
		}
	case loader.KindBytes:
		count = 2 * c.Count
	}
	if c.Splits != nil {
		count += len(c.Splits) - 1
	}
	return 8*count + textBytes(c.Name)
}

// pointer is the C view of numbers.
func pointer(n []int64) *C.dl_const_i64 {
	return (*C.dl_const_i64)(unsafe.Pointer(unsafe.SliceData(n)))
}

// describe fills out from c.
func describe(b *loader.Batch, c *loader.BatchColumn, out *C.dl_array, rest *arena) {
	slab := b.Slab.Bytes()
	out.name = rest.text(c.Name)
	out.kind, out.dtype = C.int32_t(c.Kind), C.int32_t(c.DType)
	out.data = unsafe.Pointer(unsafe.SliceData(slab[c.Offset:]))
	if c.Kind == loader.KindArray {
		shape := rest.numbers(len(c.Shape))
		copy(shape, c.Shape)
		out.ndim, out.shape = C.int32_t(len(shape)), pointer(shape)
		return
	}
	out.entries = C.int64_t(c.Count)
	offsets, sizes := rest.numbers(c.Count), rest.numbers(c.Count)
	out.offsets, out.sizes = pointer(offsets), pointer(sizes)
	if c.Kind == loader.KindList {
		out.data = unsafe.Pointer(unsafe.SliceData(slab))
		describeList(c, out, offsets, sizes, rest)
	} else {
		starts := slab[c.Starts:]
		for i := range offsets {
			offsets[i] = int64(binary.NativeEndian.Uint64(starts[8*i:]))
			sizes[i] = int64(binary.NativeEndian.Uint64(starts[8*i+8:])) - offsets[i]
		}
	}
	markNulls(c, out, sizes, rest)
}

func describeList(c *loader.BatchColumn, out *C.dl_array, offsets, sizes []int64, rest *arena) {
	ndims := rest.numbers(c.Count)
	axes := 0
	for i := range c.Items {
		offsets[i], sizes[i], ndims[i] = c.Items[i].Offset, c.Items[i].Size, int64(len(c.Items[i].Shape))
		axes += len(c.Items[i].Shape)
	}
	shapes := rest.numbers(axes)
	out.ndims, out.shapes = pointer(ndims), pointer(shapes)
	for i := range c.Items {
		shapes = shapes[copy(shapes, c.Items[i].Shape):]
	}
}

// markNulls fills the items of each row of a sequence, and marks the rows that have no sample.
func markNulls(c *loader.BatchColumn, out *C.dl_array, sizes []int64, rest *arena) {
	marks := sizes
	if c.Splits != nil {
		marks = rest.numbers(len(c.Splits) - 1)
		for i := range marks {
			marks[i] = c.Splits[i+1] - c.Splits[i]
		}
		out.row_items = pointer(marks)
	}
	for i, null := range c.Null {
		if null {
			marks[i] = -1
		}
	}
}

// onBatch runs body with the batch of a handle.
func onBatch(h C.dl_batch, e *C.dl_error, body func(b *batch) error) C.dl_status {
	return call(e, func() error {
		b, err := lib.batches.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(b)
	})
}

//export dlgo_batch_arrays
func dlgo_batch_arrays(h C.dl_batch, arrays **C.dl_array_in, n, rows *C.int64_t, e *C.dl_error) C.dl_status {
	return onBatch(h, e, func(b *batch) error {
		if err := wantOut("describe batch", arrays != nil && n != nil && rows != nil); err != nil {
			return err
		}
		all, err := b.arrays()
		if err != nil {
			return err
		}
		*arrays = (*C.dl_array_in)(unsafe.Pointer(unsafe.SliceData(all)))
		*n, *rows = C.int64_t(len(all)), C.int64_t(b.Rows)
		return nil
	})
}

//export dlgo_batch_place
func dlgo_batch_place(h C.dl_batch, position *C.int64_t, last *C.int32_t, e *C.dl_error) C.dl_status {
	return onBatch(h, e, func(b *batch) error {
		if err := wantOut("place batch", position != nil && last != nil); err != nil {
			return err
		}
		*position, *last = C.int64_t(b.Position), 0
		if b.Last {
			*last = 1
		}
		return nil
	})
}

//export dlgo_batch_memory
func dlgo_batch_memory(h C.dl_batch, out **C.dl_memory, e *C.dl_error) C.dl_status {
	return onBatch(h, e, func(b *batch) error {
		if err := wantOut("share batch", out != nil); err != nil {
			return err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.gone {
			return errs.New(errs.Closed, "share batch: it is released")
		}
		C.dl_memory_retain(b.memory())
		*out = b.memory()
		return nil
	})
}

//export dlgo_batch_tensor
func dlgo_batch_tensor(h C.dl_batch, i C.int64_t, versioned C.int32_t, out *unsafe.Pointer, e *C.dl_error) C.dl_status {
	status := C.dl_status(C.DL_OK)
	failed := onBatch(h, e, func(b *batch) error {
		all, err := b.arrays()
		if err != nil {
			return err
		}
		if i < 0 || int64(i) >= int64(len(all)) {
			return errs.New(errs.Range, "export tensor: column %d is outside [0, %d)", int64(i), len(all))
		}
		a := &all[i]
		if a.kind != C.DL_KIND_ARRAY {
			return errs.New(errs.Type, "export tensor %q: the column is a list; export its entries by dl_memory_tensor", C.GoString((*C.char)(unsafe.Pointer(a.name))))
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.gone {
			return errs.New(errs.Closed, "export tensor: the batch is released")
		}
		status = C.dl_memory_tensor(b.memory(), a.data, a.dtype, a.ndim, a.shape, versioned, out, e)
		return nil
	})
	return max(failed, status)
}

//export dlgo_batch_release
func dlgo_batch_release(h C.dl_batch, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		b, err := lib.batches.take(uint64(h.id))
		if err != nil {
			return err
		}
		b.release()
		return nil
	})
}
