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
	Positions []int32 // where each sample belongs in the order that was requested; nil: in this one
	Holes     []int32 // places of the rows that have no sample, in no order
}

// Spans returns the bytes that the samples lie in.
func (l *GatherPlan) Spans() (out []Span) {
	for i := range l.Runs {
		r := &l.Runs[i]
		for at := r.From; at < r.To; at = r.Chunk.BlockEnd(l.Items, at, r.To) {
			out = r.Chunk.Spans(l.Items[at], 1, out)
		}
	}
	return out
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
// were requested. Each block is held against its checksum; one that is looked at where it lies, the
// first time (see Borrow). failed is called for the samples of a block that cannot be read; the
// others are there. When ctx ends, so does Gather.
func (w *Worker) Gather(ctx context.Context, l *GatherPlan, run *Run, from, to int, dst []byte, failed func(from, to int, err error)) {
	g := gathering{w: w, plan: l, run: run, dst: dst}
	if from < to && ctx.Err() == nil && g.together(ctx, from, to) {
		return
	}
	for from < to && ctx.Err() == nil {
		n := l.Items[to-1] - l.Items[from] + 1
		if g.inARow(from, to) && (w.readAhead != nil || n*l.Size > bulkBytes) {
			// all that lie there
			if w.Items(ctx, run.Chunk, l.Items[from], n, dst[int64(from)*l.Size:int64(to)*l.Size]) == nil {
				return
			}
		}
		end := run.Chunk.BlockEnd(l.Items, from, to)
		if err := g.block(ctx, from, end); err != nil {
			failed(from, end, err)
		}
		from = end
	}
}

// gathering is the copying of samples of one run.
type gathering struct {
	w    *Worker
	plan *GatherPlan
	run  *Run
	dst  []byte
}

// inARow reports whether samples [from, to) follow each other, in the chunk and in dst.
func (g *gathering) inARow(from, to int) bool {
	items := g.plan.Items
	return g.plan.Positions == nil && !g.run.Repeats && items[to-1]-items[from] == int64(to-from-1)
}

// together copies samples of several blocks by one loop, if they can be looked at where they lie.
// Else it does nothing.
func (g *gathering) together(ctx context.Context, from, to int) bool {
	items := g.plan.Items[from:to]
	if g.w.readAhead != nil || len(items) < touchedItems || g.inARow(from, to) {
		return false
	}
	data, keep := g.run.Chunk.borrowAmong(ctx, items)
	if int64(len(data)) < (items[len(items)-1]-items[0]+1)*g.plan.Size {
		return false
	}
	g.copy(data, from, to)
	runtime.KeepAlive(keep)
	return true
}

// block copies samples of one block.
func (g *gathering) block(ctx context.Context, from, to int) error {
	c, size := g.run.Chunk, g.plan.Size
	low, n := g.plan.Items[from], g.plan.Items[to-1]-g.plan.Items[from]+1
	var data []byte
	var keep any
	if g.w.readAhead == nil {
		data, keep = c.Borrow(ctx, low, n)
	}
	if data == nil {
		block, first := c.Index.BlockOf(low)
		all, err := g.w.load(ctx, c, block)
		if err != nil {
			return err
		}
		data = all[(low-first)*size:]
	}
	if int64(len(data)) < n*size {
		return errs.Op("read chunk", c.Key).New(errs.Corrupt, "%d samples have %d bytes, want %d", n, len(data), n*size)
	}
	g.copy(data, from, to)
	runtime.KeepAlive(keep)
	return nil
}

// copy copies samples out of data, which begins with the first of them.
func (g *gathering) copy(data []byte, from, to int) {
	l := g.plan
	items, low := l.Items[from:to], l.Items[from]
	switch {
	case g.inARow(from, to):
		copy(g.dst[int64(from)*l.Size:int64(to)*l.Size], data)
	case l.Positions == nil:
		gather(g.dst[int64(from)*l.Size:int64(to)*l.Size], data, items, low, l.Size)
	default:
		if l.Size <= 8 && len(items) >= touchedItems {
			touch(data, items, low, l.Size)
		}
		scatter(g.dst, data, items, low, l.Size, l.Positions[from:to])
	}
}

// touchedItems is the number of samples from which it pays to touch their memory first.
const touchedItems = 8

// touch loads the cache lines of samples. A loop without stores waits for many of them at once.
//
//go:noinline
func touch(data []byte, items []int64, low, size int64) (sum byte) {
	for _, item := range items {
		sum |= data[(item-low)*size]
	}
	return sum
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
