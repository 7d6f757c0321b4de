//go:build cgo && !nolibzstd

package zstd

/*
#cgo LDFLAGS: -lzstd
#cgo noescape ZSTD_compress2
#cgo nocallback ZSTD_compress2
#include <zstd.h>
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// encoder compresses by libzstd. The collector frees its C memory with it.
type encoder struct {
	z    *C.ZSTD_CCtx
	room []byte // where frames are made that dst has no room for, at most keep bytes
}

// keep bounds the memory that an encoder holds between frames.
const keep = 1 << 20

func newEncoder(level Level) (*encoder, error) {
	z := C.ZSTD_createCCtx()
	if z == nil {
		return nil, errors.New("no memory for an encoder of libzstd")
	}
	e := &encoder{z: z}
	runtime.AddCleanup(e, func(z *C.ZSTD_CCtx) { C.ZSTD_freeCCtx(z) }, z)
	for _, set := range []struct {
		parameter C.ZSTD_cParameter
		value     C.int
	}{
		{C.ZSTD_c_compressionLevel, C.int(level)},
		{C.ZSTD_c_windowLog, windowLog},
		{C.ZSTD_c_checksumFlag, 0},
	} {
		if code := C.ZSTD_CCtx_setParameter(z, set.parameter, set.value); C.ZSTD_isError(code) != 0 {
			return nil, failure(code)
		}
	}
	return e, nil
}

// encode appends one frame of src to dst.
func (e *encoder) encode(dst, src []byte) ([]byte, error) {
	bound := int(C.ZSTD_compressBound(C.size_t(len(src))))
	room, inPlace := dst[len(dst):cap(dst)], true
	if len(room) < bound {
		// dst grows by the size of the frame, not by its bound, which exceeds src.
		inPlace = false
		if room = e.room; len(room) < bound {
			room = make([]byte, bound)
		}
		if len(room) <= keep {
			e.room = room
		}
	}
	code := C.ZSTD_compress2(e.z, unsafe.Pointer(unsafe.SliceData(room)), C.size_t(len(room)),
		unsafe.Pointer(unsafe.SliceData(src)), C.size_t(len(src)))
	runtime.KeepAlive(e)
	if C.ZSTD_isError(code) != 0 {
		return dst, failure(code)
	}
	if inPlace {
		return dst[:len(dst)+int(code)], nil
	}
	return append(dst, room[:code]...), nil
}

// failure names an error of libzstd.
func failure(code C.size_t) error { return errors.New(C.GoString(C.ZSTD_getErrorName(code))) }
