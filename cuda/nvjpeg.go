//go:build cgo && linux

package cuda

/*
#include "device.h"
*/
import "C"

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"deeplake/core/errs"
)

// NVJPEGVariable names a library to load in place of those that are found.
const NVJPEGVariable = "DEEPLAKE_NVJPEG"

// nvjpegNames are the names of nvJPEG for the loader of the system, the newest first.
var nvjpegNames = [...]string{"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so.11"}

// nvjpegCalls are the names of dli_nvjpeg_calls' functions, in their order.
var nvjpegCalls = [...]string{"nvjpegCreateEx", "nvjpegDestroy", "nvjpegJpegStateCreate", "nvjpegJpegStateDestroy",
	"nvjpegDecodeBatchedInitialize", "nvjpegDecodeBatched"}

// nvjpegDecoders are how many batches may decode files at once.
const nvjpegDecoders = C.DLI_NVJPEG_DECODERS

// nvjpeg is the library nvJPEG, loaded. It stays so until the process ends.
type nvjpeg struct {
	path    string
	symbols [len(nvjpegCalls)]uintptr
}

var _ = [1]struct{}{}[unsafe.Sizeof(C.dli_nvjpeg_calls{})-unsafe.Sizeof(nvjpeg{}.symbols)]

// openNVJPEG loads the first of some files, or the library of the system. One of a newer CUDA than
// the driver's, a number as 12, would not start.
func openNVJPEG(paths []string, cuda int) (*nvjpeg, error) {
	candidates := append(append([]string(nil), paths...), nvjpegNames[:]...)
	candidates = slices.DeleteFunc(candidates, func(path string) bool {
		major, err := strconv.Atoi(path[strings.LastIndexByte(path, '.')+1:])
		return err == nil && major > cuda
	})
	if given := os.Getenv(NVJPEGVariable); given != "" {
		candidates = []string{given}
	}
	var first error
	for _, path := range candidates {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		n := &nvjpeg{path: path}
		for i, name := range nvjpegCalls {
			if n.symbols[i], err = purego.Dlsym(handle, name); err != nil {
				return nil, errs.New(errs.Unsupported, "use nvJPEG %q: it has no %s; install a newer one", path, name)
			}
		}
		return n, nil
	}
	return nil, errs.New(errs.Unsupported, "find nvJPEG: %w; pip install deeplake[cuda], or leave exact=True", first)
}

// openFiles lets the device decode whole files by one of some libraries, or that of the system.
func (d *Device) openFiles(paths []string) error {
	n, err := openNVJPEG(paths, d.driver.version/1000)
	if err != nil {
		return err
	}
	var code C.int
	err = d.with("open nvJPEG", func(c *C.dli_cuda_device) C.int {
		code = C.dli_cuda_open_files(c, (*C.dli_nvjpeg_calls)(unsafe.Pointer(&n.symbols)))
		if code <= C.DLI_CUDA_DRIVER {
			return C.DLI_CUDA_DRIVER - code
		}
		return success
	})
	if err == nil && code != success {
		err = errs.New(errs.Unsupported, "open nvJPEG %q on device cuda:%d: error %d of nvJPEG; leave exact=True", filepath.Base(n.path), d.number, int32(code))
	}
	return err
}
