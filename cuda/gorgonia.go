//go:build gorgonia_cu && cgo && linux

package cuda

/*
#include "device.h"
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"

	"deeplake/core/errs"
	"deeplake/core/loader"
)

const deviceCUDA = 2 // the device type of DLPack

// DevicePtr returns an array of a batch as memory of [cu], for work that is queued on a stream
// next: the stream waits for the array, the host does not. The memory is valid until the batch is
// released; work that was queued before may then still run.
//
// The build tag gorgonia_cu brings this in. The package cu v0.9.6 has limits: it needs CUDA's
// headers and links against libcuda, so that programs start on machines with a driver only, and it
// does not compile with CUDA 13. Its functions work in the context of their thread: use the primary
// context of the device, in which batches lie.
func DevicePtr(b *loader.Batch, c *loader.BatchColumn, stream cu.Stream) (cu.DevicePtr, error) {
	if kind, _ := b.Slab.Device(); kind != deviceCUDA || c.OnHost {
		return 0, errs.Op("read column", c.Name).New(errs.Invalid, "it lies on the CPU; open the loader with a Stager of a CUDA device")
	}
	if c.Kind != loader.KindArray {
		return 0, errs.Op("read column", c.Name).New(errs.Invalid, "it has an array for each row; take their offsets from Items")
	}
	if code := C.dli_slab_acquire((*C.dli_slab)(b.Slab.Pointer()), unsafe.Pointer(stream.C())); code != success {
		return 0, errs.Op("wait for column", c.Name).New(errs.Device, "CUDA error %d", int32(code))
	}
	return cu.DevicePtr(uintptr(b.Slab.Address()) + uintptr(c.Offset)), nil
}
