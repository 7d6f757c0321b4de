package chunk

import (
	"context"
	"io"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// Span is bytes of one object that samples need: whole blocks of a chunk, or what links point to.
type Span struct {
	Object string // names the object, also to a ReadAhead
	Offset int64
	Bytes  int64 // at least 1

	chunk *Chunk
	item  int64 // linked: an item of the object; else -1
}

// maxSpan bounds what Spans puts together, so that spans can be requested one by one. A block that
// is larger is one span.
const maxSpan = 4 << 20

// ReadAhead are bytes that were fetched ahead of need.
type ReadAhead interface {
	// Bytes is n bytes of an object from offset off, waited for while they are on their way. nil
	// without an error says that the caller is to ask the store. The slice is read-only and stays
	// until the job that the worker was given ends.
	Bytes(ctx context.Context, object string, off, n int64) ([]byte, error)
}

// SetReadAhead makes the worker look for bytes in h before it asks a store; nil: ask the store.
// Slices of the ReadAhead before are forgotten, so it is called again whenever they end.
func (w *Worker) SetReadAhead(h ReadAhead) {
	w.readAhead = h
	if w.borrowed {
		w.data, w.borrowed = nil, false
	}
}

// Spans appends what reading the sample takes.
func (r *Ref) Spans(spans []Span) []Span {
	if r.Chunk == nil {
		return spans
	}
	if r.Partial != nil {
		return append(spans, r.Partial.Spans...)
	}
	if r.Tiles == nil {
		return r.Chunk.Spans(r.Item, r.Items, spans)
	}
	for _, t := range r.Tiles {
		spans = t.Spans(0, t.Index.Items(), spans)
	}
	return spans
}

// Spans appends what reading items takes, which must be in the chunk. Neighbouring blocks are one
// span.
func (c *Chunk) Spans(item, count int64, spans []Span) []Span {
	if count <= 0 || c.kept != nil {
		return spans
	}
	if c.Index.Linked() {
		return c.linkSpans(item, count, spans)
	}
	first, _ := c.Index.BlockOf(item)
	last, _ := c.Index.BlockOf(item + count - 1)
	s := Span{Object: c.Key, chunk: c, item: -1}
	for b := first; b <= last; b++ {
		off, n, _ := c.Index.BlockRange(b)
		if s.Bytes > 0 && s.Bytes+n > maxSpan {
			spans = append(spans, s)
			s.Bytes = 0
		}
		if s.Bytes == 0 {
			s.Offset = off
		}
		s.Bytes += n
	}
	if s.Bytes > 0 {
		spans = append(spans, s)
	}
	return spans
}

func (c *Chunk) linkSpans(item, count int64, spans []Span) []Span {
	for i := item; i < item+count; i++ {
		l := c.Index.Link(i)
		spans = append(spans, Span{Object: linkName(&l), Offset: l.Offset, Bytes: l.Length, chunk: c, item: i})
	}
	return spans
}

// linkName tells objects apart, and versions of one: an object that has changed must not be taken
// for the other.
func linkName(l *format.Link) string {
	if l.Tag == "" {
		return l.URL
	}
	return l.URL + "\x00" + l.Tag
}

// Part is n bytes of the object from offset off, which need not lie in s.
func (s Span) Part(off, n int64) Span {
	s.Offset, s.Bytes = off, n
	return s
}

// PageCache returns the page cache that holds the object. It is nil for stores without one, and for
// linked samples.
func (s Span) PageCache() storage.PageCache {
	if s.item >= 0 {
		return nil
	}
	c, _ := storage.As[storage.PageCache](s.chunk.Store)
	return c
}

// Read fills dst, len(dst) == s.Bytes, with the span. It verifies nothing: checksums belong to
// blocks. A missing object, or one that differs from the linked one, is errs.Corrupt. After an
// error dst is undefined.
func (s Span) Read(ctx context.Context, dst []byte) error {
	if int64(len(dst)) != s.Bytes {
		return errs.New(errs.Internal, "read %d bytes into %d bytes", s.Bytes, len(dst))
	}
	if s.item < 0 {
		return s.chunk.readAt(ctx, dst, s.Offset)
	}
	l := s.chunk.Index.Link(s.item)
	l.Offset, l.Length = s.Offset, s.Bytes
	if s.chunk.Links == nil {
		return errs.Op("read", storage.RedactURL(l.URL)).New(errs.Unsupported, "this program reads no links")
	}
	return s.chunk.Links.ReadLink(ctx, l, dst)
}

// streamStep is the number of bytes between two calls of landed: more calls would cost more than
// they gain.
const streamStep = 128 << 10

// Stream is Read for callers that use bytes while others are in flight. It calls landed with each
// further n bytes, in order, and with 0 when the answer begins. If the store cannot stream, all
// bytes land at once.
func (s Span) Stream(ctx context.Context, dst []byte, landed func(n int64)) error {
	if s.item < 0 && int64(len(dst)) == s.Bytes {
		if r, ok := storage.As[storage.Ranger](s.chunk.Store); ok {
			return missing(s.chunk.Key, s.follow(ctx, r, dst, landed))
		}
	}
	err := s.Read(ctx, dst)
	if err == nil {
		landed(s.Bytes)
	}
	return err
}

// follow reads the span in the order of arrival.
func (s Span) follow(ctx context.Context, r storage.Ranger, dst []byte, landed func(n int64)) error {
	key := s.chunk.Key
	b, err := r.Range(ctx, key, s.Offset, s.Bytes, "")
	if err != nil {
		return err
	}
	defer b.Close()
	if b.Len() < s.Bytes {
		return errs.Op("read", key).New(errs.Corrupt, "object is truncated (got %d bytes at offset %d, want %d)", b.Len(), s.Offset, s.Bytes)
	}
	landed(0)
	for at := 0; at < len(dst); {
		n, err := io.ReadAtLeast(b, dst[at:], min(streamStep, len(dst)-at))
		if at += n; errs.Is(err, errs.Conflict) {
			// The object was put again, with the same content: its name is given once.
			err = s.chunk.Store.ReadAt(ctx, key, dst[at:], s.Offset+int64(at))
			n += len(dst) - at
			at = len(dst)
		}
		if err != nil {
			return errs.Wrap(errs.Storage, "read", key, err)
		}
		landed(int64(n))
	}
	return nil
}

// link reads an item of a linked chunk into dst.
func (w *Worker) link(ctx context.Context, c *Chunk, item int64, dst []byte) error {
	if w.readAhead != nil {
		l := c.Index.Link(item)
		data, err := w.readAhead.Bytes(ctx, linkName(&l), l.Offset, l.Length)
		if err != nil || data != nil {
			copy(dst[copy(dst, l.Head):], data)
			return err
		}
	}
	return c.link(ctx, item, dst)
}

// links reads consecutive items of a linked chunk into dst, one after the other.
func (w *Worker) links(ctx context.Context, c *Chunk, item, count int64, dst []byte) error {
	for end := item + count; item < end; item++ {
		n := c.Index.ItemBytes(item)
		if err := w.link(ctx, c, item, dst[:n]); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// borrow returns the prefetched bytes of a block, checked. It returns nil if the block must be read
// from the store: if it was not prefetched, or if the prefetched bytes are damaged.
func (w *Worker) borrow(ctx context.Context, c *Chunk, block int) ([]byte, error) {
	if w.readAhead == nil {
		return nil, nil
	}
	off, n, _ := c.Index.BlockRange(block)
	if n == 0 {
		return nil, nil
	}
	data, err := w.readAhead.Bytes(ctx, c.Key, off, n)
	if err != nil || data == nil {
		return nil, err
	}
	if checkBlock(c, block, data) != nil {
		storage.Forget(c.Store, c.Key) // the bytes came through the same caches
		return nil, nil
	}
	return data, nil
}

// checkBlock holds the stored bytes of a block against its checksum, if it has one.
func checkBlock(c *Chunk, block int, data []byte) error {
	if c.Index.Unchecked() {
		return nil
	}
	if got, want := format.CRC(data), c.Index.CRC(block); got != want {
		return errs.Op("read chunk", c.Key).New(errs.Corrupt, "block %d has checksum 0x%08x, want 0x%08x (corrupt)", block, got, want)
	}
	return nil
}
