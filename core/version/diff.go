package version

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"deeplake/core/format"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
)

// RowSet is a set of rows, as the user counts them in one commit: deleted rows are left out.
type RowSet struct {
	Count  int64             `json:"count"`
	Ranges []format.RowRange `json:"ranges"` // rising, disjoint, none empty
}

// Changes of a tensor as a whole.
const (
	TensorCreated = "created"
	TensorDropped = "dropped"
	TensorChanged = "changed"
)

// TensorDiff lists the changes of one tensor.
type TensorDiff struct {
	Name    string `json:"name"`     // in b; in a where it was dropped
	Change  string `json:"change"`   // TensorCreated, TensorDropped or TensorChanged
	OldName string `json:"old_name"` // in a, where it was renamed; else ""
	// what else of its schema differs: "dtype", "shape", "class_names", "chunk_bytes", "info"
	Schema []string `json:"schema"`
	// rows of b that a has not, and that have a value in the tensor
	Added   RowSet `json:"added"`
	Updated RowSet `json:"updated"` // rows of b that a has too, with another value
	// rows of a that b has not, and that had a value in the tensor
	Deleted RowSet `json:"deleted"`
}

// SameRows says that Count rows from A on in commit a are those from B on in commit b.
type SameRows struct {
	A     int64 `json:"a"`
	B     int64 `json:"b"`
	Count int64 `json:"count"`
}

// Diff lists the changes from commit a to commit b.
type Diff struct {
	A Committed `json:"a"`
	B Committed `json:"b"`
	// the newest commit that both come from: one of the two where the other comes from it
	Base    Committed  `json:"base"`
	Added   RowSet     `json:"added"`   // rows of b that a has not
	Deleted RowSet     `json:"deleted"` // rows of a that b has not
	Same    []SameRows `json:"same"`    // rows that both have, rising in b
	Info    bool       `json:"info"`    // the info of the dataset differs
	// those that differ, in order of creation in b, then dropped ones
	Tensors []TensorDiff `json:"tensors"`
}

// Empty reports whether nothing differs.
func (d *Diff) Empty() bool {
	return d.Added.Count == 0 && d.Deleted.Count == 0 && !d.Info && len(d.Tensors) == 0
}

// Diff says what leads from a to b, which may lie on any branches, or be previews. Rows are told
// apart by their identities; which of them were updated is known from the operations since the
// commit that both come from, and from the pages of the chunk maps: where both have the same chunk,
// nothing differs. No sample is read.
func (r *Repo) Diff(ctx context.Context, a, b *Snapshot) (*Diff, error) {
	h := r.history()
	ap, err := h.divergence(ctx, a.Record, b.Record)
	if err != nil {
		return nil, err
	}
	d := &differ{a: a, b: b}
	if d.before, err = h.changes(ctx, ap.a, a); err != nil {
		return nil, err
	}
	if d.after, err = h.changes(ctx, ap.b, b); err != nil {
		return nil, err
	}
	if d.toB, err = align(ctx, a, b); err != nil {
		return nil, err
	}
	d.toA = d.toB.Inverse()
	liveA, liveB := a.liveRows(), b.liveRows()
	d.common = d.toB.Apply(liveA).And(liveB)
	d.added = liveB.Minus(d.common)
	d.deleted = liveA.Minus(d.toA.Apply(d.common))
	out := &Diff{
		A: Describe(a.Record), B: Describe(b.Record), Base: Describe(ap.base),
		Added: b.asCounted(d.added), Deleted: a.asCounted(d.deleted), Same: d.same(),
		Info: !sameInfo(a.Schema.Info, b.Schema.Info), Tensors: []TensorDiff{},
	}
	for i := range b.Schema.Tensors {
		td, differs, err := d.tensor(ctx, &b.Schema.Tensors[i])
		if err != nil {
			return nil, err
		}
		if differs {
			out.Tensors = append(out.Tensors, td)
		}
	}
	for i := range a.Schema.Tensors {
		ts := &a.Schema.Tensors[i]
		if b.Schema.ByID(ts.ID) != nil {
			continue
		}
		gone, err := d.values(ctx, a, ts, liveA)
		if err != nil {
			return nil, err
		}
		out.Tensors = append(out.Tensors, TensorDiff{Name: ts.Name, Change: TensorDropped, Schema: []string{}, Added: noRows(), Updated: noRows(), Deleted: gone})
	}
	return out, nil
}

// same lists the rows that both have, as the user counts them.
func (d *differ) same() []SameRows {
	out := []SameRows{}
	for _, s := range d.toA.Within(d.common) {
		next := SameRows{d.a.Live.Logical(s.To), d.b.Live.Logical(s.From), s.Rows}
		if n := len(out) - 1; n >= 0 && out[n].A+out[n].Count == next.A && out[n].B+out[n].Count == next.B {
			out[n].Count += next.Count
			continue
		}
		out = append(out, next)
	}
	return out
}

func noRows() RowSet { return RowSet{Ranges: []format.RowRange{}} }

// differ compares two commits.
type differ struct {
	a, b          *Snapshot
	before, after *changed // since the base, on the way to a and to b
	toB, toA      rowset.Alignment
	common, added rowset.Set // rows of b
	deleted       rowset.Set // rows of a
}

// tensor compares what both say of a tensor of b.
func (d *differ) tensor(ctx context.Context, ts *format.TensorSchema) (td TensorDiff, differs bool, err error) {
	td = TensorDiff{Name: ts.Name, Change: TensorChanged, Schema: []string{}, Added: noRows(), Updated: noRows(), Deleted: noRows()}
	old := d.a.Schema.ByID(ts.ID)
	if old == nil {
		td.Change = TensorCreated
		td.Added, err = d.values(ctx, d.b, ts, d.b.liveRows())
		return td, true, err
	}
	if old.Name != ts.Name {
		td.OldName = old.Name
	}
	td.Schema = schemaDiff(old, ts)
	if td.Added, err = d.values(ctx, d.b, ts, d.added); err != nil {
		return td, false, err
	}
	if td.Deleted, err = d.values(ctx, d.a, ts, d.deleted); err != nil {
		return td, false, err
	}
	maybe := d.toB.Apply(d.before.updated[ts.ID]).Or(d.after.updated[ts.ID]).And(d.common)
	treeA, treeB := d.a.Tree(ts.ID), d.b.Tree(ts.ID)
	if err := errors.Join(d.b.pages.Prefetch(ctx, maybe, treeB), d.a.pages.Prefetch(ctx, d.toA.Apply(maybe), treeA)); err != nil {
		return td, false, err
	}
	updated, err := chunkmap.DifferingRows(ctx, treeB, treeA, d.toA.Within(maybe))
	if err != nil {
		return td, false, err
	}
	td.Updated = d.b.asCounted(updated)
	return td, td.OldName != "" || len(td.Schema) > 0 || td.Added.Count+td.Updated.Count+td.Deleted.Count > 0, nil
}

// values are the rows that have a value in a tensor.
func (d *differ) values(ctx context.Context, s *Snapshot, ts *format.TensorSchema, rows rowset.Set) (RowSet, error) {
	if len(rows) == 0 {
		return noRows(), nil
	}
	tree := s.Tree(ts.ID)
	if err := s.pages.Prefetch(ctx, rows, tree); err != nil {
		return RowSet{}, err
	}
	filled, err := tree.Filled(ctx, rows)
	if err != nil {
		return RowSet{}, err
	}
	return s.asCounted(filled), nil
}

// schemaDiff names the settings that differ.
func schemaDiff(a, b *format.TensorSchema) []string {
	out := []string{}
	for _, f := range []struct {
		name string
		same bool
	}{
		{"dtype", a.DType == b.DType && a.Time == b.Time},
		{"shape", reflect.DeepEqual(a.Shape, b.Shape)},
		{"class_names", slices.Equal(a.ClassNames, b.ClassNames)},
		{"chunk_bytes", a.ChunkBytes == b.ChunkBytes},
		{"info", sameInfo(a.Info, b.Info)},
	} {
		if !f.same {
			out = append(out, f.name)
		}
	}
	return out
}
