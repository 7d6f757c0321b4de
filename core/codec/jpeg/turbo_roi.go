//go:build cgo && !nolibjpeg

package jpeg

/*
#cgo noescape dli_jpeg_decode_part
#cgo nocallback dli_jpeg_decode_part
#cgo noescape dli_jpeg_decode_parts
#cgo nocallback dli_jpeg_decode_parts
#include "turbo.h"
*/
import "C"

import (
	"runtime"
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

var _ codec.ROIDecoder = (*decoder)(nil)

// maxROI bounds the memory for the pixels of one region, which lies outside what Go limits.
const maxROI = 1 << 40

// CanDownscale is true: the inverse DCT makes images of a half, a quarter and an eighth of the size
// by itself.
func (d *decoder) CanDownscale() bool { return true }

// DecodeROIs reads a file as far down as the region reaches, decodes no columns that are far from
// it, and crosses into C once for as many samples as hand their pixels over in C.
func (d *decoder) DecodeROIs(data [][]byte, parts []codec.ROI, want codec.Channels) (done int, err error) {
	if err := d.ready(); err != nil {
		return 0, err
	}
	for done < len(data) && err == nil {
		var n int
		if call, _ := parts[done].To.Native(); call != nil {
			n, err = d.roisInC(data[done:], parts[done:], want)
		} else if err = d.roi(data[done], parts[done], want); err == nil {
			n = 1
		}
		done += n
	}
	return done, err
}

// roisInC decodes the first samples, as many as hand over in C.
func (d *decoder) roisInC(data [][]byte, parts []codec.ROI, want codec.Channels) (int, error) {
	var pinned runtime.Pinner // the structs that C reads point at Go memory
	defer pinned.Unpin()
	d.rois = d.rois[:0]
	var refused error
	for i := range data {
		call, arg := parts[i].To.Native()
		if call == nil {
			break
		}
		var f frame
		if f, refused = d.checkROI(data[i], parts[i].Region, want); refused != nil {
			break
		}
		p := cROI(d.legible(&f, data[i]), &f, parts[i].Region, want)
		pinned.Pin(p.src)
		p.take, p.arg = C.dli_jpeg_take(call), arg
		d.rois = append(d.rois, p)
	}
	if len(d.rois) == 0 {
		return 0, refused
	}
	var status C.dli_jpeg_status
	done := int(C.dli_jpeg_decode_parts(d.c, &d.rois[0], C.size_t(len(d.rois)), C.dli_jpeg_want(want), maxScans, &status))
	clear(d.rois)
	if status != C.DLI_JPEG_OK {
		return done, d.failure(status)
	}
	return done, refused
}

// roi decodes one sample and hands it over in Go.
func (d *decoder) roi(data []byte, part codec.ROI, want codec.Channels) error {
	f, err := d.checkROI(data, part.Region, want)
	if err != nil {
		return err
	}
	p := cROI(d.legible(&f, data), &f, part.Region, want)
	var pinned runtime.Pinner
	defer pinned.Unpin()
	pinned.Pin(p.src)
	var out C.dli_jpeg_pixels
	if status := C.dli_jpeg_decode_part(d.c, &p, C.dli_jpeg_want(want), maxScans, &out); status != C.DLI_JPEG_OK {
		return d.failure(status)
	}
	stride := int(out.stride)
	n := (part.Height-1)*stride + part.Width*int(p.shape.channels)
	if n > int(out.size) {
		return errs.Op("decode jpeg", "").New(errs.Internal, "%d bytes of pixels, want %d", int(out.size), n)
	}
	return part.To.Deliver(unsafe.Slice((*byte)(out.pix), n), stride)
}

func cROI(data []byte, f *frame, r codec.Region, want codec.Channels) C.dli_jpeg_part {
	p := C.dli_jpeg_part{
		src: (*C.uchar)(unsafe.SliceData(data)), src_size: C.size_t(len(data)), shape: f.shape(want), x: C.uint(r.X), y: C.uint(r.Y),
		width: C.uint(r.Width), height: C.uint(r.Height), shrink: C.uint(max(r.Downscale, 1)),
	}
	if r.Fast {
		p.fast = 1
	}
	return p
}

// checkROI refuses a region that is not within its image, and a file that cannot be whole, unless
// damage is accepted. It looks for the end of the file, which decoding a region does not come to.
func (d *decoder) checkROI(data []byte, r codec.Region, want codec.Channels) (frame, error) {
	f, err := parse(data)
	if err != nil {
		return frame{}, err
	}
	if err := f.checkScan(data, d.accepts); err != nil {
		return frame{}, err
	}
	c, err := f.channels(want)
	if err != nil {
		return frame{}, err
	}
	s := max(r.Downscale, 1)
	if s != 1 && s != 2 && s != 4 && s != 8 {
		return frame{}, errs.Op("decode jpeg", "").New(errs.Invalid, "shrink is %d, want 1, 2, 4 or 8", r.Downscale)
	}
	w, h := (f.width+s-1)/s, (f.height+s-1)/s
	if !r.Within(w, h) {
		return frame{}, errs.Op("decode jpeg", "").New(errs.Invalid, "region %d x %d at (%d, %d) is outside the image of %d x %d", r.Width, r.Height, r.X, r.Y, w, h)
	}
	if int64(w)*int64(r.Height)*int64(c) > maxROI {
		return frame{}, errs.Op("decode jpeg", "").New(errs.Unsupported, "region of %d x %d pixels", r.Width, r.Height)
	}
	return f, nil
}

func (d *decoder) failure(status C.dli_jpeg_status) error {
	return errs.Op("decode jpeg", "").New(kind(status), "%s", C.GoString(C.dli_jpeg_message(d.c)))
}
