package main

/*
#include "go.h"
*/
import "C"

import (
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/session"
	"deeplake/core/viz"
	"deeplake/core/viz/film"
	"deeplake/core/viz/server"
)

//export dlgo_view_plot
func dlgo_view_plot(c C.dl_context, h C.dl_view, rows *C.dl_const_i64, n C.int64_t, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		at, err := numbers("rows", rows, n)
		if err != nil {
			return err
		}
		var o viz.SheetOptions
		if err := parse("plot", text(options), &o); err != nil {
			return err
		}
		png, err := viz.Sheet(ctx, v, lib.codecs, at, o)
		if err != nil {
			return err
		}
		return fill(out, png)
	})
}

// visualizing is a dl_visualizer.
type visualizing struct {
	*server.Server
	view *session.View // its own
}

// onVisualizer runs body with the visualizer of a handle.
func onVisualizer(h C.dl_visualizer, e *C.dl_error, body func(v *visualizing) error) C.dl_status {
	return call(e, func() error {
		v, err := lib.visualizers.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(v)
	})
}

// visualizerOptions reads the options of dl_visualizer_open.
func visualizerOptions(options string) (server.Options, error) {
	var in struct {
		reaching
		Host  string   `json:"host"`
		Port  int      `json:"port"`
		Hosts []string `json:"allow_hosts"`
		Allow []string `json:"allow"`
		Page  string   `json:"page"`
		Saves bool     `json:"save_views"`
		// that may have FFmpeg, which decodes videos
		Folders []string `json:"folders"`
	}
	if err := parse("start visualizer", options, &in); err != nil {
		return server.Options{}, err
	}
	o := server.Options{Host: in.Host, Port: in.Port, Hosts: in.Hosts, Page: in.Page}
	o.Session, o.Codecs, o.SaveViews = lib.session, lib.codecs, in.Saves
	o.Allow = in.Allow
	o.Videos = film.New(lib.decoding.from(in.Folders), viz.JPEG(lib.codecs), lib.env.Containers).Open
	var err error
	o.Storage, err = in.options()
	return o, err
}

//export dlgo_visualizer_open
func dlgo_visualizer_open(h C.dl_view, d C.dl_dataset, options *C.dl_text, out *C.dl_visualizer, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("start visualizer", out != nil); err != nil {
			return err
		}
		o, err := visualizerOptions(text(options))
		if err != nil {
			return err
		}
		if d.id != 0 {
			var ds *dataset.Dataset
			if ds, err = lib.datasets.get(uint64(d.id)); err != nil {
				return err
			}
			o.Dataset = ds
		}
		// The caller may close its view while pages are open.
		if o.View, err = v.Slice(0, v.Len(), 1); err != nil {
			return err
		}
		s, err := server.Listen(o)
		if err != nil {
			o.View.Close()
			return err
		}
		out.id = C.uint64_t(lib.visualizers.put(&visualizing{s, o.View}))
		return nil
	})
}

//export dlgo_visualizer_link
func dlgo_visualizer_link(h C.dl_visualizer, kind C.int32_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onVisualizer(h, e, func(v *visualizing) error {
		link := map[string]string{"address": v.Address(), "key": ""}
		switch kind {
		case C.DL_KEY_NONE:
		case C.DL_KEY_ANY:
			link["key"] = v.Key()
		case C.DL_KEY_OWN:
			link["key"] = v.OwnKey()
		default:
			return errs.Op("link visualizer", "").New(errs.Invalid, "kind of key is %d, want 0 to 2", kind)
		}
		return fillJSON(out, link)
	})
}

//export dlgo_visualizer_close
func dlgo_visualizer_close(h C.dl_visualizer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		v, err := lib.visualizers.take(uint64(h.id))
		if err != nil {
			return err
		}
		err = v.Close()
		v.view.Close()
		if err != nil {
			return errs.Wrap(errs.Storage, "close visualizer", "", err)
		}
		return nil
	})
}
