package windows

import (
	"context"
	"maps"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/clips"
	"deeplake/core/errs"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// arrayColumn is the entries of an array, or of a sequence of arrays, at the times of windows.
type arrayColumn struct {
	read.Column
	*about
	of *Source
}

// cut is the entries of a sample that are delivered.
type cut struct {
	whole chunk.Ref   // of an array
	items []chunk.Ref // of a sequence: each entry
	at    []int64     // the entries
	each  int64       // bytes of one
}

// Name returns the name of the tensor.
func (c *arrayColumn) Name() string { return c.Column.Name() }

// Sequence is false: the entries are one array.
func (c *arrayColumn) Sequence() bool { return false }

// Access returns the abilities of windows. Whole samples are fetched ahead, since their blocks are
// read as such.
func (c *arrayColumn) Access() read.Access {
	a := c.Column.Access()
	out := read.Access{Origin: a.Origin, Info: a.Info, HType: "generic", Time: a.Time, Clips: true, DecodeRun: c.decodeRun, Prefetch: a.Prefetch, StoredBytes: a.StoredBytes}
	if h, err := tensor.ParseHType(a.HType); c.Column.Sequence() && err == nil {
		h.Sequence = false
		if c.Single {
			out.HType = h.String()
		} else if h.IsImage() {
			out.DecodeFrames = c.decodeFrames
		}
	}
	return out
}

// Resolve plans the entries of windows.
func (c *arrayColumn) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	if err := c.of.check(rows); err != nil {
		return err
	}
	if err := c.Column.Resolve(ctx, rows, refs); err != nil {
		return err
	}
	for i, row := range rows {
		if err := c.cut(ctx, row, &refs[i]); err != nil {
			return err
		}
	}
	return nil
}

// cut makes the ref of an episode's sample that of a window.
func (c *arrayColumn) cut(ctx context.Context, row int64, ref *chunk.Ref) error {
	n, err := entriesOf(c.Column, ref)
	if err == nil && n != c.of.places.Lengths[row] {
		err = errs.New(errs.Invalid, "row %d has %d entries, its windows are of %d frames; make windows again", ref.Row, n, c.of.places.Lengths[row])
	}
	if err != nil {
		return err
	}
	part := &cut{whole: *ref, at: make([]int64, len(c.away))}
	c.of.entries(row, c.away, part.at, nil)
	var shape tensor.Shape
	if c.Column.Sequence() {
		items := make([]chunk.Ref, ref.Items)
		if err := c.Items(ctx, ref, items); err != nil {
			return err
		}
		for _, at := range part.at {
			part.items = append(part.items, items[at])
		}
		first := &part.items[0]
		for k := range part.items {
			if !slices.Equal(part.items[k].Shape, first.Shape) {
				return errs.New(errs.Invalid, "row %d: entry %d has shape %s and entry %d shape %s, want one shape within a window", ref.Row, part.at[0], first.Shape, part.at[k], part.items[k].Shape)
			}
		}
		shape, part.each = first.Shape, first.Size
	} else {
		shape, part.each = ref.Shape[1:], ref.Size/ref.Shape[0]
	}
	spans := part.spans()
	if !c.Single { // of a text, shape stays nil
		shape = append(tensor.Shape{int64(len(part.at))}, shape...)
	}
	ref.Shape, ref.Items, ref.Tiles, ref.Size = shape, 1, nil, part.each*int64(len(part.at))
	ref.Partial = &chunk.Partial{Spans: spans, Of: part, Draw: clips.Draw(c.of.places.Frames[row])}
	if ref.Computed != nil {
		ref.Computed = []byte{} // no hole; Decode has the values
	}
	return nil
}

// spans lists the bytes that the entries are read from.
func (p *cut) spans() []chunk.Span {
	if p.items == nil {
		return p.whole.Spans(nil)
	}
	var out []chunk.Span
	for k := range p.items {
		if k == 0 || p.at[k] != p.at[k-1] {
			out = p.items[k].Spans(out)
		}
	}
	return out
}

// Decode reads the entries of a window.
func (c *arrayColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	var first error
	c.decodeRun(ctx, []*chunk.Ref{ref}, [][]byte{dst}, w, func(_ int, err error) { first = err })
	return first
}

// decodeRun reads the entries of windows. Windows of one row that follow each other read an array
// once, and each item of a sequence once.
func (c *arrayColumn) decodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	byRow(refs, failed, func(first int, parts []*cut) {
		entry := func(i, k int) ([]byte, error) {
			to, part := dst[first+i], parts[i]
			if want := part.each * int64(len(part.at)); int64(len(to)) != want {
				return nil, errs.New(errs.Internal, "decode a window of %d bytes into %d bytes", want, len(to))
			}
			return to[int64(k)*part.each:][:part.each], nil
		}
		if parts[0].items != nil {
			c.eachItem(ctx, parts, w, func(i, k int, data []byte) error {
				to, err := entry(i, k)
				copy(to, data)
				return err
			}, func(i int, err error) { failed(first+i, err) })
			return
		}
		whole := c.of.memory(parts[0].whole.Size)
		defer c.of.spare.Put(whole)
		unread := c.Column.Decode(ctx, &parts[0].whole, *whole, w)
		for i, part := range parts {
			err := unread
			for k := 0; k < len(part.at) && err == nil; k++ {
				var to []byte
				to, err = entry(i, k)
				copy(to, (*whole)[part.at[k]*part.each:])
			}
			if err != nil {
				failed(first+i, err)
			}
		}
	})
}

// decodeFrames decodes the pictures of windows as decodeRun does, and delivers each.
func (c *arrayColumn) decodeFrames(ctx context.Context, refs []*chunk.Ref, w *chunk.Worker, deliver func(i, frame int, pix []byte, stride int) error, failed func(i int, err error)) {
	byRow(refs, failed, func(first int, parts []*cut) {
		c.eachItem(ctx, parts, w, func(i, k int, pix []byte) error {
			shape := refs[first+i].Shape // (frames, height, width, channels)
			return deliver(first+i, k, pix, int(shape[2]*shape[3]))
		}, func(i int, err error) { failed(first+i, err) })
	})
}

// byRow calls read with the windows of one row that follow each other, from the first of them on.
func byRow(refs []*chunk.Ref, failed func(i int, err error), read func(first int, parts []*cut)) {
	var parts []*cut
	for i, ref := range refs {
		part, ok := ref.Partial.Of.(*cut)
		if len(parts) > 0 && (!ok || !sameItem(&parts[0].whole, &part.whole)) {
			read(i-len(parts), parts)
			parts = nil
		}
		if !ok {
			failed(i, errs.New(errs.Internal, "decode a window of a sample that is none"))
			continue
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		read(len(refs)-len(parts), parts)
	}
}

// sameItem reports whether two refs, of the tensor of one version, are of one stored item.
func sameItem(a, b *chunk.Ref) bool {
	return a.Chunk != nil && a.Chunk == b.Chunk && a.Item == b.Item && a.Tiles == nil && b.Tiles == nil
}

// eachItem decodes each item that windows of one sequence have, and delivers it for entry k of
// window i. data is valid until deliver returns.
func (c *arrayColumn) eachItem(ctx context.Context, parts []*cut, w *chunk.Worker, deliver func(i, k int, data []byte) error, failed func(i int, err error)) {
	type entry struct{ i, k int }
	entries := map[int64][]entry{} // of each item
	for i, part := range parts {
		for k, at := range part.at {
			entries[at] = append(entries[at], entry{i, k})
		}
	}
	bad := make([]bool, len(parts))
	for _, at := range slices.Sorted(maps.Keys(entries)) {
		of := entries[at]
		item := &parts[of[0].i].items[of[0].k]
		data := c.of.memory(item.Size)
		err := c.Column.Decode(ctx, item, *data, w)
		for _, e := range of {
			if bad[e.i] {
				continue
			}
			why := err
			if why == nil {
				why = deliver(e.i, e.k, *data)
			}
			if bad[e.i] = why != nil; bad[e.i] {
				failed(e.i, why)
			}
		}
		c.of.spare.Put(data)
	}
}

// Stored is refused: a window is not stored as such.
func (c *arrayColumn) Stored(context.Context, *chunk.Ref, []byte, *chunk.Worker) error {
	return notStored()
}
