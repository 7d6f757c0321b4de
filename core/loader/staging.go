package loader

import (
	"cmp"
	"slices"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/tensor"
)

// stageAll marks the fields whose images a device finishes: files of one shape that it decodes, and
// pictures that it transforms. files: the device may decode files alone.
func stageAll(fields []field, files bool) {
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
	for i := range fields {
		fields[i].files = files && fields[i].staged && fields[i].access.PackRun != nil
	}
}

// stagedImages are the images of a column that a device finishes. They share an area of the host's
// slab: each takes its bytes, up to its share, so that all fit in any order.
type stagedImages struct {
	items       []stagedItem
	shares      []int64
	shapes      []chunk.Ref // of the items as stored
	first, size int64       // of the area
	used        int64
}

// stagedItem is an image in the area.
type stagedItem struct {
	from, size  int64 // in the slab of the host
	index       int   // of the item in its part
	form        chunk.Form
	transformed bool // a packed transform lies before it; AsPixels without one: it is finished
}

// itemAlign is of the address of an item.
const itemAlign = 8

// reserveImages makes the area of a stacked column in place of its data.
func (l *layout) reserveImages(p *part, c *BatchColumn) error {
	n := p.count()
	s := &stagedImages{items: make([]stagedItem, n), shares: make([]int64, n), shapes: p.refs, first: c.Offset}
	for i := range s.shares {
		s.shares[i] = (p.share(i) + itemAlign - 1) &^ (itemAlign - 1)
		most := s.shares[i]
		if p.field.files { // one that the device refuses takes memory again
			most += p.fileShare(i)
		}
		s.size = min(s.size+most, maxSlabBytes+1) // one more is refused
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
	return max(p.length(i), pixels+tableBytes(r))
}

// tableBytes estimates the bytes of a packed transform.
func tableBytes(r *chunk.Ref) int64 { return 1024 + 32*(r.Shape[0]+r.Shape[1]) }

// fileShare returns the most bytes that the file of item i takes, with its transform.
func (p *part) fileShare(i int) int64 {
	r := &p.refs[i]
	return (r.Stored + tableBytes(r) + itemAlign - 1) &^ (itemAlign - 1)
}

// take takes memory for size bytes of item i, of which it may take share. It reports whether there
// is enough.
func (s *stagedImages) take(i int, size, share int64) (int64, bool) {
	size = (size + itemAlign - 1) &^ (itemAlign - 1)
	if size > min(share, s.shares[i]) {
		return 0, false
	}
	end := atomic.AddInt64(&s.used, size)
	return s.first + end - size, end <= s.size
}

// stage brings the arrays of a batch to the device, but for those of some dtypes. These and text
// stay on the host. The batch owns the memory on the device.
func (b *Batch) stage(to Stager, onHost []string) error {
	for i := range b.Columns {
		c := &b.Columns[i]
		c.OnHost = c.Kind == KindBytes || slices.Contains(onHost, c.DType.String())
	}
	device, err := to.Stage(b.staging())
	if err != nil {
		return err
	}
	for i := range b.Columns {
		b.Columns[i].images = nil
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
	case m.form != chunk.AsPixels || m.transformed:
		whole := &c.images.shapes[m.index]
		s.Images = append(s.Images, Image{From: m.from, Size: m.size, To: to, Length: length, Form: m.form, Transformed: m.transformed,
			Height: int(whole.Shape[0]), Width: int(whole.Shape[1]), Channels: channelsOf(whole)})
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
