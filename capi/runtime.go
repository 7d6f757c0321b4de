package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

//export dlgo_error_table
func dlgo_error_table(out *C.dl_buffer, e *C.dl_error) C.dl_status {
	type line struct {
		Status int    `json:"status"`
		Name   string `json:"name"`
		C      string `json:"c"`
		Python string `json:"python"`
		Base   string `json:"base"`
	}
	return call(e, func() error {
		var lines []line
		for _, c := range errs.Table() {
			lines = append(lines, line{int(c.Kind), c.Name, c.C, c.Python, c.Base})
		}
		return fillJSON(out, lines)
	})
}

// settings are the options of dl_configure.
type settings struct {
	GOGC        *int               `json:"gogc"`
	MemoryLimit *int64             `json:"memory_limit"`
	GOMAXPROCS  *int               `json:"gomaxprocs"`
	Env         map[string]*string `json:"env"`
}

//export dlgo_configure
func dlgo_configure(options *C.dl_text, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		var s settings
		if err := parse("configure", text(options), &s); err != nil {
			return err
		}
		if s.GOMAXPROCS != nil && *s.GOMAXPROCS < 1 {
			return errs.Op("configure", "").New(errs.Invalid, `"gomaxprocs" is %d, want at least 1`, *s.GOMAXPROCS)
		}
		if s.MemoryLimit != nil && *s.MemoryLimit < 0 {
			return errs.Op("configure", "").New(errs.Invalid, `"memory_limit" is %d, want at least 0`, *s.MemoryLimit)
		}
		if s.GOGC != nil {
			debug.SetGCPercent(*s.GOGC)
		}
		if s.MemoryLimit != nil {
			debug.SetMemoryLimit(*s.MemoryLimit)
		}
		if s.GOMAXPROCS != nil {
			runtime.GOMAXPROCS(*s.GOMAXPROCS)
		}
		return setEnv(s.Env)
	})
}

// setEnv sets environment variables. It unsets variables without a value.
func setEnv(env map[string]*string) error {
	for name, value := range env {
		var err error
		if value == nil {
			err = os.Unsetenv(name)
		} else {
			err = os.Setenv(name, *value)
		}
		if err != nil {
			return errs.Wrap(errs.Invalid, "set environment variable", name, err)
		}
	}
	return nil
}

//export dlgo_test_panic
func dlgo_test_panic(where *C.dl_text, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		switch w := text(where); w {
		case "call":
			var nothing *settings
			_ = *nothing.GOGC // the runtime panics, as it would at a bug
			return nil
		case "task":
			return panicInLoader()
		default:
			return errs.Op("panic for a test", "").New(errs.Invalid, `place is %q, want "call" or "task"`, w)
		}
	})
}

// panicInLoader makes a goroutine of a loader panic.
func panicInLoader() error {
	l, err := loader.Open(context.Background(), loader.SourceOf(broken{}), loader.Options{BatchSize: 1})
	if err != nil {
		return err
	}
	defer l.Close()
	epoch, err := l.Start(context.Background(), order.Pass{})
	if err != nil {
		return err
	}
	defer epoch.Close()
	_, err = epoch.Next(context.Background())
	return err
}

// broken is a view of one row with a tensor that has a bug.
type broken struct{ brokenColumn }

type brokenColumn struct{}

func (broken) StoredBytes(context.Context) (int64, error) { return 1, nil }
func (broken) Len() int64                                 { return 1 }
func (broken) Names() []string                            { return []string{"broken"} }
func (broken) Column(string) (brokenColumn, error)        { return brokenColumn{}, nil }
func (broken) NewWorker() *chunk.Worker                   { return chunk.NewWorker(lib.codecs) }
func (broken) Remote() bool                               { return false }
func (broken) Traffic() storage.Stats                     { return storage.Stats{} }
func (broken) Identity() (_, _, _ string, _ error)        { return "", "", "", nil }
func (brokenColumn) Access() read.Access                  { return read.Access{} }
func (brokenColumn) Name() string                         { return "broken" }
func (brokenColumn) DType() tensor.DType                  { return tensor.Uint8 }
func (brokenColumn) Sequence() bool                       { return false }
func (brokenColumn) Encoded() bool                        { return false }

func (brokenColumn) Resolve(_ context.Context, rows []int64, refs []chunk.Ref) error {
	refs[len(rows)].Row = 0 // one too far
	return nil
}

func (brokenColumn) Items(context.Context, *chunk.Ref, []chunk.Ref) error { return nil }

func (brokenColumn) Decode(context.Context, *chunk.Ref, []byte, *chunk.Worker) error { return nil }

func (brokenColumn) Stored(context.Context, *chunk.Ref, []byte, *chunk.Worker) error { return nil }
