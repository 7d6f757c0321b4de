package v3

import (
	"context"
	"slices"
	"strings"
	"time"

	"deeplake/core/format"
	"deeplake/core/version/rowset"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// pages collects the objects of a record.
type pages map[string][]byte

// put stores a page under its name.
func (p pages) put(object []byte, err error) (format.UUID, error) {
	if err != nil {
		return format.UUID{}, err
	}
	name := format.ContentName(object)
	p[format.MapKey(name)] = object
	return name, nil
}

// tree stores entries as a tree.
func (p pages) tree(entries []format.Entry) (*format.Root, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	var children []format.Child
	for part := range slices.Chunk(entries, format.MaxPageEntries) {
		name, err := p.put(format.EncodeLeaf(format.Leaf{Entries: part}))
		if err != nil {
			return nil, err
		}
		children = append(children, format.Child{First: part[0].Row, Page: name, Entries: int64(len(part))})
	}
	height := 0
	for ; len(children) > 1; height++ {
		var above []format.Child
		for part := range slices.Chunk(children, format.MaxPageEntries) {
			name, err := p.put(format.EncodeInner(format.Inner{Height: height + 1, Children: part}))
			if err != nil {
				return nil, err
			}
			n := int64(0)
			for _, c := range part {
				n += c.Entries
			}
			above = append(above, format.Child{First: part[0].First, Page: name, Entries: n})
		}
		children = above
	}
	return &format.Root{Page: children[0].Page, Height: height}, nil
}

// version is a record of a branch: a commit, or the start of the branch.
type version struct {
	branch, index int // index -1: the start
}

// number is the number of the record.
func (v version) number() uint64 { return uint64(v.index + 1) }

// before is the record that v follows; ok is false for the first one of all.
func (t *tree) before(v version) (version, bool) {
	if v.index >= 0 {
		return version{v.branch, v.index - 1}, true
	}
	base := t.branches[v.branch].base
	if base == "" {
		return version{}, false
	}
	at := t.at[base]
	return version(at), true
}

// commit is the commit whose state a record has; "": it is empty.
func (t *tree) commit(v version) string {
	if v.index >= 0 {
		return t.branches[v.branch].commits[v.index]
	}
	return t.branches[v.branch].base
}

// uuid is the id of a record. A head has another one when its files have changed; it must be
// loaded.
func (l *loader) uuid(v version) format.UUID {
	t := l.tree
	if v.index < 0 {
		return idOf("start", t.branches[v.branch].name)
	}
	id := t.commit(v)
	if s := l.states[id]; s != nil && t.nodes[id].Time == nil {
		return idOf("head", id+s.digest)
	}
	return commitID(id)
}

// time is the time of a record: of a head, that of the commit before it.
func (t *tree) time(v version) time.Time {
	when := time.Unix(0, 0)
	if t.commit(v) == "" {
		v.index = 0 // of the first commit, where there is one
	}
	chain, _ := t.chain(t.commit(v)) // checked when the tree was made
	for _, id := range chain {
		if at := t.nodes[id].Time; at != nil {
			sec, nsec := seconds(*at)
			if w := time.Unix(sec, nsec); w.After(when) {
				when = w
			}
		}
	}
	return when.UTC()
}

// maker makes the records of the presented dataset, or of a copy.
type maker struct {
	*Store
	dataset format.UUID
	// entries returns where the rows of a tensor lie.
	entries func(ctx context.Context, at *state, t *tensorState, out pages) ([]format.Entry, error)
	notes   map[string]any // for the info of the dataset; nil: none
}

// presenting returns the maker for the presented dataset.
func (s *Store) presenting() *maker {
	return &maker{Store: s, dataset: s.tsf.UUID, entries: func(_ context.Context, at *state, t *tensorState, _ pages) ([]format.Entry, error) {
		return s.loader.entries(at, t, &s.table)
	}}
}

// record makes a record and its pages.
func (s *maker) record(ctx context.Context, v version) ([]byte, pages, error) {
	t, b := s.loader.tree, &s.loader.tree.branches[v.branch]
	rec := &format.Record{
		Dataset: s.dataset, UUID: s.loader.uuid(v), Branch: b.id, Version: v.number(), Time: t.time(v), Writer: "Deep Lake 3",
		Schema: &format.Schema{}, Columns: map[format.UUID]format.Column{},
	}
	out := pages{}
	before, follows := t.before(v)
	if follows {
		id := s.loader.uuid(before)
		rec.Parent = &id
	}
	if v.index < 0 {
		rec.Message = "create dataset"
		if b.base != "" {
			rec.Message = "create branch"
			rec.Base = &format.BranchPoint{Branch: t.branches[before.branch].id, Version: before.number()}
		}
	} else if n := t.nodes[t.commit(v)]; n.Time == nil {
		rec.Message = "uncommitted changes"
	} else {
		rec.Message, rec.Author = text(n.Message), text(n.User)
	}
	if id := t.commit(v); id != "" {
		at, err := s.loader.load(ctx, id, true)
		if err != nil {
			return nil, nil, err
		}
		rec.UUID = s.loader.uuid(v)
		if err := s.fill(ctx, rec, at, out); err != nil {
			return nil, nil, err
		}
		if v.index >= 0 {
			if rec.Ops, err = s.ops(ctx, s.loader.states[t.commit(before)], at); err != nil {
				return nil, nil, err
			}
		}
	}
	rec.Features = rec.Schema.Features()
	if err := outline(rec, out); err != nil {
		return nil, nil, err
	}
	data, err := format.EncodeRecord(rec)
	return data, out, err
}

// text bounds a text that a user wrote.
func text(s string) string {
	const most = 4 << 10
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "?")
}

// fill gives a record the rows and tensors of a commit.
func (s *maker) fill(ctx context.Context, rec *format.Record, at *state, out pages) error {
	rec.Schema = at.schemaOf()
	if len(s.notes) > 0 {
		rec.Schema.Info["deeplake3"] = s.notes
	}
	rec.Rows, rec.DeletedRows = at.axis.physical, at.axis.physical-at.rows
	if rec.DeletedRows > 0 {
		gone := roaring64.New()
		for _, r := range at.axis.deleted() {
			gone.AddRange(uint64(r.Start), uint64(r.Start+r.Count))
		}
		name, err := out.put(format.EncodeBitmap(gone))
		if err != nil {
			return err
		}
		rec.Deleted = &name
	}
	var err error
	if rec.RowIDs, err = out.tree(at.axis.ids); err != nil {
		return err
	}
	for _, t := range at.tensors {
		entries, err := s.entries(ctx, at, t, out)
		if err != nil {
			return err
		}
		root, err := out.tree(entries)
		if err != nil {
			return err
		}
		c := format.Column{Root: root, Chunks: int64(len(entries))}
		for i := range entries {
			c.Bytes += entries[i].Bytes
		}
		rec.Columns[t.id] = c
	}
	return nil
}

// outline moves large parts of a record into pages.
func outline(rec *format.Record, out pages) error {
	if n, err := rec.Schema.Bytes(); err != nil {
		return err
	} else if n > format.InlineSchema {
		name, err := out.put(format.EncodeSchema(rec.Schema))
		if err != nil {
			return err
		}
		rec.Schema, rec.SchemaPage = nil, &name
	}
	if len(rec.Columns) > inlineColumns {
		name, err := out.put(format.EncodeColumns(rec.Columns))
		if err != nil {
			return err
		}
		rec.Columns, rec.ColumnsPage = nil, &name
	}
	ranges := 0
	for _, op := range rec.Ops {
		ranges += 1 + len(op.Ranges)
	}
	if ranges > inlineRanges {
		data, err := format.EncodeOps(rec.Ops)
		if err != nil {
			return err
		}
		name := format.ContentName(data)
		out[format.TxnKey(name)] = data
		rec.Ops, rec.Txn = nil, &name
	}
	return nil
}

const (
	inlineColumns = 200
	inlineRanges  = 1000
)

// ops are the changes of a commit at; last is the state before it, nil: nothing.
func (m *maker) ops(ctx context.Context, last, at *state) ([]format.Op, error) {
	var out []format.Op
	if last != nil {
		for _, t := range last.tensors {
			if at.by[t.key] == nil {
				out = append(out, format.Op{Op: format.OpDropTensor, Tensor: t.id})
			}
		}
	}
	for _, t := range at.tensors {
		var old *tensorState
		if last != nil {
			old = last.by[t.key]
		}
		switch {
		case old == nil:
			out = append(out, format.Op{Op: format.OpAddTensor, Tensor: t.id})
		case old.name != t.name:
			out = append(out, format.Op{Op: format.OpRenameTensor, Tensor: t.id})
		}
	}
	if len(at.removed) > 0 {
		out = append(out, format.Op{Op: format.OpDelete, Ranges: at.removed})
	}
	if n := at.axis.physical - at.axis.from; n > 0 {
		out = append(out, format.Op{Op: format.OpAppend, Append: idOf("rows", at.id), Start: at.axis.from, Rows: n})
	}
	for _, t := range at.tensors {
		if last == nil || last.by[t.key] == nil {
			continue
		}
		rows, err := m.altered(ctx, last, at, t)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			out = append(out, format.Op{Op: format.OpUpdate, Tensor: t.id, Ranges: rows})
		}
	}
	return out, nil
}

// updates are the rows of the axis that a commit may have changed, of those that stood before. In a
// commit that removed rows, each of them may have moved a number by two.
func (t *tensorState) updates(at *state) rowset.Set {
	n := at.removed.Count()
	kept := at.axis.live.And(rowset.Set{{Count: at.axis.from}}).Count()
	rows := make([]format.RowRange, 0, len(t.changed.updated))
	for _, row := range t.changed.updated {
		if from, to := max(0, row-2*n), min(kept, row+n+1); from < to {
			rows = append(rows, format.RowRange{Start: from, Count: to - from})
		}
	}
	return at.axis.within(rowset.Of(rows))
}
