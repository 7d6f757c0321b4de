//go:build cgo && linux

package cuda

/*
#include "device.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/slab"
)

// Info describes a device.
type Info struct {
	Number  int    `json:"number"` // in the order of the process
	Name    string `json:"name"`
	Memory  int64  `json:"memory"`  // bytes
	Compute string `json:"compute"` // capability, as "9.0"
	Pools   bool   `json:"pools"`   // allocates in the order of a stream
}

// Device is a device that is open, in its primary context. All methods may be called in parallel.
type Device struct {
	driver *driver
	number int
	info   Info

	mu sync.Mutex
	c  *C.dli_cuda_device // nil: closed
}

// Open opens device number of the process. It must be closed.
func Open(number int) (*Device, error) {
	drv, err := openDriver()
	if err != nil {
		return nil, err
	}
	handle, info, err := drv.device(number)
	if err != nil {
		return nil, err
	}
	d := &Device{driver: drv, number: number, info: info}
	var context uintptr
	if code := drv.primaryRetain(&context, handle); code != success {
		return nil, d.deviceError("open", code)
	}
	pools := C.int(0)
	if info.Pools {
		pools = 1
	}
	table := drv.table()
	code := C.dli_cuda_open(&table, C.int(handle), C.int(number), pointer(context), pools, &d.c)
	if code != success {
		return nil, d.deviceError("open", int32(code))
	}
	return d, nil
}

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// Close waits for the copies that run. Memory that consumers hold stays valid.
func (d *Device) Close() error {
	d.mu.Lock()
	c := d.c
	d.c = nil
	d.mu.Unlock()
	if c == nil {
		return nil
	}
	if code := C.dli_cuda_close(c); code != success {
		return d.deviceError("close", int32(code))
	}
	return nil
}

// Host returns a ring of page-locked memory of the host. It must be closed.
func (d *Device) Host(budget int64) (*slab.Ring, error) {
	return d.ring(budget, "page-lock memory", func(c *C.dli_cuda_device) *C.dli_allocator { return C.dli_cuda_host(c) })
}

// unordered returns a ring of memory of the device that any stream may write once it is
// allocated. It must be closed.
func (d *Device) unordered(budget int64) (*slab.Ring, error) {
	return d.ring(budget, "allocate memory", func(c *C.dli_cuda_device) *C.dli_allocator { return C.dli_cuda_unordered(c) })
}

// Memory returns a ring of memory of the device. It must be closed.
func (d *Device) Memory(budget int64) (*slab.Ring, error) {
	return d.ring(budget, "allocate memory", func(c *C.dli_cuda_device) *C.dli_allocator { return C.dli_cuda_memory(c) })
}

func (d *Device) ring(budget int64, op string, allocator func(*C.dli_cuda_device) *C.dli_allocator) (*slab.Ring, error) {
	var a *C.dli_allocator
	err := d.with(op, func(c *C.dli_cuda_device) C.int {
		if a = allocator(c); a == nil {
			return outOfMemory
		}
		return success
	})
	if err != nil {
		return nil, err
	}
	return slab.NewRingOf(budget, slab.Allocator{
		Pointer: unsafe.Pointer(a),
		Explain: func(code int) error { return d.deviceError(op, int32(code)) },
	}), nil
}

// launch is a launch of a kernel over a list of tasks on the device.
type launch struct {
	kernel  int
	blocks  uint32
	threads uint32
	tasks   uint64
	count   uint32
}

// copyRange is a part of a slab of the host that is copied to a slab of the device.
type copyRange struct {
	from, to, size int64
	scratch        bool // to the scratch slab
}

// stagingWork is the input of stage.
type stagingWork struct {
	to       *slab.Slab // of a Memory ring
	scratch  *slab.Slab // of a Memory ring; may be nil
	decoded  *slab.Slab // of decode; may be nil
	from     *slab.Slab // of a Host ring
	ranges   []copyRange
	moves    []C.dli_cuda_move // from decoded to to
	launches []launch
}

// stage begins to copy parts of slabs to the device, and then to run kernels.
func (d *Device) stage(w stagingWork) error {
	parts := make([]C.dli_cuda_range, len(w.ranges))
	for i, r := range w.ranges {
		parts[i] = C.dli_cuda_range{from: C.uint64_t(r.from), to: C.uint64_t(r.to), size: C.uint64_t(r.size)}
		if r.scratch {
			parts[i].scratch = 1
		}
	}
	kernels := make([]C.dli_cuda_launch, len(w.launches))
	for i, l := range w.launches {
		kernels[i] = C.dli_cuda_launch{kernel: C.int(l.kernel), blocks: C.uint(l.blocks), threads: C.uint(l.threads),
			tasks: C.uint64_t(l.tasks), count: C.uint32_t(l.count)}
	}
	return d.with("copy a batch", func(c *C.dli_cuda_device) C.int {
		if len(kernels) > 0 {
			if code := C.dli_cuda_load(c, unsafe.Pointer(unsafe.StringData(kernelBinary))); code != success {
				return code
			}
		}
		return C.dli_cuda_stage(c, ofSlab(w.to), ofSlab(w.scratch), ofSlab(w.decoded), ofSlab(w.from), unsafe.SliceData(parts), C.size_t(len(parts)),
			unsafe.SliceData(w.moves), C.size_t(len(w.moves)), unsafe.SliceData(kernels), C.size_t(len(kernels)))
	})
}

// ofSlab returns a slab as C knows it; nil is NULL.
func ofSlab(s *slab.Slab) *C.dli_slab {
	if s == nil {
		return nil
	}
	return (*C.dli_slab)(s.Pointer())
}

// decode begins to decode files of a slab of a Host ring to one of an unordered ring, which no
// stream uses any more. One goroutine at a time has a decoder. Other calls need not wait for it: it
// takes milliseconds. loader.ErrRefused: nvJPEG does not decode a file. The device stays open
// meanwhile.
func (d *Device) decode(decoder int, to, from *slab.Slab, files []C.dli_cuda_file) error {
	c, err := d.opened("decode files")
	if err != nil {
		return err
	}
	code := C.dli_cuda_decode(c, C.int(decoder), ofSlab(to), ofSlab(from), unsafe.SliceData(files), C.size_t(len(files)))
	switch code {
	case success:
		return nil
	case C.DLI_CUDA_REFUSED:
		return loader.ErrRefused
	}
	return d.deviceError("decode files", int32(code))
}

// await waits for the last work of stage out of a slab of a Host ring. The device stays open
// meanwhile.
func (d *Device) await(from *slab.Slab) error {
	c, err := d.opened("wait for a copy")
	if err != nil {
		return err
	}
	if code := C.dli_cuda_await(c, ofSlab(from)); code != success {
		return d.deviceError("wait for a copy", int32(code))
	}
	return nil
}

// opened returns the open device for a call beside which others may run.
func (d *Device) opened(op string) (open *C.dli_cuda_device, err error) {
	err = d.with(op, func(c *C.dli_cuda_device) C.int {
		open = c
		return success
	})
	return open, err
}

// settle waits for all work on the device, after a failure: an earlier failure does not keep it
// from waiting, and it reports none.
func (d *Device) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c != nil {
		C.dli_cuda_settle(d.c)
	}
}

// progress tells how far the last work of stage out of a slab of a Host ring is, if all work before
// it has ended. idle: it has ended, too.
func (d *Device) progress(from *slab.Slab) (progress, error) {
	var p C.int
	err := d.with("wait for a copy", func(c *C.dli_cuda_device) C.int {
		return C.dli_cuda_progress(c, ofSlab(from), &p)
	})
	return progress(p), err
}

// C numbers progress as Go does.
var _ = map[bool]int{
	false: 0, waiting == C.DLI_CUDA_WAITS && working == C.DLI_CUDA_RUNS && idle == C.DLI_CUDA_ENDED: 1,
}

// acquire makes a stream of the device wait until a slab of a Memory ring has its content. After
// the last reference is dropped, the memory is written again once the stream has passed that point.
// The caller holds a reference.
func (d *Device) acquire(memory *slab.Slab, stream uintptr) error {
	return d.with("wait for a batch", func(*C.dli_cuda_device) C.int {
		return C.dli_slab_acquire(ofSlab(memory), pointer(stream))
	})
}

// Read copies len(to) bytes of a slab of a Memory ring to the host, and waits for them.
func (d *Device) Read(to []byte, from *slab.Slab, offset int64) error {
	return d.with("read memory", func(c *C.dli_cuda_device) C.int {
		return C.dli_cuda_read(c, ofSlab(from), C.uint64_t(offset), unsafe.Pointer(unsafe.SliceData(to)), C.uint64_t(len(to)))
	})
}

// with calls the driver. It first returns a failure that no caller has heard of.
func (d *Device) with(op string, body func(c *C.dli_cuda_device) C.int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == nil {
		return errs.New(errs.Closed, "%s on device cuda:%d: the device is closed", op, d.number)
	}
	if code := C.dli_cuda_failure(d.c); code != success {
		return d.deviceError("free memory", int32(code))
	}
	if code := body(d.c); code != success {
		return d.deviceError(op, int32(code))
	}
	return nil
}

// table returns the functions for C.
func (d *driver) table() C.dli_cuda_driver {
	return *(*C.dli_cuda_driver)(unsafe.Pointer(&d.symbols))
}

// The table of C has a function for each name.
var _ = [1]struct{}{}[unsafe.Sizeof(C.dli_cuda_driver{})-unsafe.Sizeof(driver{}.symbols)]

// pointer returns a handle of the driver as C sees it.
func pointer(handle uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&handle)) }
