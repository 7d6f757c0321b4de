//go:build cgo && linux

package cuda

/*
#include "device.h"
#include "kernels/tasks.h"
*/
import "C"

import (
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/loader"
)

// plan is the work of finishing the images of a batch on a device: copies to the scratch memory,
// and launches of kernels over lists of tasks. The scratch memory holds the copied images, the
// memory between kernels, and the tasks.
type plan struct {
	ranges []copyRange
	copied int64 // bytes of ranges in the scratch memory
	room   int64 // bytes between kernels, behind them
	files  []fileTask
	groups uint32
	tiles  uint32
	passes []passList // by the number of the pass

	whole  []C.dli_cuda_file // that nvJPEG decodes, to rows without gaps
	pixels int64             // bytes that these become
	moves  []C.dli_cuda_move // of these to the batch
}

// place is where the pixels lie that a pass takes.
type place uint8

const (
	inCopied  place = iota // the images that were copied to the scratch memory
	inRoom                 // the memory between kernels
	inDecoded              // what nvJPEG decodes to
)

// fileTask finishes a packed file.
type fileTask struct {
	task        C.dli_jpeg_task // addresses are offsets
	transformed bool            // pixels lie between kernels, else in the batch
}

// passTask is one pass of one picture.
type passTask struct {
	task C.dli_transform_task // addresses are offsets
	in   place
	last bool // out is the result
}

// passList has the passes of one number, and those that need a sum before.
type passList struct{ sums, passes taskList }

type taskList struct {
	tasks []passTask
	tiles uint32
}

// mostGap is the number of bytes that between two images are copied rather than left out: a call
// for one more copy takes the CPU as long as an H200 takes to copy 300 kB.
const mostGap = 64 << 10

const (
	fileHead     = int64(unsafe.Sizeof(C.dli_jpeg_packed{}))
	jobHead      = int64(unsafe.Sizeof(C.dli_packed_job{}))
	passHead     = int64(unsafe.Sizeof(C.dli_packed_pass{}))
	fileTaskSize = int64(unsafe.Sizeof(C.dli_jpeg_task{}))
	passTaskSize = int64(unsafe.Sizeof(C.dli_transform_task{}))
)

// planImages reads the images of a batch. It checks what the kernels rely on, except for the tables
// of transforms, which [transform.Job.Pack] has checked.
func planImages(s *loader.Staging) (*plan, error) {
	p := &plan{files: make([]fileTask, 0, len(s.Images))}
	end, host := int64(0), s.Host.Bytes()
	for i := range s.Images {
		image := &s.Images[i]
		if image.From < end || image.From%8 != 0 || image.Size < 0 || image.From+image.Size > int64(len(host)) || image.To < 0 || image.Length < 0 || image.To+image.Length > s.Size {
			return nil, errs.New(errs.Internal, "stage image %d: it lies at %d with %d bytes of %d, and its result at %d with %d of %d",
				i, image.From, image.Size, len(host), image.To, image.Length, s.Size)
		}
		at := int64(-1) // it is not copied
		if image.Form != loader.AsFile {
			at = p.copy(image, end)
		} else if image.Transformed {
			head := *image
			if head.Size = p.headBytes(host[image.From : image.From+image.Size]); head.Size > image.Size {
				return nil, errs.New(errs.Internal, "stage image %d: its transform has %d bytes of %d", i, head.Size, image.Size)
			}
			at = p.copy(&head, end)
		}
		end = image.From + image.Size
		if err := p.image(image, host[image.From:end], at); err != nil {
			return nil, errs.New(errs.Internal, "stage image %d: %w", i, err)
		}
	}
	p.copied = (p.copied + 63) &^ 63
	return p, nil
}

// copy copies an image to the scratch memory, and returns where it lies there. The image before it
// ends at end on the host.
func (p *plan) copy(image *loader.Image, end int64) int64 {
	if len(p.ranges) == 0 || image.From-end > mostGap {
		p.copied = (p.copied + 7) &^ 7
		p.ranges = append(p.ranges, copyRange{from: image.From, to: p.copied, scratch: true})
	}
	r := &p.ranges[len(p.ranges)-1]
	r.size = image.From + image.Size - r.from
	p.copied = r.to + r.size
	return r.to + image.From - r.from
}

// image adds the kernels of an image whose bytes on the host are data, and lie at an offset of the
// scratch memory.
func (p *plan) image(image *loader.Image, data []byte, at int64) error {
	if !image.Transformed && image.Form == loader.AsFile {
		if want := int64(image.Height) * int64(image.Width) * int64(image.Channels); want != image.Length || want == 0 {
			return errs.New(errs.Internal, "its pixels have %d bytes, want %d", want, image.Length)
		}
		from := p.decode(image.From, image.Size, image)
		p.moves = append(p.moves, C.dli_cuda_move{from: C.uint64_t(from), to: C.uint64_t(image.To), size: C.uint64_t(image.Length)})
		return nil
	}
	if !image.Transformed {
		file, err := packedFile(data)
		if err != nil {
			return err
		}
		t := p.file(file, image.Channels, at, 0, 0, uint32(file.width), uint32(file.height))
		if rows := int64(file.down) * 8 * int64(file.v); rows < int64(file.height) {
			return errs.New(errs.Internal, "%d rows of %d are packed", rows, file.height)
		}
		if want := int64(file.width) * int64(file.height) * int64(image.Channels); want != image.Length {
			return errs.New(errs.Internal, "its pixels have %d bytes, want %d", want, image.Length)
		}
		t.task.pixels = C.uint64_t(image.To)
		p.take(64 * int64(file.blocks))
		return nil
	}
	job, size, err := packedJob(data)
	if err != nil {
		return err
	}
	if want := resultBytes(job); want != image.Length {
		return errs.New(errs.Internal, "its result has %d bytes, want %d", want, image.Length)
	}
	input := int64(job.in_width) * int64(job.in_height) * int64(job.channels)
	if job.channels == 0 || image.Form != loader.AsPacked && int(job.channels) != image.Channels {
		return errs.New(errs.Internal, "it has %d channels, its transform %d", image.Channels, job.channels)
	}
	if image.Form == loader.AsFile {
		return p.wholeFile(job, size, image, at)
	}
	stride := int64(job.in_width) * int64(job.channels)
	if image.Form == loader.AsPixels {
		if got := int64(len(data)) - size; got != input {
			return errs.New(errs.Internal, "its region has %d bytes, want %d", got, input)
		}
		p.transform(job, image, at, picture{at: at + size, stride: stride}, 0, 0)
		return nil
	}
	file, err := packedFile(data[size:])
	if err != nil {
		return err
	}
	if rows := uint64(file.down) * 8 * uint64(file.v); rows < uint64(file.height) && uint64(job.y)+uint64(job.in_height)+uint64(file.v)-1 > rows {
		return errs.New(errs.Internal, "region of %d rows from row %d on of a file of which %d are packed", job.in_height, job.y, rows)
	}
	if uint64(job.x)+uint64(job.in_width) > uint64(file.width) || uint64(job.y)+uint64(job.in_height) > uint64(file.height) || int(job.channels) != image.Channels {
		return errs.New(errs.Internal, "region of %d x %d pixels at (%d, %d) of a file of %d x %d", job.in_height, job.in_width, job.y, job.x, file.height, file.width)
	}
	t := p.file(file, image.Channels, at+size, uint32(job.x), uint32(job.y), uint32(job.in_width), uint32(job.in_height))
	t.transformed = true
	// The samples of the file are not needed any more when the second pass is.
	pixels, samples := p.transform(job, image, at, picture{place: inRoom, stride: stride}, input, 64*int64(file.blocks))
	t.task.pixels, t.task.planes = C.uint64_t(pixels), C.uint64_t(samples)
	return nil
}

// wholeFile adds a file of which a region is transformed. Its transform lies at an offset of what
// was copied.
func (p *plan) wholeFile(job *C.dli_packed_job, size int64, image *loader.Image, at int64) error {
	if uint64(job.x)+uint64(job.in_width) > uint64(image.Width) || uint64(job.y)+uint64(job.in_height) > uint64(image.Height) || image.Width > 1<<20 || image.Height > 1<<20 {
		return errs.New(errs.Internal, "region of %d x %d pixels at (%d, %d) of a file of %d x %d", job.in_height, job.in_width, job.y, job.x, image.Height, image.Width)
	}
	stride := int64(image.Width) * int64(job.channels)
	first := int64(job.y)*stride + int64(job.x)*int64(job.channels)
	first += p.decode(image.From+size, image.Size-size, image)
	p.transform(job, image, at, picture{at: first, place: inDecoded, stride: stride}, 0, 0)
	return nil
}

// decode lets nvJPEG decode the file of an image, which lies on the host. It returns the offset of
// the pixels.
func (p *plan) decode(from, size int64, image *loader.Image) int64 {
	to := p.pixels
	p.whole = append(p.whole, C.dli_cuda_file{from: C.uint64_t(from), size: C.uint64_t(size), to: C.uint64_t(to), width: C.uint32_t(image.Width), channels: C.uint32_t(image.Channels)})
	p.pixels += (int64(image.Height)*int64(image.Width)*int64(image.Channels) + 63) &^ 63
	return to
}

// headBytes returns the size of the transform before a file.
func (p *plan) headBytes(data []byte) int64 {
	if int64(len(data)) < jobHead {
		return jobHead
	}
	return int64((*C.dli_packed_job)(unsafe.Pointer(unsafe.SliceData(data))).size)
}

// packedFile reads a packed file.
func packedFile(data []byte) (*C.dli_jpeg_packed, error) {
	if int64(len(data)) < fileHead {
		return nil, errs.New(errs.Internal, "a packed file has %d bytes", len(data))
	}
	head := (*C.dli_jpeg_packed)(unsafe.Pointer(unsafe.SliceData(data)))
	if want := fileHead + 8*int64(head.blocks) + 2*int64(head.entries); want != int64(len(data)) {
		return nil, errs.New(errs.Internal, "a packed file has %d bytes, want %d", len(data), want)
	}
	return head, nil
}

// packedJob reads a packed transform, and returns its size.
func packedJob(data []byte) (*C.dli_packed_job, int64, error) {
	if int64(len(data)) < jobHead {
		return nil, 0, errs.New(errs.Internal, "a packed transform has %d bytes", len(data))
	}
	job := (*C.dli_packed_job)(unsafe.Pointer(unsafe.SliceData(data)))
	size := int64(job.size)
	if size > int64(len(data)) || size%8 != 0 || job.passes < 1 || jobHead+int64(job.passes)*passHead > size {
		return nil, 0, errs.New(errs.Internal, "a packed transform of %d bytes and %d passes lies in %d bytes", size, job.passes, len(data))
	}
	return job, size, nil
}

// resultBytes returns the size of a transform's result.
func resultBytes(job *C.dli_packed_job) int64 {
	element := int64(1)
	switch job.form {
	case C.DLI_RESULT_FLOAT16, C.DLI_RESULT_BFLOAT16:
		element = 2
	case C.DLI_RESULT_FLOAT32:
		element = 4
	}
	return int64(job.width) * int64(job.height) * int64(job.channels) * element
}

// take reserves memory between kernels and returns its offset there.
func (p *plan) take(bytes int64) int64 {
	at := p.room
	p.room += (bytes + 63) &^ 63
	return at
}

// file adds a file of which a region is made.
func (p *plan) file(file *C.dli_jpeg_packed, channels int, at int64, x, y, width, height uint32) *fileTask {
	p.files = append(p.files, fileTask{task: C.dli_jpeg_task{packed: C.uint64_t(at), planes: C.uint64_t(p.room), channels: C.uint32_t(channels),
		x: C.uint32_t(x), y: C.uint32_t(y), width: C.uint32_t(width), height: C.uint32_t(height),
		first_group: C.uint32_t(p.groups), first_tile: C.uint32_t(p.tiles)}})
	p.groups += units(int64(file.blocks), C.DLI_JPEG_GROUP)
	p.tiles += units(int64(width)*int64(height), C.DLI_JPEG_TILE)
	return &p.files[len(p.files)-1]
}

func units(n, of int64) uint32 { return uint32((n + of - 1) / of) }

// picture is where the pixels lie that a pass takes.
type picture struct {
	at     int64 // inRoom: counted from the first piece
	place  place
	stride int64
}

// transform adds the passes of a job, which lies at an offset of the scratch memory. Two pieces of
// the memory between kernels take turns. They have at least first and second bytes, and it returns
// their offsets.
func (p *plan) transform(job *C.dli_packed_job, image *loader.Image, at int64, in picture, first, second int64) (int64, int64) {
	passes := unsafe.Slice((*C.dli_packed_pass)(unsafe.Add(unsafe.Pointer(job), jobHead)), job.passes)
	size := [2]int64{first, second}
	for i := range passes[:len(passes)-1] {
		k := (i + 1) % 2
		size[k] = max(size[k], int64(passes[i].width)*int64(passes[i].height)*int64(job.channels))
	}
	pieces := [2]int64{p.take(size[0]), p.take(size[1])}
	if in.place == inRoom {
		in.at += pieces[0]
	}
	for len(p.passes) < len(passes) {
		p.passes = append(p.passes, passList{})
	}
	for i := range passes {
		t := passTask{task: C.dli_transform_task{job: C.uint64_t(at), in: C.uint64_t(in.at), in_stride: C.uint32_t(in.stride), pass: C.uint32_t(i)}, in: in.place}
		if passes[i].what == C.DLI_PASS_CONTRAST {
			p.passes[i].sums.add(t, int64(passes[i].in_width)*int64(passes[i].in_height))
		}
		in = picture{at: pieces[(i+1)%2], place: inRoom, stride: int64(passes[i].width) * int64(job.channels)}
		t.task.out = C.uint64_t(in.at)
		if t.last = i == len(passes)-1; t.last {
			t.task.out = C.uint64_t(image.To)
		}
		p.passes[i].passes.add(t, int64(passes[i].width)*int64(passes[i].height))
	}
	return pieces[0], pieces[1]
}

// add appends a task for pixels.
func (l *taskList) add(t passTask, pixels int64) {
	t.task.first_tile = C.uint32_t(l.tiles)
	l.tasks = append(l.tasks, t)
	l.tiles += units(pixels, C.DLI_PASS_TILE)
}
