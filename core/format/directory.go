package format

import (
	"encoding/binary"
	"errors"
	"fmt"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Flags of a directory.
const (
	dirSequence = 1 << 0
	dirTile     = 1 << 1
	dirLinked   = 1 << 2
	dirHeads    = 1 << 3 // linked items begin with bytes of their own
)

// How a directory says the sizes of its items and of its blocks.
const (
	sizesByShape = 0 // items: product of shape and element size
	sizesFixed   = 1 // items: one number
	sizesEach    = 2 // items: a number each
	blocksSum    = 0 // blocks: sum of their items
	blocksEach   = 1 // blocks: a number each
)

// EncodeDirectory makes the raw form, as side pages hold it and EncodeChunkTail takes it. A
// directory that DecodeDirectory would not take is errs.Invalid. Redundant parts are checked and
// stored short: sizes of plain arrays follow from their shapes, stored sizes of uncompressed blocks
// from their items, and Sizes or BlockItems that are all the same become FixedSize and PerBlock.
func EncodeDirectory(d *Directory) ([]byte, error) {
	if d == nil {
		return nil, errs.Op("encode chunk directory", "").New(errs.Invalid, "it is nil")
	}
	x, err := newIndex(d)
	if err == nil && d.Foreign != nil {
		err = errors.New("its blocks lie in an object of another format")
	}
	if err != nil {
		return nil, refused("chunk directory", err)
	}
	var flags byte
	if d.RowItems != nil {
		flags |= dirSequence
	}
	if d.Tile != nil {
		flags |= dirTile
	}
	if d.Links != nil {
		flags |= dirLinked
		if d.Links.Heads.Ends != nil {
			flags |= dirHeads
		}
	}
	b := []byte{byte(d.DType), byte(d.SampleCodec), byte(d.BlockCodec), flags}
	b = appendUvarint(b, d.Items)
	if d.DType.Fixed() {
		b = appendUvarint(b, int64(len(d.Shapes)))
		for _, run := range d.Shapes {
			b = appendUvarint(b, run.Count)
			b = appendAxes(appendUvarint(b, int64(len(run.Shape))), run.Shape)
		}
	}
	if d.Links != nil {
		b = d.Links.encode(b)
	} else {
		b = d.appendBlocks(d.appendSizes(b), x)
	}
	if d.RowItems != nil {
		b = appendCounted(b, d.RowItems)
	}
	if t := d.Tile; t != nil {
		b = appendUvarint(b, int64(len(t.Sample)))
		b = appendAxes(appendAxes(b, t.Sample), t.Tile)
		b = appendUvarint(b, t.Index)
	}
	if len(b) > MaxDirectoryRaw {
		return nil, errs.Op("encode chunk directory", "").New(errs.Invalid, "it has %d bytes, want at most %d", len(b), MaxDirectoryRaw)
	}
	return b, nil
}

// appendBlocks says how the items lie in blocks, and the checksums of those.
func (d *Directory) appendBlocks(b []byte, x *Index) []byte {
	perBlock := d.evenBlocks()
	b = appendUvarint(b, perBlock)
	if perBlock == 0 {
		b = appendCounted(b, d.BlockItems)
	}
	if d.BlockCodec == codec.None {
		b = append(b, blocksSum)
	} else {
		b = append(b, blocksEach)
		for i := range x.Blocks() {
			_, stored, _ := x.BlockRange(i)
			b = appendUvarint(b, stored)
		}
	}
	for _, crc := range d.BlockCRC {
		b = binary.LittleEndian.AppendUint32(b, crc)
	}
	return b
}

// evenBlocks is PerBlock, or the value that may replace BlockItems, or 0 when the blocks differ.
func (d *Directory) evenBlocks() int64 {
	last := len(d.BlockItems) - 1
	if d.PerBlock > 0 || last < 0 {
		return d.PerBlock
	}
	k := d.BlockItems[0]
	for _, n := range d.BlockItems[:last] {
		if n != k {
			return 0
		}
	}
	if d.BlockItems[last] > k {
		return 0
	}
	return k
}

// evenSize is the size of all items if it is the same, else -1.
func (d *Directory) evenSize() int64 {
	if d.Sizes == nil {
		return d.FixedSize
	}
	for _, n := range d.Sizes {
		if n != d.Sizes[0] {
			return -1
		}
	}
	if len(d.Sizes) == 0 {
		return -1
	}
	return d.Sizes[0]
}

func (d *Directory) appendSizes(b []byte) []byte {
	if d.plain() {
		return append(b, sizesByShape)
	}
	if n := d.evenSize(); n >= 0 {
		return appendUvarint(append(b, sizesFixed), n)
	}
	b = append(b, sizesEach)
	for _, n := range d.Sizes {
		b = appendUvarint(b, n)
	}
	return b
}

func appendCounted(b []byte, list []int64) []byte {
	b = appendUvarint(b, int64(len(list)))
	for _, n := range list {
		b = appendUvarint(b, n)
	}
	return b
}

// plain reports whether items are C-order arrays, whose sizes follow from their shapes.
func (d *Directory) plain() bool { return d.DType.Fixed() && d.SampleCodec == codec.None }

// DecodeDirectory is the strict inverse of EncodeDirectory. Nothing in the result is shared with
// raw. The result is not to be changed: it holds its Index.
func DecodeDirectory(raw []byte) (*Directory, error) {
	d, err := decodeDirectory(raw)
	return d, damaged("chunk directory", err)
}

func decodeDirectory(raw []byte) (*Directory, error) {
	if len(raw) > MaxDirectoryRaw {
		return nil, fmt.Errorf("it has %d bytes, want at most %d", len(raw), MaxDirectoryRaw)
	}
	r := reader{b: raw}
	d := &Directory{FixedSize: -1}
	d.DType, d.SampleCodec, d.BlockCodec = tensor.DType(r.byte("dtype")), codec.ID(r.byte("sample codec")), codec.ID(r.byte("block codec"))
	flags := r.byte("flags")
	if r.err != nil {
		return nil, r.err
	}
	if err := d.checkKnown(flags); err != nil {
		return nil, err
	}
	d.Items = r.uvarint(MaxChunkItems, "items")
	if d.DType.Fixed() {
		d.Shapes = r.shapeRuns()
	}
	if flags&dirLinked != 0 {
		if d.Links = r.links(d.Items); flags&dirHeads != 0 {
			d.Links.Heads = r.heads(d.Items)
		}
	} else {
		d.readSizes(&r)
		d.readBlocks(&r)
	}
	if flags&dirSequence != 0 {
		d.RowItems = r.counted(MaxChunkItems, 0, "rows")
	}
	if flags&dirTile != 0 {
		n := r.count(tensor.MaxDims, 2, "axes of a tile")
		both := r.axes(make(tensor.Shape, 0, 2*n), 2*n, 1)
		if r.err == nil {
			d.Tile = &TileRef{Sample: both[:n:n], Tile: both[n:], Index: r.uvarint(tensor.MaxSampleBytes, "index of a tile")}
		}
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	x, err := newIndex(d)
	if err != nil {
		return nil, err
	}
	d.index = x
	return d, nil
}

// checkKnown refuses additions of newer versions.
func (d *Directory) checkKnown(flags byte) error {
	unknown := func(what string, v byte) error {
		return errs.New(errs.Unsupported, "%s %d is not known; a newer version of this library may read it", what, v)
	}
	if id := d.SampleCodec; id != codec.None && (!id.PerSample() || id.Name() == "") {
		return unknown("sample codec", byte(d.SampleCodec))
	}
	if id := d.BlockCodec; id.PerSample() || id.Name() == "" {
		return unknown("block codec", byte(d.BlockCodec))
	}
	switch {
	case !d.DType.Valid():
		return unknown("dtype", byte(d.DType))
	case flags&^(dirSequence|dirTile|dirLinked|dirHeads) != 0 || flags&(dirLinked|dirHeads) == dirHeads:
		return unknown("set of flags", flags)
	case d.SampleCodec != codec.None && !d.DType.Fixed():
		return fmt.Errorf("items of %s have sample codec %d", d.DType, d.SampleCodec)
	}
	return nil
}

// shapeRuns takes the runs. All shapes lie in one allocation, which the bytes that are left bound.
func (r *reader) shapeRuns() []ShapeRun {
	n := r.count(MaxChunkItems, 2, "shape runs")
	if n == 0 {
		return nil
	}
	runs := make([]ShapeRun, n)
	var axes tensor.Shape
	if n > 1 {
		axes = make(tensor.Shape, 0, min(4*n, int64(len(r.b))))
	}
	for i := range runs {
		runs[i].Count = r.uvarint(MaxChunkItems, "items of a shape")
		m := r.count(tensor.MaxDims, 1, "axes")
		at := len(axes)
		axes = r.axes(axes, m, 0)
		runs[i].Shape = axes[at:len(axes):len(axes)]
		if runs[i].Shape == nil {
			runs[i].Shape = tensor.Shape{}
		}
	}
	return runs
}

func (d *Directory) readSizes(r *reader) {
	switch mode := r.byte("item sizes"); {
	case r.err != nil:
	case mode > sizesEach:
		r.fail("way %d to say item sizes is not one", mode)
	case (mode == sizesByShape) != d.plain():
		r.fail("way %d to say item sizes does not fit the dtype and the sample codec", mode)
	case mode == sizesFixed:
		d.FixedSize = r.uvarint(MaxObjectBytes, "bytes of an item")
	case mode == sizesEach:
		if d.Items > int64(len(r.b)) {
			r.fail("sizes of %d items in %d bytes", d.Items, len(r.b))
			return
		}
		d.Sizes = make([]int64, d.Items)
		for i := range d.Sizes {
			d.Sizes[i] = r.uvarint(MaxObjectBytes, "bytes of an item")
		}
	}
}

func (d *Directory) readBlocks(r *reader) {
	d.PerBlock = r.uvarint(MaxChunkItems, "items per block")
	blocks := int64(0)
	if d.PerBlock > 0 {
		blocks = (d.Items + d.PerBlock - 1) / d.PerBlock
	} else {
		d.BlockItems = r.counted(MaxChunkItems, 1, "blocks")
		blocks = int64(len(d.BlockItems))
	}
	switch mode := r.byte("block sizes"); {
	case r.err != nil:
		return
	case mode > blocksEach:
		r.fail("way %d to say block sizes is not one", mode)
	case (mode == blocksSum) != (d.BlockCodec == codec.None):
		r.fail("way %d to say block sizes does not fit block codec %d", mode, d.BlockCodec)
	case blocks > int64(len(r.b))/4:
		r.fail("%d blocks in %d bytes", blocks, len(r.b))
	case mode == blocksEach:
		d.BlockBytes = make([]int64, blocks)
		for i := range d.BlockBytes {
			d.BlockBytes[i] = r.uvarint(MaxObjectBytes, "bytes of a block")
		}
	}
	crcs := r.bytes(4*blocks, "block checksums")
	if r.err != nil {
		return
	}
	d.BlockCRC = make([]uint32, blocks)
	for i := range d.BlockCRC {
		d.BlockCRC[i] = binary.LittleEndian.Uint32(crcs[4*i:])
	}
}

// counted takes a number and as many numbers of at least low.
func (r *reader) counted(limit, low int64, what string) []int64 {
	list := make([]int64, r.count(limit, 1, what))
	for i := range list {
		if list[i] = r.uvarint(MaxChunkItems, what); list[i] < low {
			r.fail("%s: one has %d items, want at least %d", what, list[i], low)
		}
	}
	return list
}

// checkTile holds the one item of a tile chunk against its place in the sample.
func (d *Directory) checkTile() error {
	t := d.Tile
	if t == nil {
		return nil
	}
	if d.RowItems != nil || d.Items != 1 || len(d.Shapes) != 1 || len(d.Shapes[0].Shape) != len(t.Sample) || len(t.Sample) != len(t.Tile) || len(t.Sample) == 0 {
		return errors.New("a tile chunk wants one array with the axes of its sample")
	}
	if _, err := t.Sample.Bytes(d.DType); err != nil {
		return err
	}
	rest := t.Index
	for i := len(t.Sample) - 1; i >= 0; i-- {
		s, size := t.Sample[i], t.Tile[i]
		if size < 1 || size > s {
			return fmt.Errorf("a tile of %s does not fit a sample of %s", t.Tile, t.Sample)
		}
		grid := (s + size - 1) / size
		at := rest % grid * size
		rest /= grid
		if got, want := d.Shapes[0].Shape[i], min(size, s-at); got != want {
			return fmt.Errorf("axis %d of tile %d has %d elements, want %d", i, t.Index, got, want)
		}
	}
	if rest != 0 || t.Index < 0 {
		return fmt.Errorf("tile %d lies outside the sample", t.Index)
	}
	return nil
}
