package chunk

import "deeplake/core/codec"

// keptItems is the least number of samples of a block that is kept. Reading a smaller block again
// for each sample costs little more, and blocks of large samples would drive out those of small
// ones.
const keptItems = 16

// recent are blocks of small samples that were read lately, checked and decompressed. A shuffled
// order comes back to a block once for each of its samples, and reading 300 bytes out of a block
// takes as long as reading the block. The zero value keeps nothing.
type recent struct {
	limit int64 // bytes of all blocks
	used  int64
	data  map[blockName][]byte
	order []blockName // in which they came
}

type blockName struct {
	chunk *Chunk
	block int
}

// CacheBlocks makes the worker keep blocks of small samples up to so many bytes, for reads in any
// order; 0, the default: none but the last.
func (w *Worker) CacheBlocks(bytes int64) {
	w.recent = recent{limit: bytes}
	w.data, w.borrowed = nil, false
}

// takes reports whether a block is one to be kept.
func (r *recent) takes(b blockName) bool {
	if r.limit == 0 || b.chunk.Index.BlockItems(b.block) < keptItems {
		return false
	}
	_, _, raw := b.chunk.Index.BlockRange(b.block)
	return raw > 0 && raw <= r.limit/4
}

// room gives memory for a block of n bytes, a quarter of the limit at most; blocks go for it that
// came before all others, and it may be the memory of one.
func (r *recent) room(n int64) []byte {
	var p []byte
	for len(r.order) > 0 && r.used+max(n, int64(cap(p))) > r.limit {
		p = r.data[r.order[0]]
		delete(r.data, r.order[0])
		r.order = r.order[1:]
		r.used -= int64(cap(p))
	}
	if int64(cap(p)) < n {
		return make([]byte, n)
	}
	return p[:n]
}

// add keeps a block in memory that room gave.
func (r *recent) add(b blockName, data []byte) {
	if r.data == nil {
		r.data = map[blockName][]byte{}
	}
	r.data[b] = data
	r.order = append(r.order, b)
	r.used += int64(cap(data))
}

// packed reports whether a block is stored in another form than its samples have.
func (b blockName) packed() bool {
	_, stored, raw := b.chunk.Index.BlockRange(b.block)
	return b.chunk.Index.BlockCodec() != codec.None && stored != raw
}
