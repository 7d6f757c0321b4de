package chunkmap

import (
	"context"
	"math"
	"slices"

	"deeplake/core/format"
	"deeplake/core/version/rowset"
)

// Leaf is a leaf page. The entries of one chunk share all that is not their own: scattered updates
// leave many entries of few chunks. It does not change once it is stored.
type Leaf struct {
	// Rows are the first rows of places, which follow each other without a gap: entries, and rows
	// without a sample between them. The last number is the row behind the last place.
	Rows  []int64
	Items []int64  // of each place, where its first row lies in the chunk
	Refs  []uint16 // of each place, an index into Chunks; NoSample: its rows have none
	// Chunks has the first entry of each chunk.
	Chunks []format.Entry
	Held   []int64 // of each of Chunks, the rows that lie in it

	entries int // places of chunks
}

// NoSample is the ref of rows without a sample.
const NoSample = math.MaxUint16

// NewLeaf returns the leaf of entries, which are in order.
func NewLeaf(entries []format.Entry) *Leaf {
	n := len(entries)
	l := &Leaf{Rows: make([]int64, 0, n+1), Items: make([]int64, 0, n), Refs: make([]uint16, 0, n), entries: n}
	type chunkID struct {
		session format.UUID
		ordinal int64
	}
	refs := map[chunkID]uint16{}
	end := int64(0)
	for i := range entries {
		e := &entries[i]
		if i > 0 && e.Row > end {
			l.add(end, 0, NoSample)
		}
		ref, known := refs[chunkID{e.Session, e.Ordinal}]
		if !known || !sameChunk(&l.Chunks[ref], e) {
			ref = uint16(len(l.Chunks))
			refs[chunkID{e.Session, e.Ordinal}] = ref
			l.Chunks, l.Held = append(l.Chunks, *e), append(l.Held, 0)
		}
		l.Held[ref] += e.Rows
		l.add(e.Row, e.First, ref)
		end = e.Row + e.Rows
	}
	l.Rows = append(l.Rows, end)
	l.Chunks = slices.Clip(l.Chunks)
	return l
}

// sameChunk reports whether entries of one chunk say the same of it.
func sameChunk(a, b *format.Entry) bool {
	s, o := &a.Stats, &b.Stats
	return a.Bytes == b.Bytes && a.Side == b.Side && a.Slot == b.Slot && a.Tiles == b.Tiles &&
		s.HasRange == o.HasRange && s.Min == o.Min && s.Max == o.Max && slices.Equal(s.MinShape, o.MinShape) && slices.Equal(s.MaxShape, o.MaxShape)
}

func (l *Leaf) add(row, item int64, ref uint16) {
	l.Rows, l.Items, l.Refs = append(l.Rows, row), append(l.Items, item), append(l.Refs, ref)
}

// bytes estimates the memory of the leaf.
func (l *Leaf) bytes() int64 { return int64(len(l.Refs))*18 + int64(len(l.Chunks))*232 + 184 }

// Len returns the number of entries.
func (l *Leaf) Len() int { return l.entries }

// First returns the first row of the first entry, End the row behind the last one.
func (l *Leaf) First() int64 { return l.Rows[0] }

// End returns the row behind the last entry.
func (l *Leaf) End() int64 { return l.Rows[len(l.Rows)-1] }

// Mixed reports whether the entries are many pieces of few chunks, and every row has a sample.
func (l *Leaf) Mixed() bool { return l.entries == len(l.Refs) && l.entries > 16+8*len(l.Chunks) }

// entry returns the entry of a place that has one.
func (l *Leaf) entry(place int) format.Entry {
	e := l.Chunks[l.Refs[place]]
	e.Row, e.Rows, e.First = l.Rows[place], l.Rows[place+1]-l.Rows[place], l.Items[place]
	return e
}

// Entries returns all entries.
func (l *Leaf) Entries() []format.Entry {
	out := make([]format.Entry, 0, l.entries)
	for i := range l.Refs {
		if l.Refs[i] != NoSample {
			out = append(out, l.entry(i))
		}
	}
	return out
}

// find returns the entry that covers a row; ok is false if it has no sample.
func (l *Leaf) find(row int64) (e format.Entry, ok bool) {
	if row < l.First() || row >= l.End() {
		return e, false
	}
	n, found := slices.BinarySearch(l.Rows, row)
	if !found {
		n--
	}
	if l.Refs[n] == NoSample {
		return e, false
	}
	return l.entry(n), true
}

// Walker finds rows of a tree that mostly rise. It is for one goroutine.
type Walker struct {
	tree     Tree
	leaf     *Leaf
	from, to int64 // rows that the leaf answers for
	at       int   // the last place
}

// NewWalker returns a walker of t.
func NewWalker(t Tree) Walker { return Walker{tree: t} }

// Seek finds a row: its leaf, the place there, and the row behind the last one that lies as it
// does. A row without a sample has place -1 where no place of the leaf covers it. moved reports
// whether the leaf is another one than before.
func (w *Walker) Seek(ctx context.Context, row int64) (x *Leaf, place int, end int64, moved bool, err error) {
	if w.leaf == nil || row < w.from || row >= w.to {
		if err := w.load(ctx, row); err != nil {
			return nil, 0, 0, false, err
		}
		moved = true
	}
	x = w.leaf
	last := len(x.Rows) - 1
	switch {
	case row >= x.Rows[last]:
		return x, -1, w.to, moved, nil
	case row < x.Rows[0]:
		return x, -1, x.Rows[0], moved, nil
	case row < x.Rows[w.at]:
		w.at = 0
	}
	w.at = rowset.Seek(x.Rows[:last], w.at, row)
	return x, w.at, x.Rows[w.at+1], moved, nil
}

// load finds the leaf that covers row.
func (w *Walker) load(ctx context.Context, row int64) error {
	w.leaf, w.at = nil, 0
	w.from, w.to = 0, math.MaxInt64
	if w.tree.root.Page.IsZero() {
		w.leaf = &Leaf{Rows: []int64{0}}
		return nil
	}
	at := w.tree.root
	for {
		p, err := w.tree.Load(ctx, at)
		if err != nil {
			return err
		}
		if p.Leaf != nil {
			w.leaf = p.Leaf
			return nil
		}
		i := childOf(p.Inner.Children, row)
		from, to := childRows(p.Inner.Children, i)
		if i > 0 {
			w.from = from
		}
		if i+1 < len(p.Inner.Children) {
			w.to = to
		}
		at = format.Root{Page: p.Inner.Children[i].Page, Height: at.Height - 1}
	}
}
