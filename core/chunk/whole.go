package chunk

import (
	"context"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// WholeBytes is the size of the largest chunk that OpenWhole reads.
const WholeBytes = 64 << 10

// OpenWhole makes a readable chunk of a small object of size bytes with one request, and keeps its
// bytes for all readers. Its directory is the one at its end, and its head must be want. origin is
// as for Open.
func OpenWhole(ctx context.Context, store storage.Provider, origin, key string, size int64, want format.ChunkHead) (*Chunk, error) {
	if size > WholeBytes {
		return nil, errs.New(errs.Internal, "read a chunk of %d bytes whole, want at most %d", size, WholeBytes)
	}
	c, sound, err := openWhole(ctx, store, origin, key, size, want)
	if (err == nil && !sound || errs.Is(err, errs.Corrupt)) && storage.Remote(store) {
		storage.Forget(store, key)
		c, _, err = openWhole(ctx, store, origin, key, size, want)
	}
	return c, err
}

// openWhole is one attempt. sound is false if a block is damaged: the chunk then keeps no bytes.
func openWhole(ctx context.Context, store storage.Provider, origin, key string, size int64, want format.ChunkHead) (c *Chunk, sound bool, err error) {
	data := make([]byte, max(size, 0))
	if err := store.ReadAt(ctx, key, data, 0); err != nil {
		return nil, false, missing(key, err)
	}
	raw, err := directoryOf(key, size, want, func(dst []byte, off int64) error {
		copy(dst, data[off:])
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	if c, err = Open(store, origin, key, raw); err != nil || c.Index.Linked() {
		return c, err == nil, err
	}
	for b := range c.Index.Blocks() {
		off, n, _ := c.Index.BlockRange(b)
		if off+n > size || checkBlock(c, b, data[off:off+n]) != nil {
			return c, false, nil
		}
	}
	c.kept = data
	return c, true, nil
}

// Kept is the number of bytes that the chunk keeps in memory.
func (c *Chunk) Kept() int64 { return int64(len(c.kept)) }

// readAt reads bytes of the chunk object.
func (c *Chunk) readAt(ctx context.Context, dst []byte, off int64) error {
	if c.kept != nil && off+int64(len(dst)) <= int64(len(c.kept)) {
		if ctx.Err() != nil { // as a store would say
			return errs.Cause(ctx, "read chunk")
		}
		if err := c.checkDecoded(off, int64(len(dst))); err != nil {
			return err
		}
		copy(dst, c.kept[off:])
		return nil
	}
	return missing(c.Key, c.Store.ReadAt(ctx, c.Key, dst, off))
}
