package version

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"

	"deeplake/core/format"
)

// edits returns the changes of the column for an axis on which the appended rows begin at start.
func (c *columnChange) edits(base, start, appendedRows int64) []Edit {
	shift := func(row int64) int64 {
		if row >= base {
			return row - base + start
		}
		return row
	}
	rows := make([]int64, 0, len(c.updated))
	for row := range c.updated {
		rows = append(rows, row)
	}
	slices.Sort(rows)
	var edits []Edit
	for _, row := range rows {
		e := c.updated[row]
		e.Row = shift(row)
		// An edit ends where the appended rows begin, as these have one of their own.
		if n := len(edits); n > 0 && edits[n-1].To == e.Row && row != base {
			last := &edits[n-1].Entries[len(edits[n-1].Entries)-1]
			edits[n-1].To++
			if follows(last, &e) {
				last.Rows++
			} else {
				edits[n-1].Entries = append(edits[n-1].Entries, e)
			}
			continue
		}
		edits = append(edits, Edit{From: e.Row, To: e.Row + 1, Entries: []format.Entry{e}})
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
		added = merge(added, edits[k:])
		edits = edits[:k]
	}
	return append(edits, Edit{From: start, To: start + appendedRows, Entries: added})
}

// follows reports whether e continues last: the next item of the same chunk for the next row.
func follows(last, e *format.Entry) bool {
	return last.Session == e.Session && last.Ordinal == e.Ordinal && last.Tiles == 0 && e.Tiles == 0 &&
		last.Row+last.Rows == e.Row && last.First+last.Rows == e.First
}

// Preview is the dataset as it would be if the transaction were committed now and nobody else had committed.
func (t *Txn) Preview(ctx context.Context) (*Snapshot, error) {
	return t.build(ctx, t.base)
}

// build lays the transaction on top of onto. The new pages are held by the result.
func (t *Txn) build(ctx context.Context, onto *Snapshot) (*Snapshot, error) {
	schema, err := t.mergeSchema(onto.Schema)
	if err != nil {
		return nil, err
	}
	base, start := t.base.Record.Rows, onto.Record.Rows
	made := maps.Clone(t.full)
	rec := &format.Record{
		Branch: onto.Record.Branch, Version: onto.Record.Version + 1, Parent: &onto.Record.UUID,
		Writer: t.repo.Writer, Rows: start + t.rows, RowIDs: onto.Record.RowIDs,
		Columns: make(map[format.UUID]format.Column, len(schema.Tensors)),
	}
	for _, ts := range schema.Tensors {
		col := onto.Record.Columns[ts.ID]
		if change := t.columns[ts.ID]; change != nil {
			tree, err := onto.Tree(ts.ID).apply(ctx, change.edits(base, start, t.rows), made)
			if err != nil {
				return nil, err
			}
			if !change.side.IsZero() {
				made[change.side] = change.dirs
			}
			if err := change.account(ctx, tree, &col); err != nil {
				return nil, err
			}
		}
		rec.Columns[ts.ID] = col
	}
	if t.rows > 0 {
		ids, err := onto.RowIDs().apply(ctx, []Edit{{From: start, To: start + t.rows,
			Entries: []format.Entry{{Row: start, Rows: t.rows, Session: t.id}}}}, made)
		if err != nil {
			return nil, err
		}
		root := ids.Root()
		rec.RowIDs = &root
	}
	deleted := onto.Deleted
	if !t.deleted.IsEmpty() {
		deleted = onto.Deleted.Clone()
		for it := t.deleted.Iterator(); it.HasNext(); {
			row := int64(it.Next())
			if row >= base {
				row += start - base
			}
			deleted.Add(uint64(row))
		}
	} else {
		rec.Deleted = onto.Record.Deleted
	}
	rec.DeletedRows = int64(deleted.GetCardinality())
	rec.Schema = schema
	rec.Ops = t.ops(schema, start)
	return &Snapshot{Record: rec, Schema: schema, Deleted: deleted, Live: newRowMap(deleted), pages: t.repo.Pages, held: made}, nil
}

// account brings the counters of a column up to date with its new tree.
func (c *columnChange) account(ctx context.Context, tree Tree, col *format.Column) error {
	before := *col
	*col = format.Column{Bytes: before.Bytes + c.bytes}
	if root := tree.Root(); !root.Page.IsZero() {
		col.Root = &root
		p, err := tree.pages.load(ctx, tree.held, root)
		if err != nil {
			return err
		}
		if p.leaf != nil {
			col.Chunks = int64(len(p.leaf.Entries))
		} else {
			for _, child := range p.inner.Children {
				col.Chunks += child.Entries
			}
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

// ops lists what the transaction does, with appended rows beginning at start.
func (t *Txn) ops(schema *format.Schema, start int64) []format.Op {
	ops := []format.Op{}
	for _, ts := range schema.Tensors {
		old := findID(t.base.Schema, ts.ID)
		if old == nil {
			if findID(t.schema, ts.ID) != nil {
				ops = append(ops, format.Op{Op: format.OpAddTensor, Tensor: ts.ID})
			}
			continue
		}
		if mine := findID(t.schema, ts.ID); mine != nil && len(mine.ClassNames) > len(old.ClassNames) {
			ops = append(ops, format.Op{Op: format.OpClassNames, Tensor: ts.ID, From: int64(len(old.ClassNames))})
		}
	}
	if t.info {
		ops = append(ops, format.Op{Op: format.OpSetInfo})
	}
	if t.rows > 0 {
		ops = append(ops, format.Op{Op: format.OpAppend, Append: t.id, Start: start, Rows: t.rows})
	}
	for _, ts := range schema.Tensors {
		if c := t.columns[ts.ID]; c != nil {
			var rows []int64
			for row := range c.updated {
				if row < t.base.Record.Rows {
					rows = append(rows, row)
				}
			}
			if len(rows) > 0 {
				ops = append(ops, format.Op{Op: format.OpUpdate, Tensor: ts.ID, Ranges: ranges(rows)})
			}
		}
	}
	var gone []int64
	for it := t.deleted.Iterator(); it.HasNext(); {
		row := int64(it.Next())
		if row >= t.base.Record.Rows {
			row += start - t.base.Record.Rows
		}
		gone = append(gone, row)
	}
	if len(gone) > 0 {
		ops = append(ops, format.Op{Op: format.OpDelete, Ranges: ranges(gone)})
	}
	return ops
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

func findID(s *format.Schema, id format.UUID) *format.TensorSchema {
	for i := range s.Tensors {
		if s.Tensors[i].ID == id {
			return &s.Tensors[i]
		}
	}
	return nil
}
