package maintain

import (
	"context"
	"fmt"
	"maps"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// FsckOptions are the options of Fsck.
type FsckOptions struct {
	MapsOnly bool // read no chunk: only whether each is there and has its size
	Repair   bool // write what can be rebuilt
	// Progress, if not nil, counts the chunks that were looked at; there are more of them in all
	// where some are garbage.
	Progress *version.Progress
}

// FsckReport is the result of Fsck. A dataset without problems is whole.
type FsckReport struct {
	Commits int64 `json:"commits"`
	Pages   int64 `json:"pages"`  // of maps, schemas, transactions
	Chunks  int64 `json:"chunks"` // objects
	Bytes   int64 `json:"bytes"`  // of chunks, read and checked; with MapsOnly, listed
	Orphans int64 `json:"orphans"`
	// no commit names them: garbage, or a commit that is being made
	OrphanSz int64 `json:"orphan_bytes"`
	// Foreign are the keys of files in the folders of the dataset that are none of its objects, at
	// most maxForeign. Nothing reads, copies or deletes them.
	Foreign     []string `json:"foreign"`
	MoreForeign int64    `json:"more_foreign"` // files beyond those
	// Problems are in the order in which they were found, the newest commits first; at most
	// maxProblems.
	Problems []Problem `json:"problems"`
	More     int64     `json:"more"` // problems beyond those
}

// maxProblems bounds a report: a dataset without its data has one for each chunk.
const maxProblems = 10_000

// maxForeign bounds the foreign files of a report.
const maxForeign = 1000

// Problem is one object that is not as it must be.
type Problem struct {
	Key     string `json:"key"`
	What    string `json:"what"` // the kind of the object: "chunk", "side page", ...
	Error   string `json:"error"`
	Branch  string `json:"branch"`  // where it was met first
	Version uint64 `json:"version"` // the newest version that needs it
	Tensor  string `json:"tensor"`  // "" where it is not about one
	// that it takes along, as a user of that version counts them
	Rows   []format.RowRange `json:"rows"`
	Count  int64             `json:"count"`  // number of those rows
	Lost   string            `json:"lost"`   // in words
	Repair string            `json:"repair"` // "": cannot be rebuilt; else from what
	Done   bool              `json:"repaired"`
}

// wholeChunk is the size up to which a chunk is read in one piece; larger ones are read in pieces
// of it.
const wholeChunk = 16 << 20

// chunksInFlight is the number of chunks that are read and checked at once.
const chunksInFlight = 8

// Fsck checks every object that the branches and tags name. It reports missing and damaged objects,
// the rows that they take along, and the objects that can be rebuilt. It returns an error only if
// it cannot go on: damage of the dataset is in the report. It writes nothing, unless o.Repair.
//
// Others may write, rewrite and collect meanwhile. So a problem is reported, and repaired, only if
// a second pass, which begins with the names of then, finds the same object wrong.
func Fsck(ctx context.Context, r *version.Repo, o FsckOptions) (FsckReport, error) {
	first := newFsck(r, o, nil)
	err := first.look(ctx)
	if err == nil {
		err = first.orphans(ctx)
	}
	if err == nil {
		err = first.foreign(ctx)
	}
	if err != nil {
		return first.report, err
	}
	if len(first.found) == 0 {
		return first.finish(ctx)
	}
	o.Progress = nil // the chunks were counted
	second := newFsck(r, o, first.found)
	if err := second.look(ctx); err != nil {
		return first.report, err
	}
	maps.DeleteFunc(second.sides, func(id format.UUID, _ *sideUse) bool { return !second.suspected(format.MapKey(id)) })
	report, err := second.finish(ctx)
	first.count()
	first.report.Problems, first.report.More = report.Problems, report.More
	return first.report, err
}

func newFsck(r *version.Repo, o FsckOptions, suspects map[string]struct{}) *fsck {
	return &fsck{
		repo: r, o: o, suspects: suspects, found: map[string]struct{}{},
		sizes: map[format.UUID]map[int64]int64{}, checked: map[format.UUID]*roaring64.Bitmap{},
		broken: map[chunkKey]*Problem{}, sides: map[format.UUID]*sideUse{},
	}
}

// look visits all that the names lead to. Names come before expiries, and both before the listing
// of chunks: a commit that is made meanwhile is not looked at, and all that an older one names was
// there before its record.
func (f *fsck) look(ctx context.Context) error {
	r := f.repo
	tips, err := roots(ctx, r, r.Now().Add(-version.GCGrace), false, func(name, key string, err error) error {
		if !version.IsDamage(err) {
			return err
		}
		f.add(Problem{Key: key, What: "name", Error: err.Error(), Branch: name, Lost: "the name cannot be opened, and gc() refuses to work; the commits are not concerned"})
		return nil
	})
	if err != nil {
		return err
	}
	expired, err := expiries(ctx, r, time.Time{}, false, func(_, key string, err error) error {
		if !version.IsDamage(err) {
			return err
		}
		f.add(Problem{Key: key, What: "expiry", Error: err.Error(), Lost: "gc() refuses to work, and the versions that it is about cannot be opened; others are not concerned"})
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.list(ctx); err != nil {
		return err
	}
	w := newMarker(r)
	w.expired, w.bad, w.leaf = expired.below(), f.bad, f.leaf
	f.marker = w
	if err := w.markAll(ctx, tips); err != nil {
		return err
	}
	return f.views(ctx)
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

// fsck is one look at a dataset.
type fsck struct {
	repo *version.Repo
	o    FsckOptions
	// keys that a first look found wrong: only they are problems, only their chunks are read. nil:
	// this is the first
	suspects map[string]struct{}
	marker   *marker
	report   FsckReport
	found    map[string]struct{} // keys of all problems

	sizes    map[format.UUID]map[int64]int64 // of the chunks that are there
	checked  map[format.UUID]*roaring64.Bitmap
	broken   map[chunkKey]*Problem
	sides    map[format.UUID]*sideUse
	problems []*Problem
}

// list notes the chunks that the store has.
func (f *fsck) list(ctx context.Context) error {
	return version.List(ctx, f.repo.Store, "data/", "", func(o storage.Object) bool {
		if session, ordinal, err := format.ParseDataKey(o.Key); err == nil {
			m := f.sizes[session]
			if m == nil {
				m = map[int64]int64{}
				f.sizes[session] = m
			}
			m[ordinal] = o.Size
			f.o.Progress.Expect(1, o.Size)
		}
		return true
	})
}

// add keeps a problem, and returns it so that rows can be added.
func (f *fsck) add(p Problem) *Problem {
	if !f.suspected(p.Key) {
		return &p
	}
	f.found[p.Key] = struct{}{}
	if len(f.problems) >= maxProblems {
		f.report.More++
		return &p
	}
	f.problems = append(f.problems, &p)
	return &p
}

// suspected reports whether an object can be a problem.
func (f *fsck) suspected(key string) bool {
	_, ok := f.suspects[key]
	return ok || f.suspects == nil
}

// bad is called for objects that are not chunks and not side pages.
func (f *fsck) bad(at *visit, key string, err error) error {
	if !version.IsDamage(err) {
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

// rows adds physical rows [from, to) of a version to the rows of a problem.
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
					c.err = errs.Op("read side page", format.MapKey(e.Side)).New(errs.Corrupt, "slot %d of %d", slot, len(dirs))
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
	f.marker.seen[e.Side] = struct{}{}
	dirs, err := f.marker.pages.Side(ctx, nil, e.Side)
	if err != nil && !version.IsDamage(err) {
		return nil, err
	}
	if err != nil && f.marker.lenient && chunkmap.Absent(err) {
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

// orphans counts the objects that no commit names.
func (f *fsck) orphans(ctx context.Context) error {
	for _, prefix := range []string{"map/", "txn/", "data/"} {
		if err := version.List(ctx, f.repo.Store, prefix, "", func(o storage.Object) bool {
			if !f.marker.marked(o.Key) {
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

// foreign lists files in the folders of the dataset that are no objects of the format.
func (f *fsck) foreign(ctx context.Context) error {
	for _, prefix := range format.Prefixes() {
		if err := f.repo.Store.List(ctx, prefix, "", func(o storage.Object) bool {
			if !format.OurKey(o.Key) {
				if len(f.report.Foreign) < maxForeign {
					f.report.Foreign = append(f.report.Foreign, o.Key)
				} else {
					f.report.MoreForeign++
				}
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
	f.count()
	f.report.Problems = make([]Problem, len(f.problems))
	for i, p := range f.problems {
		f.report.Problems[i] = *p
	}
	return f.report, nil
}

// count adds up the objects that the walk has visited.
func (f *fsck) count() {
	f.report.Commits = 0
	for _, n := range f.marker.commits {
		f.report.Commits += int64(n)
	}
	f.report.Pages = int64(len(f.marker.seen) + len(f.marker.txns))
}

// views reads the newest object of every saved view.
func (f *fsck) views(ctx context.Context) error {
	last := map[string]uint64{}
	lost := "the saved view cannot be opened, or listed; no commit is concerned"
	if err := version.List(ctx, f.repo.Store, format.ViewsPrefix(), "", func(o storage.Object) bool {
		name, n, err := format.ParseViewKey(o.Key)
		if err != nil {
			f.add(Problem{Key: o.Key, What: "view", Error: err.Error(), Lost: lost})
			return true
		}
		last[name] = max(last[name], n)
		return true
	}); err != nil {
		return err
	}
	for name, n := range last {
		if _, err := f.repo.Objects().View(ctx, name, n); version.IsDamage(err) {
			f.add(Problem{Key: format.ViewKey(name, n), What: "view", Error: err.Error(), Lost: lost})
		} else if err != nil {
			return err
		}
	}
	return nil
}
