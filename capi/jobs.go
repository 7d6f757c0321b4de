package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"time"

	"deeplake/core/export"
	"deeplake/core/ingest"
	"deeplake/core/session"
	"deeplake/core/storage"
)

// job is work that runs in the background: an import or an export.
type job interface {
	// news waits for a change, and returns the progress.
	news(ctx context.Context) (any, error)
	Cancel()
	Close()
}

type importJob struct{ *ingest.Job }

func (j importJob) news(ctx context.Context) (any, error) { return j.Poll(ctx) }

type exportJob struct{ *export.Job }

func (j exportJob) news(ctx context.Context) (any, error) { return j.Poll(ctx) }

// onJob runs body with the job of a handle.
func onJob(h C.dl_job, e *C.dl_error, body func(j job) error) C.dl_status {
	return call(e, func() error {
		j, err := lib.jobs.get(uint64(h.id))
		if err != nil {
			return err
		}
		return body(j)
	})
}

// importing reads the options of an import, among them the settings of both stores.
func importing(options string) (ingest.Options, error) {
	var all struct {
		ingest.Options
		reaching
		// left out: the link policy decides how far the dataset's settings serve the source
		Source json.RawMessage `json:"source_storage"`
	}
	if err := parse("import", options, &all); err != nil {
		return ingest.Options{}, err
	}
	o := all.Options
	var err error
	if o.Storage, err = all.reaching.options(); err != nil {
		return o, err
	}
	if all.Source != nil {
		own := all.reaching
		own.Storage = all.Source
		var from storage.Options
		from, err = own.options()
		o.Source = &from
	}
	return o, err
}

//export dlgo_ingest_start
func dlgo_ingest_start(uri, source, options *C.dl_text, out *C.dl_job, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("import", out != nil); err != nil {
			return err
		}
		o, err := importing(text(options))
		if err != nil {
			return err
		}
		j, err := ingest.Start(lib.env, text(uri), text(source), o)
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.jobs.put(importJob{j}))
		return nil
	})
}

//export dlgo_view_export
func dlgo_view_export(h C.dl_view, uri, options *C.dl_text, out *C.dl_job, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *session.View) error {
		if err := wantOut("export", out != nil); err != nil {
			return err
		}
		var all struct {
			export.Options
			reaching
		}
		if err := parse("export", text(options), &all); err != nil {
			return err
		}
		o := all.Options
		var err error
		if o.Storage, err = all.reaching.options(); err != nil {
			return err
		}
		j, err := export.Start(lib.env, v, text(uri), o)
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.jobs.put(exportJob{j}))
		return nil
	})
}

//export dlgo_job_poll
func dlgo_job_poll(h C.dl_job, timeoutMS C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onJob(h, e, func(j job) error {
		if err := wantOut("wait for a job", out != nil); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(max(timeoutMS, 0))*time.Millisecond)
		defer cancel()
		progress, err := j.news(ctx)
		if err != nil {
			return err
		}
		return fillJSON(out, progress)
	})
}

//export dlgo_job_cancel
func dlgo_job_cancel(h C.dl_job, e *C.dl_error) C.dl_status {
	return onJob(h, e, func(j job) error {
		j.Cancel()
		return nil
	})
}

//export dlgo_job_close
func dlgo_job_close(h C.dl_job, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		j, err := lib.jobs.take(uint64(h.id))
		if err != nil {
			return err
		}
		j.Close()
		return nil
	})
}
