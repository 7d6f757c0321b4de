package loader

import (
	"context"
	"math"
	"slices"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/transform"
)

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
	forms := make([]chunk.Form, len(items))
	for k, i := range items {
		if forms[k] = w.form(i); forms[k] == chunk.AsFile && refs[k].Stored+itemAlign > p.images.shares[i] {
			forms[k] = chunk.AsPacked // the file is larger than its pixels
		}
	}
	p.packRun(ctx, refs, items, forms, mem, scratch, func(k int) *stagedItem { return &p.images.items[items[k]] }, failed)
}

// packRun brings items without a transform into the area, and notes where they are.
func (p *part) packRun(ctx context.Context, refs []*chunk.Ref, items []int, forms []chunk.Form, mem []byte, scratch *chunk.Worker, note func(k int) *stagedItem, failed func(k int, err error)) {
	p.field.access.PackRun(ctx, refs, forms, nil, scratch, func(k int, data []byte, form chunk.Form) {
		i, size := items[k], int64(len(data))
		from, ok := p.images.take(i, size, p.most(i, form))
		if !ok {
			failed(k, errs.New(errs.Internal, "stage a file in %d bytes, want at most %d", size, p.images.shares[i]))
			return
		}
		copy(mem[from:from+size], data)
		*note(k) = stagedItem{from: from, size: size, index: i, form: form}
	}, failed)
}

// most returns the most bytes that item i takes in a form.
func (p *part) most(i int, form chunk.Form) int64 {
	if form == chunk.AsFile {
		return p.fileShare(i)
	}
	return p.images.shares[i]
}

// form returns the form in which item i comes to the device. Each form is spread over the batch,
// and so over the threads.
func (w *work) form(i int) chunk.Form {
	const golden = 0.6180339887498949 // multiples of it fill the unit interval evenly
	_, place := math.Modf(float64(i) * golden)
	switch {
	case place < w.split.CPU:
		return chunk.AsPixels
	case place < w.split.CPU+w.split.File:
		return chunk.AsFile
	}
	return chunk.AsPacked
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
	var forms []chunk.Form
	for k, i := range items {
		key := w.key
		key.Row = refs[k].Row
		s, err := p.picture(i, key, mem, space, &p.images.items[i])
		if err != nil {
			failed(k, err)
			continue
		}
		form := w.form(i)
		s.onCPU = form == chunk.AsPixels
		of, pictures, sinks, forms = append(of, k), append(pictures, refs[k]), append(sinks, s), append(forms, form)
		rois = append(rois, codec.ROI{Region: codec.Region(s.job.Region()), To: s})
	}
	bad := func(k int, err error) { failed(of[k], err) }
	if p.field.access.PackRun == nil {
		p.decodeROIs(ctx, pictures, rois, scratch, space, bad)
		return
	}
	var large []int // their files take more than their share when they are packed
	p.field.access.PackRun(ctx, pictures, forms, rois, scratch, func(k int, data []byte, form chunk.Form) {
		if !sinks[k].put(data, form) {
			large = append(large, k)
		}
	}, bad)
	for _, k := range large {
		p.decodeROIs(ctx, pictures[k:k+1], rois[k:k+1], scratch, space, func(_ int, err error) { bad(k, err) })
	}
}

// redo decodes the files of a staged batch that the device has refused on the CPU. Rows that cannot
// be decoded are an error, or left out.
func (w *work) redo(ctx context.Context, scratch *chunk.Worker, skip bool) error {
	bad := make([]bool, w.batch.Rows)
	for n := range w.plan.parts {
		p := &w.plan.parts[n]
		if p.images == nil {
			continue
		}
		for row, item := range p.images.items {
			if item.form != chunk.AsFile {
				continue
			}
			err := p.finish(ctx, item.index, w.key, w.batch.Slab.Bytes(), scratch, &p.images.items[row])
			w.accept(p, scratch)
			if err == nil {
				continue
			}
			err = rowError(p.field.name, p.refs[item.index].Row, err)
			if !skip || !errs.OfSample(err) {
				return err
			}
			if !bad[row] {
				bad[row] = true
				w.skips = append(w.skips, failure{position: row, row: p.refs[item.index].Row, tensor: p.field.name, err: err})
			}
		}
	}
	w.settleAccepted()
	if slices.Contains(bad, true) {
		w.batch.leaveOut(bad)
		w.loaded = int64(w.batch.Rows)
	}
	return nil
}

// finish decodes item i on the CPU, and transforms it, into new memory of the area.
func (p *part) finish(ctx context.Context, i int, key transform.Key, mem []byte, scratch *chunk.Worker, note *stagedItem) (err error) {
	refs := []*chunk.Ref{&p.refs[i]}
	failed := func(_ int, is error) { err = is }
	a := p.field.augment
	if a == nil {
		p.packRun(ctx, refs, []int{i}, []chunk.Form{chunk.AsPixels}, mem, scratch, func(int) *stagedItem { return note }, failed)
		return err
	}
	space := a.workspaces.Borrow()
	defer a.workspaces.Return(space)
	key.Row = p.refs[i].Row
	s, err := p.picture(i, key, mem, space, note)
	if err != nil {
		return err
	}
	s.onCPU = true
	p.decodeROIs(ctx, refs, []codec.ROI{{Region: codec.Region(s.job.Region()), To: s}}, scratch, space, failed)
	return err
}

// picture makes the sink of item i with its transform, which notes where the item is.
func (p *part) picture(i int, key transform.Key, mem []byte, space *transform.Workspace, note *stagedItem) (*stagedPicture, error) {
	r := &p.refs[i]
	job, err := space.Job(p.field.augment.pipe, key, r.Shape, false, nil)
	if err != nil {
		return nil, err
	}
	packed, err := job.Pack()
	if err != nil {
		return nil, err
	}
	return &stagedPicture{part: p, item: i, note: note, length: p.length(i), channels: channelsOf(r), job: job, transform: packed, mem: mem}, nil
}

func channelsOf(r *chunk.Ref) int {
	if len(r.Shape) == 3 {
		return int(r.Shape[2])
	}
	return 1
}

// stagedPicture is the sink of one picture with a transform.
type stagedPicture struct {
	part      *part
	item      int
	note      *stagedItem
	length    int64 // of the result
	channels  int
	job       *transform.Job
	transform transform.Packed
	mem       []byte
	onCPU     bool // the CPU carries the transform out
}

// take takes memory for the transform and what follows it, which it returns.
func (s *stagedPicture) take(size int, form chunk.Form) ([]byte, bool) {
	head := s.transform.Size()
	from, ok := s.part.images.take(s.item, int64(head+size), s.part.most(s.item, form))
	if !ok {
		return nil, false
	}
	*s.note = stagedItem{from: from, size: int64(head + size), index: s.item, form: form, transformed: true}
	mem := s.mem[from : from+int64(head+size)]
	s.transform.Write(mem)
	return mem[head:], true
}

// put takes in a file in a form. It reports whether there was enough memory.
func (s *stagedPicture) put(data []byte, form chunk.Form) bool {
	mem, ok := s.take(len(data), form)
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
		if mem, ok := s.take(r.Height*row, chunk.AsPixels); ok {
			for y := range r.Height {
				copy(mem[y*row:(y+1)*row], pix[y*stride:])
			}
			return nil
		}
	}
	from, ok := s.part.images.take(s.item, s.length, s.length+itemAlign)
	if !ok {
		return errs.New(errs.Internal, "stage a result of %d bytes, want at most %d", s.length, s.part.images.shares[s.item])
	}
	if err := s.job.Into(s.mem[from : from+s.length : from+s.length]); err != nil {
		return err
	}
	*s.note = stagedItem{from: from, size: s.length, index: s.item}
	return s.job.Deliver(pix, stride)
}

// Native implements [codec.PixelSink].
func (s *stagedPicture) Native() (call, arg unsafe.Pointer) { return nil, nil }
