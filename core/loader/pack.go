package loader

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/tensor"
)

// packAll marks the fields whose samples a device finishes: whole images of one shape.
func packAll(fields []field) {
	for i := range fields {
		f := &fields[i]
		f.packs = f.access.PackRun != nil && f.runs && f.augment == nil && f.collate == Stack && !f.stored && !f.seq && f.dtype == tensor.Uint8
	}
}

// packedItem is an image in the area of its column, in any order.
type packedItem struct {
	from, size int64 // in the slab of the host
	packed     bool  // else it is pixels
}

// packSlack is the most that an image takes beyond its pixels: its address is a multiple of 8.
const packSlack = 8

// reservePacked prepares a stacked column for images that a device finishes: they lie end to end in
// the area of the pixels.
func (l *layout) reservePacked(p *part, c *BatchColumn) {
	p.images = make([]packedItem, p.count())
	p.first, p.used = c.Offset, 0
	c.images = p.images
	l.used += packSlack * int64(p.count())
}

// runPacked packs all items of a job.
func (w *work) runPacked(ctx context.Context, j *job, mem []byte, scratch *chunk.Worker) {
	p := &w.plan.parts[j.part]
	refs, items := make([]*chunk.Ref, 0, j.to-j.from), make([]int, 0, j.to-j.from)
	for k := j.from; k < j.to; k++ {
		i := int(k)
		if j.items != nil {
			i = int(j.items[k])
		}
		refs, items = append(refs, &p.refs[i]), append(items, i)
	}
	p.field.access.PackRun(ctx, refs, scratch, func(k int, data []byte, packed bool) {
		size := int64(len(data))
		taken := (size + packSlack - 1) &^ (packSlack - 1)
		from := p.first + atomic.AddInt64(&p.used, taken) - taken
		copy(mem[from:from+size], data)
		p.images[items[k]] = packedItem{from, size, packed}
	}, func(k int, err error) { w.fail(p, items[k], err) })
}

// stage brings the arrays of a batch to the device. Text stays on the host. The batch owns what it
// owned before, on the device.
func (b *Batch) stage(to Stager) error {
	device, err := to.Stage(b.staging())
	if err != nil {
		return err
	}
	host := b.Slab
	b.Slab = device
	if slices.ContainsFunc(b.Columns, func(c BatchColumn) bool { return c.Kind == KindBytes }) {
		b.Host = host
	} else {
		host.Release()
	}
	return nil
}

// staging describes the way of a batch to a device. Everything but packed images lies at the same
// place there.
func (b *Batch) staging() *Staging {
	s := &Staging{Host: b.Slab}
	at := int64(0) // of the bytes that no copy has yet
	for i := range b.Columns {
		c := &b.Columns[i]
		s.Size = max(s.Size, c.end())
		if c.images == nil {
			continue
		}
		s.copy(at, c.Offset)
		at = c.Offset + c.Size
		for k := range c.images {
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
	m := c.images[k]
	to := c.Offset + int64(k)*(c.Size/int64(c.Count))
	switch {
	case m.packed:
		s.Images = append(s.Images, Image{From: m.from, Size: m.size, To: to, Channels: int(c.Shape[3])})
	case m.size > 0:
		s.Copies = append(s.Copies, Copy{From: m.from, To: to, Size: m.size})
	}
}

// end returns the end of the arrays of a column in the slab, 0 for text.
func (c *BatchColumn) end() int64 {
	switch c.Kind {
	case KindArray:
		return c.Offset + c.Size
	case KindList:
		end := int64(0)
		for i := range c.Items {
			end = max(end, c.Items[i].Offset+c.Items[i].Size)
		}
		return end
	}
	return 0
}
