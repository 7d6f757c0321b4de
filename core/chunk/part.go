package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// Partial names the bytes of a sample that a column delivers in part: some frames of a video.
type Partial struct {
	Spans []Span
	Of    any   // for the column that found the sample: the part
	Draw  int64 // tells the parts of a sample apart for random numbers
}

// Draw returns the number that seeds the random draws of a sample. Parts of one sample have
// different ones.
func (r *Ref) Draw() int64 {
	if r.Partial != nil {
		return r.Row ^ r.Partial.Draw
	}
	return r.Row
}

// Part returns the place of n stored bytes of a sample, from byte off on, without the rest of the
// block. No checksum covers them: the caller has checksums of parts, as for a video. The sample
// must be one item without a codec, and have these bytes behind its Head.
func (r *Ref) Part(off, n int64) (Span, error) {
	c := r.Chunk
	switch {
	case c == nil || r.Tiles != nil || r.Items != 1:
		return Span{}, errs.New(errs.Internal, "a part of a sample that is not one item")
	case off < 0 || n < 1 || off > r.Stored || n > r.Stored-off:
		return Span{}, errs.New(errs.Internal, "%d bytes at %d of a sample of %d", n, off, r.Stored)
	case c.Index.Linked():
		l := c.Index.Link(r.Item)
		if off -= int64(len(l.Head)); off < 0 {
			return Span{}, errs.New(errs.Internal, "bytes that lie in no object")
		}
		return Span{Object: linkName(&l), Offset: l.Offset + off, Bytes: n, chunk: c, item: r.Item}, nil
	case c.Index.BlockCodec() != codec.None:
		return Span{}, errs.Op("read chunk", c.Key).New(errs.Corrupt, "its samples are compressed, and files of videos are stored as they are; run fsck")
	}
	block, _ := c.Index.BlockOf(r.Item)
	at, _, _ := c.Index.BlockRange(block)
	within, _ := c.Index.ItemInBlock(r.Item)
	return Span{Object: c.Key, Offset: at + within + off, Bytes: n, chunk: c, item: -1}, nil
}

// Head returns the bytes of a sample that lie in front of those of its object: of a link to a part
// of a file. Part has the others. The slice is shared and not to be changed.
func (r *Ref) Head() []byte {
	if c := r.Chunk; c != nil && r.Tiles == nil && r.Items == 1 && c.Index.Linked() {
		return c.Index.Link(r.Item).Head
	}
	return nil
}

// Ahead fills dst, len(dst) == s.Bytes, with a span, if it was fetched ahead of need. False: the
// store is to be asked. It verifies nothing, as Span.Read.
func (w *Worker) Ahead(ctx context.Context, s Span, dst []byte) (bool, error) {
	if w.readAhead == nil {
		return false, nil
	}
	data, err := w.readAhead.Bytes(ctx, s.Object, s.Offset, s.Bytes)
	copy(dst, data)
	return data != nil, err
}
