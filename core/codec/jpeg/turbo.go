//go:build cgo && !nolibjpeg

package jpeg

/*
#cgo LDFLAGS: -ljpeg
#cgo noescape dli_jpeg_decode
#cgo nocallback dli_jpeg_decode
#cgo noescape dli_jpeg_decode_run
#cgo nocallback dli_jpeg_decode_run
#cgo noescape dli_jpeg_pack
#cgo nocallback dli_jpeg_pack
#cgo noescape dli_jpeg_packs
#cgo nocallback dli_jpeg_packs
#cgo noescape dli_jpeg_encode
#cgo nocallback dli_jpeg_encode
#include <stdlib.h>
#include "turbo.h"
#include "turbo_vector.h"
*/
import "C"

import (
	"runtime"
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// decoder wraps a decompressor of libjpeg-turbo, which lives outside the Go heap from the first
// Decode until Close.
type decoder struct {
	plain   bool // libjpeg does it all, also what turbo_huffman.c does quicker
	accepts bool // damage
	c       *C.dli_jpeg_decoder
	closed  bool
	items   []C.dli_jpeg_item // of a run
	rois    []C.dli_jpeg_part
}

var (
	_ codec.RunDecoder     = (*decoder)(nil)
	_ codec.Packer         = (*decoder)(nil)
	_ codec.DamageAcceptor = (*decoder)(nil)
)

// Decode crosses into C once. Damage that libjpeg merely warns of is errs.Corrupt; extraneous bytes
// between segments, which cost no pixel, are not.
func (d *decoder) Decode(dst, data []byte, want codec.Channels) error {
	if err := d.ready(); err != nil {
		return err
	}
	f, err := open(dst, data, want, d.accepts)
	if err != nil {
		return err
	}
	data = d.legible(&f, data)
	status := C.dli_jpeg_decode(d.c, (*C.uchar)(unsafe.SliceData(data)), C.size_t(len(data)),
		(*C.uchar)(unsafe.SliceData(dst)), C.size_t(len(dst)), f.shape(want), C.dli_jpeg_want(want), maxScans)
	if status != C.DLI_JPEG_OK {
		return errs.Op("decode jpeg", "").New(kind(status), "%s", C.GoString(C.dli_jpeg_message(d.c)))
	}
	return nil
}

// AcceptDamage implements [codec.DamageAcceptor]. libjpeg fills in gray, as it does for Pillow with
// LOAD_TRUNCATED_IMAGES.
func (d *decoder) AcceptDamage(accept bool) {
	d.accepts = accept
	if d.c != nil {
		d.tell()
	}
}

// tell tells the decompressor whether damage is accepted.
func (d *decoder) tell() {
	accept := C.int(0)
	if d.accepts {
		accept = 1
	}
	C.dli_jpeg_accept_damage(d.c, accept)
}

// legible is the part of a file that libjpeg is given.
func (d *decoder) legible(f *frame, data []byte) []byte {
	if d.accepts {
		return f.segments(data)
	}
	return data
}

// Pack implements [codec.Packer]. It packs nothing while damage is accepted.
func (d *decoder) Pack(dst, data []byte, want codec.Channels, rows int) (int, error) {
	if err := d.ready(); err != nil {
		return 0, err
	}
	f, err := parse(data)
	if err != nil {
		return 0, err
	}
	if _, err := f.channels(want); err != nil {
		return 0, err
	}
	if d.accepts || rows < 0 || rows > 0 && f.checkScan(data, false) != nil {
		return 0, nil // the end of the file is not reached
	}
	return int(C.dli_jpeg_pack(d.c, (*C.uchar)(unsafe.SliceData(data)), C.size_t(len(data)), f.shape(want),
		C.dli_jpeg_want(want), (*C.uchar)(unsafe.SliceData(dst)), C.size_t(len(dst)), C.uint32_t(rows))), nil
}

// DeviceDecodes reports whether data is a whole file of the kind that is packed.
func (d *decoder) DeviceDecodes(data []byte, want codec.Channels) bool {
	if d.ready() != nil || d.accepts {
		return false
	}
	f, err := parse(data)
	if err != nil || f.checkScan(data, false) != nil {
		return false
	}
	if _, err := f.channels(want); err != nil {
		return false
	}
	return C.dli_jpeg_packs(d.c, (*C.uchar)(unsafe.SliceData(data)), C.size_t(len(data)), f.shape(want), C.dli_jpeg_want(want)) != 0
}

// ready makes the decompressor.
func (d *decoder) ready() error {
	if d.closed {
		return errs.Op("decode jpeg", "").New(errs.Closed, "decoder is closed")
	}
	if d.c == nil {
		plain := C.int(0)
		if d.plain {
			plain = 1
		}
		if d.c = C.dli_jpeg_decoder_new(plain); d.c == nil {
			return errs.Op("decode jpeg", "").New(errs.Internal, "out of memory")
		}
		d.tell()
	}
	return nil
}

// tally counts files: those that turbo_huffman.c began to decode, those of them that turbo_pixels.c
// makes pixels of, and those that libjpeg decoded again.
type tally struct{ quick, whole, repeated int }

func (d *decoder) tally() tally {
	if d.c == nil {
		return tally{}
	}
	t := C.dli_jpeg_tally_of(d.c)
	return tally{int(t.quick), int(t.whole), int(t.repeated)}
}

// hasVectors reports whether this processor runs turbo_vector.c.
func hasVectors() bool { return C.dli_vector_usable() != 0 }

// DecodeRun crosses into C once for all samples that their headers do not already rule out.
func (d *decoder) DecodeRun(dst, data [][]byte, want codec.Channels) (int, error) {
	if err := d.ready(); err != nil {
		return 0, err
	}
	var pinned runtime.Pinner // the structs that C reads point at Go memory
	defer pinned.Unpin()
	d.items = d.items[:0]
	var refused error
	for i := range data {
		var f frame
		if f, refused = open(dst[i], data[i], want, d.accepts); refused != nil {
			break
		}
		file := d.legible(&f, data[i])
		src, to := unsafe.SliceData(file), unsafe.SliceData(dst[i])
		pinned.Pin(src)
		pinned.Pin(to)
		d.items = append(d.items, C.dli_jpeg_item{
			src: (*C.uchar)(src), src_size: C.size_t(len(file)), dst: (*C.uchar)(to), dst_size: C.size_t(len(dst[i])),
			shape: f.shape(want),
		})
	}
	if len(d.items) == 0 {
		return 0, refused
	}
	var status C.dli_jpeg_status
	done := int(C.dli_jpeg_decode_run(d.c, &d.items[0], C.size_t(len(d.items)), C.dli_jpeg_want(want), maxScans, &status))
	clear(d.items)
	if status != C.DLI_JPEG_OK {
		return done, errs.Op("decode jpeg", "").New(kind(status), "%s", C.GoString(C.dli_jpeg_message(d.c)))
	}
	return done, refused
}

// shape returns the size and the channels that the C decoder must find in the file.
func (f *frame) shape(want codec.Channels) C.dli_jpeg_shape {
	c, _ := f.channels(want) // the caller has requested its error
	return C.dli_jpeg_shape{width: C.uint(f.width), height: C.uint(f.height), channels: C.uint(c)}
}

// Close frees the decompressor. Closing twice is allowed.
func (d *decoder) Close() {
	C.dli_jpeg_decoder_free(d.c)
	d.c, d.closed = nil, true
}

func kind(status C.dli_jpeg_status) errs.Kind {
	switch status {
	case C.DLI_JPEG_CORRUPT, C.DLI_JPEG_SIZE: // our header parser found another size than libjpeg
		return errs.Corrupt
	case C.DLI_JPEG_UNSUPPORTED:
		return errs.Unsupported
	}
	return errs.Internal
}

func encode(dst []byte, s source) ([]byte, error) {
	var out C.dli_jpeg_output
	status := C.dli_jpeg_encode((*C.uchar)(unsafe.SliceData(s.pix)), C.int(s.width), C.int(s.height), C.int(s.channels),
		C.int(s.quality), C.int(s.hSample), C.int(s.vSample), &out)
	if status != C.DLI_JPEG_OK {
		return dst, errs.Op("encode jpeg", "").New(kind(status), "%s", C.GoString(&out.message[0]))
	}
	defer C.free(unsafe.Pointer(out.data))
	return append(dst, unsafe.Slice((*byte)(out.data), int(out.size))...), nil
}
