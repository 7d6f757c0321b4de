package format

import (
	"sort"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

// Index answers where the items of a chunk lie. It is immutable, hence safe in parallel, and keeps
// no reference to the bytes it was decoded from. Lookups take constant time, or a binary search
// over the shape runs or over the blocks of uneven length; none allocates. Items, rows and blocks
// given to it are within Items, Rows and Blocks: it does not check.
type Index struct {
	dtype       tensor.DType
	sampleCodec codec.ID
	blockCodec  codec.ID
	items       int64
	blocks      int64
	perBlock    int64    // 0: blockFirst
	blockFirst  []uint32 // first item of each block, and items
	fixed       int64    // bytes of every item; -1: ends or runs
	// items of own size: offset of each in the raw bytes of all blocks, and their total
	starts    sums
	runFirst  []uint32 // shape runs, if more than one: first item of each, and items
	runBytes  []int64  // plain arrays in several runs: bytes of an item of each run
	runStarts sums     // and the offset of its first item
	runShape  []uint32 // position of its shape in shapeAt
	shapeAt   []uint32 // where each distinct shape begins in axes, and the end
	axes      tensor.Shape
	stored    sums // block codec: offset of each block behind the head, and their total
	crc       []uint32
	rowFirst  []uint32 // sequence rows: first item of each, and items
	tile      *TileRef
	links     *Links // linked chunks
	base      int64  // where the first block begins
	lead      int64  // bytes in front of each block; only with stored
	unchecked bool   // blocks have no checksums
}

// sums are rising offsets, in 4 bytes each as long as they fit.
type sums struct {
	small []uint32
	large []int64
}

func (s sums) none() bool { return s.small == nil && s.large == nil }

func (s sums) at(i int64) int64 {
	if s.small != nil {
		return int64(s.small[i])
	}
	return s.large[i]
}

// locate is the last position whose first is at most item.
func locate(firsts []uint32, item int64) int64 {
	return int64(sort.Search(len(firsts)-1, func(i int) bool { return int64(firsts[i+1]) > item }))
}

// start is the offset of an item in the raw bytes of all blocks; start(items) is their total.
func (x *Index) start(item int64) int64 {
	switch {
	case x.fixed >= 0:
		return item * x.fixed
	case x.runBytes == nil:
		return x.starts.at(item)
	case item == x.items:
		return x.runStarts.at(int64(len(x.runBytes)))
	}
	run := locate(x.runFirst, item)
	return x.runStarts.at(run) + (item-int64(x.runFirst[run]))*x.runBytes[run]
}

// firstOf is the first item of a block; firstOf(blocks) is the number of items.
func (x *Index) firstOf(block int64) int64 {
	if x.perBlock > 0 {
		return min(block*x.perBlock, x.items)
	}
	return int64(x.blockFirst[block])
}

// DType is the dtype of all items.
func (x *Index) DType() tensor.DType { return x.dtype }

// SampleCodec returns the codec of an item's bytes: None for arrays, text and opaque bytes.
func (x *Index) SampleCodec() codec.ID { return x.sampleCodec }

// BlockCodec returns the codec of blocks. A block whose stored size equals its raw size is not
// compressed.
func (x *Index) BlockCodec() codec.ID { return x.blockCodec }

// Tile is set for tile chunks. It is shared and not to be changed.
func (x *Index) Tile() *TileRef { return x.tile }

// Items is the number of items.
func (x *Index) Items() int64 { return x.items }

// Sequence reports whether a row holds any number of items.
func (x *Index) Sequence() bool { return x.rowFirst != nil }

// Rows is the number of rows: of sequences, or of items.
func (x *Index) Rows() int64 {
	if x.rowFirst != nil {
		return int64(len(x.rowFirst) - 1)
	}
	return x.items
}

// RowItemsRange is the items of a row: one, or those of a sequence.
func (x *Index) RowItemsRange(row int64) (first, count int64) {
	if x.rowFirst == nil {
		return row, 1
	}
	first = int64(x.rowFirst[row])
	return first, int64(x.rowFirst[row+1]) - first
}

// Blocks is the number of blocks.
func (x *Index) Blocks() int { return int(x.blocks) }

// BlockOf is the block that holds an item, and the first item of that block.
func (x *Index) BlockOf(item int64) (block int, firstItem int64) {
	if x.perBlock > 0 {
		b := item / x.perBlock
		return int(b), b * x.perBlock
	}
	b := locate(x.blockFirst, item)
	return int(b), int64(x.blockFirst[b])
}

// BlockItems is the number of items in a block.
func (x *Index) BlockItems(block int) int64 {
	return x.firstOf(int64(block)+1) - x.firstOf(int64(block))
}

// BlockRange is where a block lies in the chunk object, as stored, and its size before compression.
func (x *Index) BlockRange(block int) (offset, storedBytes, rawBytes int64) {
	b := int64(block)
	lo, hi := x.start(x.firstOf(b)), x.start(x.firstOf(b+1))
	if x.stored.none() {
		return x.base + lo, hi - lo, hi - lo
	}
	at := x.stored.at(b) + x.lead
	return x.base + at, x.stored.at(b+1) - at, hi - lo
}

// CRC is the checksum of a block as stored, if it has one: see Unchecked.
func (x *Index) CRC(block int) uint32 { return x.crc[block] }

// Unchecked reports whether blocks have no checksums.
func (x *Index) Unchecked() bool { return x.unchecked }

// Absent reports whether an item is a row without a sample, as other formats have it: an image
// without pixels. In this format, holes of the chunk map are such rows.
func (x *Index) Absent(item int64) bool {
	if !x.unchecked || x.sampleCodec == codec.None {
		return false
	}
	s := x.Shape(item)
	return len(s) > 0 && s[0] == 0
}

// End is where the blocks end and the stored directory begins.
func (x *Index) End() int64 {
	if x.stored.none() {
		return x.base + x.start(x.items)
	}
	return x.base + x.stored.at(x.blocks)
}

// ItemInBlock is where an item lies within its block before compression.
func (x *Index) ItemInBlock(item int64) (off, n int64) {
	_, firstItem := x.BlockOf(item)
	at := x.start(item)
	return at - x.start(firstItem), x.start(item+1) - at
}

// ItemBytes is the size of an item before block compression; of a linked one, its head included.
func (x *Index) ItemBytes(item int64) int64 {
	if x.links != nil {
		return x.links.bytes(item)
	}
	return x.start(item+1) - x.start(item)
}

// ItemsBytes is the size of consecutive items, as ItemBytes counts them.
func (x *Index) ItemsBytes(item, count int64) int64 {
	if x.links == nil {
		return x.start(item+count) - x.start(item)
	}
	sum := int64(0)
	for i := item; i < item+count; i++ {
		sum += x.links.bytes(i)
	}
	return sum
}

// Offset is where an item begins in the bytes of all items before compression. The chunk must not
// be linked.
func (x *Index) Offset(item int64) int64 { return x.start(item) }

// Uniform reports whether all items are arrays of one shape.
func (x *Index) Uniform() bool { return x.shapeAt != nil && x.runFirst == nil }

// Shape is the shape of an item, nil for dtypes without one. It is shared and not to be changed.
func (x *Index) Shape(item int64) tensor.Shape {
	if x.shapeAt == nil {
		return nil
	}
	id := uint32(0)
	switch {
	case x.runFirst == nil:
	case int64(len(x.runShape)) == x.items:
		id = x.runShape[item]
	default:
		id = x.runShape[locate(x.runFirst, item)]
	}
	lo, hi := x.shapeAt[id], x.shapeAt[id+1]
	return x.axes[lo:hi:hi]
}

// MemoryBytes returns the memory that the index takes, for the budget of a cache.
func (x *Index) MemoryBytes() int64 {
	const self = 512
	words := cap(x.blockFirst) + cap(x.starts.small) + cap(x.runFirst) + cap(x.runStarts.small) + cap(x.runShape) + cap(x.shapeAt) +
		cap(x.stored.small) + cap(x.crc) + cap(x.rowFirst)
	pairs := cap(x.starts.large) + cap(x.runBytes) + cap(x.runStarts.large) + cap(x.axes) + cap(x.stored.large)
	return self + 4*int64(words) + 8*int64(pairs) + x.links.memory()
}
