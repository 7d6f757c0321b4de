//go:build cgo && linux

package cuda

import (
	"os"
	"unsafe"

	"deeplake/core/errs"

	"github.com/ebitengine/purego"
)

// DriverVariable names the environment variable with the path of another driver library.
const DriverVariable = "DEEPLAKE_CUDA_DRIVER"

// leastDriver is CUDA 11.2, the first with stream-ordered allocation.
const leastDriver = 11020

// driver is the driver library with the functions that Go calls. Those that C calls are in symbols.
type driver struct {
	path    string
	version int // as 1000 * major + 10 * minor

	init            func(flags uint32) int32
	errorName       func(code int32, name **byte) int32
	errorText       func(code int32, text **byte) int32
	deviceCount     func(n *int32) int32
	deviceGet       func(device *int32, number int32) int32
	deviceName      func(name *byte, size int32, device int32) int32
	deviceMemory    func(bytes *uintptr, device int32) int32
	deviceAttribute func(value *int32, attribute, device int32) int32
	primaryRetain   func(context *uintptr, device int32) int32
	symbols         [driverCalls]uintptr
}

// The attributes of devices that are read.
const (
	computeMajor = 75
	computeMinor = 76
	memoryPools  = 115
)

// calls are the names of dli_cuda_driver's functions, in their order.
var calls = [...]string{
	"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuCtxSynchronize", "cuDevicePrimaryCtxRelease_v2",
	"cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemFreeAsync",
	"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuStreamCreateWithPriority", "cuStreamDestroy_v2", "cuStreamSynchronize",
	"cuStreamWaitEvent", "cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventQuery", "cuEventSynchronize",
	"cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuLaunchKernel",
}

const driverCalls = len(calls)

// places are where a driver lies: by its name for the loader of the system, and in WSL.
var places = [...]string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// openDriver loads and starts the driver. The library stays loaded until the process ends.
func openDriver() (*driver, error) {
	d := &driver{}
	handle, err := d.load()
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		call any
		name string
	}{
		{&d.init, "cuInit"}, {&d.errorName, "cuGetErrorName"}, {&d.errorText, "cuGetErrorString"},
		{&d.deviceCount, "cuDeviceGetCount"}, {&d.deviceGet, "cuDeviceGet"}, {&d.deviceName, "cuDeviceGetName"},
		{&d.deviceMemory, "cuDeviceTotalMem_v2"}, {&d.deviceAttribute, "cuDeviceGetAttribute"},
		{&d.primaryRetain, "cuDevicePrimaryCtxRetain"},
	} {
		symbol, err := d.find(handle, f.name)
		if err != nil {
			return nil, err
		}
		purego.RegisterFunc(f.call, symbol)
	}
	if err := d.checkVersion(handle); err != nil {
		return nil, err
	}
	for i, name := range calls {
		if d.symbols[i], err = d.find(handle, name); err != nil {
			return nil, err
		}
	}
	if code := d.init(0); code != success {
		return nil, errs.Op("start CUDA", "").New(errs.Unsupported, "%w; %s", d.failure(code), remedyOfInit(code))
	}
	return d, nil
}

// load opens the library.
func (d *driver) load() (uintptr, error) {
	candidates := places[:]
	if given := os.Getenv(DriverVariable); given != "" {
		candidates = []string{given}
	}
	var first error
	for _, path := range candidates {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			d.path = path
			return handle, nil
		}
		if first == nil {
			first = err
		}
	}
	return 0, errs.Op("find the CUDA driver", "").New(errs.Unsupported, "%w; install NVIDIA's driver, or leave device out", first)
}

// find looks a function up. A driver without it is too old.
func (d *driver) find(handle uintptr, name string) (uintptr, error) {
	symbol, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0, errs.Op("use the CUDA driver", d.path).New(errs.Unsupported, "it has no %s; install one of CUDA %s or newer", name, version(leastDriver))
	}
	return symbol, nil
}

func (d *driver) checkVersion(handle uintptr) error {
	symbol, err := d.find(handle, "cuDriverGetVersion")
	if err != nil {
		return err
	}
	var get func(*int32) int32
	purego.RegisterFunc(&get, symbol)
	var n int32
	if code := get(&n); code != success {
		return errs.Op("use the CUDA driver", d.path).New(errs.Unsupported, "its version cannot be read: %w", d.failure(code))
	}
	if d.version = int(n); d.version < leastDriver {
		return errs.Op("use the CUDA driver", d.path).New(errs.Unsupported, "it is of CUDA %s, want %s or newer; install a newer driver", version(d.version), version(leastDriver))
	}
	return nil
}

// text reads a string of the driver, which the driver keeps.
func text(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
