package chunkmap

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"deeplake/core/format"
	"deeplake/core/version/rowset"
)

// Leaf is a leaf page. The entries of one chunk share all that is not their own: scattered updates
// leave many entries of few chunks. It does not change once it is stored.
type Leaf struct {
	// The places follow each other without a gap: entries, and rows without a sample between them.
	// Chunks has the first entry of each chunk.
	format.Pieces
	Held []int64 // of each of Chunks, the rows that lie in it

	entries int        // places of chunks
	size    int        // bytes as stored, about; 0: not known
	mu      sync.Mutex // of finding live
	live    atomic.Pointer[Segments]
}

// Segments are the rows of a leaf that are not deleted: rows without deleted ones in between, in
// items that follow each other.
type Segments struct {
	Rows  []int64  // of the dataset: the first of each segment, and the one behind the last
	Items []int64  // of each segment, where its first row lies in the chunk
	Refs  []uint16 // of each segment, as in a leaf
	Of    *int64   // names the deletions

	once sync.Once
	memo any
}

// Seek returns the segment of a row, which is not before that of segment at.
func (s *Segments) Seek(at int, row int64) int {
	return rowset.Seek(s.Rows[:len(s.Refs)], at, row)
}

// Memo returns what find says of the segments, which it asks once.
func (s *Segments) Memo(find func() any) any {
	s.once.Do(func() { s.memo = find() })
	return s.memo
}

// Live returns the segments for the deletions named of. The leaf keeps those of the last call, and
// calls find for others.
func (l *Leaf) Live(of *int64, find func() *Segments) *Segments {
	if s := l.live.Load(); s != nil && s.Of == of {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.live.Load(); s != nil && s.Of == of {
		return s
	}
	s := find()
	s.Of = of
	l.live.Store(s)
	return s
}

// NoSample is the ref of rows without a sample.
const NoSample = format.NoSample

// NewLeaf returns the leaf of entries, which are in order.
func NewLeaf(entries []format.Entry) *Leaf {
	p := format.Pieces{Rows: make([]int64, 0, len(entries)+1), Items: make([]int64, 0, len(entries)), Refs: make([]uint16, 0, len(entries))}
	r := newRun(0)
	end := int64(0)
	for i := range entries {
		e := &entries[i]
		if i > 0 && e.Row > end {
			p.Rows, p.Items, p.Refs = append(p.Rows, end), append(p.Items, 0), append(p.Refs, NoSample)
		}
		p.Rows, p.Items, p.Refs = append(p.Rows, e.Row), append(p.Items, e.First), append(p.Refs, uint16(r.chunk(e)))
		end = e.Row + e.Rows
	}
	p.Rows, p.Chunks = append(p.Rows, end), slices.Clip(r.chunks)
	return leafOf(p)
}

// leafOf returns the leaf of pieces.
func leafOf(p format.Pieces) *Leaf {
	l := &Leaf{Pieces: p, Held: make([]int64, len(p.Chunks))}
	for i, ref := range p.Refs {
		if ref != NoSample {
			l.Held[ref] += p.Rows[i+1] - p.Rows[i]
			l.entries++
		}
	}
	return l
}

// piecesPerChunk is the mean number of entries of a chunk from which on a leaf is stored as pieces.
const piecesPerChunk = 4

// encode returns the stored form of the leaf. Of many pieces of few chunks it has one line for each
// chunk, and a byte or two for each piece.
func (l *Leaf) encode() ([]byte, error) {
	if l.entries > format.MaxPageEntries || l.entries > piecesPerChunk*len(l.Chunks) {
		return format.EncodePieces(l.Pieces)
	}
	return format.EncodeLeaf(format.Leaf{Entries: l.Entries()})
}

// decodeLeaf is the inverse of encode.
func decodeLeaf(data []byte) (*Leaf, error) {
	if format.HasPieces(data) {
		p, err := format.DecodePieces(data)
		if err != nil {
			return nil, err
		}
		l := leafOf(p)
		l.size = len(data)
		return l, nil
	}
	l, err := format.DecodeLeaf(data)
	if err != nil {
		return nil, err
	}
	return NewLeaf(l.Entries), nil
}

// bytes estimates the memory of the leaf, and of the segments that it may keep.
func (l *Leaf) bytes() int64 { return int64(len(l.Refs))*48 + int64(len(l.Chunks))*232 + 184 }

// Seek returns the place of a row, which is not before that of place at.
func (l *Leaf) Seek(at int, row int64) int { return rowset.Seek(l.Rows[:len(l.Refs)], at, row) }

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
		w.leaf = &Leaf{Pieces: format.Pieces{Rows: []int64{0}}}
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
