// Command capi is the C interface of the core. Built with -buildmode=c-shared it is libdeeplake. It
// owns the table of handles, the mapping of errors to statuses, the recovery from panics, and the
// export of batches. It translates only: it makes no decision about datasets and knows no Python.
//
// include/deeplake.h is the contract. shim.c exports it and forwards to the functions here. go.h
// declares the Go halves: the compiler refuses an export with other parameters.
package main

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall
#include "go.h"

#ifdef __APPLE__
#include <crt_externs.h>
static char **variables(void) { return *_NSGetEnviron(); }
#else
extern char **environ;
static char **variables(void) { return environ; }
#endif
*/
import "C"

import (
	"io"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"deeplake/core/arrow/stream"
	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/media"
	"deeplake/core/media/matroska"
	"deeplake/core/media/mp4"
	"deeplake/core/session"
	places "deeplake/core/storage/all"
	"deeplake/core/v3"
	"deeplake/core/v4"
	"deeplake/core/video"
)

func main() {}

// library holds all state that outlives a call. There is one, made when the library is loaded.
type library struct {
	env      *dataset.Env
	session  *session.Session
	codecs   *codec.Registry
	poison   atomic.Pointer[string] // text of the first panic
	contexts table[*bound]
	datasets table[*dataset.Dataset]
	views    table[*session.View]
	columns  table[*column]
	batches  table[*batches]
	held     table[*stream.Batch] // whose arrays are in use
	loaders  table[*loading]
	epochs   table[*epochHandle]
	jobs     table[job]

	visualizers table[*visualizing]
	videos      table[*videos]
	decoding    decoding
}

// lib is assigned once. Its changing parts are guarded.
var lib = newLibrary()

// spareProcs are scheduler slots beyond the cores. If decoders hold all slots, the scheduler polls
// every 20 us and takes the slot of each decoder that stays in C for 20 us. With a slot to spare it
// does neither.
const spareProcs = 2

// adoptEnvironment copies the variables of the process to Go. Go's runtime has those with which the
// process began, without the changes that Python made by os.environ before it loaded the library.
func adoptEnvironment() {
	now := map[string]string{}
	for at := C.variables(); at != nil && *at != nil; at = (**C.char)(unsafe.Add(unsafe.Pointer(at), unsafe.Sizeof(*at))) {
		if name, value, ok := strings.Cut(C.GoString(*at), "="); ok && name != "" {
			now[name] = value
		}
	}
	for name, value := range now {
		if was, there := os.LookupEnv(name); !there || was != value {
			_ = os.Setenv(name, value) // C has the same value
		}
	}
	for _, one := range os.Environ() {
		if name, _, _ := strings.Cut(one, "="); name != "" {
			if _, there := now[name]; !there {
				_ = os.Unsetenv(name)
			}
		}
	}
}

func newLibrary() *library {
	adoptEnvironment()
	if text := os.Getenv("GOMAXPROCS"); text == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareProcs)
	} else if n, err := strconv.Atoi(text); err == nil && n > 0 {
		runtime.GOMAXPROCS(n) // Go's runtime has read it before adoptEnvironment
	}
	// net/http prints bytes of servers that break its protocol, which may repeat a secret.
	log.SetOutput(io.Discard)
	beat()
	codecs := all.All()
	stores, sources := places.New()
	containers := media.Containers{mp4.File{}, matroska.File{}}
	env := &dataset.Env{
		Stores:  stores,
		Sources: sources,
		Codecs:  codecs,
		Formats: []dataset.Format{v3.Format{}, v4.Format{}},
		Writer:  "deeplake " + C.DL_VERSION,
		Author:  author,

		Containers: containers,
		Parts:      video.NewParts(containers),
	}
	return &library{
		codecs:   codecs,
		env:      env,
		session:  session.New(env),
		contexts: table[*bound]{kind: 1, name: "context"},
		datasets: table[*dataset.Dataset]{kind: 2, name: "dataset"},
		views:    table[*session.View]{kind: 3, name: "view"},
		columns:  table[*column]{kind: 4, name: "column"},
		loaders:  table[*loading]{kind: 5, name: "loader"},
		epochs:   table[*epochHandle]{kind: 6, name: "epoch"},
		jobs:     table[job]{kind: 7, name: "job"},

		visualizers: table[*visualizing]{kind: 8, name: "visualizer"},
		videos:      table[*videos]{kind: 11, name: "videos"},
	}
}
