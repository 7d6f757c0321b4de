package version

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version/rowset"
)

// Restore makes the branch show the rows and the schema of the commit at, as one commit on top of
// the newest one. The history stays. Later rows are deleted, deleted rows are there again, and
// updated samples are the old ones. Chunks are shared, not copied, and so are the chunk maps of a
// commit that the branch comes from. Rows of another branch that this one lacks are appended, with
// their identities. If the order of rows would be another one, it is errs.Unsupported.
//
// If there is nothing to change, done is false and s is the head. Faults are as in Merge. Commits
// that other writers make meanwhile are replaced as well, and stay in the history.
func (r *Repo) Restore(ctx context.Context, at *Snapshot, message, author string) (s *Snapshot, done bool, err error) {
	if err := CheckCommitted("restore on", r.name, at); err != nil {
		return nil, false, err
	}
	h := r.history()
	return r.lay(ctx, "restore on", func(head *Snapshot) (*Snapshot, error) {
		next, err := h.restored(ctx, head, at)
		if next != nil {
			next.Record.Message, next.Record.Author = message, author
			next.Record.Time = notBefore(r.Now(), head.Record, at.Record)
		}
		return next, err
	})
}

// restored is a commit on ours with the contents of at, nil if ours has them.
func (h *history) restored(ctx context.Context, ours, at *Snapshot) (*Snapshot, error) {
	ap, err := h.divergence(ctx, ours.Record, at.Record)
	if err != nil {
		return nil, err
	}
	m := &merger{repo: h.repo, ours: ours, theirs: at, schema: at.Schema, there: at.Schema.Index(), whole: map[format.UUID]bool{}, updates: map[format.UUID]rowset.Set{}}
	if m.mine, err = h.changes(ctx, ap.a, ours); err != nil {
		return nil, err
	}
	if m.news, err = h.changes(ctx, ap.b, at); err != nil {
		return nil, err
	}
	if m.known, err = align(ctx, at, ours); err != nil {
		return nil, err
	}
	live := at.liveRows()
	m.placeIn(live)
	shown := m.known.Apply(live)
	m.deleted, m.restored = ours.liveRows().Minus(shown), shown.And(ours.deletedRows())
	here := ours.Schema.Index()
	for i := range at.Schema.Tensors {
		id := at.Schema.Tensors[i].ID
		if here[id] == nil {
			m.whole[id] = true
			continue
		}
		maybe := m.mine.updated[id].Or(m.known.Apply(m.news.updated[id])).And(shown).Minus(m.restored)
		changed, err := m.differing(ctx, id, at, m.known, maybe)
		if err != nil {
			return nil, err
		}
		m.updates[id] = changed.Or(m.restored)
	}
	if !m.inOrder(live) {
		return nil, errs.Op("restore", at.Record.UUID.String()).New(errs.Unsupported, "branch %q has rows of that version of another branch in another order; create a branch at that version and work on it", h.repo.name)
	}
	if len(m.deleted) == 0 && len(m.restored) == 0 && len(m.fresh) == 0 && m.noUpdates() && sameSchema(at.Schema, ours.Schema) {
		return nil, nil
	}
	if m.inPlace() {
		return m.adopt(ctx)
	}
	return m.build(ctx)
}

// sameSchema compares schemas as they are stored.
func sameSchema(a, b *format.Schema) bool {
	x, err := a.AsStored()
	if err != nil {
		return false
	}
	y, err := b.AsStored()
	return err == nil && reflect.DeepEqual(x, y)
}

// placeIn is place for some rows of theirs.
func (m *merger) placeIn(rows rowset.Set) {
	m.place()
	at := m.ours.Record.Rows
	m.fresh = m.fresh.Within(rows)
	for i := range m.fresh {
		m.fresh[i].To = at
		at += m.fresh[i].Rows
	}
}

// inPlace reports whether each row of theirs has the same place in ours.
func (m *merger) inPlace() bool {
	for _, s := range m.known {
		if s.From != s.To {
			return false
		}
	}
	return m.known.Set().Count() == m.theirs.Record.Rows
}

// inOrder reports whether rows of theirs have rising places.
func (m *merger) inOrder(rows rowset.Set) bool {
	places := append(m.known.Within(rows), m.fresh...)
	slices.SortFunc(places, func(a, b rowset.Segment) int { return int(min(1, max(-1, a.From-b.From))) })
	return slices.IsSortedFunc(places, func(a, b rowset.Segment) int { return int(min(1, max(-1, a.To-b.To))) })
}

// adopt is build for rows that have their places: the chunk maps are those of theirs. Rows behind
// their ends have no samples, and are deleted.
func (m *merger) adopt(ctx context.Context) (*Snapshot, error) {
	b := newBuild(m.repo, m.ours, m.schema, 0)
	b.ops = schemaOps(m.ours.Schema, m.schema, m.schema)
	if !sameInfo(m.schema.Info, m.ours.Schema.Info) {
		b.ops = append(b.ops, format.Op{Op: format.OpSetInfo})
	}
	for i := range m.schema.Tensors {
		if id := m.schema.Tensors[i].ID; len(m.updates[id]) > 0 {
			b.ops = append(b.ops, format.Op{Op: format.OpUpdate, Tensor: id, Ranges: m.updates[id]})
		}
	}
	if len(m.deleted) > 0 {
		b.ops = append(b.ops, format.Op{Op: format.OpDelete, Ranges: m.deleted})
		b.deleted = m.ours.Deleted.Clone()
		for _, r := range m.deleted {
			b.deleted.AddRange(uint64(r.Start), uint64(r.Start+r.Count))
		}
	}
	if len(m.restored) > 0 {
		b.ops = append(b.ops, format.Op{Op: format.OpRestore, Ranges: m.restored})
		b.restore(m.restored)
	}
	s, err := b.run(ctx)
	if err != nil {
		return nil, err
	}
	s.Record.Columns = maps.Clone(m.theirs.Record.Columns)
	return s, nil
}

// takenBack reports whether a tensor has lost class names, a dtype or a shape since before. Only a
// restore takes them back.
func takenBack(before, now *format.Schema, id format.UUID) bool {
	was, is := before.ByID(id), now.ByID(id)
	if was == nil || is == nil {
		return false
	}
	n := len(was.ClassNames)
	return len(is.ClassNames) < n || !slices.Equal(is.ClassNames[:n], was.ClassNames) ||
		undecided(is) && !undecided(was) || is.Shape == nil && was.Shape != nil
}

// keepDecided gives tensors of out the class names, dtypes and shapes that samples of mine rely on:
// a restore may have taken them back. has tells which tensors have such samples. Other names,
// dtypes and shapes in out are a clash.
func keepDecided(out, mine *format.Schema, has func(format.UUID) bool, words sides) *clash {
	for i := range mine.Tensors {
		my := &mine.Tensors[i]
		their := out.ByID(my.ID)
		if their == nil || !has(my.ID) {
			continue
		}
		// as if mine had decided all of it, but classes, which are of uniteClasses
		all := *my
		if all.ClassChange != their.ClassChange || !begins(all.ClassNames, their.ClassNames) {
			all.ClassNames, all.ClassChange = their.ClassNames, their.ClassChange
		}
		if c := layTensor(&format.TensorSchema{Name: my.Name, Files: my.Files, Info: my.Info}, &all, their, words); c != nil {
			return c
		}
		if their.Files == format.FilesOpen && my.Files != format.FilesOpen {
			their.Compression, their.Files = my.Compression, my.Files
		}
	}
	return nil
}
