package chunk

import (
	"context"
	"sync/atomic"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// Opener is implemented by stores that present datasets of another format: their chunks are objects
// of that format.
type Opener interface {
	// OpenChunk returns the chunk of this number. links looks at the files that samples link to.
	OpenChunk(ctx context.Context, session format.UUID, ordinal int64, links LinkFinder) (*Chunk, error)
}

// LinkFinder looks at linked files, within the limits of what a dataset may link to.
type LinkFinder interface {
	// FindLink returns the link to a whole file, and what the file is.
	FindLink(ctx context.Context, url string, want codec.Channels) (format.Link, codec.Header, codec.ID, error)
}

// OpenForeign makes a readable chunk of an object of another format. dir says where its blocks lie.
// header is the part of the object that dir was made of, and origin is as for Open.
func OpenForeign(store storage.Provider, origin, key string, header []byte, dir *format.Directory) (*Chunk, error) {
	x, err := dir.CheckedIndex()
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read chunk", key, err)
	}
	return &Chunk{Store: store, Key: key, ID: identify(origin, key, header), Index: x, mapped: new(atomic.Pointer[mappedChunk])}, nil
}

// Unmapped returns the chunk for an object that another program may truncate: a mapping of it would
// end the process. The chunk must be new.
func (c *Chunk) Unmapped() *Chunk {
	c.mapped = nil
	return c
}

// Load returns the chunk with all its blocks in memory, read by one request.
func (c *Chunk) Load(ctx context.Context) (*Chunk, error) {
	if c.kept != nil || c.Index.Linked() {
		return c, nil
	}
	data := make([]byte, c.Index.End())
	if err := c.readAt(ctx, data, 0); err != nil {
		return nil, err
	}
	whole := *c
	whole.kept, whole.mapped = data, nil
	return &whole, nil
}

// KeepForeign is OpenForeign for blocks in memory, which it takes over: samples of another format
// that had to be converted. dir.Foreign is about data.
func KeepForeign(store storage.Provider, origin, key string, header []byte, dir *format.Directory, data []byte) (*Chunk, error) {
	c, err := OpenForeign(store, origin, key, header, dir)
	if err != nil {
		return nil, err
	}
	if end := c.Index.End(); end > int64(len(data)) {
		return nil, errs.Op("read chunk", key).New(errs.Internal, "its blocks end at %d of %d bytes", end, len(data))
	}
	if c.mapped = nil; data == nil {
		data = []byte{}
	}
	c.kept = data
	return c, nil
}

// Undecoded is a sample of another format whose file this library cannot decode.
type Undecoded struct {
	File []byte
	Err  error // why, and the way out
}

// WithUndecoded names the items of a chunk in memory that could not be decoded: reading one is its
// error, and its stored bytes are its file. In the chunk they have any bytes, each in a block of
// its own. The chunk must be new.
func (c *Chunk) WithUndecoded(items map[int64]Undecoded) *Chunk {
	c.undecoded = items
	return c
}

// Undecoded returns why one of count items cannot be decoded, nil if all can.
func (c *Chunk) Undecoded(item, count int64) error {
	for at, u := range c.undecoded {
		if item <= at && at < item+count {
			return u.Err
		}
	}
	return nil
}

// StoredBytes is the size of an item as it is stored, before compression of its block.
func (c *Chunk) StoredBytes(item int64) int64 {
	if u, ok := c.undecoded[item]; ok {
		return int64(len(u.File))
	}
	return c.Index.ItemBytes(item)
}

// checkDecoded returns the error of the first item with bytes in a range of the chunk that could
// not be decoded.
func (c *Chunk) checkDecoded(off, n int64) error {
	for item, u := range c.undecoded {
		block, _ := c.Index.BlockOf(item)
		if at, size, _ := c.Index.BlockRange(block); at < off+n && off < at+size {
			return u.Err
		}
	}
	return nil
}
