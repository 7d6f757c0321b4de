package maintain

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version"
)

// chunkCheck is one chunk to be looked at.
type chunkCheck struct {
	id      chunkKey
	tensor  format.UUID
	dir     []byte          // the directory in the side page; nil: none
	size    int64           // the size in the map; 0: none
	entries []*format.Entry // of one leaf, that need it
	bytes   int64
	err     error
	items   []itemRange // the damaged ones; none: all
}

// itemRange is items of a chunk, or rows where it has sequences.
type itemRange struct{ from, to int64 }

// chunks checks chunks side by side and reports those that are damaged.
func (f *fsck) chunks(ctx context.Context, at *visit, todo []*chunkCheck) error {
	g := task.New(ctx, chunksInFlight)
	for _, c := range todo {
		size, there, err := f.size(ctx, c)
		if err != nil {
			g.Stop()
			_ = g.Wait()
			return err
		}
		switch {
		case !there && f.marker.lenient:
			continue // as marker.failed has it
		case !there:
			c.err = errs.Op("read chunk", c.id.key()).New(errs.Corrupt, "the object is missing")
		case c.size != 0 && c.size != size:
			c.err = errs.Op("read chunk", c.id.key()).New(errs.Corrupt, "has %d bytes, want %d", size, c.size)
		}
		f.report.Chunks++
		c.bytes = size
		if c.err != nil || f.o.MapsOnly || !f.suspected(c.id.key()) || size < 0 {
			continue
		}
		g.Go(func(ctx context.Context) error {
			err := c.look(ctx, f.repo.Store, size)
			f.o.Progress.Did(1, size)
			if err != nil && !version.IsDamage(err) {
				return err
			}
			c.err = err
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, c := range todo {
		f.report.Bytes += c.bytes
		if c.err == nil {
			continue
		}
		p := f.add(Problem{
			Key: c.id.key(), What: "chunk", Error: c.err.Error(), Branch: at.name, Version: at.rec.Version, Tensor: at.tensor.Name,
			Lost: "the samples of these rows in this tensor",
		})
		f.broken[c.id] = p
		for _, e := range c.entries {
			for _, part := range c.lost(e) {
				p.rows(at, part.from, part.to)
			}
		}
	}
	return nil
}

// size is that of a chunk, and whether the store has it. The second look asks for the object itself
// where the listing does not show it, and drops what caches keep of suspects.
func (f *fsck) size(ctx context.Context, c *chunkCheck) (size int64, there bool, err error) {
	size, there = f.sizes[c.id.session][c.id.ordinal]
	if f.suspects == nil || !f.suspected(c.id.key()) {
		return size, there, nil
	}
	storage.Forget(f.repo.Store, c.id.key())
	if there {
		return size, true, nil
	}
	err = f.repo.Store.ReadAt(ctx, c.id.key(), make([]byte, format.ChunkHeadBytes), 0)
	if version.IsDamage(err) {
		return 0, false, nil
	}
	if c.size == 0 {
		return -1, err == nil, err // a tile: the map does not say
	}
	return c.size, err == nil, err
}

// lost is the physical rows of an entry that a damaged chunk takes along.
func (c *chunkCheck) lost(e *format.Entry) []itemRange {
	if len(c.items) == 0 || e.Tiles > 0 {
		return []itemRange{{e.Row, e.Row + e.Rows}}
	}
	var out []itemRange
	for _, it := range c.items {
		from, to := max(it.from, e.First), min(it.to, e.First+e.Rows)
		if from < to {
			out = append(out, itemRange{e.Row + from - e.First, e.Row + to - e.First})
		}
	}
	return out
}

// look reads and checks a chunk of size bytes.
func (c *chunkCheck) look(ctx context.Context, store storage.Provider, size int64) error {
	x, dir, err := chunkIndex(ctx, store, c.id, c.tensor, size)
	if err != nil {
		return err
	}
	if c.dir != nil && !bytes.Equal(c.dir, dir) {
		return errs.Op("read chunk", c.id.key()).New(errs.Corrupt, "its side page describes another chunk")
	}
	var first error
	err = eachBlock(ctx, store, c.id.key(), x, func(block int, data []byte) error {
		got, want := format.CRC(data), x.CRC(block)
		if got == want {
			return nil
		}
		if first == nil {
			first = errs.Op("read chunk", c.id.key()).New(errs.Corrupt, "block %d has checksum 0x%08x, want 0x%08x", block, got, want)
		}
		_, from := x.BlockOf(firstItem(x, block))
		c.items = append(c.items, rowsOf(x, from, from+x.BlockItems(block)))
		return nil
	})
	if err != nil {
		return err
	}
	return first
}

// firstItem is the first item of a block.
func firstItem(x *format.Index, block int) int64 {
	lo, hi := int64(0), x.Items()
	for lo < hi {
		mid := lo + (hi-lo)/2
		if b, _ := x.BlockOf(mid); b < block {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// rowsOf is the rows of a chunk that items [from, to) belong to.
func rowsOf(x *format.Index, from, to int64) itemRange {
	if !x.Sequence() {
		return itemRange{from, to}
	}
	out := itemRange{math.MaxInt64, 0}
	for row := range x.Rows() {
		if first, n := x.RowItemsRange(row); first < to && first+n > from {
			out.from, out.to = min(out.from, row), row+1
		}
	}
	return out
}

// chunkIndex reads head and directory of a chunk, and compares them with each other, with the id
// and with the tensor.
func chunkIndex(ctx context.Context, store storage.Provider, id chunkKey, tensor format.UUID, size int64) (*format.Index, []byte, error) {
	key := id.key()
	if size < format.ChunkHeadBytes+format.ChunkTrailerBytes {
		return nil, nil, errs.Op("read chunk", key).New(errs.Corrupt, "has %d bytes, too few for a chunk", size)
	}
	start, last := make([]byte, format.ChunkHeadBytes), make([]byte, format.ChunkTrailerBytes)
	if err := store.ReadAt(ctx, key, start, 0); err != nil {
		return nil, nil, err
	}
	head, err := format.DecodeChunkHead(start)
	if err != nil {
		return nil, nil, errs.Wrap(errs.Corrupt, "chunk", key, err)
	}
	if head.Session != id.session || head.Ordinal != id.ordinal || (!tensor.IsZero() && head.Tensor != tensor) {
		return nil, nil, errs.Op("read chunk", key).New(errs.Corrupt, "says that it is chunk %d of session %s, of tensor %s", head.Ordinal, head.Session, head.Tensor)
	}
	if err := store.ReadAt(ctx, key, last, size-int64(len(last))); err != nil {
		return nil, nil, err
	}
	t, err := format.DecodeTrailer(last, size)
	if err != nil {
		return nil, nil, errs.Wrap(errs.Corrupt, "chunk", key, err)
	}
	stored := make([]byte, t.Stored)
	if err := store.ReadAt(ctx, key, stored, t.Offset); err != nil {
		return nil, nil, err
	}
	d, err := t.Directory(stored)
	if err != nil {
		return nil, nil, errs.Wrap(errs.Corrupt, "chunk", key, err)
	}
	raw, err := t.RawDirectory(stored)
	return d.Index(), raw, errs.Wrap(errs.Corrupt, "chunk", key, err)
}

// eachBlock reads the blocks of a chunk in order, in large pieces. data is valid during the call.
func eachBlock(ctx context.Context, store storage.Provider, key string, x *format.Index, fn func(block int, data []byte) error) error {
	var buf []byte
	for b := 0; b < x.Blocks(); {
		from, n, _ := x.BlockRange(b)
		last := b + 1
		for ; last < x.Blocks(); last++ {
			off, m, _ := x.BlockRange(last)
			if off+m-from > wholeChunk {
				break
			}
			n = off + m - from
		}
		buf = slices.Grow(buf[:0], int(n))[:n]
		if err := store.ReadAt(ctx, key, buf, from); err != nil {
			return err
		}
		for ; b < last; b++ {
			off, m, _ := x.BlockRange(b)
			if err := fn(b, buf[off-from:off-from+m]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rebuild makes a side page from the directories at the ends of its chunks, if all of them are
// there. The page must come out unchanged, since its content is its name. For a slot that belongs
// to no version any more, rebuild tries the chunk that follows the one of the slot before.
func (f *fsck) rebuild(ctx context.Context, id format.UUID, use *sideUse) error {
	n := int64(0)
	for slot := range use.slots {
		n = max(n, slot+1)
	}
	dirs := make([][]byte, n)
	chunks := make([]chunkKey, n)
	for slot := range dirs {
		dirs[slot] = []byte{0}
		chunk, known := use.slots[int64(slot)]
		if !known && slot > 0 {
			chunk = chunkKey{chunks[slot-1].session, chunks[slot-1].ordinal + 1}
		}
		chunks[slot] = chunk
	}
	g := task.New(ctx, markBatch)
	for slot, chunk := range chunks {
		_, known := use.slots[int64(slot)]
		if !known && f.sizes[chunk.session][chunk.ordinal] == 0 {
			continue
		}
		g.Go(func(ctx context.Context) error {
			_, dir, err := chunkIndex(ctx, f.repo.Store, chunk, format.UUID{}, f.sizes[chunk.session][chunk.ordinal])
			if err == nil {
				dirs[slot] = dir
			} else if !known && version.IsDamage(err) {
				err = nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		if version.IsDamage(err) {
			use.problem.Lost += "; and one of the chunks cannot be read either"
			return nil
		}
		return err
	}
	data, err := format.EncodeSide(dirs)
	if err != nil {
		return err
	}
	if format.SetSalt(data, format.SideSalt(chunks[0].session, chunks[0].ordinal)); format.ContentName(data) != id {
		use.problem.Lost += "; the page cannot be made again as it was, and rechunk() writes a new one"
		return nil
	}
	use.problem.Repair = fmt.Sprintf("from the directories of its %d chunks", len(use.slots))
	if !f.o.Repair {
		return nil
	}
	if err := f.repo.Store.Put(ctx, format.MapKey(id), data); err != nil {
		return errs.Wrap(errs.Storage, "fsck", format.MapKey(id), err)
	}
	use.problem.Done = true
	return nil
}
