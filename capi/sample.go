package main

/*
#include "go.h"
*/
import "C"

import (
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// sample is an encoded sample with the codec that reads it.
type sample struct {
	data   []byte
	codec  codec.SampleCodec
	want   codec.Channels
	header codec.Header
	size   int64
}

func sampleOf(data C.dl_data, size C.int64_t, channels C.int32_t) (*sample, error) {
	s := &sample{want: codec.Channels(channels)}
	if s.want != codec.AsStored && s.want != codec.Gray && s.want != codec.RGB {
		return nil, errs.Op("read sample", "").New(errs.Invalid, "channels is %d, want 0, 1 or 3", int(channels))
	}
	var err error
	if s.data, err = dataOf(data, size); err != nil {
		return nil, err
	}
	id, ok := lib.codecs.Sniff(s.data)
	if !ok {
		return nil, errs.Op("read sample", "").New(errs.Unsupported, "the %d bytes are no kind of file that is known; want %s", len(s.data), lib.codecs.Titles("or"))
	}
	if s.codec, err = lib.codecs.Sample(id); err != nil {
		return nil, err
	}
	if s.header, err = s.codec.Header(s.data, s.want); err != nil {
		return nil, err
	}
	s.size, err = s.header.Shape.Bytes(s.header.DType)
	return s, err
}

//export dlgo_sample_inspect
func dlgo_sample_inspect(data C.dl_data, size C.int64_t, channels C.int32_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	type header struct {
		Codec string  `json:"codec"`
		DType string  `json:"dtype"`
		Shape []int64 `json:"shape"`
		Bytes int64   `json:"bytes"`
		// how Exif data turns the image, 1 to 8
		Orientation codec.Orientation `json:"orientation"`
	}
	return call(e, func() error {
		s, err := sampleOf(data, size, channels)
		if err != nil {
			return err
		}
		o, _ := s.codec.Describe().Orientation(s.data)
		return fillJSON(out, header{s.codec.Describe().Name(), s.header.DType.String(), s.header.Shape, s.size, o})
	})
}

//export dlgo_sample_decode
func dlgo_sample_decode(data C.dl_data, size C.int64_t, channels C.int32_t, dst unsafe.Pointer, room C.int64_t, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		s, err := sampleOf(data, size, channels)
		if err != nil {
			return err
		}
		if int64(room) != s.size || (dst == nil && room > 0) {
			return errs.Op("decode sample", "").New(errs.Invalid, "there is room for %d bytes or the pointer is NULL, want %d", int64(room), s.size)
		}
		if err := lib.codecs.Limits().Check(s.header.Shape); err != nil {
			return err
		}
		d := s.codec.NewDecoder()
		defer d.Close()
		return d.Decode(unsafe.Slice((*byte)(dst), int(room)), s.data, s.want)
	})
}
