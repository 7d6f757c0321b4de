package chunk

import (
	"context"
	"encoding/binary"
	"runtime"
	"sort"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// GatherPlan is samples of one shape, found but not read: what belongs together is read together.
// It is for many small samples, of which a Ref each would cost more than reading them.
type GatherPlan struct {
	Shape     tensor.Shape // of every sample. Shared, read-only
	Size      int64        // of every sample, in bytes
	Runs      []Run
	Items     []int64 // of each sample, in its chunk: those of a run follow each other, and rise
	Positions []int32 // where each sample belongs in the order that was asked for; nil: in this one
	Holes     []int32 // places of the rows that have no sample, in no order
}

// Run is samples of one chunk.
type Run struct {
	Chunk    *Chunk
	From, To int  // of Items
	Repeats  bool // some item is wanted more than once
}

// Even reports whether samples of the chunk may be in runs: arrays of one shape, stored as they
// are.
func (c *Chunk) Even() bool {
	x := c.Index
	return x.Uniform() && !x.Sequence() && !x.Linked() && x.Tile() == nil && x.SampleCodec() == codec.None
}

// BlockEnd is the first of items from k on, which rise, that is not in the block of items[k]; at
// most to.
func (c *Chunk) BlockEnd(items []int64, k, to int) int {
	block, first := c.Index.BlockOf(items[k])
	end := first + c.Index.BlockItems(block)
	if items[to-1] < end {
		return to
	}
	low, step := k, 1 // items[low] is in the block
	for low+step < to && items[low+step] < end {
		low, step = low+step, 2*step
	}
	n := min(step, to-low)
	return low + sort.Search(n, func(i int) bool { return items[low+i] >= end })
}

// Gather copies samples [from, to) of a run to their places in dst, the memory of all samples that
// were asked for. Each block is held against its checksum; one that is looked at where it lies, the
// first time (see Borrow). failed is called for the samples of a block that cannot be read; the
// others are there. When ctx ends, so does Gather.
func (w *Worker) Gather(ctx context.Context, l *GatherPlan, lot *Run, from, to int, dst []byte, failed func(from, to int, err error)) {
	for from < to && ctx.Err() == nil {
		if n := l.Items[to-1] - l.Items[from] + 1; l.Positions == nil && !lot.Repeats && n == int64(to-from) {
			// all that lie there
			if w.Items(ctx, lot.Chunk, l.Items[from], n, dst[int64(from)*l.Size:int64(to)*l.Size]) == nil {
				return
			}
		}
		end := lot.Chunk.BlockEnd(l.Items, from, to)
		if err := w.gatherBlock(ctx, l, lot.Chunk, from, end, dst); err != nil {
			failed(from, end, err)
		}
		from = end
	}
}

// gatherBlock copies samples of one block.
func (w *Worker) gatherBlock(ctx context.Context, l *GatherPlan, c *Chunk, from, to int, dst []byte) error {
	items := l.Items[from:to]
	low, n := items[0], items[len(items)-1]-items[0]+1
	var data []byte
	var keep any
	if w.readAhead == nil {
		data, keep = c.Borrow(ctx, low, n)
	}
	if data == nil {
		block, first := c.Index.BlockOf(low)
		all, err := w.load(ctx, c, block)
		if err != nil {
			return err
		}
		data = all[(low-first)*l.Size:]
	}
	if int64(len(data)) < n*l.Size {
		return errs.New(errs.Corrupt, "read chunk %q: %d samples have %d bytes, want %d", c.Key, n, len(data), n*l.Size)
	}
	if l.Positions == nil {
		gather(dst[int64(from)*l.Size:int64(to)*l.Size], data, items, low, l.Size)
	} else {
		scatter(dst, data, items, low, l.Size, l.Positions[from:to])
	}
	runtime.KeepAlive(keep)
	return nil
}

// gather copies samples one after the other.
func gather(dst, data []byte, items []int64, low, size int64) {
	switch size {
	case 1:
		for i, item := range items {
			dst[i] = data[item-low]
		}
	case 2:
		for i, item := range items {
			binary.NativeEndian.PutUint16(dst[2*i:], binary.NativeEndian.Uint16(data[2*(item-low):]))
		}
	case 4:
		for i, item := range items {
			binary.NativeEndian.PutUint32(dst[4*i:], binary.NativeEndian.Uint32(data[4*(item-low):]))
		}
	case 8:
		for i, item := range items {
			binary.NativeEndian.PutUint64(dst[8*i:], binary.NativeEndian.Uint64(data[8*(item-low):]))
		}
	default:
		for i, item := range items {
			at := (item - low) * size
			copy(dst[int64(i)*size:(int64(i)+1)*size], data[at:at+size])
		}
	}
}

// scatter copies samples to their places.
func scatter(dst, data []byte, items []int64, low, size int64, places []int32) {
	places = places[:len(items)]
	switch size {
	case 1:
		for i, item := range items {
			dst[places[i]] = data[item-low]
		}
	case 2:
		for i, item := range items {
			binary.NativeEndian.PutUint16(dst[2*int64(places[i]):], binary.NativeEndian.Uint16(data[2*(item-low):]))
		}
	case 4:
		for i, item := range items {
			binary.NativeEndian.PutUint32(dst[4*int64(places[i]):], binary.NativeEndian.Uint32(data[4*(item-low):]))
		}
	case 8:
		for i, item := range items {
			binary.NativeEndian.PutUint64(dst[8*int64(places[i]):], binary.NativeEndian.Uint64(data[8*(item-low):]))
		}
	default:
		for i, item := range items {
			from, at := (item-low)*size, int64(places[i])*size
			copy(dst[at:at+size], data[from:from+size])
		}
	}
}
