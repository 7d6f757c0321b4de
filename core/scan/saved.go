package scan

import (
	"context"
	"encoding/json"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/format"
)

// QuerySpec is the query of a result, so that it can run again.
type QuerySpec struct {
	Query  string          // in its canonical form
	Params json.RawMessage // a JSON array; nil: none
	Seed   uint64
}

// Save saves the result under a name in d, the queried dataset. It stores the query, and the rows
// if they are rows of d. Loading computes computed columns again; therefore a part of a result with
// such columns cannot be saved. Fails with errs.Exists if the name is taken and replace is not set.
func (a *Result) Save(ctx context.Context, d *dataset.Dataset, name string, q QuerySpec, replace bool) error {
	s := dataset.SavedView{Name: name, Query: q.Query, Params: q.Params, Seed: q.Seed}
	own, err := a.ownRows()
	if err != nil {
		return errs.Op("save view", name).New(errs.KindOf(err), "%w", err)
	}
	again := own == nil
	for _, f := range a.table.fields {
		c := format.ViewColumn{Name: f.name}
		if own != nil && f.view == a.origin {
			c.Tensor = f.column.Name()
		}
		again = again || c.Tensor == ""
		s.Columns = append(s.Columns, c)
	}
	switch {
	case !again:
	case a.part:
		return errs.Op("save view", name).New(errs.Unsupported, "it is a part of a result with computed columns; save the result, or materialize the part")
	case q.Query == "":
		return errs.Op("save view", name).New(errs.Unsupported, "no query says how its columns are computed")
	}
	return d.Versions().SaveView(ctx, s, a.base, own, replace)
}

// ownRows returns the rows of the queried dataset, one for one; nil: there are none.
func (a *Result) ownRows() (*dataset.View, error) {
	if a.origin == nil {
		return nil, nil
	}
	d, c, _, err := a.base.Identity()
	if err != nil {
		return nil, err
	}
	if d2, c2, _, err := a.origin.Identity(); err != nil || d != d2 || c != c2 {
		return nil, err
	}
	return a.origin, nil
}

// Load opens a saved view of d. If its columns are tensors, the result has its saved rows.
// Otherwise Load calls again with all rows of its commit, to repeat the query. The returned dataset
// is d at that commit. Close it after the last use of the result.
func Load(ctx context.Context, d *dataset.Dataset, name string, again func(ctx context.Context, base *dataset.View, s dataset.SavedView) (*Result, error)) (*Result, *dataset.Dataset, error) {
	l, err := d.Versions().LoadView(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	a, err := load(ctx, l, again)
	if err != nil {
		_ = l.Dataset.Close()
		return nil, nil, errs.Op("load view", name).New(errs.KindOf(err), "%w", err)
	}
	return a, l.Dataset, nil
}

func load(ctx context.Context, l *dataset.Loaded, again func(ctx context.Context, base *dataset.View, s dataset.SavedView) (*Result, error)) (*Result, error) {
	own := []*dataset.View{l.Rows}
	a := &Result{view: l.Rows, base: l.Base, origin: l.Rows, sourceRows: own, reads: own}
	if l.Rows != nil {
		a.table = &Table{name: l.Base.URI(), rows: l.Rows.Len(), source: sourceField(l.Rows)}
	}
	for _, c := range l.Saved.Columns {
		if c.Tensor == "" || l.Rows == nil {
			return again(ctx, l.Base, l.Saved)
		}
		col, err := l.Rows.Column(c.Tensor)
		if err != nil {
			return nil, err
		}
		a.table.fields = append(a.table.fields, &field{name: c.Name, view: l.Rows, column: col})
	}
	if l.Rows == nil {
		return again(ctx, l.Base, l.Saved)
	}
	return a, nil
}
