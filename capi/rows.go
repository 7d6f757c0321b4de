package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"strings"
	"syscall"
	"unsafe"

	"deeplake/core/arrow"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// columnsOf checks columns of an append and describes them to the core. Data stays in the caller's
// memory. Shapes are copied, because the core may keep them.
func columnsOf(p *C.dl_rows_in, n C.int64_t) ([]tensor.Rows, error) {
	if n < 0 || n > 1<<20 || (n > 0 && p == nil) {
		return nil, errs.Op("read columns", "").New(errs.Invalid, "there are %d, want 0 to %d and a pointer that is not NULL", int64(n), 1<<20)
	}
	in := unsafe.Slice(p, int(n))
	out := make([]tensor.Rows, len(in))
	for i := range in {
		name := text(in[i].tensor)
		if err := columnOf(&in[i], &out[i]); err != nil {
			return nil, errs.Wrap(errs.Invalid, "read column", name, err)
		}
		out[i].Tensor = name
	}
	return out, nil
}

func columnOf(in *C.dl_rows_in, out *tensor.Rows) error {
	if in.n < 0 || in.samples_n < 0 || in.samples_n > 1<<40 {
		return errs.New(errs.Invalid, "number of rows is %d and of samples %d, want at least 0", int64(in.n), int64(in.samples_n))
	}
	out.Counts = text(in.counts)
	if in.names != nil {
		names, err := textsOf("names", in.names, in.names_n)
		if err != nil {
			return err
		}
		out.Names = append([]string{}, names...)
	}
	if in.row_items != nil {
		items, err := numbers("row_items", in.row_items, in.n)
		if err != nil {
			return err
		}
		if err := checkItems(items, int64(in.samples_n), in.samples != nil); err != nil {
			return err
		}
		out.RowItems = append([]int64{}, items...)
	}
	if in.arrow_schema != nil {
		column, err := arrowColumn(in)
		if err != nil {
			return err
		}
		if n := column.Len(); n != int64(in.n) {
			return errs.New(errs.Invalid, "the arrays have %d rows, want %d", n, int64(in.n))
		}
		out.Foreign = column
		return nil
	}
	if in.samples == nil {
		data, err := dataOf(in.data, in.bytes)
		if err != nil {
			return err
		}
		shape, err := shapeOf(in.shape, in.ndim, nil)
		if err != nil {
			return err
		}
		out.Array = &tensor.Array{DType: tensor.DType(in.dtype), Shape: shape, Data: data, Literal: in.flags&C.DL_LITERAL != 0}
		return nil
	}
	return samplesOf(unsafe.Slice(in.samples, int(in.samples_n)), out)
}

// checkItems refuses items of rows that do not sum to the number of samples, if samples are given
// one by one.
func checkItems(items []int64, samples int64, single bool) error {
	total := int64(0)
	for i, n := range items {
		if n < 0 || n > 1<<40 {
			return errs.New(errs.Invalid, "row %d has %d items, want at least 0", i, n)
		}
		total += n
	}
	if single && total != samples {
		return errs.New(errs.Invalid, "rows have %d items together, but there are %d samples", total, samples)
	}
	return nil
}

func samplesOf(in []C.dl_sample, out *tensor.Rows) error {
	axes := 0
	for i := range in {
		if in[i].ndim < 0 || in[i].ndim > tensor.MaxDims {
			return errs.New(errs.Invalid, "sample %d has %d axes, want 0 to %d", i, int32(in[i].ndim), tensor.MaxDims)
		}
		axes += int(in[i].ndim)
	}
	arena := make([]int64, 0, axes) // of all shapes: one allocation instead of one a sample
	out.Samples = make([]tensor.Sample, len(in))
	for i := range in {
		c, s := &in[i], &out.Samples[i]
		if c.form < 0 || c.form > C.DL_FORM_LINK {
			return errs.New(errs.Invalid, "sample %d has form %d, want 0 to %d", i, int32(c.form), C.DL_FORM_LINK)
		}
		s.Form, s.DType, s.Literal = tensor.Form(c.form), tensor.DType(c.dtype), c.flags&C.DL_LITERAL != 0
		if s.Form == tensor.FormHole {
			continue
		}
		var err error
		if s.Data, err = dataOf(c.data, c.bytes); err != nil {
			return errs.Wrap(errs.Invalid, "", "", err)
		}
		if s.Form == tensor.FormLink {
			if s.Link, err = linkOf(s.Data); err != nil {
				return errs.Wrap(errs.Invalid, "", "", err)
			}
			s.Data = nil
		}
		if s.Form == tensor.FormArray {
			if s.Shape, err = shapeOf(c.shape, c.ndim, &arena); err != nil {
				return err
			}
		}
	}
	return nil
}

// linkOf reads a link from its JSON.
func linkOf(data []byte) (*tensor.Link, error) {
	l := struct {
		URL    string `json:"url"`
		URL64  []byte `json:"url64"`
		Offset int64  `json:"offset"`
		Length int64  `json:"length"`
		Tag    string `json:"tag"`
		// of a video, in seconds
		Begin *float64 `json:"begin"`
		End   *float64 `json:"end"`
	}{}
	if err := parse("link", string(data), &l); err != nil {
		return nil, err
	}
	if l.URL64 != nil {
		l.URL = string(l.URL64)
	}
	if l.Offset < 0 || l.Length < 0 {
		return nil, errs.Op("link", l.URL).New(errs.Invalid, "offset is %d and length %d, want 0 or more", l.Offset, l.Length)
	}
	link := &tensor.Link{URL: l.URL, Offset: l.Offset, Length: l.Length, Tag: l.Tag, Size: -1}
	if l.Begin == nil && l.End == nil {
		return link, nil
	}
	link.Part = &tensor.TimeRange{}
	if l.Begin != nil {
		link.Part.Begin = *l.Begin
	}
	if l.End != nil {
		link.Part.End = *l.End
	}
	if link.Part.Begin < 0 || l.End != nil && link.Part.End <= link.Part.Begin {
		return nil, errs.Op("link", l.URL).New(errs.Invalid, "the part is from %v to %v s, want 0 or more, and an end behind the begin", link.Part.Begin, link.Part.End)
	}
	return link, nil
}

// dataOf returns the caller's memory as a slice, valid during the call.
func dataOf(p C.dl_data, n C.int64_t) ([]byte, error) {
	if n < 0 || n > tensor.MaxSampleBytes || (n > 0 && p == nil) {
		return nil, errs.New(errs.Invalid, "data has %d bytes, want 0 to %d and a pointer that is not NULL", int64(n), int64(tensor.MaxSampleBytes))
	}
	return unsafe.Slice((*byte)(p), int(n)), nil
}

// shapeOf copies a shape, into the arena if there is one.
func shapeOf(p *C.dl_const_i64, ndim C.int32_t, arena *[]int64) (tensor.Shape, error) {
	if ndim < 0 || ndim > tensor.MaxDims || (ndim > 0 && p == nil) {
		return nil, errs.New(errs.Invalid, "shape has %d axes, want 0 to %d and a pointer that is not NULL", int32(ndim), tensor.MaxDims)
	}
	axes := unsafe.Slice((*int64)(unsafe.Pointer(p)), int(ndim))
	if arena == nil {
		return append(tensor.Shape{}, axes...), nil
	}
	start := len(*arena)
	*arena = append(*arena, axes...)
	return tensor.Shape((*arena)[start:len(*arena):len(*arena)]), nil
}

// Bounds of a producer: the arrays of one column, and the bytes of its message in an error.
const (
	maxArrays = 1 << 20
	maxSaid   = 1000
)

// arrowColumn checks the column of Arrow that in has.
func arrowColumn(in *C.dl_rows_in) (*arrow.Column, error) {
	if in.arrow_n < 0 || in.arrow_n > maxArrays || in.arrow_n > 0 && in.arrow == nil {
		return nil, errs.New(errs.Invalid, "the column has %d arrays, want 0 to %d and a pointer that is not NULL", int64(in.arrow_n), maxArrays)
	}
	arrays := make([]*arrow.Array, in.arrow_n)
	for i, a := range unsafe.Slice(in.arrow, int(in.arrow_n)) {
		if a == nil {
			return nil, errs.New(errs.Invalid, "array %d of the column is NULL", i)
		}
		arrays[i] = (*arrow.Array)(unsafe.Pointer(a))
	}
	return arrow.NewColumn((*arrow.Schema)(unsafe.Pointer(in.arrow_schema)), arrays)
}

// arrowStream reads a producer's stream, one batch at a time.
type arrowStream struct {
	from   *C.dl_arrow_stream
	schema *C.struct_ArrowSchema // in C memory, with batch
	batch  *C.struct_ArrowArray
	begun  bool // a batch was returned
	into   dataset.Appender
}

func openStream(from *C.dl_arrow_stream, into dataset.Appender) (*arrowStream, error) {
	switch {
	case from == nil:
		return nil, errs.Op("append stream", "").New(errs.Invalid, "the stream is NULL")
	case from.release == nil:
		return nil, errs.Op("append stream", "").New(errs.Invalid, "the stream was read before, and gives its rows once; make another one")
	case from.get_schema == nil || from.get_next == nil:
		return nil, errs.Op("append stream", "").New(errs.Invalid, "the stream lacks a function")
	}
	s := &arrowStream{from: from, into: into}
	s.schema = (*C.struct_ArrowSchema)(C.calloc(1, C.sizeof_struct_ArrowSchema))
	s.batch = (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	if code := C.dli_stream_schema(from, s.schema); code != 0 {
		err := s.failed(code)
		s.close()
		return nil, err
	}
	return s, nil
}

// close releases the stream and its last batch.
func (s *arrowStream) close() {
	C.dli_array_release(s.batch)
	C.dli_schema_release(s.schema)
	C.dli_stream_release(s.from)
	C.free(unsafe.Pointer(s.batch))
	C.free(unsafe.Pointer(s.schema))
}

// failed returns the error of the producer.
func (s *arrowStream) failed(code C.int) error {
	text := syscall.Errno(code).Error()
	if said := C.dli_stream_error(s.from); said != nil {
		text = strings.TrimSpace(C.GoString(said))
		text = strings.ToValidUTF8(text[:min(len(text), maxSaid)], "")
	}
	kind := errs.Invalid
	if syscall.Errno(code) == syscall.EIO {
		kind = errs.Storage
	}
	return errs.Op("append stream", "").New(kind, "its producer failed: %s", text)
}

// next releases the batch before, and returns the next one; nil at the end. A stream without
// batches has one without rows, for its types.
func (s *arrowStream) next(context.Context) (*dataset.Batch, error) {
	C.dli_array_release(s.batch)
	*s.batch = C.struct_ArrowArray{}
	if code := C.dli_stream_next(s.from, s.batch); code != 0 {
		return nil, s.failed(code)
	}
	if s.batch.release == nil && s.begun {
		return nil, nil
	}
	var arrays []*arrow.Array
	if s.batch.release != nil {
		arrays = append(arrays, (*arrow.Array)(unsafe.Pointer(s.batch)))
	}
	s.begun = true
	all, err := arrow.NewColumn((*arrow.Schema)(unsafe.Pointer(s.schema)), arrays)
	if err != nil {
		return nil, errs.Op("append stream", "").New(errs.KindOf(err), "%w", err)
	}
	columns, ok, err := all.Tensors(s.into)
	if err == nil && !ok {
		err = errs.Op("append stream", "").New(errs.Type, "its type is no struct of columns")
	}
	return &dataset.Batch{Columns: columns, Rows: all.Len()}, err
}

//export dlgo_dataset_append_stream
func dlgo_dataset_append_stream(c C.dl_context, h C.dl_dataset, stream *C.dl_arrow_stream, rows *C.int64_t, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("append stream", rows != nil); err != nil {
			return err
		}
		s, err := openStream(stream, dataset.AppenderOf(ds))
		if err != nil {
			return err
		}
		defer s.close()
		n, err := s.into.AppendAll(ctx, s.next)
		*rows = C.int64_t(n)
		return err
	})
}
