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

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/slab"
)

// kernelBinary has the kernels of cuda/kernels, for several architectures. tools/kernels.py makes
// it.
//
//go:embed kernels/kernels.fatbin
var kernelBinary string

const taskBytes = int64(unsafe.Sizeof(C.dli_jpeg_task{}))

// plan is the work of finishing the images of a batch on a device.
type plan struct {
	ranges        []copyRange // of packed images, to the scratch memory
	packed        int64       // bytes of them
	scratch       int64       // bytes: the packed images, their samples, the tasks
	tasks         int64       // where the tasks lie in the scratch memory
	groups, tiles uint32
	list          []C.dli_jpeg_task // with offsets in place of addresses
}

// mostGap is how many bytes between two images are copied rather than left out: a copy has a cost.
const mostGap = 4096

// planImages reads the packed images of a batch. It checks what the kernels rely on.
func planImages(s *loader.Staging) (*plan, error) {
	p := &plan{list: make([]C.dli_jpeg_task, len(s.Images))}
	host := s.Host.Bytes()
	end, samples := int64(0), int64(0)
	for i, image := range s.Images {
		const least = int64(unsafe.Sizeof(C.dli_jpeg_packed{}))
		if image.From < end || image.From%8 != 0 || image.Size < least || image.From+image.Size > int64(len(host)) {
			return nil, errs.New(errs.Internal, "stage image %d: it lies at %d with %d bytes", i, image.From, image.Size)
		}
		head := (*C.dli_jpeg_packed)(unsafe.Pointer(&host[image.From]))
		pixels := int64(head.width) * int64(head.height)
		blocks := int64(head.blocks)
		want := least + 8*blocks + 2*int64(head.entries)
		if want != image.Size || image.To < 0 || image.To+pixels*int64(image.Channels) > s.Size {
			return nil, errs.New(errs.Internal, "stage image %d: it has %d bytes, want %d, and %d pixels at %d of %d", i, image.Size, want, pixels, image.To, s.Size)
		}
		p.list[i] = C.dli_jpeg_task{packed: C.uint64_t(p.place(image, end)), planes: C.uint64_t(samples), pixels: C.uint64_t(image.To),
			channels: C.uint32_t(image.Channels), first_group: C.uint32_t(p.groups), first_tile: C.uint32_t(p.tiles)}
		end = image.From + image.Size
		samples += 64 * blocks
		p.groups += uint32((blocks + C.DLI_JPEG_GROUP - 1) / C.DLI_JPEG_GROUP)
		p.tiles += uint32((pixels + C.DLI_JPEG_TILE - 1) / C.DLI_JPEG_TILE)
	}
	start := (p.packed + 63) &^ 63
	for i := range p.list {
		p.list[i].planes += C.uint64_t(start)
	}
	p.tasks = start + samples
	p.scratch = p.tasks + taskBytes*int64(len(p.list))
	return p, nil
}

// place returns where an image lies in the scratch memory. The image before it ends at end on the
// host.
func (p *plan) place(image loader.Image, end int64) int64 {
	if len(p.ranges) == 0 || image.From-end > mostGap {
		p.packed = (p.packed + 7) &^ 7
		p.ranges = append(p.ranges, copyRange{from: image.From, to: p.packed, scratch: true})
	}
	r := &p.ranges[len(p.ranges)-1]
	r.size = image.From + image.Size - r.from
	p.packed = r.to + r.size
	return r.to + image.From - r.from
}

// write writes the tasks to a slab of the host, with addresses of the device.
func (p *plan) write(table, scratch, memory *slab.Slab) {
	room, pixels := C.uint64_t(uintptr(scratch.Address())), C.uint64_t(uintptr(memory.Address()))
	to := unsafe.Slice((*C.dli_jpeg_task)(unsafe.Pointer(&table.Bytes()[0])), len(p.list))
	for i, t := range p.list {
		t.packed += room
		t.planes += room
		t.pixels += pixels
		to[i] = t
	}
}

// launches returns the kernels in their order.
func (p *plan) launches(scratch *slab.Slab) []launch {
	tasks := uint64(uintptr(scratch.Address())) + uint64(p.tasks)
	n := uint32(len(p.list))
	return []launch{
		{C.DLI_CUDA_JPEG_SAMPLES, p.groups, C.DLI_JPEG_THREADS_SAMPLES, tasks, n},
		{C.DLI_CUDA_JPEG_PIXELS, p.tiles, C.DLI_JPEG_THREADS_PIXELS, tasks, n},
	}
}
