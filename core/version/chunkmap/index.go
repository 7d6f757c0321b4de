package chunkmap

import (
	"context"
	"math"
	"sync"

	"deeplake/core/format"
	"deeplake/core/version/rowset"
)

// Index is the entries of a leaf in the form that searches need: an eighth of the memory. Scattered
// updates leave many entries of few chunks.
type Index struct {
	// Rows are the first rows of places, which follow each other without a gap. The last number is
	// the row behind the last place.
	Rows  []int64
	Items []int64  // of each place, where its first row lies in the chunk
	Refs  []uint16 // of each place, an index into Entries; NoSample: its rows have none
	// Entries has one entry of each chunk that places are of, in order of first use.
	Entries []*format.Entry
	holes   bool // some place has NoSample
}

// Mixed reports whether the places are many pieces of few chunks, and every row has a sample.
func (x *Index) Mixed() bool { return !x.holes && len(x.Refs) > 16+8*len(x.Entries) }

// NoSample is the ref of rows without a sample.
const NoSample = math.MaxUint16

// newIndex returns the index of a leaf of at least one entry. Its first place begins at row from,
// which is not behind the first entry.
func newIndex(leaf *format.Leaf) *Index {
	n := len(leaf.Entries)
	x := &Index{Rows: make([]int64, 0, n+1), Items: make([]int64, 0, n), Refs: make([]uint16, 0, n)}
	type chunkID struct {
		session format.UUID
		ordinal int64
	}
	refs := map[chunkID]uint16{}
	end := leaf.Entries[0].Row
	for i := range leaf.Entries {
		e := &leaf.Entries[i]
		if e.Row > end {
			x.add(end, 0, NoSample)
			x.holes = true
		}
		ref, known := refs[chunkID{e.Session, e.Ordinal}]
		if !known {
			ref = uint16(len(x.Entries))
			refs[chunkID{e.Session, e.Ordinal}] = ref
			x.Entries = append(x.Entries, e)
		}
		x.add(e.Row, e.First, ref)
		end = e.Row + e.Rows
	}
	x.Rows = append(x.Rows, end)
	return x
}

func (x *Index) add(row, item int64, ref uint16) {
	x.Rows, x.Items, x.Refs = append(x.Rows, row), append(x.Items, item), append(x.Refs, ref)
}

// lazyIndex makes the index of a page at its first use.
type lazyIndex struct {
	once  sync.Once
	index *Index
}

// index returns the index of a leaf page.
func (p Page) index() *Index {
	p.lazy.once.Do(func() { p.lazy.index = newIndex(p.Leaf) })
	return p.lazy.index
}

// leafPage returns the page of a leaf.
func leafPage(leaf *format.Leaf) Page { return Page{Leaf: leaf, lazy: &lazyIndex{}} }

// Walker finds rows of a tree that mostly rise. It is for one goroutine.
type Walker struct {
	tree     Tree
	index    *Index
	from, to int64 // rows that the index answers for
	at       int   // the last place
}

// NewWalker returns a walker of t.
func NewWalker(t Tree) Walker { return Walker{tree: t} }

// Seek finds a row: its index, the place there, and the row behind the last one that lies as it
// does. A row without a sample has place -1 where no place of the index covers it. moved reports
// whether the index is another one than before.
func (w *Walker) Seek(ctx context.Context, row int64) (x *Index, place int, end int64, moved bool, err error) {
	if w.index == nil || row < w.from || row >= w.to {
		if err := w.load(ctx, row); err != nil {
			return nil, 0, 0, false, err
		}
		moved = true
	}
	x = w.index
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

// load makes the index that of the leaf which covers row.
func (w *Walker) load(ctx context.Context, row int64) error {
	w.index, w.at = nil, 0
	w.from, w.to = 0, math.MaxInt64
	if w.tree.root.Page.IsZero() {
		w.index = &Index{Rows: []int64{0}}
		return nil
	}
	at := w.tree.root
	for {
		p, err := w.tree.Load(ctx, at)
		if err != nil {
			return err
		}
		if p.Leaf != nil {
			w.index = p.index()
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
