package chunk

import (
	"context"
	"runtime"
	"sync/atomic"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// mappedChunk is a chunk that can be looked at where it lies.
type mappedChunk struct {
	m       *storage.Mapping // nil: it cannot
	checked []atomic.Uint64  // a bit for each block whose checksum was found right
}

// known reports whether the checksum of a block was found right.
func (s *mappedChunk) known(block int) bool { return s.checked[block/64].Load()&(1<<(block%64)) != 0 }

// know remembers that it was.
func (s *mappedChunk) know(block int) { s.checked[block/64].Or(1 << (block % 64)) }

// show maps the chunk, once for all. It returns nil where that cannot be done.
func (c *Chunk) show(ctx context.Context) *mappedChunk {
	if s := c.mapped.Load(); s != nil {
		return s
	}
	s := &mappedChunk{}
	if m, ok := storage.As[storage.Mapper](c.Store); ok && !c.Index.Linked() && c.Index.BlockCodec() == codec.None {
		var err error
		if s.m, err = m.Map(ctx, c.Key); err != nil {
			if ctx.Err() != nil {
				return s
			}
			s.m = nil
		}
	}
	if s.m != nil {
		s.checked = make([]atomic.Uint64, (c.Index.Blocks()+63)/64)
	}
	if c.mapped.CompareAndSwap(nil, s) {
		return s
	}
	return c.mapped.Load()
}

// Borrow returns consecutive uncompressed items in place, if they lie in mapped memory. The first
// use of a block checks its checksum. The caller holds keep while it uses data. If data is nil, the
// items must be read: Items then returns the error, if there is one.
func (c *Chunk) Borrow(ctx context.Context, item, count int64) (data []byte, keep any) {
	x := c.Index
	if count <= 0 || c.mapped == nil || x.SampleCodec() != codec.None || !aligned(x) {
		return nil, nil
	}
	s := c.show(ctx)
	if s.m == nil {
		return nil, nil
	}
	first, at := x.BlockOf(item)
	last, _ := x.BlockOf(item + count - 1)
	from, _, _ := x.BlockRange(first)
	end, n, _ := x.BlockRange(last)
	if end += n; end > int64(len(s.m.Data)) {
		return nil, nil
	}
	for b := first; b <= last; b++ {
		if !s.known(b) {
			if !s.check(c, b, last) {
				return nil, nil
			}
			break
		}
	}
	from += x.ItemsBytes(at, item-at)
	return s.m.Data[from : from+x.ItemsBytes(item, count)], s.m
}

// aligned reports whether the numbers of uncompressed items, of which there are some, lie at
// multiples of their size in the object: in those of other formats, a header of any length is in
// front of them.
func aligned(x *format.Index) bool {
	at, _, _ := x.BlockRange(0)
	return at%max(1, int64(x.DType().Size())) == 0
}

// borrowAmong is Borrow for uncompressed items that rise. data reaches from the first to the last.
// Only the blocks of items are checked: the bytes between are not for use.
func (c *Chunk) borrowAmong(ctx context.Context, items []int64) (data []byte, keep any) {
	x := c.Index
	if c.mapped == nil || x.SampleCodec() != codec.None || !aligned(x) {
		return nil, nil
	}
	s := c.show(ctx)
	if s.m == nil {
		return nil, nil
	}
	low, behind := int64(0), int64(0) // the first item's offset, and the item behind the last block
	for i, item := range items {
		if item < behind {
			continue
		}
		b, at := x.BlockOf(item)
		from, n, _ := x.BlockRange(b)
		if from+n > int64(len(s.m.Data)) || !s.known(b) && (ctx.Err() != nil || !s.check(c, b, b)) {
			return nil, nil
		}
		if i == 0 {
			low = from + x.ItemsBytes(at, item-at)
		}
		behind = at + x.BlockItems(b)
	}
	first, last := items[0], items[len(items)-1]
	return s.m.Data[low : low+x.ItemsBytes(first, last-first+1)], s.m
}

// check brings blocks into memory and verifies the checksums of those not verified before.
func (s *mappedChunk) check(c *Chunk, first, last int) bool {
	from, _, _ := c.Index.BlockRange(first)
	end, n, _ := c.Index.BlockRange(last)
	if s.m.Ready != nil && s.m.Ready(from, end+n-from) != nil {
		return false
	}
	for b := first; b <= last; b++ {
		if s.known(b) {
			continue
		}
		at, n, _ := c.Index.BlockRange(b)
		if checkBlock(c, b, s.m.Data[at:at+n]) != nil {
			return false
		}
		s.know(b)
	}
	return true
}

// PreferMapped makes the worker copy blocks out of a mapping, and verify a checksum only when a
// block is read for the first time. It suits callers that read the same samples again and again.
// Chunks of few blocks are read by pread, since each mapping has a cost.
func (w *Worker) PreferMapped() { w.preferMapped = true }

const mappedBlocks = 16 // of a chunk that is worth a mapping

// readOrLook is readBlock, or a copy from the mapped chunk.
func (w *Worker) readOrLook(ctx context.Context, c *Chunk, block int, dst []byte) error {
	s := &mappedChunk{}
	if w.preferMapped && c.mapped != nil && c.Index.Blocks() >= mappedBlocks {
		s = c.show(ctx)
	}
	off, n, _ := c.Index.BlockRange(block)
	if s.m != nil && off+n <= int64(len(s.m.Data)) && s.known(block) {
		if ctx.Err() != nil { // as a store would say
			return errs.Cause(ctx, "read chunk")
		}
		copy(dst, s.m.Data[off:off+n])
		runtime.KeepAlive(s.m)
		return nil
	}
	err := w.readBlock(ctx, c, block, dst)
	if err == nil && s.m != nil {
		s.know(block)
	}
	return err
}

// Show returns consecutive items as they are stored: in place if they lie in mapped memory, else
// read into scratch, which grows. The caller holds keep while it uses data.
func (w *Worker) Show(ctx context.Context, c *Chunk, item, count int64, scratch []byte) (data []byte, keep any, err error) {
	if w.readAhead == nil {
		if data, keep = c.Borrow(ctx, item, count); data != nil {
			return data, keep, nil
		}
	}
	data = grow(scratch, c.Index.ItemsBytes(item, count))
	return data, nil, w.Items(ctx, c, item, count, data)
}
