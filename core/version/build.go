package version

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sort"

	"deeplake/core/format"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// edits returns the changes of the column for an axis on which the appended rows begin at start.
// newer are rows whose samples other commits have replaced since they were rewritten here.
func (c *columnChange) edits(base, start, appendedRows int64, newer []format.RowRange) []chunkmap.Edit {
	edits := c.updates(base, start)
	if len(c.rewrites)+len(c.filled) > 0 {
		k := sort.Search(len(edits), func(i int) bool { return edits[i].From >= start })
		low := chunkmap.Without(chunkmap.InOrder(slices.Concat(c.rewrites, c.filled)), newer)
		low = chunkmap.Without(low, chunkmap.RangesOf(edits[:k]))
		edits = append(chunkmap.InOrder(append(low, edits[:k]...)), edits[k:]...)
	}
	if len(c.appended) == 0 {
		return edits
	}
	added := make([]format.Entry, len(c.appended))
	for i, e := range c.appended {
		e.Row += start
		added[i] = e
	}
	// A chunk that goes on behind a hole or a tiled sample is sealed after what lies between.
	slices.SortFunc(added, func(a, b format.Entry) int { return cmp.Compare(a.Row, b.Row) })
	// Updates of rows that this same transaction appended are laid over the appended entries.
	k := sort.Search(len(edits), func(i int) bool { return edits[i].From >= start })
	if k < len(edits) {
		added = chunkmap.Overlay(added, edits[k:])
		edits = edits[:k]
	}
	return append(edits, chunkmap.Edit{From: start, To: start + appendedRows, Entries: added})
}

// updates are the edits of the rows that the transaction updates, in order.
func (c *columnChange) updates(base, start int64) []chunkmap.Edit {
	shift := func(row int64) int64 {
		if row >= base {
			return row - base + start
		}
		return row
	}
	var edits []chunkmap.Edit
	for _, row := range slices.Sorted(maps.Keys(c.updated)) {
		e := c.updated[row]
		e.Row = shift(row)
		// An edit ends where the appended rows begin, as these have one of their own.
		if n := len(edits); n == 0 || edits[n-1].To != e.Row || row == base {
			edits = append(edits, chunkmap.Edit{From: e.Row, To: e.Row})
		}
		ed := &edits[len(edits)-1]
		ed.To++
		if k := len(ed.Entries); e.Rows > 0 && k > 0 && chunkmap.Follows(&ed.Entries[k-1], &e) {
			ed.Entries[k-1].Rows++
		} else if e.Rows > 0 {
			ed.Entries = append(ed.Entries, e)
		}
	}
	return edits
}

// Preview returns the dataset as a commit now would make it, without the commits of others.
func (t *Txn) Preview(ctx context.Context) (*Snapshot, error) {
	return t.build(ctx, t.base)
}

// Draft is Preview right before a Commit, which takes it over if nothing changes in between.
func (t *Txn) Draft(ctx context.Context) (*Snapshot, error) {
	s, err := t.build(ctx, t.base)
	t.draft, t.drafted = s, t.changes
	return s, err
}

// next is build for the next attempt of a commit.
func (t *Txn) next(ctx context.Context, onto *Snapshot) (*Snapshot, error) {
	draft := t.draft
	t.draft = nil // its pages get their names by the attempt
	if draft != nil && onto == t.base && t.drafted == t.changes {
		return draft, nil
	}
	return t.build(ctx, onto)
}

// build lays the transaction on top of onto. The result holds the new pages. It reads the pages
// that it needs at once, level by level.
func (t *Txn) build(ctx context.Context, onto *Snapshot) (*Snapshot, error) {
	schema, err := t.mergeSchema(onto)
	if err != nil {
		return nil, err
	}
	start := onto.Record.Rows
	b := newBuild(t.repo, onto, schema, t.rows)
	b.made = maps.Clone(t.full)
	for _, ts := range schema.Tensors {
		if change := t.columns[ts.ID]; change != nil {
			b.change(ts.ID, change.edits(t.base.Record.Rows, start, t.rows, t.newer[ts.ID]), change)
			if !change.side.IsZero() {
				b.made[change.side] = chunkmap.SidePage{Dirs: change.dirs, Salt: change.salt}
			}
		}
	}
	if t.rows > 0 {
		b.ids = []chunkmap.Edit{{From: start, To: start + t.rows, Entries: t.identities(start)}}
	}
	if !t.deleted.IsEmpty() {
		b.deleted = onto.Deleted.Clone()
		for it := t.deleted.Iterator(); it.HasNext(); {
			b.deleted.Add(uint64(t.shift(int64(it.Next()), start)))
		}
	}
	b.ops = t.ops(schema, start)
	return b.run(ctx)
}

// identities are the entries of the appended rows in the tree of row identities, for an axis on
// which they begin at start.
func (t *Txn) identities(start int64) []format.Entry {
	if t.collector == nil {
		return []format.Entry{{Row: start, Rows: t.rows, Session: t.id}}
	}
	out := make([]format.Entry, len(t.collector.parts))
	for i, p := range t.collector.parts {
		out[i] = format.Entry{Row: start + p.start, Rows: p.rows, Session: p.id}
	}
	return out
}

// shift is a row as counted in the transaction on an axis on which its appended rows begin at
// start.
func (t *Txn) shift(row, start int64) int64 {
	if base := t.base.Record.Rows; row >= base {
		return row - base + start
	}
	return row
}

// build gathers what makes one commit of the commit before it.
type build struct {
	repo    *Repo
	onto    *Snapshot
	schema  *format.Schema
	rows    int64 // appended
	edits   map[format.UUID][]chunkmap.Edit
	changes map[format.UUID]*columnChange // for the counters
	ids     []chunkmap.Edit               // of the row identities
	deleted *roaring64.Bitmap             // nil: as before
	ops     []format.Op
	made    chunkmap.Pending
}

func newBuild(r *Repo, onto *Snapshot, schema *format.Schema, rows int64) *build {
	return &build{
		repo: r, onto: onto, schema: schema, rows: rows, made: chunkmap.Pending{},
		edits: map[format.UUID][]chunkmap.Edit{}, changes: map[format.UUID]*columnChange{},
	}
}

func (b *build) change(tensor format.UUID, edits []chunkmap.Edit, c *columnChange) {
	b.edits[tensor], b.changes[tensor] = edits, c
}

// run makes the snapshot; its record lacks what only the writer of the commit knows.
func (b *build) run(ctx context.Context) (*Snapshot, error) {
	onto := b.onto
	rec := &format.Record{
		Dataset: b.repo.TSF.UUID, Branch: onto.Record.Branch, Version: onto.Record.Version + 1, Parent: &onto.Record.UUID,
		Writer: b.repo.Writer, Rows: onto.Record.Rows + b.rows, RowIDs: onto.Record.RowIDs,
		Deleted: onto.Record.Deleted, Schema: b.schema, Features: b.schema.Features(), Ops: b.ops,
		Columns: make(map[format.UUID]format.Column, len(b.schema.Tensors)),
	}
	if page := onto.Record.SchemaPage; page != nil && reflect.DeepEqual(b.schema, onto.Schema) {
		rec.Schema, rec.SchemaPage = nil, page
	}
	work := []chunkmap.TreeEdits{{Tree: onto.RowIDs(), Edits: b.ids}}
	for _, ts := range b.schema.Tensors {
		work = append(work, chunkmap.TreeEdits{Tree: onto.Tree(ts.ID), Edits: b.edits[ts.ID]})
	}
	loaded, err := b.repo.Pages.Gather(ctx, work)
	if err != nil {
		return nil, err
	}
	ids, err := work[0].Tree.Apply(ctx, b.ids, loaded, b.made)
	if err != nil {
		return nil, err
	}
	if root := ids.Root(); !root.Page.IsZero() {
		rec.RowIDs = &root
	}
	for i, ts := range b.schema.Tensors {
		col := onto.Record.Columns[ts.ID]
		if c := b.changes[ts.ID]; c != nil {
			tree, err := work[1+i].Tree.Apply(ctx, b.edits[ts.ID], loaded, b.made)
			if err != nil {
				return nil, err
			}
			if err := c.account(ctx, tree, &col); err != nil {
				return nil, err
			}
		}
		rec.Columns[ts.ID] = col
	}
	deleted, live := onto.Deleted, onto.Live
	if b.deleted != nil {
		deleted, live, rec.Deleted = b.deleted, NewRowMap(b.deleted), nil
	}
	rec.DeletedRows = int64(deleted.GetCardinality())
	return &Snapshot{Record: rec, Schema: b.schema, Deleted: deleted, Live: live, pages: b.repo.Pages, held: b.made}, nil
}

// account brings the counters of a column up to date with its new tree.
func (c *columnChange) account(ctx context.Context, tree chunkmap.Tree, col *format.Column) error {
	before, root := *col, tree.Root()
	if *col = (format.Column{}); root.Page.IsZero() {
		return nil
	}
	col.Root, col.Bytes = &root, before.Bytes+c.bytes
	p, err := tree.Load(ctx, root)
	if err != nil {
		return err
	}
	if p.Leaf != nil {
		col.Chunks = int64(p.Leaf.Len())
	} else {
		for _, child := range p.Inner.Children {
			col.Chunks += child.Entries
		}
	}
	bounds := columnChange{min: c.min.Clone(), max: c.max.Clone(), mixed: c.mixed}
	if before.Root != nil {
		bounds = columnChange{min: before.MinShape.Clone(), max: before.MaxShape.Clone(), mixed: before.MaxShape == nil}
		if c.max != nil || c.mixed {
			bounds.widen(c.min, c.max, c.mixed)
		}
	}
	if !bounds.mixed {
		col.MinShape, col.MaxShape = bounds.min, bounds.max
	}
	return nil
}

// ops lists the operations of the transaction, with appended rows beginning at start.
func (t *Txn) ops(schema *format.Schema, start int64) []format.Op {
	ops := schemaOps(t.base.Schema, t.schema, schema)
	if t.info {
		ops = append(ops, format.Op{Op: format.OpSetInfo})
	}
	if t.rows > 0 {
		for _, e := range t.identities(start) {
			ops = append(ops, format.Op{Op: format.OpAppend, Append: e.Session, Start: e.Row, Rows: e.Rows})
		}
	}
	for _, ts := range schema.Tensors {
		if c := t.columns[ts.ID]; c != nil {
			var rows []int64
			for row := range c.updated {
				if row < t.base.Record.Rows {
					rows = append(rows, row)
				}
			}
			if len(c.rewrites) > 0 {
				ops = append(ops, format.Op{Op: format.OpRewrite, Tensor: ts.ID})
			}
			if n := len(rows) + len(c.filled); n > 0 {
				all := rowset.Of(append(ranges(rows), chunkmap.RangesOf(c.filled)...))
				ops = append(ops, format.Op{Op: format.OpUpdate, Tensor: ts.ID, Ranges: all})
			}
		}
	}
	var gone []int64
	for it := t.deleted.Iterator(); it.HasNext(); {
		gone = append(gone, t.shift(int64(it.Next()), start))
	}
	if len(gone) > 0 {
		ops = append(ops, format.Op{Op: format.OpDelete, Ranges: ranges(gone)})
	}
	return ops
}

// schemaOps lists the operations that lead from base to mine and still hold in out.
func schemaOps(base, mine, out *format.Schema) []format.Op {
	ops := []format.Op{}
	before, here, after := base.Index(), mine.Index(), out.Index()
	for i := range base.Tensors {
		if id := base.Tensors[i].ID; here[id] == nil {
			ops = append(ops, format.Op{Op: format.OpDropTensor, Tensor: id})
		}
	}
	for i := range mine.Tensors {
		my := &mine.Tensors[i]
		old := before[my.ID]
		switch {
		case after[my.ID] == nil:
		case old == nil:
			ops = append(ops, format.Op{Op: format.OpAddTensor, Tensor: my.ID})
		default:
			if my.Name != old.Name {
				ops = append(ops, format.Op{Op: format.OpRenameTensor, Tensor: my.ID})
			}
			if !slices.Equal(my.ClassNames, old.ClassNames) {
				ops = append(ops, format.Op{Op: format.OpClassNames, Tensor: my.ID, From: firstDiffering(old.ClassNames, my.ClassNames)})
			}
		}
	}
	return ops
}

// firstDiffering returns the number of names with which both lists begin.
func firstDiffering(a, b []string) int64 {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return int64(n)
}

// ranges packs rows into rising disjoint ranges.
func ranges(rows []int64) []format.RowRange {
	slices.Sort(rows)
	var out []format.RowRange
	for _, row := range rows {
		if n := len(out); n > 0 && out[n-1].Start+out[n-1].Count == row {
			out[n-1].Count++
			continue
		}
		out = append(out, format.RowRange{Start: row, Count: 1})
	}
	return out
}
