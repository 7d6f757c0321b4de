package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// Spec says how the samples of one tensor are stored.
type Spec struct {
	Tensor      format.UUID
	DType       tensor.DType
	SampleCodec codec.ID
	BlockCodec  codec.Codec // nil: blocks are not compressed
	Sequence    bool
	// a chunk is sealed when it has this many bytes; only a single row makes it more than twice as
	// many
	Target int64
}

// Max is the upper bound of the rows of a chunk together, and of a sample that is not tiled.
func (s *Spec) Max() int64 { return 2 * s.Target }

// Session numbers the chunks of one writer. It is used by one goroutine at a time.
type Session struct {
	ID    format.UUID
	Store storage.Provider
	// Go runs a function beside its caller, sooner or later. nil: the caller compresses blocks.
	Go      func(fn func())
	next    int64
	packing int // blocks that are being compressed
}

// Packing reports whether a builder has blocks that are being compressed.
func (s *Session) Packing() bool { return s.packing > 0 }

// NewSession begins a session with a fresh uuid.
func NewSession(store storage.Provider) *Session {
	return &Session{ID: format.NewUUID(), Store: store}
}

// Item is one sample (or one item of a sequence, or one tile) as it will be stored.
type Item struct {
	Data  []byte       // not kept
	Shape tensor.Shape // nil for string, json and bytes
	Link  *format.Link // the item stays there, and Data is nil
	Codec codec.ID     // of the file that Link or Data is; None: Data is as the Spec says
}

// Sealed is a chunk whose last byte is written. Stream.Finish is still to be called before anything
// may refer to it.
type Sealed struct {
	Stream  storage.Stream
	Session format.UUID
	Ordinal int64
	Bytes   int64
	Rows    int64  // rows of the tensor: items, or sequences
	Dir     []byte // encoded directory, as it goes into a side page
	Stats   format.Stats
}

// writeThrough is the size from which items go to the stream by themselves; smaller ones are
// gathered first, because each write costs a system call.
const writeThrough = 64 << 10

// gathered is the number of bytes that a builder gathers before it writes.
const gathered = 256 << 10

// Builder packs the items of one tensor into chunks, streaming them out as they come: it holds one
// block and those that are being compressed, the bytes gathered for the next write and the
// directory. It is used by one goroutine at a time.
type Builder struct {
	spec    *Spec
	session *Session
	tile    *format.TileRef // the next chunk is this tile

	stream  storage.Stream
	ordinal int64
	offset  int64 // bytes of the chunk so far, those in out included
	out     []byte
	block   []byte // items of the open block
	inBlock int64
	dir     format.Directory
	dirSize int64 // memory of dir, which is more than its bytes in the chunk
	rows    int64
	kind    storedAs // of all rows
	stats   statistics

	packing  []*packing // blocks that are being compressed, in order
	unpacked int64      // their bytes before
	spare    []byte     // memory for the next block; nil: none
	failed   error      // of one of them
}

// Sizes of the parts of a directory in memory.
const (
	wordBytes    = 8
	blockBytes   = 20 // items, stored bytes, checksum
	runBytes     = 48 // of a shape run without its axes
	maxDirectory = 32 << 20
)

// NewBuilder makes a builder that takes its chunk numbers from session.
func NewBuilder(spec *Spec, session *Session) *Builder {
	return &Builder{spec: spec, session: session}
}

// Rows is the number of rows in the open chunk.
func (b *Builder) Rows() int64 { return b.rows }

// Add appends one row of one item. When that completes a chunk, or when the item belongs into the
// next one, the complete chunk is returned; the caller must finish its stream. After an error the
// builder must be aborted.
func (b *Builder) Add(ctx context.Context, it Item) (*Sealed, error) {
	return b.AddRow(ctx, []Item{it})
}

// AddRow appends one row: a sequence of items where the tensor has sequences, else exactly one
// item.
func (b *Builder) AddRow(ctx context.Context, items []Item) (*Sealed, error) {
	size := int64(0)
	for _, it := range items {
		size += int64(len(it.Data))
	}
	kind, err := kindOf(items)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		kind = b.kind // an empty list suits both
	}
	var sealed *Sealed
	if b.rows > 0 && (kind != b.kind || !b.fits(size) || b.dir.Items+int64(len(items)) > format.MaxChunkItems || b.full()) {
		if sealed, err = b.Seal(); err != nil {
			return nil, err
		}
	}
	b.kind = kind
	if err := b.open(ctx); err != nil {
		return sealed, err
	}
	for _, it := range items {
		if err := b.item(it); err != nil {
			return sealed, err
		}
	}
	if b.spec.Sequence {
		b.dir.RowItems = append(b.dir.RowItems, int64(len(items)))
		b.dirSize += wordBytes
	}
	b.rows++
	if sealed == nil && b.full() {
		return b.Seal()
	}
	return sealed, nil
}

// size is the bytes of the chunk with the open block and the memory of the directory: samples of a
// few bytes have a directory that is larger than they are, and a session must not need more memory
// for it than for its chunks.
func (b *Builder) size() int64 {
	return b.offset + int64(len(b.block)) + b.dirSize + b.unpacked
}

// full reports whether the open chunk is to be sealed, as the blocks that are being compressed
// leave no doubt.
func (b *Builder) full() bool {
	for b.over() {
		if len(b.packing) == 0 || b.settle(len(b.packing)-1) != nil {
			return true
		}
	}
	return false
}

// fits reports whether n more bytes go into the open chunk.
func (b *Builder) fits(n int64) bool {
	return b.size()+n <= b.spec.Max() || len(b.packing) > 0 && b.settle(0) == nil && b.size()+n <= b.spec.Max()
}

func (b *Builder) over() bool {
	return b.size() >= b.spec.Target || b.kind.linked && b.dirSize >= linkedDirectory || b.dirSize >= maxDirectory || b.dir.Items >= format.MaxChunkItems
}

func (b *Builder) open(ctx context.Context) error {
	if b.stream != nil {
		return nil
	}
	b.ordinal = b.session.next
	s, err := storage.Create(ctx, b.session.Store, format.DataKey(b.session.ID, b.ordinal))
	if err != nil {
		return err
	}
	b.session.next++
	b.stream = s
	b.dir = format.Directory{DType: b.spec.DType, SampleCodec: b.spec.SampleCodec, FixedSize: -1, Tile: b.tile}
	if b.spec.Sequence {
		b.dir.RowItems = []int64{}
	}
	switch {
	case b.kind.linked:
		b.dir.SampleCodec, b.dir.Links = b.kind.codec, &format.Links{}
	case b.kind.codec != codec.None:
		b.dir.SampleCodec = b.kind.codec
	case b.spec.BlockCodec != nil:
		b.dir.BlockCodec = b.spec.BlockCodec.ID()
		b.dir.BlockBytes = []int64{} // of a chunk of empty sequences alone, too
	}
	b.dirSize = 0
	b.stats = newStatistics(b.spec)
	head := format.EncodeChunkHead(format.ChunkHead{Session: b.session.ID, Ordinal: b.ordinal, Tensor: b.spec.Tensor})
	return b.write(head)
}

// item appends one item to the open chunk.
func (b *Builder) item(it Item) error {
	n := int64(len(it.Data))
	if n > format.MaxChunkBytes*2 {
		return errs.New(errs.Invalid, "a sample of %d bytes is larger than the largest chunk, %d bytes", n, format.MaxChunkBytes*2)
	}
	b.describe(it, 1)
	if it.Link != nil {
		return nil
	}
	if n >= format.BlockSingle && b.packs() == nil {
		if err := b.closeBlock(); err != nil {
			return err
		}
		b.addBlock(1, it.Data)
		return b.write(it.Data)
	}
	alone := n >= aloneBytes && b.packs() != nil
	if alone { // its reader needs no other, and decodes it to its place
		if err := b.closeBlock(); err != nil {
			return err
		}
	}
	b.block = append(b.block, it.Data...)
	b.inBlock++
	if alone || int64(len(b.block)) >= b.blockTarget() {
		return b.closeBlock()
	}
	return nil
}

// aloneBytes is the size of a sample from which its compressed block holds no other one: masks of
// the size of pictures compress as well alone.
const aloneBytes = 32 << 10

// packs returns the codec of the blocks of the open chunk; nil: they are not compressed.
func (b *Builder) packs() codec.Codec {
	if b.kind.codec != codec.None {
		return nil
	}
	return b.spec.BlockCodec
}

func (b *Builder) blockTarget() int64 {
	if b.packs() != nil {
		return format.BlockCompressed
	}
	return format.BlockSmall
}

// describe notes n equal-shaped items with the data of it together in the directory.
func (b *Builder) describe(it Item, n int64) {
	b.dir.Items += n
	if it.Link != nil {
		b.addLink(it.Link)
	} else if !b.derived() {
		b.dir.Sizes = append(b.dir.Sizes, int64(len(it.Data)))
		b.dirSize += wordBytes
	}
	if b.spec.DType.Fixed() {
		runs := b.dir.Shapes
		if k := len(runs); k > 0 && runs[k-1].Shape.Equal(it.Shape) {
			runs[k-1].Count += n
		} else {
			b.dir.Shapes = append(runs, format.ShapeRun{Count: n, Shape: it.Shape.Clone()})
			b.dirSize += runBytes + wordBytes*int64(len(it.Shape))
		}
	}
	b.stats.add(it)
}

// derived reports whether item sizes follow from shapes.
func (b *Builder) derived() bool {
	return b.spec.DType.Fixed() && b.spec.SampleCodec == codec.None && b.kind.codec == codec.None
}

// AddArray appends rows of equal shape that lie one after the other in data, as far as they go into
// the open chunk: at least one. It returns how many it took. Small samples are taken a block at a
// time. Where the first row belongs into the next chunk it takes that one alone, as Add does; else
// a chunk that it returns holds all rows it took.
func (b *Builder) AddArray(ctx context.Context, data []byte, shape tensor.Shape, itemBytes int64) (rows int64, sealed *Sealed, err error) {
	room := b.spec.Max() - b.size()
	if b.kind != (storedAs{}) || itemBytes == 0 || itemBytes >= b.largest() || itemBytes > room || b.full() || !b.derived() || b.spec.Sequence {
		sealed, err = b.Add(ctx, Item{Data: data[:itemBytes], Shape: shape})
		return 1, sealed, err
	}
	if err := b.open(ctx); err != nil {
		return 0, nil, err
	}
	block := (b.blockTarget() - int64(len(b.block)) + itemBytes - 1) / itemBytes
	rows = max(1, min(block, room/itemBytes, format.MaxChunkItems-b.dir.Items, int64(len(data))/itemBytes))
	part := data[:rows*itemBytes]
	b.describe(Item{Data: part, Shape: shape}, rows)
	b.block = append(b.block, part...)
	sealed, err = b.took(rows)
	return rows, sealed, err
}

// AddTexts appends rows of texts or bytes, value i data[starts[i]:ends[i]], as far as they go into
// the open block and chunk: at least one. The results are those of AddArray.
func (b *Builder) AddTexts(ctx context.Context, data []byte, starts, ends []int64) (rows int64, sealed *Sealed, err error) {
	first := ends[0] - starts[0]
	if b.kind != (storedAs{}) || first >= b.largest() || b.size()+first+wordBytes > b.spec.Max() || b.full() || b.spec.DType.Fixed() || b.spec.Sequence {
		sealed, err = b.Add(ctx, Item{Data: data[starts[0]:ends[0]]})
		return 1, sealed, err
	}
	if err := b.open(ctx); err != nil {
		return 0, nil, err
	}
	room := b.spec.Max() - b.size()
	block := b.blockTarget() - int64(len(b.block))
	most := min(int64(len(starts)), format.MaxChunkItems-b.dir.Items)
	largest, size, copied := b.largest(), int64(0), int64(0)
	for rows < most && size < block {
		n := ends[rows] - starts[rows]
		if n >= largest || size+(rows+1)*wordBytes+n > room {
			break
		}
		if rows > copied && starts[rows] != ends[rows-1] { // one copy for texts that lie together
			b.block = append(b.block, data[starts[copied]:ends[rows-1]]...)
			copied = rows
		}
		b.dir.Sizes = append(b.dir.Sizes, n)
		size += n
		rows++
	}
	if rows > 0 {
		b.block = append(b.block, data[starts[copied]:ends[rows-1]]...)
	}
	b.dir.Items += rows
	b.dirSize += rows * wordBytes
	sealed, err = b.took(rows)
	return rows, sealed, err
}

// took counts rows whose samples went into the open block, and completes block and chunk if they
// are full.
func (b *Builder) took(rows int64) (*Sealed, error) {
	b.inBlock += rows
	b.rows += rows
	if int64(len(b.block)) >= b.blockTarget() {
		if err := b.closeBlock(); err != nil {
			return nil, err
		}
	}
	if b.full() {
		return b.Seal()
	}
	return nil, nil
}

// largest returns the size from which samples have a block each.
func (b *Builder) largest() int64 {
	if b.packs() != nil {
		return aloneBytes
	}
	return format.BlockSingle
}

// closeBlock compresses, checks and writes the open block.
func (b *Builder) closeBlock() error {
	if b.inBlock == 0 {
		return nil
	}
	isPacked := b.packs() != nil && len(b.block) <= format.MaxBlockRaw
	if isPacked && b.session.Go != nil {
		return b.packBeside()
	}
	err := b.settle(0) // the blocks before come first
	stored := b.block
	if err == nil && isPacked {
		stored, err = b.packed(b.block)
	}
	if err != nil {
		return err
	}
	b.addBlock(b.inBlock, stored)
	err = b.write(stored)
	b.block, b.inBlock = b.block[:0], 0
	if int64(cap(b.block)) > keptBlock {
		b.block = nil // a single large item is no reason to hold its memory for the session
	}
	return err
}

// packed compresses a block, unless that makes it larger.
func (b *Builder) packed(block []byte) ([]byte, error) {
	out, err := b.pack(block)
	if err != nil || len(out) >= len(block) {
		return block, err
	}
	return out, nil
}

// pack compresses a block, as numbers if the codec compresses numbers.
func (b *Builder) pack(block []byte) ([]byte, error) {
	numbers, ok := b.spec.BlockCodec.(codec.NumberCodec)
	if !ok || !b.spec.DType.Fixed() {
		return b.spec.BlockCodec.Encode(nil, block)
	}
	size, kind := b.spec.DType.Size(), codec.Opaque
	switch {
	case b.spec.DType == tensor.Bool || b.spec.DType >= tensor.Uint8 && b.spec.DType <= tensor.Uint64:
		kind = codec.Unsigned
	case b.spec.DType.IsInteger():
		kind = codec.Signed
	case b.spec.DType.IsComplex():
		size /= 2
	}
	return numbers.EncodeNumbers(nil, block, size, kind)
}

// keptBlock is the most memory of a block that is kept for the next one.
const keptBlock = 4 << 20

// addBlock notes a block in its stored form.
func (b *Builder) addBlock(items int64, stored []byte) {
	b.dir.BlockItems = append(b.dir.BlockItems, items)
	b.dir.BlockCRC = append(b.dir.BlockCRC, format.CRC(stored))
	if b.packs() != nil {
		b.dir.BlockBytes = append(b.dir.BlockBytes, int64(len(stored)))
	}
	b.dirSize += blockBytes
}

// write sends p to the stream, gathering small pieces.
func (b *Builder) write(p []byte) error {
	b.offset += int64(len(p))
	if len(p) < writeThrough && len(b.out)+len(p) <= gathered {
		b.out = append(b.out, p...)
		return nil
	}
	if err := b.flush(); err != nil {
		return err
	}
	if len(p) < writeThrough {
		b.out = append(b.out, p...)
		return nil
	}
	_, err := b.stream.Write(p)
	return err
}

func (b *Builder) flush() error {
	if len(b.out) == 0 {
		return nil
	}
	_, err := b.stream.Write(b.out)
	b.out = b.out[:0]
	return err
}

// Seal completes the open chunk; nil if there is none.
func (b *Builder) Seal() (*Sealed, error) {
	if b.stream == nil {
		return nil, nil
	}
	if err := b.closeBlock(); err != nil {
		return nil, err
	}
	if err := b.settle(0); err != nil {
		return nil, err
	}
	blocksEnd := b.offset
	raw, err := format.EncodeDirectory(&b.dir)
	if err != nil {
		return nil, err
	}
	tail, err := format.EncodeChunkTail(blocksEnd, raw)
	if err != nil {
		return nil, err
	}
	if err := b.write(tail); err != nil {
		return nil, err
	}
	if err := b.flush(); err != nil {
		return nil, err
	}
	s := &Sealed{
		Stream: b.stream, Session: b.session.ID, Ordinal: b.ordinal, Bytes: b.offset, Rows: b.rows, Dir: raw,
		Stats: b.stats.result(),
	}
	b.stream, b.offset, b.rows, b.dir, b.dirSize = nil, 0, 0, format.Directory{}, 0
	return s, nil
}

// Abort drops the open chunk. The builder may be used again.
func (b *Builder) Abort() {
	for _, p := range b.packing {
		<-p.done
		b.session.packing--
	}
	if b.stream != nil {
		b.stream.Abort()
	}
	*b = Builder{spec: b.spec, session: b.session}
}
