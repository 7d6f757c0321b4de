package main

/*
#include "go.h"
*/
import "C"

import "deeplake/core/errs"

// importing is a dl_ingest.
type importing struct{}

var errNoImport = errs.New(errs.Unsupported, "import: not built into this version of the library")

//export dlgo_ingest_start
func dlgo_ingest_start(uri, source, options *C.dl_text, out *C.dl_ingest, e *C.dl_error) C.dl_status {
	return call(e, func() error { return errNoImport })
}

//export dlgo_ingest_poll
func dlgo_ingest_poll(h C.dl_ingest, timeoutMS C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error { return errNoImport })
}

//export dlgo_ingest_cancel
func dlgo_ingest_cancel(h C.dl_ingest, e *C.dl_error) C.dl_status {
	return call(e, func() error { return errNoImport })
}

//export dlgo_ingest_close
func dlgo_ingest_close(h C.dl_ingest, e *C.dl_error) C.dl_status {
	return call(e, func() error { return errNoImport })
}
