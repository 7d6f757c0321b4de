package main

/*
#include "go.h"
*/
import "C"

import (
	"reflect"
	"runtime"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// exporter shows columns to C until it is released. Their elements stay in place, pinned; their
// descriptions lie in C memory.
type exporter struct {
	pins runtime.Pinner
	rest arena
	all  unsafe.Pointer
	n    int
}

// exportColumns describes columns for C. None of them may be Const.
func exportColumns(columns []*array.Column) *exporter {
	size := len(columns) * C.sizeof_dl_array
	for _, c := range columns {
		size += arenaBytes(c)
	}
	l := &exporter{all: C.calloc(1, C.size_t(size+8)), n: len(columns)}
	l.rest = arena(unsafe.Slice((*byte)(l.all), size)[len(columns)*C.sizeof_dl_array:])
	for i, c := range columns {
		l.describe(c, &unsafe.Slice((*C.dl_array)(l.all), len(columns))[i])
	}
	return l
}

func (l *exporter) release() {
	l.pins.Unpin()
	C.free(l.all)
}

// arenaBytes returns the bytes that describe takes from the arena.
func arenaBytes(c *array.Column) int {
	n := 8 + 8*(2+tensor.MaxDims) // the name, and an array's shape
	list := c.List
	if list {
		n += 8 * c.N
		c = itemsOf(c)
	}
	if list || c.Shapes != nil || c.Null != nil || !c.DType.Fixed() {
		n += 3 * 8 * c.N
		for i := range c.N {
			n += 8 * len(c.ShapeAt(i))
		}
	}
	return n
}

// itemsOf returns the items of a list column, which may be none.
func itemsOf(c *array.Column) *array.Column {
	if c.Items != nil {
		return c.Items
	}
	item := c.Type
	item.List = false
	return array.Empty(item)
}

func (l *exporter) describe(c *array.Column, out *C.dl_array) {
	out.name = l.rest.text("")
	out.dtype = C.int32_t(c.DType)
	if c.List {
		marks := l.rest.numbers(c.N)
		last := 0
		for i := range marks {
			marks[i] = -1
			if !c.IsNull(i) {
				marks[i] = c.ShapeAt(i)[0]
			}
			if len(c.Ends) > i {
				last = c.Ends[i]
			}
		}
		out.row_items = pointer(marks)
		c = itemsOf(c).Slice(0, last)
	}
	switch {
	case !c.DType.Fixed():
		l.describeText(c, out)
	case c.Shapes == nil && c.Null == nil && out.row_items == nil:
		out.kind = C.DL_KIND_ARRAY
		shape := l.rest.numbers(1 + len(c.Same))
		shape[0] = int64(c.N)
		copy(shape[1:], c.Same)
		out.ndim, out.shape = C.int32_t(len(shape)), pointer(shape)
		out.data, _ = l.pin(c.Data)
	default:
		l.describeList(c, out)
	}
}

// pin pins the elements of a column. It returns their address and the bytes of one element.
func (l *exporter) pin(data any) (unsafe.Pointer, int64) {
	if data == nil {
		return nil, 0
	}
	v := reflect.ValueOf(data)
	size := int64(v.Type().Elem().Size())
	if v.Len() == 0 {
		return nil, size
	}
	p := v.UnsafePointer()
	l.pins.Pin((*byte)(p))
	return p, size
}

func (l *exporter) describeText(c *array.Column, out *C.dl_array) {
	out.kind, out.entries = C.DL_KIND_TEXT, C.int64_t(c.N)
	if c.DType == 0 {
		out.dtype = C.DL_STRING
	}
	offsets, sizes := l.rest.numbers(c.N), l.rest.numbers(c.N)
	text, _ := c.Data.([]string)
	var all []byte
	for i := range offsets {
		offsets[i], sizes[i] = int64(len(all)), -1
		if !c.IsNull(i) {
			all = append(all, text[i]...)
			sizes[i] = int64(len(text[i]))
		}
	}
	out.offsets, out.sizes = pointer(offsets), pointer(sizes)
	out.data, _ = l.pin(append(all, 0))
}

func (l *exporter) describeList(c *array.Column, out *C.dl_array) {
	out.kind, out.entries = C.DL_KIND_LIST, C.int64_t(c.N)
	offsets, sizes, ndims := l.rest.numbers(c.N), l.rest.numbers(c.N), l.rest.numbers(c.N)
	var size int64
	out.data, size = l.pin(c.Data)
	axes := []int64{}
	at := int64(0)
	for i := range offsets {
		if c.Starts != nil {
			at = int64(c.Starts[i])
		}
		offsets[i], sizes[i] = at*size, -1
		n := elementsOf(c.Same)
		if !c.IsNull(i) {
			shape := c.ShapeAt(i)
			n = elementsOf(shape)
			sizes[i], ndims[i] = n*size, int64(len(shape))
			axes = append(axes, shape...)
		}
		at += n
	}
	shapes := l.rest.numbers(len(axes))
	copy(shapes, axes)
	out.offsets, out.sizes, out.ndims, out.shapes = pointer(offsets), pointer(sizes), pointer(ndims), pointer(shapes)
}

// elementsOf counts the elements of a column's shape, which are in memory and so countable.
func elementsOf(s tensor.Shape) int64 {
	n, _ := s.Elements()
	return n
}
