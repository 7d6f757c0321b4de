package format

import (
	"errors"
	"fmt"
	"math"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

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

// Index builds the lookup structure, or returns the one that DecodeDirectory built. Of a directory
// that EncodeDirectory would not take it is nil.
func (d *Directory) Index() *Index {
	if d.index != nil {
		return d.index
	}
	if x, err := newIndex(d); err == nil {
		return x
	}
	return nil
}

// CheckedIndex is Index, or the error of a directory that describes no chunk. The directory is
// damaged then.
func (d *Directory) CheckedIndex() (*Index, error) {
	x, err := newIndex(d)
	return x, damaged("chunk directory", err)
}

// newIndex checks all of d while it sums up; encoder and decoder both go through it.
func newIndex(d *Directory) (*Index, error) {
	if err := d.checkKnown(0); err != nil {
		return nil, err
	}
	if d.Items < 0 || d.Items > MaxChunkItems {
		return nil, fmt.Errorf("%d items, want 0 to %d", d.Items, MaxChunkItems)
	}
	x := &Index{dtype: d.DType, sampleCodec: d.SampleCodec, blockCodec: d.BlockCodec, items: d.Items, fixed: -1, crc: d.BlockCRC, tile: d.Tile, base: ChunkHeadBytes}
	if err := x.addForeign(d); err != nil {
		return nil, err
	}
	steps := []func(*Directory) error{x.addShapes, x.addSizes, x.checkSizes, x.addBlocks, x.addStored, x.addRows}
	if d.Links != nil {
		steps = []func(*Directory) error{x.addShapes, x.addLinks, x.addRows}
	}
	// Each step relies on the checks of the steps before it.
	for _, step := range steps {
		if err := step(d); err != nil {
			return nil, err
		}
	}
	return x, d.checkTile()
}

// addForeign sets where the blocks of another format lie.
func (x *Index) addForeign(d *Directory) error {
	f := d.Foreign
	if f == nil {
		return nil
	}
	switch {
	case len(d.BlockCRC) > 0:
		return errors.New("blocks of another format have checksums")
	case f.Base < 0 || f.Base > MaxObjectBytes || f.Lead < 0 || f.Lead > MaxForeignLead || f.Lead > 0 && d.BlockCodec == codec.None:
		return fmt.Errorf("blocks of another format begin at %d, %d bytes in front of each", f.Base, f.Lead)
	}
	x.base, x.lead, x.unchecked = f.Base, f.Lead, true
	return nil
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
	x.axes = tensor.Shape{} // not nil: a scalar has a shape, if one without axes
	seen := make(map[string]uint32, min(len(d.Shapes), 128))
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
		if x.items == 0 {
			x.fixed = 0
		}
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
	if int64(len(d.BlockCRC)) != x.blocks && !x.unchecked {
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
	x.stored, err = prefix(x.blocks, func(i int64) int64 { return x.lead + d.BlockBytes[i] }, MaxObjectBytes)
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
