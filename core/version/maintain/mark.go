package maintain

import (
	"context"
	"slices"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// markBatch is the number of objects that a walk reads at once: small ones, hence their latency
// counts.
const markBatch = 32

// root is a commit that a name stands for: it is kept, with all that led to it and is not expired.
type root struct {
	name    string // "main", "tag v1": for messages
	branch  format.UUID
	version uint64
	head    bool // it is the newest one of a branch
	gone    bool // the name was taken away
	leased  bool // a distributed write began on it, and goes on
}

// marker visits every object that the commits of some roots, and the commits before them, name;
// each object once. The newest commits come first, and what names that were taken away lead to
// comes last. It is used once, by one goroutine.
type marker struct {
	repo  *version.Repo
	pages *chunkmap.Store // of its own, so that reads show the store

	commits map[format.UUID]uint64 // number of kept commits of each branch, from 0 on
	names   map[format.UUID]string // names of branches, for messages
	seen    map[format.UUID]struct{}
	txns    map[format.UUID]struct{}
	chunks  map[format.UUID]*roaring64.Bitmap // ordinals of each session
	// only deleted names and expired versions lead to the objects visited now
	lenient bool

	// the versions of a branch below are expired: what merges need of them is kept, see merge base
	expired map[format.UUID]uint64
	// the versions of a branch below have been expired for the grace period. Other expired versions
	// keep the objects that they still have. nil: there is no grace period
	ripe   map[format.UUID]uint64
	graced []format.BranchPoint        // such other versions, and leased ones
	named  map[format.BranchPoint]bool // commits that a name stands for, which do not expire
	buried map[format.BranchPoint]bool // commits that a deleted name stood for
	leased map[format.BranchPoint]bool // commits that a lease keeps, though they be expired
	// commits that branches left or merges took in; true: visited as such, being expired
	mergeBases map[format.BranchPoint]bool
	kept       int64                       // commits visited that are not expired
	times      map[format.UUID][]time.Time // of the commits of each branch; nil: they are not noted

	progress *version.Progress // of commits

	// leaf is called for every leaf page of a chunk map. nil: nothing is done.
	leaf func(ctx context.Context, at *visit, entries []format.Entry) error
	// bad is called for an object that cannot be read; nil from it goes on without the object.
	bad func(at *visit, key string, err error) error
}

// visit is where a walk is: a page, and what leads to it.
type visit struct {
	name    string // of the branch
	rec     *format.Record
	deleted *roaring64.Bitmap    // of rec; nil where it cannot be read
	tensor  *format.TensorSchema // nil outside chunk maps
	// "commit", "schema", "columns", "deleted rows", "row identities", "transaction", "chunk map",
	// "side page"
	what     string
	root     format.Root
	from, to int64 // rows that the object speaks for
}

func newMarker(r *version.Repo) *marker {
	return &marker{
		repo: r, pages: chunkmap.NewStore(r.Store),
		commits: map[format.UUID]uint64{}, names: map[format.UUID]string{}, seen: map[format.UUID]struct{}{},
		txns: map[format.UUID]struct{}{}, chunks: map[format.UUID]*roaring64.Bitmap{},
		named: map[format.BranchPoint]bool{}, buried: map[format.BranchPoint]bool{}, leased: map[format.BranchPoint]bool{}, mergeBases: map[format.BranchPoint]bool{},
		bad: func(_ *visit, _ string, err error) error { return err },
	}
}

// markAll visits the objects that the roots name.
func (w *marker) markAll(ctx context.Context, tips []root) error {
	for _, t := range tips {
		names := w.named
		switch {
		case t.leased:
			names = w.leased
		case t.gone:
			names = w.buried
		}
		names[format.BranchPoint{Branch: t.branch, Version: t.version}] = true
	}
	for _, gone := range []bool{false, true} {
		w.lenient = gone
		if err := w.from(ctx, slices.DeleteFunc(slices.Clone(tips), func(t root) bool { return t.gone != gone })); err != nil {
			return err
		}
	}
	return w.grace(ctx)
}

// grace visits the objects of expired versions in their grace period that are still there.
func (w *marker) grace(ctx context.Context) error {
	w.lenient = true
	for batch := range slices.Chunk(w.graced, markBatch) {
		recs, failed := w.records(ctx, batch)
		for i, p := range batch {
			err := failed[i]
			if err != nil {
				err = w.noRecord(p, err)
			} else {
				err = w.commit(ctx, &visit{name: w.names[p.Branch], rec: recs[i], what: "commit"})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// failed handles an object that cannot be read. Missing objects below deleted names and of expired
// versions are no damage: a gc with a shorter grace period, or a copy, may have left them out.
func (w *marker) failed(at *visit, key string, err error) error {
	if w.lenient && chunkmap.Absent(err) {
		return nil
	}
	return w.bad(at, key, err)
}

func (w *marker) from(ctx context.Context, todo []root) error {
	for len(todo) > 0 {
		t := todo[0]
		todo = todo[1:]
		if _, ok := w.names[t.branch]; !ok {
			w.names[t.branch] = t.name
		}
		from := w.commits[t.branch]
		if t.version+1 <= from {
			if err := w.passed(ctx, t); err != nil {
				return err
			}
			continue
		}
		w.commits[t.branch] = t.version + 1
		if w.times != nil {
			w.times[t.branch] = append(w.times[t.branch], make([]time.Time, t.version+1-from)...)
		}
		more, err := w.branch(ctx, t, from)
		if err != nil {
			return err
		}
		todo = append(todo, more...)
	}
	return nil
}

// branch visits the commits from number from to that of t, the newest first, and returns the
// commits of other branches that they come from.
func (w *marker) branch(ctx context.Context, t root, from uint64) ([]root, error) {
	var more []root
	for end := t.version + 1; end > from; {
		batch := make([]format.BranchPoint, min(end-from, markBatch))
		for i := range batch {
			batch[i] = format.BranchPoint{Branch: t.branch, Version: end - 1 - uint64(i)}
		}
		recs, failed := w.records(ctx, batch)
		for i, p := range batch {
			if err := ctx.Err(); err != nil {
				return nil, errs.Wrap(errs.Canceled, "walk", w.repo.Store.URI(), err)
			}
			if failed[i] != nil {
				if err := w.noRecord(p, failed[i]); err != nil {
					return nil, err
				}
				continue
			}
			for _, p := range []*format.BranchPoint{recs[i].Base, recs[i].Merged} {
				if p != nil {
					more = append(more, root{name: "a branch that " + w.names[t.branch] + " comes from", branch: p.Branch, version: p.Version, gone: t.gone})
					if _, known := w.mergeBases[*p]; !known {
						w.mergeBases[*p] = false // true once it is visited as such
					}
				}
			}
			w.progress.Did(1, 0)
			if times := w.times[t.branch]; times != nil {
				times[recs[i].Version] = recs[i].Time
			}
			if err := w.visit(ctx, &visit{name: w.names[t.branch], rec: recs[i], what: "commit"}); err != nil {
				return nil, err
			}
		}
		end -= uint64(len(batch))
	}
	return more, nil
}

// passed visits a commit that another one comes from and that was visited before this was known.
func (w *marker) passed(ctx context.Context, t root) error {
	p := format.BranchPoint{Branch: t.branch, Version: t.version}
	if done, joint := w.mergeBases[p]; !joint || done || !w.isExpired(p) {
		return nil
	}
	rec, err := recordOf(ctx, w.repo, p.Branch, p.Version)
	if err != nil {
		return w.noRecord(p, err)
	}
	return w.mergeBase(ctx, &visit{name: w.names[t.branch], rec: rec, what: "commit"})
}

// noRecord handles a commit whose record cannot be read.
func (w *marker) noRecord(p format.BranchPoint, err error) error {
	at := &visit{name: w.names[p.Branch], rec: &format.Record{Branch: p.Branch, Version: p.Version}, what: "commit"}
	return w.failed(at, format.RecordKey(p.Branch, p.Version), err)
}

func (w *marker) isExpired(p format.BranchPoint) bool {
	return p.Version < w.expired[p.Branch] && !w.named[p]
}

// visit visits the objects of a commit.
func (w *marker) visit(ctx context.Context, at *visit) error {
	p := format.BranchPoint{Branch: at.rec.Branch, Version: at.rec.Version}
	if !w.isExpired(p) {
		w.kept++
		return w.commit(ctx, at)
	}
	if w.leased[p] || w.ripe != nil && (p.Version >= w.ripe[p.Branch] || w.buried[p]) {
		w.kept++
		w.graced = append(w.graced, p)
	}
	if _, joint := w.mergeBases[p]; joint {
		return w.mergeBase(ctx, at)
	}
	return w.transaction(ctx, at)
}

// mergeBase visits the objects that later merges and diffs need of an expired commit at which
// histories meet: its schema, the identities of its rows, and the deleted ones.
func (w *marker) mergeBase(ctx context.Context, at *visit) error {
	w.mergeBases[format.BranchPoint{Branch: at.rec.Branch, Version: at.rec.Version}] = true
	if _, err := w.parts(ctx, at); err != nil || at.rec.RowIDs == nil {
		return err
	}
	return w.trees(ctx, []visit{{at.name, at.rec, at.deleted, nil, "row identities", *at.rec.RowIDs, 0, at.rec.Rows}})
}

// records reads commits at once.
func (w *marker) records(ctx context.Context, points []format.BranchPoint) ([]*format.Record, []error) {
	recs, failed := make([]*format.Record, len(points)), make([]error, len(points))
	g := task.New(ctx, markBatch)
	for i, p := range points {
		g.Go(func(ctx context.Context) error {
			recs[i], failed[i] = recordOf(ctx, w.repo, p.Branch, p.Version)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		failed[0] = err
	}
	return recs, failed
}

// recordOf reads a commit that must be there.
func recordOf(ctx context.Context, r *version.Repo, branch format.UUID, number uint64) (*format.Record, error) {
	rec, err := r.Objects().Record(ctx, format.BranchPoint{Branch: branch, Version: number})
	if errs.Is(err, errs.NotFound) {
		err = chunkmap.Missing(err, "read commit", format.RecordKey(branch, number))
	}
	return rec, err
}

// commit visits what one commit names.
func (w *marker) commit(ctx context.Context, at *visit) error {
	schema, err := w.parts(ctx, at)
	if err != nil {
		return err
	}
	rec := at.rec // with its columns
	var todo []visit
	if schema != nil {
		for i := range schema.Tensors {
			ts := &schema.Tensors[i]
			if col, ok := rec.Columns[ts.ID]; ok && col.Root != nil {
				todo = append(todo, visit{at.name, rec, at.deleted, ts, "chunk map", *col.Root, 0, rec.Rows})
			}
		}
	} else {
		for id, col := range rec.Columns {
			if col.Root != nil {
				todo = append(todo, visit{at.name, rec, at.deleted, &format.TensorSchema{ID: id, Name: id.String()}, "chunk map", *col.Root, 0, rec.Rows})
			}
		}
	}
	if rec.RowIDs != nil {
		todo = append(todo, visit{at.name, rec, at.deleted, nil, "row identities", *rec.RowIDs, 0, rec.Rows})
	}
	return w.trees(ctx, todo)
}

// parts visits the pages of a commit that are no trees, and returns its schema, nil if that cannot
// be read.
func (w *marker) parts(ctx context.Context, at *visit) (*format.Schema, error) {
	rec := at.rec
	schema := rec.Schema
	var err error
	if rec.SchemaPage != nil {
		if schema, err = part(ctx, w, at, "schema", *rec.SchemaPage, format.DecodeSchema); err != nil {
			return nil, err
		}
	}
	if rec.ColumnsPage != nil {
		whole := *rec
		if whole.Columns, err = part(ctx, w, at, "columns", *rec.ColumnsPage, format.DecodeColumns); err != nil {
			return nil, err
		}
		at.rec = &whole
	}
	at.deleted = roaring64.New()
	if rec.Deleted != nil {
		if at.deleted, err = part(ctx, w, at, "deleted rows", *rec.Deleted, format.DecodeBitmap); err != nil {
			return nil, err
		}
	}
	return schema, w.transaction(ctx, at)
}

// transaction visits the operations of a commit that have an object of their own.
func (w *marker) transaction(ctx context.Context, at *visit) error {
	if at.rec.Txn == nil {
		return nil
	}
	w.txns[*at.rec.Txn] = struct{}{}
	if _, err := chunkmap.FetchOps(ctx, w.pages, *at.rec.Txn); err != nil {
		return w.lacks(at, "transaction", format.TxnKey(*at.rec.Txn), err)
	}
	return nil
}

// part reads a page of a commit that is no tree. One that cannot be read is reported, and is the
// zero value.
func part[T any](ctx context.Context, w *marker, at *visit, what string, page format.UUID, decode func([]byte) (T, error)) (v T, err error) {
	w.seen[page] = struct{}{}
	got, err := chunkmap.FetchPage(ctx, w.pages, "read "+what, page, decode)
	if err != nil {
		return v, w.lacks(at, what, format.MapKey(page), err)
	}
	return got, nil
}

// lacks reports an object of a commit that cannot be read.
func (w *marker) lacks(at *visit, what, key string, err error) error {
	here := *at
	here.what, here.to = what, at.rec.Rows
	return w.failed(&here, key, err)
}

// trees visits the pages below todo that were not seen yet.
func (w *marker) trees(ctx context.Context, todo []visit) error {
	for len(todo) > 0 {
		var batch []visit
		for len(todo) > 0 && len(batch) < markBatch {
			v := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if _, ok := w.seen[v.root.Page]; !ok {
				w.seen[v.root.Page] = struct{}{}
				batch = append(batch, v)
			}
		}
		pages, failed := make([]chunkmap.Page, len(batch)), make([]error, len(batch))
		g := task.New(ctx, markBatch)
		for i := range batch {
			g.Go(func(ctx context.Context) error {
				pages[i], failed[i] = w.pages.Load(ctx, nil, batch[i].root)
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return errs.Wrap(errs.Canceled, "walk", w.repo.Store.URI(), err)
		}
		for i := range batch {
			below, err := w.page(ctx, &batch[i], pages[i], failed[i])
			if err != nil {
				return err
			}
			todo = append(todo, below...)
		}
	}
	return nil
}

// page notes the objects that a page names, and returns the pages below it.
func (w *marker) page(ctx context.Context, v *visit, p chunkmap.Page, failed error) ([]visit, error) {
	key := format.MapKey(v.root.Page)
	if failed == nil {
		failed = v.fits(p)
	}
	if failed != nil {
		return nil, w.failed(v, key, failed)
	}
	if p.Inner != nil {
		below := make([]visit, 0, len(p.Inner.Children))
		for i, c := range slices.Backward(p.Inner.Children) { // the stack turns them round
			b := *v
			b.root = format.Root{Page: c.Page, Height: v.root.Height - 1}
			if i > 0 {
				b.from = c.First
			}
			if i+1 < len(p.Inner.Children) {
				b.to = p.Inner.Children[i+1].First
			}
			below = append(below, b)
		}
		return below, nil
	}
	if v.tensor == nil {
		return nil, nil
	}
	for i := range p.Leaf.Chunks {
		e := &p.Leaf.Chunks[i]
		set := w.chunks[e.Session]
		if set == nil {
			set = roaring64.New()
			w.chunks[e.Session] = set
		}
		set.AddRange(uint64(e.Ordinal), uint64(e.Ordinal+max(1, e.Tiles)))
	}
	if w.leaf == nil {
		for i := range p.Leaf.Chunks {
			if side := p.Leaf.Chunks[i].Side; !side.IsZero() {
				w.seen[side] = struct{}{}
			}
		}
		return nil, nil
	}
	return nil, w.leaf(ctx, v, p.Leaf.Entries())
}

// fits checks that a page keeps to the rows that its parent gives it.
func (v *visit) fits(p chunkmap.Page) error {
	first, end := int64(0), int64(0)
	switch {
	case p.Leaf != nil:
		first, end = p.Leaf.First(), p.Leaf.End()
	case p.Inner != nil && len(p.Inner.Children) > 0:
		first, end = p.Inner.Children[0].First, p.Inner.Children[len(p.Inner.Children)-1].First+1
	default:
		return nil
	}
	if first < v.from || end > v.to {
		return errs.Op("read map page", format.MapKey(v.root.Page)).New(errs.Corrupt, "it has rows %d to %d, want them within %d to %d", first, end-1, v.from, v.to-1)
	}
	return nil
}

// marked reports whether the walk has seen the object of a key below log/, map/, txn/ or data/.
func (w *marker) marked(key string) bool {
	switch prefix, rest, _ := strings.Cut(key, "/"); prefix {
	case "map":
		id, err := format.ParseUUID(rest)
		_, ok := w.seen[id]
		return err == nil && ok
	case "txn":
		id, err := format.ParseUUID(rest)
		_, ok := w.txns[id]
		return err == nil && ok
	case "data":
		session, ordinal, err := format.ParseDataKey(key)
		set := w.chunks[session]
		return err == nil && set != nil && set.Contains(uint64(ordinal))
	case "log":
		branch, number, err := format.ParseRecordKey(key)
		return err == nil && number < w.commits[branch]
	}
	return false
}
