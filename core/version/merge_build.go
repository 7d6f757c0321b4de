package version

import (
	"cmp"
	"context"
	"slices"

	"deeplake/core/format"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// build makes the commit of the decisions.
func (m *merger) build(ctx context.Context) (*Snapshot, error) {
	rows := int64(0)
	for _, s := range m.fresh {
		rows += s.Rows
	}
	b := newBuild(m.repo, m.ours, m.schema, rows)
	b.ops = schemaOps(m.ours.Schema, m.schema, m.schema)
	if !sameInfo(m.schema.Info, m.ours.Schema.Info) {
		b.ops = append(b.ops, format.Op{Op: format.OpSetInfo})
	}
	if err := m.identities(ctx, b); err != nil {
		return nil, err
	}
	for i := range m.schema.Tensors {
		if err := m.tensor(ctx, b, m.schema.Tensors[i].ID); err != nil {
			return nil, err
		}
	}
	fresh := m.fresh.Apply(m.theirs.deletedRows())
	if gone := m.deleted.Or(fresh); len(gone) > 0 {
		b.ops = append(b.ops, format.Op{Op: format.OpDelete, Ranges: gone})
		b.deleted = m.ours.Deleted.Clone()
		for _, r := range gone {
			b.deleted.AddRange(uint64(r.Start), uint64(r.Start+r.Count))
		}
	}
	if len(m.restored) > 0 {
		b.ops = append(b.ops, format.Op{Op: format.OpRestore, Ranges: m.restored})
		b.restore(m.restored)
	}
	s, err := b.run(ctx)
	if err == nil {
		s.Renumbered = m.renumbered
	}
	return s, err
}

func (b *build) restore(rows rowset.Set) {
	if b.deleted == nil {
		b.deleted = b.onto.Deleted.Clone()
	}
	back := roaring64.New()
	for _, r := range rows {
		back.AddRange(uint64(r.Start), uint64(r.Start+r.Count))
	}
	b.deleted.AndNot(back)
}

// identities takes the rows over that only theirs has, as who they are.
func (m *merger) identities(ctx context.Context, b *build) error {
	edits, err := m.take(ctx, m.theirs.RowIDs(), m.fresh)
	if err != nil {
		return err
	}
	b.ids = edits
	for _, ed := range edits {
		for _, e := range ed.Entries {
			if n := len(b.ops); n > 0 {
				if last := &b.ops[n-1]; last.Op == format.OpAppend && last.Append == e.Session && last.Start+last.Rows == e.Row {
					last.Rows += e.Rows
					continue
				}
			}
			b.ops = append(b.ops, format.Op{Op: format.OpAppend, Append: e.Session, Start: e.Row, Rows: e.Rows})
		}
	}
	return nil
}

// tensor takes over what theirs says of a tensor: all of it where ours has not got the tensor, else
// the updates, and the rows that only theirs has.
func (m *merger) tensor(ctx context.Context, b *build, id format.UUID) error {
	if m.there[id] == nil {
		return nil
	}
	from := m.fresh
	if m.whole[id] {
		from = append(slices.Clone(m.known), m.fresh...)
	} else if rows := m.updates[id]; len(rows) > 0 {
		from = append(m.known.Inverse().Within(rows).Inverse(), m.fresh...)
		b.ops = append(b.ops, format.Op{Op: format.OpUpdate, Tensor: id, Ranges: rows})
	}
	tree, err := m.source(ctx, b, id, from)
	if err != nil {
		return err
	}
	edits, err := m.take(ctx, tree, from)
	if err != nil {
		return err
	}
	if len(edits) > 0 {
		b.change(id, edits, taken(edits, m.theirs.Record.Columns[id]))
	}
	return nil
}

// take reads the entries of rows in a tree of theirs, as edits of a tree of ours. It reads nothing
// of trees without entries.
func (m *merger) take(ctx context.Context, tree chunkmap.Tree, from rowset.Alignment) ([]chunkmap.Edit, error) {
	rows := make([]format.RowRange, len(from))
	for i, s := range from {
		rows[i] = format.RowRange{Start: s.From, Count: s.Rows}
	}
	if err := m.repo.Pages.Prefetch(ctx, rowset.Of(rows), tree); err != nil {
		return nil, err
	}
	var out []chunkmap.Edit
	for _, s := range from {
		entries, err := tree.EntriesIn(ctx, s.From, s.Rows)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 && s.To >= m.ours.Record.Rows {
			continue // behind the end all is a hole anyway
		}
		for i := range entries {
			entries[i].Row += s.To - s.From
		}
		out = append(out, chunkmap.Edit{From: s.To, To: s.To + s.Rows, Entries: entries})
	}
	slices.SortFunc(out, func(a, b chunkmap.Edit) int { return cmp.Compare(a.From, b.From) })
	return out, nil
}

// taken counts the chunks that edits name, with the bounds that theirs gives for all of its
// samples.
func taken(edits []chunkmap.Edit, col format.Column) *columnChange {
	c := &columnChange{min: col.MinShape.Clone(), max: col.MaxShape.Clone(), mixed: col.Root != nil && col.MaxShape == nil}
	type chunk struct {
		session format.UUID
		ordinal int64
	}
	seen := map[chunk]bool{}
	for _, ed := range edits {
		for i := range ed.Entries {
			e := &ed.Entries[i]
			if at := (chunk{e.Session, e.Ordinal}); !seen[at] {
				seen[at] = true
				c.bytes += e.Bytes
			}
		}
	}
	return c
}
