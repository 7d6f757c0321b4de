package chunkmap

import (
	"math"
	"slices"

	"deeplake/core/format"
	"deeplake/core/internal/invariant"
)

// run is pieces of chunks in order of rows, as in a leaf but without its bounds. Edits are laid
// over leaves piece by piece: an entry for each would take ten times the memory.
type run struct {
	rows, items []int64
	refs        []uint32 // noRef: no sample
	chunks      []format.Entry
	index       map[chunkID]uint32 // of the last of chunks under each name
	end         int64              // the row behind the last piece
	size        int                // bytes as a stored leaf, at most; 0: not known
}

const noRef = math.MaxUint32

// chunkID names a chunk.
type chunkID struct {
	session format.UUID
	ordinal int64
}

func newRun(pieces int) *run {
	return &run{rows: make([]int64, 0, pieces+1), items: make([]int64, 0, pieces), refs: make([]uint32, 0, pieces), index: map[chunkID]uint32{}}
}

// chunk returns the ref of the chunk of an entry.
func (r *run) chunk(e *format.Entry) uint32 {
	id := chunkID{e.Session, e.Ordinal}
	ref, known := r.index[id]
	if !known || !sameChunk(&r.chunks[ref], e) {
		ref = uint32(len(r.chunks))
		r.index[id] = ref
		r.chunks = append(r.chunks, *e)
	}
	return ref
}

// sameChunk reports whether entries of one chunk say the same of it.
func sameChunk(a, b *format.Entry) bool {
	s, o := &a.Stats, &b.Stats
	return a.Bytes == b.Bytes && a.Side == b.Side && a.Slot == b.Slot && a.Tiles == b.Tiles &&
		s.HasRange == o.HasRange && s.Min == o.Min && s.Max == o.Max && slices.Equal(s.MinShape, o.MinShape) && slices.Equal(s.MaxShape, o.MaxShape)
}

// add adds rows of a chunk, from an item on. They join the last piece if they follow there.
func (r *run) add(row, rows, item int64, ref uint32) {
	n := len(r.refs) - 1
	if invariant.Enabled {
		invariant.Check(row >= r.end, "entries of a chunk map are in order and disjoint")
	}
	if n >= 0 && row == r.end && r.refs[n] == ref && r.chunks[ref].Tiles == 0 && r.items[n]+row-r.rows[n] == item {
		r.end += rows
		return
	}
	if n >= 0 && row > r.end {
		r.place(r.end, 0, noRef)
	}
	r.place(row, item, ref)
	r.end = row + rows
}

func (r *run) place(row, item int64, ref uint32) {
	r.rows, r.items, r.refs = append(r.rows, row), append(r.items, item), append(r.refs, ref)
}

// entries adds entries, which are in order.
func (r *run) entries(list []format.Entry) {
	for i := range list {
		r.add(list[i].Row, list[i].Rows, list[i].First, r.chunk(&list[i]))
	}
}

// pieceBytes bounds the bytes of a piece in a stored leaf.
const pieceBytes = 16

// overlay adds the pieces of a leaf, with edits over them, in order and disjoint.
func (r *run) overlay(l *Leaf, edits []Edit) {
	r.size = 0
	if l.size > 0 && len(r.refs) == 0 {
		r.size = l.size
		for i := range edits { // its entries, and two pieces of the entries that it cuts
			r.size += (2*len(edits[i].Entries) + 2) * pieceBytes
		}
	}
	r.lay(l.Rows, l.Items, l.Chunks, func(i int) uint32 {
		if l.Refs[i] == NoSample {
			return noRef
		}
		return uint32(l.Refs[i])
	}, edits)
}

// lay adds pieces of chunks, with edits over them. rows has the row behind the last piece, too.
func (r *run) lay(rows, items []int64, chunks []format.Entry, refOf func(i int) uint32, edits []Edit) {
	refs := make([]uint32, len(chunks)) // of the run, of each of chunks, one more
	at, i := int64(0), 0                // rows before at are done, and so are pieces before i
	upTo := func(row int64) {
		for ; i < len(items) && rows[i] < row; i++ {
			from, to := max(rows[i], at), min(rows[i+1], row)
			if ref := refOf(i); from < to && ref != noRef {
				if refs[ref] == 0 {
					refs[ref] = r.chunk(&chunks[ref]) + 1
				}
				r.add(from, to-from, items[i]+from-rows[i], refs[ref]-1)
			}
			if rows[i+1] > row {
				break
			}
		}
		at = max(at, row)
	}
	for _, ed := range edits {
		upTo(ed.From)
		at = max(at, ed.To)
		r.entries(ed.Entries)
	}
	upTo(math.MaxInt64)
}

// leafPieces is the number of places from which on a leaf may have more bytes than leafBytes.
const leafPieces = 16 << 10

// leafBytes bounds the bytes of a leaf of many places, so that a commit of one row stays small.
const leafBytes = 64 << 10

// leaves divides the run into leaves. At the end of the axis it fills them, so that appending
// leaves full ones behind. Elsewhere it makes them of equal size, so that each can grow.
func (r *run) leaves(s *Store, fill bool) ([]*Leaf, error) {
	rows := append(r.rows, r.end)
	each := len(r.refs)
	if pages := max((len(r.chunks)+s.MaxEntries-1)/s.MaxEntries, (each+s.MaxPieces-1)/s.MaxPieces); !fill && pages > 0 {
		each = (each + pages - 1) / pages
	}
	known := make([]int, len(r.chunks)) // the leaf that has the chunk, and its ref there
	own := make([]uint16, len(r.chunks))
	var out []*Leaf
	for at := 0; at < len(r.refs); {
		if r.refs[at] == noRef { // between two leaves
			at++
			continue
		}
		var l format.Pieces
		n, most := 0, min(each, s.MaxPieces, len(r.refs)-at)
		l.Refs = make([]uint16, 0, most)
		for ; n < most; n++ {
			ref := r.refs[at+n]
			if ref == noRef {
				l.Refs = append(l.Refs, NoSample)
				continue
			}
			if known[ref] != len(out)+1 {
				if len(l.Chunks) == s.MaxEntries {
					break
				}
				known[ref], own[ref] = len(out)+1, uint16(len(l.Chunks))
				e := r.chunks[ref]
				e.Row, e.Rows, e.First = rows[at+n], rows[at+n+1]-rows[at+n], r.items[at+n]
				l.Chunks = append(l.Chunks, e)
			}
			l.Refs = append(l.Refs, own[ref])
		}
		if l.Refs[n-1] == NoSample {
			n--
		}
		l.Refs, l.Rows, l.Items = slices.Clip(l.Refs[:n]), slices.Clone(rows[at:at+n+1]), slices.Clone(r.items[at:at+n])
		leaf := leafOf(l)
		if leaf.size = r.size; n > leafPieces && (r.size == 0 || r.size > leafBytes) {
			data, err := leaf.encode()
			if err != nil {
				return nil, err
			}
			if leaf.size = len(data); leaf.size > leafBytes {
				clear(known)
				each = (n + 1) / 2
				continue
			}
		}
		out = append(out, leaf)
		at += n
	}
	return out, nil
}
