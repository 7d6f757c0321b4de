// Package pieces reads rows that lie in many pieces of few chunks, as scattered updates and
// deletions leave them. It copies samples of one shape; it must not know views, schemas or queries.
package pieces

import (
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// Rows are the rows of one tensor.
type Rows struct {
	Tree    chunkmap.Tree
	Live    version.RowMap
	Deleted func(row int64) bool // whether a physical row is
	// Open opens the chunk of an entry, of a leaf whose rows are scattered or not.
	Open func(ctx context.Context, e *format.Entry, scattered bool) (*chunk.Chunk, error)
}

// scatteredRows is the number of rows that lie together, in the mean, below which rows are
// scattered.
const scatteredRows = 512

// Scattered reports whether rows [from, to) lie in many small pieces. It reads index pages.
func (r *Rows) Scattered(ctx context.Context, from, to int64) (bool, error) {
	live, walk := r.Live.Cursor(), chunkmap.NewWalker(r.Tree)
	n, most := int64(0), (to-from)/scatteredRows+2
	for from < to && n <= most {
		n++
		physical, behind := live.Run(from)
		x, place, end, _, err := walk.Seek(ctx, physical)
		if err != nil {
			return false, err
		}
		if s := Live(x, place, &r.Live); s != nil {
			last := len(s.Refs)
			first, _ := slices.BinarySearch(s.Rows[:last], from+1)
			behind, _ := slices.BinarySearch(s.Rows[:last], to)
			n += int64(behind - first)
			from = s.Rows[last]
			continue
		}
		from = min(end-physical+from, behind)
	}
	return n > most, nil
}

// allDeleted reports whether no physical row of [from, to) is live.
func (r *Rows) allDeleted(from, to int64) bool {
	return r.Live.Logical(from) == r.Live.Logical(to) && r.Deleted(to-1)
}

// Copier copies the samples of consecutive rows, as scattered updates and deletions leave them. It
// copies each chunk over all its rows, puts updated samples over those, and leaves out deleted rows
// last. It is for one goroutine.
type Copier struct {
	Bytes int64 // as stored, that were read

	sources []source
	numbers map[chunkID]int32 // of sources, from 1 on
	laid    []laid            // the rows
	planned layout            // of physical rows, where not all lie in leaves of many pieces
	dense   []byte            // samples of all physical rows, deleted ones included
}

// base is rows of one chunk. Other rows may lie in between, which are patches.
type base struct {
	source int32
	item   int64 // of the first row
	at, n  int64 // the first row, and how many with those in between
	own    int64 // rows that lie in the chunk
}

// patch is few rows that lie together in one chunk.
type patch struct {
	at, item  uint32
	n, source uint16
}

// patchRows is the most rows of a patch.
const patchRows = 64

// chunkID names a chunk.
type chunkID struct {
	session format.UUID
	ordinal int64
}

// source is the items of one chunk that are needed.
type source struct {
	chunk             *chunk.Chunk
	low, high, wanted int64 // items from low to before high; wanted of them are needed
	data, scratch     []byte
}

// MostWaste is the number of items, or of physical rows, that are read for one that is needed.
// Where more lie between, single rows are read instead, unless all of them are wasteBytes at most.
const (
	MostWaste  = 8
	wasteBytes = 256 << 10
)

// Copy copies the samples of rows [from, to) of the dataset into dst, one behind the other. They
// are arrays of the given shape, which have at least a byte. It returns false where that does not
// hold for all of them, where a row has no sample, or where the rows lie too far apart in their
// chunks: dst is then undefined, and the rows are to be read in another way.
func (r *Copier) Copy(ctx context.Context, of *Rows, from, to int64, shape tensor.Shape, dst []byte, w *chunk.Worker) (bool, error) {
	if runtime.GOOS == "js" {
		return false, nil // all stores of a browser are remote: its program is smaller without
	}
	live := &of.Live
	low := live.Physical(from)
	n, size := live.Physical(to-1)+1-low, int64(len(dst))/(to-from)
	if size == 0 {
		return false, nil
	}
	r.reset()
	packed, err := r.lay(ctx, of, from, to)
	if err != nil {
		return false, err
	}
	if !packed {
		if n > math.MaxUint32 || n > MostWaste*(to-from) {
			return false, nil
		}
		r.reset()
		if ok, err := r.plan(ctx, of, low, low+n, n > to-from); !ok || err != nil {
			return false, err
		}
	}
	if ok, err := r.open(ctx, shape, size, w); !ok || err != nil {
		return false, err
	}
	defer runtime.KeepAlive(r) // and its chunks, and so their mappings
	if packed || n == to-from {
		r.copy(dst, size)
		return true, nil
	}
	all := []byte(nil)
	if l := &r.planned; len(l.bases) == 1 && len(l.patches) == 0 {
		all = l.bases[0].data(r, size)
	} else {
		r.dense = slices.Grow(r.dense[:0], int(n*size))[:n*size]
		all = r.dense
		r.copy(all, size)
	}
	logical, physical := live.Between(from, to)
	switch {
	case size == 4 && aligned(dst, 4) && aligned(all, 4):
		compact(wordsOf[uint32](dst), wordsOf[uint32](all), logical, physical, from, to, low)
	case size == 8 && aligned(dst, 8) && aligned(all, 8):
		compact(wordsOf[uint64](dst), wordsOf[uint64](all), logical, physical, from, to, low)
	default:
		row, at := from, low
		for k := range physical {
			end := runEnd(logical, k, to)
			if k > 0 {
				at = physical[k]
			}
			n := (end - row) * size
			copy(dst[:n], all[(at-low)*size:])
			row, dst = end, dst[n:]
		}
	}
	return true, nil
}

// reset forgets the last copy.
func (r *Copier) reset() {
	r.sources, r.laid, r.numbers = r.sources[:0], r.laid[:0], map[chunkID]int32{}
}

// runEnd returns the row behind run k of rows up to to.
func runEnd(logical []int64, k int, to int64) int64 {
	if k+1 < len(logical) {
		return logical[k+1]
	}
	return to
}

// compact copies the numbers of rows [from, to) out of those of all physical rows from low on.
func compact[T uint32 | uint64](dst, all []T, logical, physical []int64, from, to, low int64) {
	row, at, i := from, low, 0
	for k := range physical {
		end := runEnd(logical, k, to)
		if k > 0 {
			at = physical[k]
		}
		run := all[at-low:][:end-row]
		if len(run) > 16 {
			i += copy(dst[i:], run)
		} else {
			for _, v := range run {
				dst[i] = v
				i++
			}
		}
		row = end
	}
}

// aligned reports whether numbers of so many bytes can lie in p.
func aligned(p []byte, bytes uintptr) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(p)))%bytes == 0
}

// wordsOf returns aligned bytes as numbers.
func wordsOf[T uint32 | uint64](p []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), len(p)/int(unsafe.Sizeof(one)))
}

// plan finds physical rows [row, to), of which some are deleted if gaps is true. It returns false
// if a live row has no sample, or one in tiles.
func (r *Copier) plan(ctx context.Context, of *Rows, row, to int64, gaps bool) (bool, error) {
	from, l := row, &r.planned
	l.reset(0)
	l.patches = slices.Grow(l.patches, int(min((to-from)/4, 1<<16)))
	walk := chunkmap.NewWalker(of.Tree)
	var numbers []int32 // by ref of the leaf, one behind those of sources
	for row < to {
		x, place, end, moved, err := walk.Seek(ctx, row)
		if err != nil {
			return false, err
		}
		if moved {
			if ctx.Err() != nil {
				return false, errs.Cause(ctx, "find samples")
			}
			numbers = slices.Grow(numbers[:0], len(x.Chunks))[:len(x.Chunks)]
			clear(numbers)
		}
		if place < 0 {
			if !of.allDeleted(row, min(end, to)) {
				return false, nil
			}
			row = end
			continue
		}
		for ; row < to && place < len(x.Refs); place++ {
			end := min(x.Rows[place+1], to)
			ref := x.Refs[place]
			if ref == chunkmap.NoSample {
				if !of.allDeleted(row, end) {
					return false, nil
				}
				row = end
				continue
			}
			if gaps && end-row <= patchRows && (l.on.source < 0 || numbers[ref] != l.on.source+1) && of.allDeleted(row, end) {
				row = end
				continue
			}
			if numbers[ref] == 0 {
				if x.Chunks[ref].Tiles > 0 {
					return false, nil
				}
				if numbers[ref], err = r.number(ctx, of, &x.Chunks[ref], x.Mixed()); err != nil {
					return false, err
				}
			}
			if len(r.sources) > math.MaxUint16 {
				return false, nil
			}
			l.grow(len(r.sources))
			l.add(numbers[ref]-1, row-from, x.Items[place]-x.Rows[place]+row, end-row)
			row = end
		}
	}
	l.end()
	p := laid{layout: l, high: to - from, numbers: make([]int32, len(r.sources))}
	err := r.need(ctx, &p, func(source int32) (int32, error) { return source + 1, nil })
	r.laid = append(r.laid, p)
	return true, err
}

// number returns the number of the source of a chunk, from 1 on.
func (r *Copier) number(ctx context.Context, of *Rows, e *format.Entry, scattered bool) (int32, error) {
	id := chunkID{e.Session, e.Ordinal}
	if k := r.numbers[id]; k > 0 {
		return k, nil
	}
	ch, err := of.Open(ctx, e, scattered)
	if err != nil {
		return 0, err
	}
	n := len(r.sources)
	if r.sources = r.sources[:min(n+1, cap(r.sources))]; len(r.sources) == n {
		r.sources = append(r.sources, source{})
	}
	r.sources[n] = source{chunk: ch, low: math.MaxInt64, scratch: r.sources[n].scratch}
	r.numbers[id] = int32(n) + 1
	return r.numbers[id], nil
}

// open brings the items that are needed. It returns false if some are not of the shape, or lie too
// far apart.
func (r *Copier) open(ctx context.Context, shape tensor.Shape, size int64, w *chunk.Worker) (bool, error) {
	for i := range r.sources {
		s := &r.sources[i]
		n, x := s.high-s.low, s.chunk.Index
		if !s.chunk.Even() || n > MostWaste*s.wanted && n*size > wasteBytes {
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

// data returns the samples of a base.
func (b *base) data(r *Copier, size int64) []byte {
	s := &r.sources[b.source]
	return s.data[(b.item-s.low)*size:][:b.n*size]
}

// fewBytes is the size up to which a loop over numbers is faster than a call of copy.
const fewBytes = 32

// copyFew copies n bytes of numbers of the given size.
func copyFew(to, from []byte, n, size int64) {
	switch {
	case n > fewBytes || size != 4 && size != 8:
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
}
