package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"time"

	"deeplake/core/ingest"
	"deeplake/core/storage"
)

// onImport runs body with the import of a handle.
func onImport(h C.dl_ingest, e *C.dl_error, body func(j *ingest.Job) error) C.dl_status {
	return call(e, func() error {
		j, err := lib.imports.get(uint64(h.id))
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
func dlgo_ingest_start(uri, source, options *C.dl_text, out *C.dl_ingest, e *C.dl_error) C.dl_status {
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
		out.id = C.uint64_t(lib.imports.put(j))
		return nil
	})
}

//export dlgo_ingest_poll
func dlgo_ingest_poll(h C.dl_ingest, timeoutMS C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onImport(h, e, func(j *ingest.Job) error {
		if err := wantOut("import", out != nil); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(max(timeoutMS, 0))*time.Millisecond)
		defer cancel()
		progress, err := j.Poll(ctx)
		if err != nil {
			return err
		}
		return fillJSON(out, progress)
	})
}

//export dlgo_ingest_cancel
func dlgo_ingest_cancel(h C.dl_ingest, e *C.dl_error) C.dl_status {
	return onImport(h, e, func(j *ingest.Job) error {
		j.Cancel()
		return nil
	})
}

//export dlgo_ingest_close
func dlgo_ingest_close(h C.dl_ingest, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		j, err := lib.imports.take(uint64(h.id))
		if err != nil {
			return err
		}
		j.Close()
		return nil
	})
}
