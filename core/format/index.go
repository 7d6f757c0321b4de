package format

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

// Index answers where the items of a chunk lie. It is immutable, hence safe in parallel, and keeps no reference to the
// bytes it was decoded from. Lookups take constant time, or a binary search over the shape runs or over the blocks of
// uneven length; none allocates. Items, rows and blocks given to it are within Items, Rows and Blocks: it does not check.
type Index struct {
	dtype       tensor.DType
	sampleCodec codec.ID
	blockCodec  codec.ID
	items       int64
	blocks      int64
	perBlock    int64    // 0: blockFirst
	blockFirst  []uint32 // first item of each block, and items
	fixed       int64    // bytes of every item; -1: ends or runs
	starts      sums     // items of own size: offset of each in the raw bytes of all blocks, and their total
	runFirst    []uint32 // shape runs, if more than one: first item of each, and items
	runBytes    []int64  // plain arrays in several runs: bytes of an item of each run
	runStarts   sums     // and the offset of its first item
	runShape    []uint32 // position of its shape in shapeAt
	shapeAt     []uint32 // where each distinct shape begins in axes, and the end
	axes        tensor.Shape
	stored      sums // block codec: offset of each block behind the head, and their total
	crc         []uint32
	rowFirst    []uint32 // sequence rows: first item of each, and items
	tile        *TileRef
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

// prefix sums up n sizes, which are >= 0, and refuses a total over limit.
func prefix(n int64, size func(i int64) int64, limit int64) (sums, error) {
	total := int64(0)
	for i := range n {
		s := size(i)
		if s < 0 || s > limit-total {
			return sums{}, fmt.Errorf("sizes sum up to more than %d, or one is negative", limit)
		}
		total += s
	}
	if total > math.MaxUint32 {
		s := sums{large: make([]int64, n+1)}
		for i := range n {
			s.large[i+1] = s.large[i] + size(i)
		}
		return s, nil
	}
	s := sums{small: make([]uint32, n+1)}
	for i := range n {
		s.small[i+1] = s.small[i] + uint32(size(i))
	}
	return s, nil
}

// counts sums up numbers of items that must cover exactly items.
func counts(n int64, count func(i int64) int64, low, items int64, what string) ([]uint32, error) {
	for i := range n {
		if count(i) < low {
			return nil, fmt.Errorf("one of the %s has %d items, want at least %d", what, count(i), low)
		}
	}
	s, err := prefix(n, count, MaxChunkItems)
	if err != nil || s.at(n) != items {
		return nil, fmt.Errorf("%s do not sum up to %d items", what, items)
	}
	return s.small, nil
}

// Index builds the lookup structure, or returns the one that DecodeDirectory built. Of a directory that EncodeDirectory
// would not take it is nil.
func (d *Directory) Index() *Index {
	if d.index != nil {
		return d.index
	}
	if x, err := newIndex(d); err == nil {
		return x
	}
	return nil
}

// newIndex checks all of d while it sums up; encoder and decoder both go through it.
func newIndex(d *Directory) (*Index, error) {
	if err := d.checkKnown(0); err != nil {
		return nil, err
	}
	if d.Items < 0 || d.Items > MaxChunkItems {
		return nil, fmt.Errorf("%d items, want 0 to %d", d.Items, MaxChunkItems)
	}
	x := &Index{dtype: d.DType, sampleCodec: d.SampleCodec, blockCodec: d.BlockCodec, items: d.Items, fixed: -1, crc: d.BlockCRC, tile: d.Tile}
	// Each step relies on what the steps before it have found to be right.
	for _, step := range []func(*Directory) error{x.addShapes, x.addSizes, x.checkSizes, x.addBlocks, x.addStored, x.addRows} {
		if err := step(d); err != nil {
			return nil, err
		}
	}
	return x, d.checkTile()
}

func (x *Index) addShapes(d *Directory) error {
	if !d.DType.Fixed() {
		if len(d.Shapes) > 0 {
			return fmt.Errorf("items of %s have shapes", d.DType)
		}
		return nil
	}
	runFirst, err := counts(int64(len(d.Shapes)), func(i int64) int64 { return d.Shapes[i].Count }, 1, d.Items, "shape runs")
	if err != nil {
		return err
	}
	if len(d.Shapes) > 1 {
		x.runFirst = runFirst
		x.runShape = make([]uint32, 0, len(d.Shapes))
	}
	seen := map[string]uint32{}
	var key []byte
	for _, run := range d.Shapes {
		if _, err := run.Shape.Bytes(d.DType); err != nil {
			return err
		}
		key = appendAxes(key[:0], run.Shape)
		id, ok := seen[string(key)]
		if !ok {
			id = uint32(len(seen))
			seen[string(key)] = id
			x.shapeAt = append(x.shapeAt, uint32(len(x.axes)))
			x.axes = append(x.axes, run.Shape...)
		}
		if x.runShape != nil {
			x.runShape = append(x.runShape, id)
		}
	}
	x.shapeAt = append(x.shapeAt, uint32(len(x.axes)))
	return nil
}

// addSizes sets how the offset of an item is found.
func (x *Index) addSizes(d *Directory) error {
	var err error
	switch {
	case d.plain() && len(d.Shapes) == 0:
		x.fixed = 0
	case d.plain() && len(d.Shapes) == 1:
		x.fixed, _ = d.Shapes[0].Shape.Bytes(d.DType)
	case d.plain():
		x.runBytes = make([]int64, len(d.Shapes))
		for i, run := range d.Shapes {
			x.runBytes[i], _ = run.Shape.Bytes(d.DType)
		}
		x.runStarts, err = prefix(int64(len(d.Shapes)), func(i int64) int64 {
			if x.runBytes[i] > MaxObjectBytes/d.Shapes[i].Count {
				return -1
			}
			return x.runBytes[i] * d.Shapes[i].Count
		}, MaxObjectBytes)
	case d.Sizes != nil:
		if int64(len(d.Sizes)) != d.Items {
			return fmt.Errorf("sizes of %d items, want %d", len(d.Sizes), d.Items)
		}
		x.starts, err = prefix(d.Items, func(i int64) int64 { return d.Sizes[i] }, MaxObjectBytes)
	default:
		x.fixed = d.FixedSize
		if x.fixed < 0 {
			return errors.New("items have no sizes")
		}
	}
	if x.fixed > 0 && x.items > MaxObjectBytes/x.fixed {
		return fmt.Errorf("%d items of %d bytes are more than %d bytes", x.items, x.fixed, int64(MaxObjectBytes))
	}
	return err
}

// checkSizes holds sizes that a writer gave for plain arrays against their shapes.
func (x *Index) checkSizes(d *Directory) error {
	if !d.plain() {
		return nil
	}
	if d.Sizes != nil && int64(len(d.Sizes)) != d.Items {
		return fmt.Errorf("sizes of %d items, want %d", len(d.Sizes), d.Items)
	}
	for i, n := range d.Sizes {
		if want := x.ItemBytes(int64(i)); n != want {
			return fmt.Errorf("item %d has %d bytes, want %d for its shape", i, n, want)
		}
	}
	if d.Sizes == nil && d.FixedSize >= 0 {
		for _, run := range d.Shapes {
			if want, _ := run.Shape.Bytes(d.DType); want != d.FixedSize {
				return fmt.Errorf("items have %d bytes, want %d for shape %s", d.FixedSize, want, run.Shape)
			}
		}
	}
	return nil
}

func (x *Index) addBlocks(d *Directory) error {
	switch {
	case d.PerBlock < 0 || d.PerBlock > MaxChunkItems || (d.PerBlock > 0 && len(d.BlockItems) > 0):
		return fmt.Errorf("%d items per block and %d blocks of their own length", d.PerBlock, len(d.BlockItems))
	case d.PerBlock > 0:
		x.perBlock = d.PerBlock
		x.blocks = (d.Items + d.PerBlock - 1) / d.PerBlock
	default:
		var err error
		x.blocks = int64(len(d.BlockItems))
		x.blockFirst, err = counts(x.blocks, func(i int64) int64 { return d.BlockItems[i] }, 1, d.Items, "blocks")
		if err != nil {
			return err
		}
	}
	if int64(len(d.BlockCRC)) != x.blocks {
		return fmt.Errorf("checksums of %d blocks, want %d", len(d.BlockCRC), x.blocks)
	}
	return nil
}

// addStored sets the stored sizes of blocks and checks them against the raw ones.
func (x *Index) addStored(d *Directory) error {
	if d.BlockBytes == nil {
		if d.BlockCodec != codec.None {
			return fmt.Errorf("blocks under codec %d have no sizes", d.BlockCodec)
		}
		return nil
	}
	if int64(len(d.BlockBytes)) != x.blocks {
		return fmt.Errorf("sizes of %d blocks, want %d", len(d.BlockBytes), x.blocks)
	}
	for i, stored := range d.BlockBytes {
		raw := x.start(x.firstOf(int64(i)+1)) - x.start(x.firstOf(int64(i)))
		switch {
		case stored == raw:
		case d.BlockCodec == codec.None || stored < 1 || stored > raw:
			return fmt.Errorf("block %d of %d bytes is stored as %d", i, raw, stored)
		case raw > MaxBlockRaw:
			return fmt.Errorf("compressed block %d has %d bytes, want at most %d", i, raw, int64(MaxBlockRaw))
		}
	}
	if d.BlockCodec == codec.None {
		return nil
	}
	var err error
	x.stored, err = prefix(x.blocks, func(i int64) int64 { return d.BlockBytes[i] }, MaxObjectBytes)
	return err
}

func (x *Index) addRows(d *Directory) error {
	if d.RowItems == nil {
		return nil
	}
	n := int64(len(d.RowItems))
	if n > MaxChunkItems {
		return fmt.Errorf("%d sequence rows, want at most %d", n, MaxChunkItems)
	}
	var err error
	x.rowFirst, err = counts(n, func(i int64) int64 { return d.RowItems[i] }, 0, d.Items, "sequence rows")
	return err
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

// SampleCodec is what the bytes of an item are: None for arrays, text and opaque bytes.
func (x *Index) SampleCodec() codec.ID { return x.sampleCodec }

// BlockCodec is what blocks are compressed with, unless a block's stored size equals its raw size.
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
func (x *Index) BlockItems(block int) int64 { return x.firstOf(int64(block)+1) - x.firstOf(int64(block)) }

// BlockRange is where a block lies in the chunk object, as stored, and its size before compression.
func (x *Index) BlockRange(block int) (offset, storedBytes, rawBytes int64) {
	b := int64(block)
	lo, hi := x.start(x.firstOf(b)), x.start(x.firstOf(b+1))
	if x.stored.none() {
		return ChunkHeadBytes + lo, hi - lo, hi - lo
	}
	at := x.stored.at(b)
	return ChunkHeadBytes + at, x.stored.at(b+1) - at, hi - lo
}

// CRC is the checksum of a block as stored.
func (x *Index) CRC(block int) uint32 { return x.crc[block] }

// End is where the blocks end and the stored directory begins.
func (x *Index) End() int64 {
	if x.stored.none() {
		return ChunkHeadBytes + x.start(x.items)
	}
	return ChunkHeadBytes + x.stored.at(x.blocks)
}

// ItemInBlock is where an item lies within its block before compression.
func (x *Index) ItemInBlock(item int64) (off, n int64) {
	_, firstItem := x.BlockOf(item)
	at := x.start(item)
	return at - x.start(firstItem), x.start(item+1) - at
}

// ItemBytes is the size of an item before block compression.
func (x *Index) ItemBytes(item int64) int64 { return x.start(item+1) - x.start(item) }

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

// MemoryBytes is what the index occupies, for the books of a cache.
func (x *Index) MemoryBytes() int64 {
	const self = 512
	words := cap(x.blockFirst) + cap(x.starts.small) + cap(x.runFirst) + cap(x.runStarts.small) + cap(x.runShape) + cap(x.shapeAt) +
		cap(x.stored.small) + cap(x.crc) + cap(x.rowFirst)
	pairs := cap(x.starts.large) + cap(x.runBytes) + cap(x.runStarts.large) + cap(x.axes) + cap(x.stored.large)
	return self + 4*int64(words) + 8*int64(pairs)
}
