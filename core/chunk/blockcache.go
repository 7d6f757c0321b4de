package chunk

import (
	"context"
	"sync"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/slab"
)

// keptItems is the least number of samples of a block that is cached. Reading a smaller block again
// for each sample costs little more, and blocks of large samples would drive out those of small
// ones.
const keptItems = 16

// Shards of a BlockCache, each with a lock of its own, and the least bytes of one.
const (
	maxShards  = 32
	shardBytes = 4 << 20
)

// BlockCache holds blocks of small samples, checked and decompressed, up to a number of bytes. A
// shuffled order comes back to a block once for each of its samples, and reading 300 bytes out of a
// block takes as long as reading the block. Workers of several goroutines share it; the first that
// needs a block reads it for all. The oldest blocks go first. Its memory is not Go's heap, which
// would grow to twice as much. It must be closed.
type BlockCache struct {
	ring   *slab.Ring
	shards []blockShard
}

// blockShard is a part of a cache. Its blocks lie in one piece of memory as in a circle: each new
// one behind the one before, over the oldest ones.
type blockShard struct {
	mu     sync.Mutex
	ring   *slab.Ring
	limit  int64
	memory *slab.Slab // nil: before the first block, and after Close
	head   int64      // where the next block begins
	blocks map[blockName]*cachedBlock
	order  []*cachedBlock // in which they lie, from the oldest one on
	users  int            // of all blocks together
	closed bool
}

// cachedBlock is a block that is cached, or held by a worker.
type cachedBlock struct {
	shard *blockShard
	name  blockName
	at    int64 // in the memory of the shard
	data  []byte
	users int           // workers that hold it
	done  chan struct{} // closed when data is there, or failed is set

	failed bool
}

type blockName struct {
	chunk *Chunk
	block int
}

// NewBlockCache makes a cache of so many bytes, which it takes as needed.
func NewBlockCache(bytes int64) *BlockCache {
	c := &BlockCache{ring: slab.NewLocalRing(0), shards: make([]blockShard, min(max(bytes/shardBytes, 1), maxShards))}
	for i := range c.shards {
		c.shards[i].ring, c.shards[i].limit = c.ring, bytes/int64(len(c.shards))
		c.shards[i].blocks = map[blockName]*cachedBlock{}
	}
	return c
}

// Close frees the memory, that of blocks which workers hold when these give them up. Workers that
// read on cache nothing.
func (c *BlockCache) Close() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.closed, s.order = true, nil
		clear(s.blocks)
		s.freeUnused()
		s.mu.Unlock()
	}
	c.ring.Close()
}

// freeUnused gives the memory of a closed shard up when no block is in use. The caller has the
// lock.
func (s *blockShard) freeUnused() {
	if s.closed && s.users == 0 && s.memory != nil {
		s.memory.Release()
		s.memory = nil
	}
}

// CacheBlocks makes the worker cache blocks of small samples, for reads in any order; nil, the
// default: none but the last.
func (w *Worker) CacheBlocks(c *BlockCache) {
	w.forget()
	w.cache = c
}

// shard returns the part that a block belongs to: neighbours are in different ones.
func (c *BlockCache) shard(b blockName) *blockShard {
	return &c.shards[(uint64(b.block)+uint64(b.chunk.ID[0]))%uint64(len(c.shards))]
}

// takes reports whether a block is one to be cached.
func (c *BlockCache) takes(b blockName) bool {
	if c == nil || b.chunk.Index.BlockItems(b.block) < keptItems {
		return false
	}
	_, _, raw := b.chunk.Index.BlockRange(b.block)
	return raw > 0 && raw <= c.shards[0].limit/4
}

// load returns a block, which the caller releases. If it is not there, read fills memory for it;
// others that need the block wait. It is nil where the cache has no memory for it.
func (c *BlockCache) load(ctx context.Context, name blockName, read func(dst []byte) error) (*cachedBlock, error) {
	s := c.shard(name)
	for {
		b, found, err := s.acquire(name)
		if err != nil || b == nil {
			return nil, err
		}
		if !found {
			return b, b.fill(read)
		}
		select {
		case <-b.done:
		default:
			select {
			case <-b.done:
			case <-ctx.Done():
				b.release()
				return nil, errs.Cause(ctx, "read chunk")
			}
		}
		if !b.failed {
			return b, nil
		}
		b.release() // the error of another may not be ours: read it again
	}
}

// acquire returns the block of a name, or a new one that the caller fills; nil: there is no memory
// for it.
func (s *blockShard) acquire(name blockName) (b *cachedBlock, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b = s.blocks[name]; b != nil {
		b.users++
		s.users++
		return b, true, nil
	}
	if s.closed {
		return nil, false, nil
	}
	if s.memory == nil {
		if s.memory, err = s.ring.Get(s.limit); err != nil {
			return nil, false, err
		}
	}
	_, _, raw := name.chunk.Index.BlockRange(name.block)
	if !s.makeRoom(raw) {
		return nil, false, nil
	}
	b = &cachedBlock{shard: s, name: name, at: s.head, data: s.memory.Bytes()[s.head:][:raw:raw], users: 1, done: make(chan struct{})}
	s.users++
	s.head += raw
	s.blocks[name] = b
	s.order = append(s.order, b)
	return b, false, nil
}

// makeRoom makes room for n bytes at the head. A block in use stays where it is, as if it were the
// newest one. It reports false where too much is in use. The caller has the lock.
func (s *blockShard) makeRoom(n int64) bool {
	inUse := 0
	for len(s.order) > 0 {
		oldest := s.order[0]
		if s.head > oldest.at {
			if s.limit-s.head >= n {
				return true
			}
			s.head = 0 // the end is too short
		}
		if oldest.at-s.head >= n {
			return true
		}
		s.order = s.order[1:]
		if oldest.users == 0 {
			if s.blocks[oldest.name] == oldest {
				delete(s.blocks, oldest.name)
			}
			continue
		}
		s.order = append(s.order, oldest)
		s.head = oldest.at + int64(len(oldest.data))
		if inUse++; inUse > len(s.order) {
			return false
		}
	}
	s.head = 0
	return n <= s.limit
}

// fill reads a new block. A block that cannot be read is not cached.
func (b *cachedBlock) fill(read func(dst []byte) error) error {
	ok := false
	defer func() { // of a panic, too
		if !ok {
			b.failed = true
			b.shard.forget(b)
		}
		close(b.done)
		if !ok {
			b.release()
		}
	}()
	err := read(b.data)
	ok = err == nil
	return err
}

// forget takes the name of a block out of the cache. Its memory is used again in turn.
func (s *blockShard) forget(b *cachedBlock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocks[b.name] == b {
		delete(s.blocks, b.name)
	}
}

// release ends the use of a block.
func (b *cachedBlock) release() {
	s := b.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	b.users--
	s.users--
	s.freeUnused()
}

// packed reports whether a block is stored in another form than its samples have.
func (b blockName) packed() bool {
	_, stored, raw := b.chunk.Index.BlockRange(b.block)
	return b.chunk.Index.BlockCodec() != codec.None && stored != raw
}

// Packed returns the bytes of all blocks of the chunk, as stored, and of those blocks that a cache
// has to hold decompressed to be read in any order.
func (c *Chunk) Packed() (stored, unpacked int64) {
	for block := range c.Index.Blocks() {
		b := blockName{c, block}
		_, n, raw := c.Index.BlockRange(block)
		if stored += n; b.packed() && c.Index.BlockItems(block) >= keptItems {
			unpacked += raw
		}
	}
	return stored, unpacked
}
