//go:build cgo && linux

package ffmpeg

// #include <errno.h>
// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/media"
)

// Decoder decodes the packets of a track. It is for one goroutine at a time; several decode in
// parallel. Close frees it.
type Decoder struct {
	library *Library
	c       *C.dli_ffmpeg_decoder
	name    string // of FFmpeg's decoder
	setup   []byte
	pixels  int64
	reorder int
	threads int
	failed  bool               // since it was opened
	frame   C.dli_ffmpeg_frame // the last one
	color   media.Color        // of the container
	format  media.PixelFormat  // the name of code, with its layout
	layout  media.Layout
	code    C.int
	sent    int64 // mark of the last packet
	// runs is the number of flushes. Marks carry it: some of FFmpeg's decoders deliver frames of
	// packets before a flush behind it.
	runs int64
}

// maxMark is twice the bound of a mark.
const maxMark = 1 << 40

// decoders are FFmpeg's names of the decoders of a codec, the best first. FFmpeg's own decoder of
// AV1 is not among them: it needs a GPU.
var decoders = map[string][]string{
	"h264":  {"h264"},
	"hevc":  {"hevc"},
	"av1":   {"libdav1d", "libaom-av1"},
	"vp8":   {"vp8", "libvpx"},
	"vp9":   {"vp9", "libvpx-vp9"},
	"mpeg4": {"mpeg4"},
	"mjpeg": {"mjpeg"},
}

// Open begins to decode a track by a number of threads; the decoder keeps its setup. With several,
// frames come later, by a packet for each thread more, and so do errors. A codec that the library
// cannot decode is errs.Unsupported.
func (l *Library) Open(v *media.Video, threads int) (*Decoder, error) {
	op := errs.Op("decode video", v.Codec)
	if len(v.Setup) > media.MaxSetupBytes {
		return nil, op.New(errs.Corrupt, "setup has %d bytes, want at most %d", len(v.Setup), media.MaxSetupBytes)
	}
	candidates, ok := decoders[v.Codec]
	if !ok {
		return nil, op.New(errs.Unsupported, "the codec is none of %v", media.Codecs())
	}
	d := &Decoder{library: l, setup: v.Setup, pixels: maxPixels(v), reorder: -1, threads: threads, color: v.Color, code: -1}
	if v.Codec == "h264" { // others state it
		d.reorder = v.Delay()
	}
	for _, d.name = range candidates {
		found, err := d.begin()
		if err != nil {
			return nil, errs.Wrap(errs.Corrupt, "decode video", v.Codec, err)
		}
		if found {
			return d, nil
		}
	}
	return nil, op.New(errs.Unsupported, "FFmpeg %s has no decoder of it; %s", l.version, remedy)
}

// Threads is the number of threads that decode.
func (d *Decoder) Threads() int { return d.threads }

// begin opens a decoder of FFmpeg. It returns false if the library has none of that name.
func (d *Decoder) begin() (bool, error) {
	name, setup := C.CString(d.name), C.CBytes(d.setup)
	defer C.free(unsafe.Pointer(name))
	defer C.free(setup)
	options := C.dli_ffmpeg_options{
		codec: name, setup: (*C.uchar)(setup), setup_size: C.size_t(len(d.setup)),
		max_pixels: C.int64_t(d.pixels), reorder: C.int(d.reorder),
		threads: C.int(d.threads),
	}
	var c *C.dli_ffmpeg_decoder
	status := C.dli_ffmpeg_open(&d.library.c, &options, &c)
	switch status {
	case C.DLI_FFMPEG_OK:
		d.Close()
		d.c, d.failed = c, false
		return true, nil
	case C.DLI_FFMPEG_NO_DECODER:
		return false, nil
	}
	return false, errs.New(kind(status), "%s", d.library.text(status))
}

// maxPixels returns the most pixels that a frame may have. Frames may be larger than the container
// states: four times as large, or 4 million pixels if that is more.
func maxPixels(v *media.Video) int64 {
	const unit, least = 128, 1 << 22
	side := func(n int) int64 { return (int64(max(n, 0)) + unit - 1) / unit * unit }
	return max(least, 4*min(side(v.Width), media.MaxSide)*min(side(v.Height), media.MaxSide))
}

// Send gives the decoder a copy of a packet. Its frame comes with the same mark, a number from
// -2^39 to 2^39. Frames must have been received until Receive wants more. A packet that cannot be
// decoded is errs.Corrupt; the decoder takes others all the same, best after Flush and from a key
// frame on.
func (d *Decoder) Send(packet []byte, mark int64) error {
	if d.c == nil {
		return d.closed()
	}
	d.sent = mark
	if mark < -maxMark/2 || mark >= maxMark/2 {
		return errs.Op("decode video", "").New(errs.Internal, "packet is marked with %d", mark)
	}
	if len(packet) == 0 {
		return errs.Op("decode video", "").New(errs.Corrupt, "packet %d is empty", mark)
	}
	return d.check(C.dli_ffmpeg_send(d.c, (*C.uchar)(unsafe.SliceData(packet)), C.size_t(len(packet)), C.int64_t(d.runs*maxMark+maxMark/2+mark)))
}

// Drain says that no more packets come: Receive then gives the frames that are left. Only Flush
// lets the decoder take packets again.
func (d *Decoder) Drain() error {
	if d.c == nil {
		return d.closed()
	}
	return d.check(C.dli_ffmpeg_drain(d.c))
}

// Flush forgets all packets and frames. The next packet is of a key frame. After an error FFmpeg's
// decoder is opened again: some keep state of damaged packets.
func (d *Decoder) Flush() error {
	if d.c == nil {
		return d.closed()
	}
	d.runs++
	if !d.failed {
		C.dli_ffmpeg_flush(d.c)
		return nil
	}
	_, err := d.begin()
	return errs.Wrap(errs.Internal, "decode video", "", err)
}

// Close frees the decoder and the planes of its last frame. A second call does nothing.
func (d *Decoder) Close() {
	if d.c != nil {
		C.dli_ffmpeg_close(d.c)
		d.c = nil
	}
}

// Receive takes the next frame in the order in which they are shown. It returns false where the
// decoder wants more packets, or is drained. It fails as Send does.
func (d *Decoder) Receive(f *Frame) (bool, error) {
	if d.c == nil {
		return false, d.closed()
	}
	for {
		status := C.dli_ffmpeg_receive(d.c, &d.frame)
		if status == C.DLI_FFMPEG_MORE {
			return false, nil
		}
		if err := d.check(status); err != nil {
			return false, err
		}
		if int64(d.frame.time)/maxMark == d.runs {
			break
		}
	}
	if d.frame.format != d.code {
		if err := d.learnFormat(); err != nil {
			return false, err
		}
	}
	*f = Frame{Mark: int64(d.frame.time)%maxMark - maxMark/2}
	f.Width, f.Height, f.Format = int(d.frame.width), int(d.frame.height), d.format
	f.Color, f.Site = d.colors()
	return true, d.planes(f)
}

// learnFormat looks up the pixel format of the last frame.
func (d *Decoder) learnFormat() error {
	name := "no format"
	if p := C.dli_ffmpeg_format(&d.library.c.calls, d.frame.format); p != nil {
		name = C.GoString(p)
	}
	layout, ok := media.PixelFormat(name).Layout()
	if !ok {
		return errs.Op("decode video", "").New(errs.Unsupported, "pixels of packet %d are %s", d.sent, name)
	}
	d.code, d.format, d.layout = d.frame.format, media.PixelFormat(name), layout
	return nil
}

// planes fills in the planes of a frame.
func (d *Decoder) planes(f *Frame) error {
	for i := range d.layout.Planes {
		row, rows := d.layout.Plane(i, f.Width, f.Height)
		stride := int(d.frame.stride[i])
		if d.frame.data[i] == nil || rows <= 0 || stride < row {
			return errs.Op("decode video", "").New(errs.Internal, "plane %d of a frame of %d x %d pixels has rows of %d bytes, want %d", i, f.Width, f.Height, stride, row)
		}
		f.Planes[i] = unsafe.Slice((*byte)(d.frame.data[i]), (rows-1)*stride+row)
		f.Strides[i] = stride
	}
	return nil
}

// Numbers of FFmpeg: those of H.273 stand for "unspecified" by 2, ranges by 0.
const (
	unspecified = 2
	rangeFull   = 2
)

// colors returns the colors that the stream states for the last frame, else those of the container.
func (d *Decoder) colors() (media.Color, media.Site) {
	stated := &d.frame.colors
	pick := func(which int, container uint8) uint8 {
		n := stated[which]
		if n < 0 || n > 255 || n == unspecified {
			return container
		}
		return uint8(n)
	}
	color := media.Color{
		Primaries: pick(C.DLI_FFMPEG_PRIMARIES, d.color.Primaries),
		Transfer:  pick(C.DLI_FFMPEG_TRANSFER, d.color.Transfer),
		Matrix:    pick(C.DLI_FFMPEG_MATRIX, d.color.Matrix),
		Full:      d.color.Full || d.layout.Full,
	}
	if stated[C.DLI_FFMPEG_RANGE] != 0 {
		color.Full = stated[C.DLI_FFMPEG_RANGE] == rangeFull
	}
	site := media.SiteUnknown
	if n := stated[C.DLI_FFMPEG_SITE]; n >= 0 && n <= C.int(media.SiteBottom) {
		site = media.Site(n)
	}
	return color, site
}

func (d *Decoder) closed() error {
	return errs.Op("decode video", "").New(errs.Closed, "decoder is closed")
}

// check turns a status into an error that names the last packet.
func (d *Decoder) check(status C.int) error {
	if status == C.DLI_FFMPEG_OK {
		return nil
	}
	d.failed = true
	return errs.Op("decode video", "").New(kind(status), "packet %d: %s", d.sent, d.library.text(status))
}

// kind classifies an error of FFmpeg. That memory is missing is the packet's fault, too: the HEVC
// decoder says so where a frame has too many pixels.
func kind(status C.int) errs.Kind {
	if status == -C.ENOSYS || status == patchWelcome {
		return errs.Unsupported
	}
	return errs.Corrupt
}

// patchWelcome is FFmpeg's error for features that it lacks.
const patchWelcome = -('P' | 'A'<<8 | 'W'<<16 | 'E'<<24)
