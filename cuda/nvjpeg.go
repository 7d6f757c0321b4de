//go:build cgo && linux

package cuda

/*
#include "device.h"
*/
import "C"

import (
	"os"
	"path/filepath"
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

// nvjpeg is the library nvJPEG, loaded. It stays so until the process ends.
type nvjpeg struct {
	path    string
	symbols [len(nvjpegCalls)]uintptr
	version string // "": unknown
}

var _ = [1]struct{}{}[unsafe.Sizeof(C.dli_nvjpeg_calls{})-unsafe.Sizeof(nvjpeg{}.symbols)]

// openNVJPEG loads the first of some files, or the library of the system.
func openNVJPEG(paths []string) (*nvjpeg, error) {
	candidates := append(append([]string(nil), paths...), nvjpegNames[:]...)
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
		n.version = nvjpegVersion(handle)
		return n, nil
	}
	return nil, errs.New(errs.Unsupported, "find nvJPEG: %w; pip install deeplake[cuda], or leave exact=True", first)
}

// nvjpegVersion returns the version of the library.
func nvjpegVersion(handle uintptr) string {
	symbol, err := purego.Dlsym(handle, "nvjpegGetProperty")
	if err != nil {
		return ""
	}
	var get func(kind int32, value *int32) int32
	purego.RegisterFunc(&get, symbol)
	var major, minor int32
	if get(0, &major) != success || get(1, &minor) != success {
		return ""
	}
	return capability(major, minor)
}

// openFiles lets the device decode whole files. It reports whether the device has an engine for
// that.
func (d *Device) openFiles(n *nvjpeg) (bool, error) {
	var hardware C.int
	var code C.int
	err := d.with("open nvJPEG", func(c *C.dli_cuda_device) C.int {
		code = C.dli_cuda_open_files(c, (*C.dli_nvjpeg_calls)(unsafe.Pointer(&n.symbols)), &hardware)
		if code <= C.DLI_CUDA_DRIVER {
			return C.DLI_CUDA_DRIVER - code
		}
		return success
	})
	if err == nil && code != success {
		err = errs.New(errs.Unsupported, "open nvJPEG %q on device cuda:%d: error %d of nvJPEG; leave exact=True", filepath.Base(n.path), d.number, int32(code))
	}
	return hardware != 0, err
}
