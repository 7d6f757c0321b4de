package dataset

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/lru"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// chunkCacheBytes bounds the memory of chunk directories, about 12 bytes a sample of varying size
// and a few bytes a block otherwise.
const chunkCacheBytes = 64 << 20

// chunkID names a chunk object.
type chunkID struct {
	session format.UUID
	ordinal int64
}

// chunkCache keeps the directories of the chunks that were read last. All methods may be called in
// parallel.
type chunkCache struct {
	store   storage.Provider
	foreign chunk.Opener // nil: chunks are objects of the store
	origin  string       // of the dataset
	links   *linkSources
	open    *lru.Cache[chunkID, *chunk.Chunk]
}

func newChunkCache(store storage.Provider, dataset format.UUID, links *linkSources) *chunkCache {
	foreign, _ := store.(chunk.Opener)
	return &chunkCache{store: store, foreign: foreign, origin: storage.Origin(store) + " " + dataset.String(), links: links, open: lru.New[chunkID, *chunk.Chunk](chunkCacheBytes)}
}

// get returns the chunk of an entry, or its k-th tile. Where rows are scattered, a chunk has the
// few rows that a commit updated, and its side page may serve no other. So a small chunk comes
// whole over a network, its directory with it.
func (c *chunkCache) get(ctx context.Context, tree chunkmap.Tree, e *format.Entry, k int64, scattered bool) (*chunk.Chunk, error) {
	id := chunkID{e.Session, e.Ordinal + k}
	if ch, ok := c.open.Get(id); ok {
		return ch, nil
	}
	return c.open.Load(ctx, id, func() (*chunk.Chunk, int64, error) {
		if c.foreign != nil {
			ch, err := c.foreign.OpenChunk(ctx, id.session, id.ordinal, c.links)
			if err != nil {
				return nil, 0, err
			}
			c.links.follow(ch)
			return ch, ch.Index.MemoryBytes() + ch.Kept() + int64(len(ch.Key)) + 128, nil
		}
		key := format.DataKey(id.session, id.ordinal)
		if scattered && e.Tiles == 0 && e.Bytes <= chunk.WholeBytes && storage.Remote(c.store) {
			head := format.ChunkHead{Session: e.Session, Ordinal: e.Ordinal, Tensor: tree.Tensor()}
			ch, err := chunk.OpenWhole(ctx, c.store, c.origin, key, e.Bytes, head)
			if err == nil {
				c.links.follow(ch)
				return ch, ch.Index.MemoryBytes() + ch.Kept() + int64(len(key)) + 128, nil
			}
			if !errs.Is(err, errs.Corrupt) {
				return nil, 0, err
			}
		}
		raw, err := c.directory(ctx, tree, e, k, key)
		if err != nil {
			return nil, 0, err
		}
		ch, err := chunk.Open(c.store, c.origin, key, raw)
		if err != nil {
			return nil, 0, err
		}
		c.links.follow(ch)
		return ch, ch.Index.MemoryBytes() + int64(len(key)) + 128, nil
	})
}

// has reports whether the chunk of an entry is in memory.
func (c *chunkCache) has(e *format.Entry) bool {
	_, ok := c.open.Get(chunkID{e.Session, e.Ordinal})
	return ok
}

// directory finds the encoded directory of a chunk: in its side page, or else, also where that is
// damaged, at its end. The end of a tile is not known without its directory.
func (c *chunkCache) directory(ctx context.Context, tree chunkmap.Tree, e *format.Entry, k int64, key string) ([]byte, error) {
	head := format.ChunkHead{Session: e.Session, Ordinal: e.Ordinal + k, Tensor: tree.Tensor()}
	if e.Side.IsZero() {
		return chunk.ReadDirectory(ctx, c.store, key, e.Bytes, head)
	}
	dirs, err := tree.Side(ctx, e.Side)
	if err != nil {
		if e.Tiles == 0 && errs.Is(err, errs.Corrupt) {
			if own, failed := chunk.ReadDirectory(ctx, c.store, key, e.Bytes, head); failed == nil {
				return own, nil
			}
		}
		return nil, err
	}
	if slot := e.Slot + k; slot < int64(len(dirs)) {
		return dirs[slot], nil
	}
	return nil, errs.Op("read side page", format.MapKey(e.Side)).New(errs.Corrupt, "slot %d of %d", e.Slot+k, len(dirs))
}
