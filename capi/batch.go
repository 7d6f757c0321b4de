package main

/*
#include "go.h"
*/
import "C"

import (
	"encoding/binary"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/loader"
)

// describedBytes returns the bytes that describeAll fills.
func describedBytes(b *loader.Batch) int {
	size := len(b.Columns) * C.sizeof_dl_array
	for i := range b.Columns {
		size += layoutBytes(&b.Columns[i])
	}
	return size
}

// describeAll writes the dl_arrays of a batch, and the numbers and names they point at, to size
// zeroed bytes of C memory.
func describeAll(b *loader.Batch, to unsafe.Pointer, size int) {
	n := len(b.Columns)
	rest := arena(unsafe.Slice((*byte)(to), size)[n*C.sizeof_dl_array:])
	all := unsafe.Slice((*C.dl_array)(to), n)
	for i := range all {
		describe(b, &b.Columns[i], &all[i], &rest)
	}
}

// exportBatch makes a batch export of b and takes over its memory. After a failure b is released.
func exportBatch(b *loader.Batch) (*C.dl_batch_export, error) {
	size := describedBytes(b)
	var host *C.dl_memory
	if b.Host != nil {
		host = (*C.dl_memory)(b.Host.Pointer())
	}
	p := C.dli_batch_export_new((*C.dl_memory)(b.Slab.Pointer()), host, C.int64_t(size))
	if p == nil {
		b.Release()
		return nil, errs.Op("describe batch", "").New(errs.Storage, "no memory for %d bytes", size)
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

// arena hands out C memory from its front, in multiples of 8 bytes.
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

// layoutBytes returns the bytes that describe takes from the arena.
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

// pointer returns numbers as C sees them.
func pointer(n []int64) *C.dl_const_i64 {
	return (*C.dl_const_i64)(unsafe.Pointer(unsafe.SliceData(n)))
}

// describe fills out from c.
func describe(b *loader.Batch, c *loader.BatchColumn, out *C.dl_array, rest *arena) {
	out.name = rest.text(c.Name)
	out.kind, out.dtype = C.int32_t(c.Kind), C.int32_t(c.DType)
	from := b.Slab
	if c.OnHost && b.Host != nil {
		from, out.on_host = b.Host, 1
	}
	out.data = unsafe.Add(from.Address(), c.Offset)
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
		out.data = from.Address()
		describeList(c, out, offsets, sizes, rest)
	} else {
		starts := from.Bytes()[c.Starts:]
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

// markNulls fills in the items of each row of a sequence. It marks rows without a sample by -1.
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
