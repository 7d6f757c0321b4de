package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"deeplake/core/clips"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/session"
	"deeplake/core/video"
	"deeplake/core/windows"
)

// decoding is the library of decoders, loaded at the first use of one. A failure is not kept: the
// user may install the library and try again.
type decoding struct {
	mu      sync.Mutex
	library *ffmpeg.Library
}

// load returns the library. It looks into folders besides the places of the system.
func (d *decoding) load(folders []string) (*ffmpeg.Library, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.library != nil {
		return d.library, nil
	}
	l, err := ffmpeg.Load(folders)
	if err == nil {
		d.library = l
	}
	return l, err
}

// from returns what loads the library.
func (d *decoding) from(folders []string) func() (*ffmpeg.Library, error) {
	return func() (*ffmpeg.Library, error) { return d.load(folders) }
}

// videos is a dl_videos: the reader of a tensor, and the rows that it reads.
type videos struct {
	*video.Reader
	view *session.View
}

// onVideos runs body with the reader of a handle and the context of another.
func onVideos(c C.dl_context, h C.dl_videos, e *C.dl_error, body func(ctx context.Context, r *videos) error) C.dl_status {
	return call(e, func() error {
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		r, err := lib.videos.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(ctx, r)
	})
}

//export dlgo_videos_open
func dlgo_videos_open(h C.dl_view, name, options *C.dl_text, out *C.dl_videos, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("open videos", out != nil); err != nil {
			return err
		}
		var o struct {
			Folders []string `json:"folders"`
		}
		if err := parse("open videos", text(options), &o); err != nil {
			return err
		}
		v, err := lib.views.get(uint64(h.id))
		if err != nil {
			return err
		}
		r, err := video.Open(v, text(name), lib.decoding.from(o.Folders))
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.videos.put(&videos{r, v}))
		return nil
	})
}

//export dlgo_videos_info
func dlgo_videos_info(c C.dl_context, h C.dl_videos, row C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onVideos(c, h, e, func(ctx context.Context, r *videos) error {
		info, err := r.Info(ctx, int64(row))
		if err != nil {
			return err
		}
		return fillJSON(out, info)
	})
}

//export dlgo_videos_times
func dlgo_videos_times(c C.dl_context, h C.dl_videos, row C.int64_t, times *C.double, n C.int64_t, e *C.dl_error) C.dl_status {
	return onVideos(c, h, e, func(ctx context.Context, r *videos) error {
		if err := wantRoom("read times", times != nil, n); err != nil {
			return err
		}
		return r.Times(ctx, int64(row), unsafe.Slice((*float64)(unsafe.Pointer(times)), int(n)))
	})
}

//export dlgo_videos_at
func dlgo_videos_at(c C.dl_context, h C.dl_videos, row C.int64_t, times *C.dl_const_f64, n C.int64_t, frames *C.int64_t, e *C.dl_error) C.dl_status {
	return onVideos(c, h, e, func(ctx context.Context, r *videos) error {
		if err := wantRoom("find frames", times != nil && frames != nil, n); err != nil {
			return err
		}
		return r.At(ctx, int64(row), unsafe.Slice((*float64)(unsafe.Pointer(times)), int(n)), unsafe.Slice((*int64)(unsafe.Pointer(frames)), int(n)))
	})
}

//export dlgo_videos_frames
func dlgo_videos_frames(c C.dl_context, h C.dl_videos, row C.int64_t, frames *C.dl_const_i64, n C.int64_t, dst unsafe.Pointer, size C.int64_t, e *C.dl_error) C.dl_status {
	return onVideos(c, h, e, func(ctx context.Context, r *videos) error {
		at, err := numbers("frames", frames, n)
		if err != nil {
			return err
		}
		if err := wantRoom("decode frames", dst != nil, size); err != nil {
			return err
		}
		return r.Frames(ctx, int64(row), at, unsafe.Slice((*byte)(dst), int(size)))
	})
}

// wantRoom refuses a number below zero, and a missing place for one above.
func wantRoom(op string, there bool, n C.int64_t) error {
	if n < 0 || n > 0 && !there {
		return errs.Op(op, "").New(errs.Invalid, "the number of values is %d, or their place is NULL", int64(n))
	}
	return nil
}

// clipOptions are the options of clips, and the folders of dl_videos_open.
type clipOptions struct {
	clips.Options
	Folders []string `json:"folders"`
}

// fillNumbers writes lists of one length, one behind the other.
func fillNumbers(out *C.dl_buffer, lists ...[]int64) error {
	var data []byte
	for _, list := range lists {
		data = slices.Grow(data, 8*len(list))
		for _, n := range list {
			data = binary.NativeEndian.AppendUint64(data, uint64(n))
		}
	}
	return fill(out, data)
}

// copies returns copies of lists of n numbers of the caller.
func copies(n C.int64_t, lists map[string]*C.dl_const_i64) (map[string][]int64, error) {
	out := map[string][]int64{}
	for name, list := range lists {
		all, err := numbers(name, list, n)
		if err != nil {
			return nil, err
		}
		out[name] = append([]int64{}, all...)
	}
	return out, nil
}

//export dlgo_videos_place
func dlgo_videos_place(c C.dl_context, h C.dl_videos, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onVideos(c, h, e, func(ctx context.Context, r *videos) error {
		var o clipOptions
		if err := parse("make clips", text(options), &o); err != nil {
			return err
		}
		rows, starts, err := clips.Place(ctx, r.view.Source(), r.Reader, o.Options)
		if err != nil {
			return err
		}
		return fillNumbers(out, rows, starts)
	})
}

//export dlgo_view_clips
func dlgo_view_clips(h C.dl_view, options *C.dl_text, rows, starts *C.dl_const_i64, n C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return makeView("make clips", h, out, e, func(v *session.View) (*session.View, error) {
		var o clipOptions
		if err := parse("make clips", text(options), &o); err != nil {
			return nil, err
		}
		of, err := copies(n, map[string]*C.dl_const_i64{"rows": rows, "starts": starts})
		if err != nil {
			return nil, err
		}
		at, from := of["rows"], of["starts"]
		all, err := v.Select(at)
		if err != nil {
			return nil, err
		}
		defer all.Close()
		return all.WithSource(func(src loader.Source) (session.Presented, error) {
			r, err := video.Open(v, o.Tensor, lib.decoding.from(o.Folders))
			if err != nil {
				return session.Presented{}, err
			}
			s, err := clips.Over(src, r, o.Options, at, from)
			return session.Presented{Source: s, Close: r.Close}, err
		})
	})
}

// windowOptions are the options of windows, and the folders of dl_videos_open.
type windowOptions struct {
	windows.Options
	Folders []string `json:"folders"`
}

// videos opens the readers of the tensors of videos among some of a view.
func (o *windowOptions) videos(v *session.View, names []string) (windows.Videos, error) {
	return windows.OpenVideos(v.Source(), names, func(name string) (*video.Reader, error) {
		r, err := video.Open(v, name, lib.decoding.from(o.Folders))
		kept, _ := v.Videos().Load(name)
		if raw, _ := kept.([][]byte); err == nil && raw != nil {
			r.KeepTables(raw)
		}
		return r, err
	})
}

// onWindows runs body with a view, the options of windows, and the readers of those of its videos
// that pick names. Tables that body has read are kept for readers that are opened later.
func onWindows(c C.dl_context, h C.dl_view, options *C.dl_text, e *C.dl_error, pick func(v *session.View, o *windowOptions) []string,
	body func(ctx context.Context, v *session.View, o *windowOptions, readers windows.Videos) error,
) C.dl_status {
	return call(e, func() error {
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		v, err := lib.views.get(uint64(h.id))
		if err != nil {
			return err
		}
		var o windowOptions
		if err := parse("make windows", text(options), &o); err != nil {
			return err
		}
		readers, err := o.videos(v, pick(v, &o))
		if err != nil {
			return err
		}
		defer readers.Close()
		if err := body(ctx, v, &o, readers); err != nil {
			return err
		}
		for name, r := range readers {
			if raw := r.KeptTables(); raw != nil {
				v.Videos().Store(name, raw)
			}
		}
		return nil
	})
}

//export dlgo_view_place_windows
func dlgo_view_place_windows(c C.dl_context, h C.dl_view, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	named := func(_ *session.View, o *windowOptions) []string { return o.Names() }
	return onWindows(c, h, options, e, named, func(ctx context.Context, v *session.View, o *windowOptions, readers windows.Videos) error {
		p, err := windows.Place(ctx, v.Source(), readers, o.Options)
		if err != nil {
			return err
		}
		return fillNumbers(out, p.Rows, p.Frames, p.Lengths)
	})
}

//export dlgo_view_frame_tensors
func dlgo_view_frame_tensors(c C.dl_context, h C.dl_view, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	all := func(v *session.View, _ *windowOptions) []string { return v.Source().Names() }
	return onWindows(c, h, options, e, all, func(ctx context.Context, v *session.View, o *windowOptions, readers windows.Videos) error {
		names, err := windows.Others(ctx, v.Source(), readers, o.Options)
		if err != nil {
			return err
		}
		return fillJSON(out, append([]string{}, names...))
	})
}

//export dlgo_view_windows
func dlgo_view_windows(h C.dl_view, options *C.dl_text, rows, frames, lengths *C.dl_const_i64, n C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return makeView("make windows", h, out, e, func(v *session.View) (*session.View, error) {
		var o windowOptions
		if err := parse("make windows", text(options), &o); err != nil {
			return nil, err
		}
		of, err := copies(n, map[string]*C.dl_const_i64{"rows": rows, "frames": frames, "lengths": lengths})
		if err != nil {
			return nil, err
		}
		all, err := v.Select(of["rows"])
		if err != nil {
			return nil, err
		}
		defer all.Close()
		return all.WithSource(func(src loader.Source) (session.Presented, error) {
			readers, err := o.videos(v, o.Names())
			if err != nil {
				return session.Presented{}, err
			}
			s, err := windows.Over(src, readers, o.Options, &windows.Places{Rows: of["rows"], Frames: of["frames"], Lengths: of["lengths"]})
			return session.Presented{Source: s, Close: readers.Close}, err
		})
	})
}

//export dlgo_videos_close
func dlgo_videos_close(h C.dl_videos, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		r, err := lib.videos.take(uint64(h.id))
		if err != nil {
			return err
		}
		r.Close()
		return nil
	})
}
