package version

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// FsckOptions are the options of Fsck.
type FsckOptions struct {
	MapsOnly bool // read no chunk: only whether each is there and has its size
	Repair   bool // write what can be rebuilt
	// Progress, if not nil, counts the chunks that were looked at; there are more of them in all where some are garbage.
	Progress *Progress
}

// FsckReport is what Fsck found. A dataset is whole when there are no problems.
type FsckReport struct {
	Commits  int64 `json:"commits"`
	Pages    int64 `json:"pages"`  // of maps, schemas, transactions
	Chunks   int64 `json:"chunks"` // objects
	Bytes    int64 `json:"bytes"`  // of chunks, read and checked; with MapsOnly, listed
	Orphans  int64 `json:"orphans"`
	OrphanSz int64 `json:"orphan_bytes"` // no commit names them: garbage, or a commit that is being made
	// Problems are in the order in which they were found, the newest commits first; at most maxProblems.
	Problems []Problem `json:"problems"`
	More     int64     `json:"more"` // problems beyond those
}

// maxProblems bounds a report: a dataset whose data is gone has one for each chunk.
const maxProblems = 10_000

// Problem is one object that is not as it must be.
type Problem struct {
	Key     string            `json:"key"`
	What    string            `json:"what"` // what the object is: "chunk", "side page", ...
	Error   string            `json:"error"`
	Branch  string            `json:"branch"`  // where it was met first
	Version uint64            `json:"version"` // the newest version that needs it
	Tensor  string            `json:"tensor"`  // "" where it is not about one
	Rows    []format.RowRange `json:"rows"`    // that it takes along, as a user of that version counts them
	Count   int64             `json:"count"`   // number of those rows
	Lost    string            `json:"lost"`    // in words
	Repair  string            `json:"repair"`  // "": cannot be rebuilt; else from what
	Done    bool              `json:"repaired"`
}

// wholeChunk is the size up to which a chunk is read in one piece; larger ones are read in pieces of it.
const wholeChunk = 16 << 20

// chunksInFlight is how many chunks are read and checked at once.
const chunksInFlight = 8

// Fsck looks at everything that the branches and tags name, and says what is missing or damaged, what that takes along,
// and what can be rebuilt. It returns an error only when it cannot go on: what is wrong with the dataset is in the report.
// It writes nothing, unless o.Repair.
func (r *Repo) Fsck(ctx context.Context, o FsckOptions) (FsckReport, error) {
	f := &fsck{repo: r, o: o, sizes: map[format.UUID]map[int64]int64{}, broken: map[chunkKey]*Problem{}, sides: map[format.UUID]*sideUse{}}
	f.checked = map[format.UUID]*roaring64.Bitmap{}
	if err := f.list(ctx); err != nil {
		return f.report, err
	}
	tips, err := r.tips(ctx, r.Now().Add(-GCGrace), func(name, key string, err error) error {
		if !isDamage(err) {
			return err
		}
		f.add(Problem{Key: key, What: "name", Error: err.Error(), Branch: name, Lost: "the name cannot be opened, and gc() refuses to work; the commits are not concerned"})
		return nil
	})
	if err != nil {
		return f.report, err
	}
	expired, err := r.expiries(ctx, time.Time{}, false, func(_, key string, err error) error {
		if !isDamage(err) {
			return err
		}
		f.add(Problem{Key: key, What: "expiry", Error: err.Error(), Lost: "gc() refuses to work, and the versions that it is about cannot be opened; others are not concerned"})
		return nil
	})
	if err != nil {
		return f.report, err
	}
	w := newWalker(r)
	w.expired, w.bad, w.leaf = expired.below(), f.bad, f.leaf
	f.walker = w
	if err := w.walk(ctx, tips); err != nil {
		return f.report, err
	}
	if err := f.orphans(ctx); err != nil {
		return f.report, err
	}
	if err := f.views(ctx); err != nil {
		return f.report, err
	}
	return f.finish(ctx)
}

type chunkKey struct {
	session format.UUID
	ordinal int64
}

func (k chunkKey) key() string { return format.DataKey(k.session, k.ordinal) }

// sideUse is a side page that cannot be read, and the chunks whose directories were in it.
type sideUse struct {
	problem *Problem
	slots   map[int64]chunkKey
}

// fsck is one run.
type fsck struct {
	repo   *Repo
	o      FsckOptions
	walker *walker
	report FsckReport

	sizes    map[format.UUID]map[int64]int64 // of the chunks that are there
	checked  map[format.UUID]*roaring64.Bitmap
	broken   map[chunkKey]*Problem
	sides    map[format.UUID]*sideUse
	problems []*Problem
}

// list notes the chunks that the store has.
func (f *fsck) list(ctx context.Context) error {
	return f.repo.Store.List(ctx, "data/", "", func(o storage.Object) bool {
		if session, ordinal, err := parseDataKey(o.Key); err == nil {
			m := f.sizes[session]
			if m == nil {
				m = map[int64]int64{}
				f.sizes[session] = m
			}
			m[ordinal] = o.Size
			f.o.Progress.expect(1, o.Size)
		}
		return true
	})
}

// add keeps a problem, and returns it so that rows can be added.
func (f *fsck) add(p Problem) *Problem {
	if len(f.problems) >= maxProblems {
		f.report.More++
		return &p
	}
	f.problems = append(f.problems, &p)
	return &p
}

// isDamage reports whether err is about the object and not about reaching the store.
func isDamage(err error) bool {
	return errs.Is(err, errs.Corrupt) || errs.Is(err, errs.Unsupported) || errs.Is(err, errs.NotFound)
}

// bad is called for objects that are not chunks and not side pages.
func (f *fsck) bad(at *visit, key string, err error) error {
	if !isDamage(err) {
		return err
	}
	p := f.add(Problem{Key: key, What: at.what, Error: err.Error(), Branch: at.name, Version: at.rec.Version})
	switch at.what {
	case "commit":
		p.Lost = fmt.Sprintf("version %d cannot be opened; if it is the newest of its branch, nothing can be committed there", at.rec.Version)
	case "schema", "columns":
		p.Lost = "the version cannot be opened"
	case "deleted rows":
		p.Lost = "the version cannot be opened: which rows are deleted is not known"
	case "transaction":
		p.Lost = "what the commit did: commits and merges based on an older version fail; its rows are not concerned"
	case "row identities":
		p.Lost = "merges and diffs cannot match these rows; reading them is not concerned"
		p.rows(at, at.from, at.to)
	default:
		p.Tensor = at.tensor.Name
		p.Lost = "these rows cannot be read in this tensor; an older version may have them under another page"
		p.rows(at, at.from, at.to)
	}
	return nil
}

// rows adds physical rows [from, to) of a version to what a problem takes along.
func (p *Problem) rows(at *visit, from, to int64) {
	to = min(to, at.rec.Rows)
	if from >= to {
		return
	}
	before := int64(0)
	gone := int64(0)
	if at.deleted != nil && !at.deleted.IsEmpty() {
		if from > 0 {
			before = int64(at.deleted.Rank(uint64(from - 1)))
		}
		gone = int64(at.deleted.Rank(uint64(to-1))) - before
	}
	n := to - from - gone
	if n == 0 {
		return
	}
	p.Count += n
	start := from - before
	if k := len(p.Rows); k > 0 && p.Rows[k-1].Start+p.Rows[k-1].Count == start {
		p.Rows[k-1].Count += n
		return
	}
	if len(p.Rows) < 64 { // the count has them all
		p.Rows = append(p.Rows, format.RowRange{Start: start, Count: n})
	}
}

// leaf checks the side pages and the chunks that a leaf page names.
func (f *fsck) leaf(ctx context.Context, at *visit, entries []format.Entry) error {
	sides := map[format.UUID][][]byte{}
	var todo []*chunkCheck
	byKey := map[chunkKey]*chunkCheck{}
	for i := range entries {
		e := &entries[i]
		dirs, err := f.side(ctx, at, e, sides)
		if err != nil {
			return err
		}
		for k := range max(1, e.Tiles) {
			id := chunkKey{e.Session, e.Ordinal + k}
			if use := f.sides[e.Side]; use != nil {
				use.slots[e.Slot+k] = id
				use.problem.rows(at, e.Row, e.Row+e.Rows)
			}
			if p := f.broken[id]; p != nil && p.Version == at.rec.Version && p.Branch == at.name {
				p.rows(at, e.Row, e.Row+e.Rows)
			}
			c := byKey[id]
			if c == nil {
				if f.wasChecked(id) {
					continue
				}
				c = &chunkCheck{id: id, tensor: at.tensor.ID}
				byKey[id] = c
				todo = append(todo, c)
				if slot := e.Slot + k; slot < int64(len(dirs)) {
					c.dir = dirs[slot]
				} else if dirs != nil {
					c.err = errs.New(errs.Corrupt, "read side page %q: slot %d of %d", format.MapKey(e.Side), slot, len(dirs))
				}
				if e.Tiles == 0 {
					c.size = e.Bytes
				}
			}
			c.entries = append(c.entries, e)
		}
	}
	return f.chunks(ctx, at, todo)
}

// wasChecked reports whether a chunk was met before, and notes that it is now.
func (f *fsck) wasChecked(id chunkKey) bool {
	set := f.checked[id.session]
	if set == nil {
		set = roaring64.New()
		f.checked[id.session] = set
	}
	return !set.CheckedAdd(uint64(id.ordinal))
}

// side gives the directories of an entry's side page, nil where there are none to be had.
func (f *fsck) side(ctx context.Context, at *visit, e *format.Entry, known map[format.UUID][][]byte) ([][]byte, error) {
	if e.Side.IsZero() || f.sides[e.Side] != nil {
		return nil, nil
	}
	if dirs, ok := known[e.Side]; ok {
		return dirs, nil
	}
	f.walker.seen[e.Side] = struct{}{}
	dirs, err := f.walker.pages.side(ctx, nil, e.Side)
	if err != nil && !isDamage(err) {
		return nil, err
	}
	if err != nil && f.walker.gone && absent(err) {
		err = nil
	}
	if err != nil {
		f.sides[e.Side] = &sideUse{slots: map[int64]chunkKey{}, problem: f.add(Problem{
			Key: format.MapKey(e.Side), What: "side page", Error: err.Error(), Branch: at.name, Version: at.rec.Version, Tensor: at.tensor.Name,
			Lost: "where the samples of these rows lie in their chunks; readers find it at the end of each chunk, with more requests, but for tiled samples",
		})}
	}
	known[e.Side] = dirs
	return dirs, nil
}

// chunkCheck is one chunk to be looked at.
type chunkCheck struct {
	id      chunkKey
	tensor  format.UUID
	dir     []byte          // what the side page says; nil: nothing
	size    int64           // what the map says; 0: nothing
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
		size, there := f.sizes[c.id.session][c.id.ordinal]
		switch {
		case !there && f.walker.gone:
			continue // as walker.failed has it
		case !there:
			c.err = errs.New(errs.Corrupt, "chunk %q: the object is missing", c.id.key())
		case c.size != 0 && c.size != size:
			c.err = errs.New(errs.Corrupt, "chunk %q: has %d bytes, want %d", c.id.key(), size, c.size)
		}
		f.report.Chunks++
		c.bytes = size
		if c.err != nil || f.o.MapsOnly {
			continue
		}
		g.Go(func(ctx context.Context) error {
			err := c.look(ctx, f.repo.Store, size)
			f.o.Progress.did(1, size)
			if err != nil && !isDamage(err) {
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
		return errs.New(errs.Corrupt, "chunk %q: its side page describes another chunk", c.id.key())
	}
	var first error
	err = eachBlock(ctx, store, c.id.key(), x, func(block int, data []byte) error {
		got, want := format.CRC(data), x.CRC(block)
		if got == want {
			return nil
		}
		if first == nil {
			first = errs.New(errs.Corrupt, "chunk %q: block %d has checksum 0x%08x, want 0x%08x", c.id.key(), block, got, want)
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

// chunkIndex reads head and directory of a chunk, and holds them against each other and against what the chunk must be.
func chunkIndex(ctx context.Context, store storage.Provider, id chunkKey, tensor format.UUID, size int64) (*format.Index, []byte, error) {
	key := id.key()
	if size < format.ChunkHeadBytes+format.ChunkTrailerBytes {
		return nil, nil, errs.New(errs.Corrupt, "chunk %q: has %d bytes, too few for a chunk", key, size)
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
		return nil, nil, errs.New(errs.Corrupt, "chunk %q: says that it is chunk %d of session %s, of tensor %s", key, head.Ordinal, head.Session, head.Tensor)
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

// orphans counts what no commit names.
func (f *fsck) orphans(ctx context.Context) error {
	for _, prefix := range []string{"map/", "txn/", "data/"} {
		if err := f.repo.Store.List(ctx, prefix, "", func(o storage.Object) bool {
			if !f.walker.reached(o.Key) {
				f.report.Orphans++
				f.report.OrphanSz += o.Size
			}
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

// finish rebuilds what can be, and completes the report.
func (f *fsck) finish(ctx context.Context) (FsckReport, error) {
	for id, use := range f.sides {
		if err := f.rebuild(ctx, id, use); err != nil {
			return f.report, err
		}
	}
	for _, n := range f.walker.commits {
		f.report.Commits += int64(n)
	}
	f.report.Pages = int64(len(f.walker.seen) + len(f.walker.txns))
	f.report.Problems = make([]Problem, len(f.problems))
	for i, p := range f.problems {
		f.report.Problems[i] = *p
	}
	return f.report, nil
}
