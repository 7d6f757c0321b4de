package dataset

import (
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/version/chunkmap"
)

// RangeCopier copies the samples of consecutive rows that lie in many pieces, as scattered updates
// and deletions leave them. It takes each chunk once for all its pieces, and a few nanoseconds for a
// piece. It is for one goroutine.
type RangeCopier struct {
	Bytes int64 // as stored, that were read

	pieces  []piece
	sources []source
	numbers map[*chunk.Chunk]int32 // of sources, from 1 on
}

// piece is rows that lie together in one chunk, behind those of the piece before. Eight bytes: there
// may be as many pieces as rows.
type piece struct {
	item      uint32
	n, source uint16
}

// source is the items of one chunk that pieces need.
type source struct {
	chunk             *chunk.Chunk
	low, high, wanted int64 // items from low to before high; wanted of them are needed
	data, scratch     []byte
}

// mostWaste is the number of items that are read for one that is needed. Where more lie between,
// single rows are read instead.
const mostWaste = 8

// Copy copies the samples of rows [from, to) of the dataset into dst, one behind the other. They are
// arrays of the given dtype and shape. It returns false where that does not hold for all of them,
// where a row has no sample, or where the rows lie too far apart in their chunks: dst is then
// undefined, and the rows are to be read in another way.
func (r *RangeCopier) Copy(ctx context.Context, c *Column, from, to int64, shape tensor.Shape, dst []byte, w *chunk.Worker) (bool, error) {
	if len(dst) == 0 {
		return false, nil
	}
	size := int64(len(dst)) / (to - from)
	r.pieces = slices.Grow(r.pieces[:0], int(min((to-from)/2, 1<<17)))
	r.sources, r.numbers = r.sources[:0], map[*chunk.Chunk]int32{}
	f := c.finder()
	for row := from; row < to; {
		p, err := f.find(ctx, row)
		if err != nil || p.entry == nil {
			return false, err
		}
		first := row
		if row, err = r.cut(ctx, &f, row, to); row == first || err != nil {
			return false, err
		}
	}
	if ok, err := r.open(ctx, shape, size, w); !ok || err != nil {
		return false, err
	}
	r.copy(dst, size)
	runtime.KeepAlive(r.numbers) // of chunks, and so of their mappings
	return true, nil
}

// cut makes the pieces of rows from row on, up to to or to the end of the leaf. It returns the row
// behind them: row itself if some have no sample, or a sample in tiles.
func (r *RangeCopier) cut(ctx context.Context, f *finder, row, to int64) (int64, error) {
	x, place := f.walk.Here()
	first, last := row, len(x.Refs)
	for row < to && place < last {
		physical, behind := f.live.Run(row)
		for behind = min(behind, to); row < behind; {
			for place < last && x.Rows[place+1] <= physical {
				place++
			}
			if place == last {
				break
			}
			ref := x.Refs[place]
			if ref == chunkmap.NoSample {
				return first, nil
			}
			k := &f.known[ref]
			if k.number == 0 {
				if x.Chunks[ref].Tiles > 0 {
					return first, nil
				}
				if err := r.number(ctx, f.c, &x.Chunks[ref], k); err != nil {
					return first, err
				}
			}
			n := min(x.Rows[place+1]-physical, behind-row, math.MaxUint16)
			item := x.Items[place] + physical - x.Rows[place]
			r.pieces = append(r.pieces, piece{uint32(item), uint16(n), uint16(k.number - 1)})
			s := &r.sources[k.number-1]
			s.low, s.high, s.wanted = min(s.low, item), max(s.high, item+n), s.wanted+n
			row, physical = row+n, physical+n
		}
	}
	return row, nil
}

// number finds the source of a chunk.
func (r *RangeCopier) number(ctx context.Context, c *Column, e *format.Entry, k *knownChunk) (err error) {
	if k.chunk == nil {
		if k.chunk, err = c.chunk(ctx, e, 0); err != nil {
			return err
		}
	}
	if k.number = r.numbers[k.chunk]; k.number == 0 {
		n := len(r.sources)
		if r.sources = r.sources[:min(n+1, cap(r.sources))]; len(r.sources) == n {
			r.sources = append(r.sources, source{})
		}
		r.sources[n] = source{chunk: k.chunk, low: math.MaxInt64, scratch: r.sources[n].scratch}
		k.number = int32(n) + 1
		r.numbers[k.chunk] = k.number
	}
	return nil
}

// open brings the items that the pieces need. It returns false if some are not of the shape, or lie
// too far apart.
func (r *RangeCopier) open(ctx context.Context, shape tensor.Shape, size int64, w *chunk.Worker) (bool, error) {
	if len(r.sources) > math.MaxUint16 {
		return false, nil
	}
	for i := range r.sources {
		s := &r.sources[i]
		n, x := s.high-s.low, s.chunk.Index
		if !s.chunk.Even() || n > mostWaste*s.wanted {
			return false, nil
		}
		if s.low < 0 || s.high > x.Rows() {
			return false, read.Beyond(s.chunk, s.high-1, x.Rows())
		}
		if own := x.Shape(0); !own.Equal(shape) && len(own)+len(shape) > 0 || x.ItemBytes(0) != size {
			return false, nil
		}
		data, keep, err := w.Show(ctx, s.chunk, s.low, n, s.scratch)
		if err != nil {
			return false, err
		}
		if s.data = data; keep == nil {
			s.scratch = data
		}
		if int64(len(data)) != n*size {
			return false, errs.Op("read chunk", s.chunk.Key).New(errs.Corrupt, "%d samples have %d bytes, want %d", n, len(data), n*size)
		}
		r.Bytes += s.chunk.BlockBytes(s.low, n)
	}
	return true, nil
}

// copy copies the pieces one behind the other.
func (r *RangeCopier) copy(to []byte, size int64) {
	for i := range r.pieces {
		p := &r.pieces[i]
		s := &r.sources[p.source]
		from, n := s.data[(int64(p.item)-s.low)*size:], int64(p.n)*size
		switch {
		case p.n > 4 || size != 4 && size != 8:
			copy(to[:n], from)
		case size == 4:
			for k := int64(0); k < n; k += 4 {
				binary.NativeEndian.PutUint32(to[k:], binary.NativeEndian.Uint32(from[k:]))
			}
		default:
			for k := int64(0); k < n; k += 8 {
				binary.NativeEndian.PutUint64(to[k:], binary.NativeEndian.Uint64(from[k:]))
			}
		}
		to = to[n:]
	}
}
