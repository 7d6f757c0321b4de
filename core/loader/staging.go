package loader

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// stageAll marks the fields whose images a device finishes: files of one shape that it decodes, and
// pictures that it transforms.
func stageAll(fields []field) {
	for i := range fields {
		f := &fields[i]
		if f.collate != Stack || f.stored || f.seq {
			continue
		}
		if a := f.augment; a != nil {
			f.staged = a.role == asPicture
			continue
		}
		f.staged = f.access.PackRun != nil && f.runs && f.dtype == tensor.Uint8
	}
}

// stagedImages are the images of a column that a device finishes. They share an area of the host's
// slab: each takes what it needs, up to its share, so that all fit in any order.
type stagedImages struct {
	items       []stagedItem
	shares      []int64
	first, size int64 // of the area
	used        int64
}

// stagedItem is an image in the area.
type stagedItem struct {
	from, size  int64 // in the slab of the host
	channels    int
	packed      bool // by a codec.Packer
	transformed bool // a packed transform lies before it
	// neither: it is finished
}

// itemAlign is of the address of an item.
const itemAlign = 8

// reserveImages makes the area of a stacked column in place of its data.
func (l *layout) reserveImages(p *part, c *BatchColumn) error {
	n := p.count()
	s := &stagedImages{items: make([]stagedItem, n), shares: make([]int64, n), first: c.Offset}
	for i := range s.shares {
		s.shares[i] = (p.share(i) + itemAlign - 1) &^ (itemAlign - 1)
		s.size += min(s.shares[i], maxSlabBytes)
	}
	p.images, c.images = s, s
	_, err := l.reserve(s.size - c.Size)
	return err
}

// share returns the most bytes that item i takes in the area. The result fits for certain. So do
// the pixels that a transform takes, with its tables. Of a file that may be packed half of the
// pixels do: it takes a quarter to a third of them when it is.
func (p *part) share(i int) int64 {
	if p.field.augment == nil {
		return p.length(i)
	}
	r := &p.refs[i]
	pixels := r.Size
	if p.field.access.PackRun != nil {
		pixels /= 2
	}
	return max(p.length(i), pixels+1024+32*(r.Shape[0]+r.Shape[1]))
}

// take takes memory for item i. It reports whether there is enough.
func (s *stagedImages) take(i int, size int64) (int64, bool) {
	size = (size + itemAlign - 1) &^ (itemAlign - 1)
	if size > s.shares[i] {
		return 0, false
	}
	return s.first + atomic.AddInt64(&s.used, size) - size, true
}

// runStaged brings all items of a job into the area of their column.
func (w *work) runStaged(ctx context.Context, j *job, mem []byte, scratch *chunk.Worker) {
	p := &w.plan.parts[j.part]
	refs, items := make([]*chunk.Ref, 0, j.to-j.from), make([]int, 0, j.to-j.from)
	for k := j.from; k < j.to; k++ {
		i := int(k)
		if j.items != nil {
			i = int(j.items[k])
		}
		refs, items = append(refs, &p.refs[i]), append(items, i)
	}
	failed := func(k int, err error) { w.fail(p, items[k], err) }
	if p.field.augment != nil {
		w.runTransformed(ctx, p, refs, items, mem, scratch, failed)
		return
	}
	whole := make([]bool, len(items))
	for k, i := range items {
		whole[k] = w.isOnCPU(i)
	}
	p.field.access.PackRun(ctx, refs, whole, nil, scratch, func(k int, data []byte, packed bool) {
		i, size := items[k], int64(len(data))
		from, ok := p.images.take(i, size)
		if !ok {
			failed(k, errs.New(errs.Internal, "pack a file into %d bytes, want at most %d", size, p.images.shares[i]))
			return
		}
		copy(mem[from:from+size], data)
		p.images.items[i] = stagedItem{from: from, size: size, channels: int(refs[k].Shape[2]), packed: packed}
	}, failed)
}

// isOnCPU reports whether item i is one of those that the CPU finishes in place of the device. They
// are spread over the batch, and so over the threads.
func (w *work) isOnCPU(i int) bool {
	const golden = 0.6180339887498949 // multiples of it fill the unit interval evenly
	_, place := math.Modf(float64(i) * golden)
	return place < w.cpuShare
}

// runTransformed brings pictures into the area with their transforms. Files are packed where that
// is possible, and regions of the others decoded.
func (w *work) runTransformed(ctx context.Context, p *part, refs []*chunk.Ref, items []int, mem []byte, scratch *chunk.Worker, failed func(k int, err error)) {
	a := p.field.augment
	space := a.workspaces.Borrow()
	defer a.workspaces.Return(space)
	var of []int // the items whose transforms could be made
	var pictures []*chunk.Ref
	var rois []codec.ROI
	var sinks []*stagedPicture
	var whole []bool
	for k, i := range items {
		key := w.key
		key.Row = refs[k].Row
		job, err := space.Job(a.pipe, key, refs[k].Shape, false, nil)
		var packed transform.Packed
		if err == nil {
			packed, err = job.Pack()
		}
		if err != nil {
			failed(k, err)
			continue
		}
		s := &stagedPicture{images: p.images, item: i, length: p.length(i), channels: 1, job: job, transform: packed, mem: mem, onCPU: w.isOnCPU(i)}
		if len(refs[k].Shape) == 3 {
			s.channels = int(refs[k].Shape[2])
		}
		of, pictures, sinks = append(of, k), append(pictures, refs[k]), append(sinks, s)
		whole = append(whole, s.onCPU)
		rois = append(rois, codec.ROI{Region: codec.Region(job.Region()), To: s})
	}
	bad := func(k int, err error) { failed(of[k], err) }
	if p.field.access.PackRun == nil {
		p.decodeROIs(ctx, pictures, rois, scratch, space, bad)
		return
	}
	var large []int // their files take more than their share when they are packed
	p.field.access.PackRun(ctx, pictures, whole, rois, scratch, func(k int, data []byte, _ bool) {
		if !sinks[k].put(data, true) {
			large = append(large, k)
		}
	}, bad)
	for _, k := range large {
		p.decodeROIs(ctx, pictures[k:k+1], rois[k:k+1], scratch, space, func(_ int, err error) { bad(k, err) })
	}
}

// stagedPicture is the sink of one picture with a transform.
type stagedPicture struct {
	images    *stagedImages
	item      int
	length    int64 // of the result
	channels  int
	job       *transform.Job
	transform transform.Packed
	mem       []byte
	onCPU     bool // the CPU carries the transform out
}

// take takes memory for the transform and what follows it, which it returns.
func (s *stagedPicture) take(size int, packed bool) ([]byte, bool) {
	head := s.transform.Size()
	from, ok := s.images.take(s.item, int64(head+size))
	if !ok {
		return nil, false
	}
	s.images.items[s.item] = stagedItem{from: from, size: int64(head + size), channels: s.channels, packed: packed, transformed: true}
	mem := s.mem[from : from+int64(head+size)]
	s.transform.Write(mem)
	return mem[head:], true
}

// put takes in a packed file. It reports whether there was enough memory.
func (s *stagedPicture) put(data []byte, packed bool) bool {
	mem, ok := s.take(len(data), packed)
	if ok {
		copy(mem, data)
	}
	return ok
}

// Deliver implements [codec.PixelSink]: it takes in the region, or carries out the transform where
// the result is smaller.
func (s *stagedPicture) Deliver(pix []byte, stride int) error {
	r := s.job.Region()
	row := r.Width * s.channels
	if len(pix) < (r.Height-1)*stride+row || stride < row {
		return errs.New(errs.Internal, "stage %d bytes in rows of %d, want %d rows of %d", len(pix), stride, r.Height, row)
	}
	if !s.onCPU {
		if mem, ok := s.take(r.Height*row, false); ok {
			for y := range r.Height {
				copy(mem[y*row:(y+1)*row], pix[y*stride:])
			}
			return nil
		}
	}
	from, ok := s.images.take(s.item, s.length)
	if !ok {
		return errs.New(errs.Internal, "stage a result of %d bytes, want at most %d", s.length, s.images.shares[s.item])
	}
	if err := s.job.Into(s.mem[from : from+s.length : from+s.length]); err != nil {
		return err
	}
	s.images.items[s.item] = stagedItem{from: from, size: s.length}
	return s.job.Deliver(pix, stride)
}

// Native implements [codec.PixelSink].
func (s *stagedPicture) Native() (call, arg unsafe.Pointer) { return nil, nil }

// stage brings the arrays of a batch to the device, but for those of some dtypes. These and text
// stay on the host. The batch owns what it owned before, on the device.
func (b *Batch) stage(to Stager, onHost []string) error {
	for i := range b.Columns {
		c := &b.Columns[i]
		c.OnHost = c.Kind == KindBytes || slices.Contains(onHost, c.DType.String())
	}
	device, err := to.Stage(b.staging())
	if err != nil {
		return err
	}
	host := b.Slab
	b.Slab = device
	if slices.ContainsFunc(b.Columns, func(c BatchColumn) bool { return c.OnHost }) {
		b.Host = host
	} else {
		host.Release()
	}
	return nil
}

// staging describes the way of a batch to a device. Everything but images that it finishes lies at
// the same place there.
func (b *Batch) staging() *Staging {
	s := &Staging{Host: b.Slab}
	at := int64(0) // of the bytes that no copy has yet
	for i := range b.Columns {
		c := &b.Columns[i]
		from, end := c.span()
		if c.OnHost {
			s.copy(at, min(from, s.Size))
			at = max(at, end)
			continue
		}
		s.Size = max(s.Size, end)
		if c.images == nil {
			continue
		}
		s.copy(at, c.Offset)
		at = c.Offset + max(c.images.size, c.Size)
		for k := range c.images.items {
			s.image(c, k)
		}
	}
	s.copy(at, s.Size)
	slices.SortFunc(s.Images, func(a, b Image) int { return cmp.Compare(a.From, b.From) })
	return s
}

// copy adds a part of the host that lies at the same place on the device.
func (s *Staging) copy(from, to int64) {
	if from < to {
		s.Copies = append(s.Copies, Copy{From: from, To: from, Size: to - from})
	}
}

// image adds image k of a column.
func (s *Staging) image(c *BatchColumn, k int) {
	m := &c.images.items[k]
	length := c.Size / int64(c.Count)
	to := c.Offset + int64(k)*length
	switch {
	case m.packed || m.transformed:
		s.Images = append(s.Images, Image{From: m.from, Size: m.size, To: to, Length: length, Channels: m.channels, Packed: m.packed, Transformed: m.transformed})
	case m.size > 0:
		s.Copies = append(s.Copies, Copy{From: m.from, To: to, Size: m.size})
	}
}

// span returns where the arrays of a column begin and end in the slab, or its text.
func (c *BatchColumn) span() (from, end int64) {
	switch c.Kind {
	case KindArray:
		return c.Offset, c.Offset + c.Size
	case KindBytes:
		return c.Starts, c.Offset + c.Size
	}
	for i := range c.Items {
		m := &c.Items[i]
		if m.Size > 0 && (end == 0 || m.Offset < from) {
			from = m.Offset
		}
		end = max(end, m.Offset+m.Size)
	}
	return from, end
}
