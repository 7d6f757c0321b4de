package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"time"

	"deeplake/core/ingest"
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

//export dlgo_ingest_start
func dlgo_ingest_start(uri, source, options *C.dl_text, out *C.dl_ingest, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("import", out != nil); err != nil {
			return err
		}
		var o ingest.Options
		if err := parse("import", text(options), &o); err != nil {
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
