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
	ds     *dataset.Dataset
}

func openStream(from *C.dl_arrow_stream, ds *dataset.Dataset) (*arrowStream, error) {
	switch {
	case from == nil:
		return nil, errs.Op("append stream", "").New(errs.Invalid, "the stream is NULL")
	case from.release == nil:
		return nil, errs.Op("append stream", "").New(errs.Invalid, "the stream was read before, and gives its rows once; make another one")
	case from.get_schema == nil || from.get_next == nil:
		return nil, errs.Op("append stream", "").New(errs.Invalid, "the stream lacks a function")
	}
	s := &arrowStream{from: from, ds: ds}
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

// next releases the batch before, and returns the next one; nil at the end.
func (s *arrowStream) next(context.Context) (*dataset.Batch, error) {
	C.dli_array_release(s.batch)
	*s.batch = C.struct_ArrowArray{}
	if code := C.dli_stream_next(s.from, s.batch); code != 0 {
		return nil, s.failed(code)
	}
	if s.batch.release == nil {
		return nil, nil
	}
	all, err := arrow.NewColumn((*arrow.Schema)(unsafe.Pointer(s.schema)), []*arrow.Array{(*arrow.Array)(unsafe.Pointer(s.batch))})
	if err != nil {
		return nil, errs.Op("append stream", "").New(errs.KindOf(err), "%w", err)
	}
	fields, ok := all.Fields()
	if !ok {
		return nil, errs.Op("append stream", "").New(errs.Type, "its type is no struct of columns")
	}
	b := &dataset.Batch{Rows: all.Len()}
	return b, s.columns(b, "", fields)
}

// columns adds the columns of fields to b. The fields of a struct belong to the group of its name.
func (s *arrowStream) columns(b *dataset.Batch, group string, fields []*arrow.Column) error {
	for _, f := range fields {
		name := group + f.Name()
		isTensor, isGroup, err := s.ds.Holds(name)
		if err != nil {
			return err
		}
		if below, ok := f.Fields(); ok && isGroup && !isTensor {
			if err := s.columns(b, name+"/", below); err != nil {
				return err
			}
			continue
		}
		b.Columns = append(b.Columns, tensor.Rows{Tensor: name, Foreign: f})
	}
	return nil
}

//export dlgo_dataset_append_stream
func dlgo_dataset_append_stream(c C.dl_context, h C.dl_dataset, stream *C.dl_arrow_stream, rows *C.int64_t, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("append stream", rows != nil); err != nil {
			return err
		}
		s, err := openStream(stream, ds)
		if err != nil {
			return err
		}
		defer s.close()
		n, err := ds.AppendAll(ctx, s.next)
		*rows = C.int64_t(n)
		return err
	})
}
