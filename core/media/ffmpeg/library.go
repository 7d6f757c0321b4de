//go:build cgo && linux

package ffmpeg

/*
#cgo CFLAGS: -O2 -std=c11 -Wall
#cgo noescape dli_ffmpeg_send
#cgo nocallback dli_ffmpeg_send
#cgo noescape dli_ffmpeg_receive
#cgo nocallback dli_ffmpeg_receive
#include "native.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"deeplake/core/errs"
)

// The versions of libavcodec that are known: those of FFmpeg 4 to 9.
const (
	oldest = 58
	newest = 63
)

// Library is libavcodec with its dependencies. It stays loaded until the process ends. All methods
// may be called in parallel.
type Library struct {
	path    string // of libavcodec: a file, or a name that the system's loader knows
	version string // of FFmpeg and of its libavcodec
	c       C.dli_ffmpeg_library
}

// names are those of the functions of dli_ffmpeg_calls, in their order.
var names = [...]string{
	"avcodec_version", "avcodec_find_decoder_by_name", "avcodec_alloc_context3", "avcodec_free_context", "avcodec_open2",
	"avcodec_send_packet", "avcodec_receive_frame", "avcodec_flush_buffers",
	"avcodec_parameters_alloc", "avcodec_parameters_free", "avcodec_parameters_from_context", "avcodec_parameters_to_context",
	"av_packet_alloc", "av_packet_free", "av_packet_unref", "av_new_packet",
	"av_frame_alloc", "av_frame_free", "av_frame_unref", "av_frame_get_buffer",
	"av_mallocz", "av_opt_find", "av_opt_set_int", "av_opt_set", "av_get_pix_fmt", "av_get_pix_fmt_name",
	"av_strerror", "av_log_get_level", "av_log_set_level", "av_version_info",
}

var _ = [1]struct{}{}[unsafe.Sizeof(C.dli_ffmpeg_calls{})-unsafe.Sizeof([len(names)]uintptr{})]

// Load finds FFmpeg: in the folder that variable names and nowhere else where it is set, else in
// the first of some folders that has it, else where the loader of the system does. A library that
// cannot be used is errs.Unsupported; Load does not look for another one then.
func Load(folders []string) (*Library, error) {
	handle, path, err := find(folders)
	if err != nil {
		return nil, errs.OfMachine(err)
	}
	l := &Library{path: path}
	// The functions of libavutil are looked for in what this libavcodec was linked with.
	table := (*[len(names)]uintptr)(unsafe.Pointer(&l.c.calls))
	for i, name := range names {
		if table[i], err = purego.Dlsym(handle, name); err != nil {
			return nil, l.unusable("it has no %s", name)
		}
	}
	n := uint(C.dli_ffmpeg_version(&l.c.calls))
	l.version = fmt.Sprintf("%d.%d.%d", n>>16, n>>8&0xff, n&0xff)
	if n>>16 < oldest || n>>16 > newest {
		return nil, l.unusable("it is version %s of libavcodec", l.version)
	}
	C.dli_ffmpeg_quiet(&l.c.calls)
	if differs := C.dli_ffmpeg_check(&l.c); differs != nil {
		return nil, l.unusable("its %s is not laid out as in FFmpeg", C.GoString(differs))
	}
	l.version = C.GoString(C.dli_ffmpeg_release(&l.c.calls)) + ", libavcodec " + l.version
	return l, nil
}

func (l *Library) unusable(format string, args ...any) error {
	return errs.OfMachine(errs.Op("use FFmpeg", l.path).New(errs.Unsupported, "%s, want libavcodec of FFmpeg 4 to 9; %s", fmt.Sprintf(format, args...), remedy))
}

// text returns FFmpeg's text of an error.
func (l *Library) text(code C.int) string {
	var b [128]C.char
	C.dli_ffmpeg_text(&l.c.calls, code, &b[0], C.size_t(len(b)))
	return C.GoString(&b[0])
}
