//go:build cgo && linux

package cuda

/*
#include "device.h"
#include "kernels/tasks.h"
*/
import "C"

import (
	_ "embed"
	"unsafe"

	"deeplake/core/slab"
)

// kernelBinary has the kernels of cuda/kernels, for several architectures. tools/kernels.py makes
// it.
//
//go:embed kernels/kernels.fatbin
var kernelBinary string

// tasks returns where the tasks lie in the scratch memory.
func (p *plan) tasks() int64 { return p.copied + p.room }

// taskBytes returns the size of all tasks.
func (p *plan) taskBytes() int64 {
	n := fileTaskSize * int64(len(p.files))
	for i := range p.passes {
		n += passTaskSize * int64(len(p.passes[i].sums.tasks)+len(p.passes[i].passes.tasks))
	}
	return n
}

// write writes the tasks to a slab of the host, with addresses of the device.
func (p *plan) write(table, scratch, decoded, memory *slab.Slab) {
	copied, batch := addressOf(scratch), addressOf(memory)
	room := copied + C.uint64_t(p.copied)
	places := [...]C.uint64_t{inCopied: copied, inRoom: room, inDecoded: 0}
	if decoded != nil {
		places[inDecoded] = addressOf(decoded)
	}
	to := unsafe.Pointer(unsafe.SliceData(table.Bytes()))
	for _, f := range p.files {
		t := f.task
		t.packed += copied
		t.planes += room
		t.pixels += batch
		if f.transformed {
			t.pixels += room - batch
		}
		*(*C.dli_jpeg_task)(to) = t
		to = unsafe.Add(to, fileTaskSize)
	}
	for _, list := range p.lists() {
		for _, pass := range list.tasks {
			t := pass.task
			t.job += copied
			t.in += places[pass.in]
			t.out += room
			if pass.last {
				t.out += batch - room
			}
			*(*C.dli_transform_task)(to) = t
			to = unsafe.Add(to, passTaskSize)
		}
	}
}

func addressOf(s *slab.Slab) C.uint64_t { return C.uint64_t(uintptr(s.Address())) }

// lists returns the lists of passes in the order of their launches: sums before what needs them.
func (p *plan) lists() []*taskList {
	all := make([]*taskList, 0, 2*len(p.passes))
	for i := range p.passes {
		all = append(all, &p.passes[i].sums, &p.passes[i].passes)
	}
	return all
}

// launches returns the kernels in their order.
func (p *plan) launches(scratch *slab.Slab) []launch {
	at := uint64(addressOf(scratch)) + uint64(p.tasks())
	var all []launch
	if n := uint32(len(p.files)); n > 0 {
		all = append(all, launch{C.DLI_CUDA_JPEG_SAMPLES, p.groups, C.DLI_JPEG_THREADS_SAMPLES, at, n},
			launch{C.DLI_CUDA_JPEG_PIXELS, p.tiles, C.DLI_JPEG_THREADS_PIXELS, at, n})
		at += uint64(fileTaskSize) * uint64(n)
	}
	for i, list := range p.lists() {
		kernel := C.DLI_CUDA_TRANSFORM_SUM + i%2
		if n := uint32(len(list.tasks)); n > 0 {
			all = append(all, launch{kernel, list.tiles, C.DLI_PASS_THREADS, at, n})
			at += uint64(passTaskSize) * uint64(n)
		}
	}
	return all
}
