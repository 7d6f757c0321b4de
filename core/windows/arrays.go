package windows

import (
	"context"
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

// decodeRun reads the entries of windows. An array is read once for those that follow each other.
func (c *arrayColumn) decodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	var whole *[]byte
	var last *cut // of which whole has the array; nil: it has none
	defer func() {
		if whole != nil {
			c.of.spare.Put(whole)
		}
	}()
	for i, ref := range refs {
		part, ok := ref.Partial.Of.(*cut)
		if !ok || int64(len(dst[i])) != ref.Size {
			failed(i, errs.New(errs.Internal, "decode a window of %d bytes into %d bytes", ref.Size, len(dst[i])))
			continue
		}
		if part.items != nil {
			if err := c.decodeItems(ctx, part, dst[i], w); err != nil {
				failed(i, err)
			}
			continue
		}
		if last == nil || !sameItem(&last.whole, &part.whole) {
			if whole != nil {
				c.of.spare.Put(whole)
			}
			whole, last = c.of.memory(part.whole.Size), nil
			if err := c.Column.Decode(ctx, &part.whole, *whole, w); err != nil {
				failed(i, err)
				continue
			}
			last = part
		}
		for k, at := range part.at {
			copy(dst[i][int64(k)*part.each:][:part.each], (*whole)[at*part.each:])
		}
	}
}

// sameItem reports whether two refs, of the tensor of one version, are of one stored item.
func sameItem(a, b *chunk.Ref) bool {
	return a.Chunk != nil && a.Chunk == b.Chunk && a.Item == b.Item && a.Tiles == nil && b.Tiles == nil
}

// decodeItems reads the entries of a window of a sequence.
func (c *arrayColumn) decodeItems(ctx context.Context, part *cut, dst []byte, w *chunk.Worker) error {
	entry := func(k int) []byte { return dst[int64(k)*part.each:][:part.each] }
	for k := range part.items {
		if k > 0 && part.at[k] == part.at[k-1] {
			copy(entry(k), entry(k-1))
		} else if err := c.Column.Decode(ctx, &part.items[k], entry(k), w); err != nil {
			return err
		}
	}
	return nil
}

// decodeFrames decodes the pictures of windows one by one, and delivers each.
func (c *arrayColumn) decodeFrames(ctx context.Context, refs []*chunk.Ref, w *chunk.Worker, deliver func(i, frame int, pix []byte, stride int) error, failed func(i int, err error)) {
	for i, ref := range refs {
		err := c.picturesOf(ctx, ref, w, func(frame int, pix []byte, stride int) error { return deliver(i, frame, pix, stride) })
		if err != nil {
			failed(i, err)
		}
	}
}

// picturesOf delivers the pictures of a window.
func (c *arrayColumn) picturesOf(ctx context.Context, ref *chunk.Ref, w *chunk.Worker, deliver func(frame int, pix []byte, stride int) error) error {
	part, ok := ref.Partial.Of.(*cut)
	if !ok || len(ref.Shape) != 4 {
		return errs.New(errs.Internal, "decode the pictures of a window of shape %s", ref.Shape)
	}
	memory := c.of.memory(part.each)
	defer c.of.spare.Put(memory)
	pix := *memory
	for k := range part.items {
		if k == 0 || part.at[k] != part.at[k-1] {
			if err := c.Column.Decode(ctx, &part.items[k], pix, w); err != nil {
				return err
			}
		}
		if err := deliver(k, pix, int(ref.Shape[2]*ref.Shape[3])); err != nil {
			return err
		}
	}
	return nil
}

// Stored is refused: a window is not stored as such.
func (c *arrayColumn) Stored(context.Context, *chunk.Ref, []byte, *chunk.Worker) error {
	return notStored()
}
