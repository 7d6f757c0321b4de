//go:build cgo && !nolibjpeg

package jpeg

/*
#cgo LDFLAGS: -ljpeg
#cgo noescape dl_jpeg_decode
#cgo nocallback dl_jpeg_decode
#cgo noescape dl_jpeg_encode
#cgo nocallback dl_jpeg_encode
#include <stdlib.h>
#include "turbo.h"
*/
import "C"

import (
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// decoder wraps a decompressor of libjpeg-turbo, which lives outside the Go heap from the first Decode until Close.
type decoder struct {
	c      *C.dl_jpeg_decoder
	closed bool
}

// Decode crosses into C once. Damage that libjpeg merely warns of is errs.Corrupt; extraneous bytes between segments, which
// cost no pixel, are not.
func (d *decoder) Decode(dst, data []byte, want codec.Channels) error {
	if d.closed {
		return errs.New(errs.Closed, "decode jpeg: decoder is closed")
	}
	if _, err := open(dst, data, want); err != nil {
		return err
	}
	if d.c == nil {
		if d.c = C.dl_jpeg_decoder_new(); d.c == nil {
			return errs.New(errs.Internal, "decode jpeg: out of memory")
		}
	}
	status := C.dl_jpeg_decode(d.c, (*C.uchar)(unsafe.SliceData(data)), C.size_t(len(data)),
		(*C.uchar)(unsafe.SliceData(dst)), C.size_t(len(dst)), C.dl_jpeg_want(want), maxScans)
	if status != C.DL_JPEG_OK {
		return errs.New(kind(status), "decode jpeg: %s", C.GoString(C.dl_jpeg_message(d.c)))
	}
	return nil
}

// Close frees the decompressor. Closing twice is allowed.
func (d *decoder) Close() {
	C.dl_jpeg_decoder_free(d.c)
	d.c, d.closed = nil, true
}

func kind(status C.dl_jpeg_status) errs.Kind {
	switch status {
	case C.DL_JPEG_CORRUPT, C.DL_JPEG_SIZE: // our header parser found another size than libjpeg
		return errs.Corrupt
	case C.DL_JPEG_UNSUPPORTED:
		return errs.Unsupported
	}
	return errs.Internal
}

func encode(dst []byte, s source) ([]byte, error) {
	var out C.dl_jpeg_output
	status := C.dl_jpeg_encode((*C.uchar)(unsafe.SliceData(s.pix)), C.int(s.width), C.int(s.height), C.int(s.channels),
		C.int(s.quality), C.int(s.hSample), C.int(s.vSample), &out)
	if status != C.DL_JPEG_OK {
		return dst, errs.New(kind(status), "encode jpeg: %s", C.GoString(&out.message[0]))
	}
	defer C.free(unsafe.Pointer(out.data))
	return append(dst, unsafe.Slice((*byte)(out.data), int(out.size))...), nil
}
