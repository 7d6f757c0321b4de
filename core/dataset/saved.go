package dataset

import (
	"context"
	"encoding/json"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version"
)

// SavedView is a view under a name: a query of a commit.
type SavedView struct {
	Name string `json:"name"`
	// in its canonical form; "": the rows were selected otherwise
	Query   string              `json:"query"`
	Params  json.RawMessage     `json:"params"` // a JSON array
	Seed    uint64              `json:"seed"`
	Columns []format.ViewColumn `json:"-"`
	Listed  bool                `json:"listed"` // its rows are saved; else the query is run again
	Rows    int64               `json:"rows"`   // with Listed
	Commit  string              `json:"commit"`
	Version uint64              `json:"version"`
	Author  string              `json:"author"`
	Time    string              `json:"time"` // RFC 3339
}

func savedView(v version.View) SavedView {
	s := SavedView{Name: v.Name, Query: v.Query, Params: v.Params, Seed: v.Seed, Columns: v.Columns, Listed: v.Listed, Commit: v.Commit.String(),
		Version: v.Version, Author: v.Author, Time: v.Time.UTC().Format(time.RFC3339Nano)}
	for _, r := range v.View.Rows {
		s.Rows += r.Count
	}
	return s
}

// SaveView saves the result of a query or selection of base under a name. base is a view of a
// commit of the dataset. Of s, Query, Params, Seed and Columns count; without Columns the view has
// all tensors. rows are the result's rows in the same commit, nil if they belong to several
// datasets or to none. A name in use is errs.Exists, unless the view is to be replaced. Nothing
// else changes: a view is no part of a commit.
func (v Versions) SaveView(ctx context.Context, s SavedView, base, rows *View, replace bool) error {
	d := v.d
	repo, _, err := d.writable()
	if err != nil {
		return err
	}
	if err := d.canSave(s.Name, base, rows); err != nil {
		return err
	}
	rec := base.snap.Record
	saved := format.View{Branch: rec.Branch, Version: rec.Version, Commit: rec.UUID, Time: repo.Now().UTC(), Author: d.env.author(),
		Query: s.Query, Params: s.Params, Seed: s.Seed, Columns: s.Columns}
	if saved.Params == nil {
		saved.Params = json.RawMessage("[]")
	}
	if s.Columns == nil {
		for _, name := range base.names {
			saved.Columns = append(saved.Columns, format.ViewColumn{Name: name, Tensor: name})
		}
	}
	if rows != nil {
		saved.Listed = true
		if saved.Rows, err = rows.runs(ctx); err != nil {
			return err
		}
		if err := checkRuns(base.n, saved.Rows); err != nil {
			return errs.Op("save view", s.Name).New(errs.Unsupported, "%w", err)
		}
	}
	return repo.SaveView(ctx, s.Name, saved, replace)
}

// CanSaveViews returns nil if SaveView may write, else the reason.
func (v Versions) CanSaveViews() error {
	_, _, err := v.d.writable()
	return err
}

func (d *Dataset) canSave(name string, base, rows *View) error {
	if d.ro.Load() && !d.past.Load() {
		return errs.Op("save view", name).New(errs.ReadOnly, "dataset %q is opened read-only", d.URI())
	}
	for _, v := range []*View{base, rows} {
		switch {
		case v == nil:
		case v.Location() != storage.Location(d.store):
			return errs.Op("save view", name).New(errs.Invalid, "its rows are of dataset %q, not of %q; save it there, or materialize it", v.URI(), d.URI())
		case v.dirty:
			return errs.Op("save view", name).New(errs.Invalid, "it shows changes that are not committed; commit() first")
		case v.snap.Record.UUID != base.snap.Record.UUID:
			return errs.Op("save view", name).New(errs.Invalid, "its rows are of another commit")
		}
	}
	return nil
}

// runs returns the rows of v as runs of consecutive rows.
func (v *View) runs(ctx context.Context) ([]format.ViewRun, error) {
	var out []format.ViewRun
	if v.list == nil && v.step == 1 {
		if v.n == 0 {
			return nil, nil
		}
		return []format.ViewRun{{Start: v.start, Count: v.n}}, nil
	}
	for i := range v.n {
		if i%selectBlock == 0 && ctx.Err() != nil {
			return nil, errs.Cause(ctx, "save view")
		}
		row := v.live(i)
		if n := len(out) - 1; n >= 0 && (row < 0 && out[n].Start < 0 || row >= 0 && out[n].Start >= 0 && out[n].Start+out[n].Count == row) {
			out[n].Count++
		} else {
			out = append(out, format.ViewRun{Start: row, Count: 1})
		}
	}
	return out, nil
}

// Loaded is a saved view with its open commit.
type Loaded struct {
	Saved   SavedView
	Dataset *Dataset // at that commit, to be closed after use
	Base    *View    // all its rows
	Rows    *View    // the rows of the view; nil: see SavedView.Listed
}

// LoadView opens the commit of a saved view, in a dataset of its own. An unknown name, and an
// expired or missing commit, are errs.NotFound.
func (v Versions) LoadView(ctx context.Context, name string) (*Loaded, error) {
	d := v.d
	repo, _, err := d.repository()
	if err != nil {
		return nil, err
	}
	saved, err := repo.View(ctx, name)
	if err != nil {
		return nil, err
	}
	store, err := d.reopen(ctx)
	if err != nil {
		return nil, err
	}
	l, err := d.load(ctx, store, saved)
	if err != nil {
		_ = store.Close()
		return nil, errs.Op("load view", name).New(errs.KindOf(err), "%w", err)
	}
	return l, nil
}

// load opens the commit of v in store, which is the dataset's if there is no error.
func (d *Dataset) load(ctx context.Context, store storage.Provider, v version.View) (*Loaded, error) {
	repo, err := version.Open(ctx, store, d.env.Writer)
	if err != nil {
		return nil, err
	}
	snap, err := repo.AtPoint(ctx, format.BranchPoint{Branch: v.Branch, Version: v.Version}, v.Commit)
	if err != nil {
		return nil, err
	}
	at := newDataset(d.env, repo.Store, repo, snap, d.access())
	at.foreign = d.foreign
	at.past.Store(true)
	at.ro.Store(true)
	at.asked.At = v.Commit.String()
	l := &Loaded{Saved: savedView(v), Dataset: at}
	if l.Base, err = newView(at, snap, false); err != nil || !v.Listed {
		return l, err
	}
	l.Rows, err = l.Base.ofRuns(ctx, v.View.Rows)
	return l, err
}

// Runs of a few bytes describe any number of rows, and a list of rows takes 8 bytes of memory each.
// A list may have each row of the commit once, and repeats in proportion to the size of the stored
// object.
const (
	mostListed    = 1 << 30
	freeRepeats   = 1 << 24
	repeatsPerRun = 128
)

// listable is the number of rows that a list of runs of a commit of n rows may have.
func listable(n int64, runs int) int64 {
	return min(mostListed, n+freeRepeats+repeatsPerRun*int64(runs))
}

// checkRuns refuses runs that take too much memory. A single run of rows passes at any length.
func checkRuns(n int64, runs []format.ViewRun) error {
	if len(runs) == 1 && runs[0].Start >= 0 {
		return nil
	}
	most, total := listable(n, len(runs)), int64(0)
	for _, r := range runs {
		if r.Count > most-total {
			return errs.New(errs.Unsupported, "it lists more than %d rows in %d runs of a commit of %d rows; materialize it instead", most, len(runs), n)
		}
		total += r.Count
	}
	return nil
}

// ofRuns returns the view of runs of rows of v, which is all rows of a commit.
func (v *View) ofRuns(ctx context.Context, runs []format.ViewRun) (*View, error) {
	total := int64(0)
	for _, r := range runs {
		if r.Start >= 0 && r.Count > v.n-r.Start {
			return nil, errs.New(errs.Corrupt, "it has %d rows from row %d on, and its commit has %d rows", r.Count, r.Start, v.n)
		}
		total += r.Count
	}
	if err := checkRuns(v.n, runs); err != nil {
		return nil, err
	}
	if runs == nil {
		return v.Slice(0, 0, 1)
	}
	if len(runs) == 1 && runs[0].Start >= 0 {
		return v.Slice(runs[0].Start, runs[0].Start+runs[0].Count, 1)
	}
	rows := make([]int64, 0, total)
	for _, r := range runs {
		for i := range r.Count {
			if len(rows)%selectBlock == 0 && ctx.Err() != nil {
				return nil, errs.Cause(ctx, "select rows")
			}
			row := int64(-1)
			if r.Start >= 0 {
				row = r.Start + i
			}
			rows = append(rows, row)
		}
	}
	return v.SelectOrMissing(ctx, rows)
}

// Views lists the saved views by name.
func (v Versions) Views(ctx context.Context) ([]SavedView, error) {
	repo, _, err := v.d.repository()
	if err != nil {
		return nil, err
	}
	found, err := repo.Views(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]SavedView, len(found))
	for i, v := range found {
		out[i] = savedView(v)
	}
	return out, nil
}

// DeleteView forgets a saved view; errs.NotFound if there is none of that name.
func (v Versions) DeleteView(ctx context.Context, name string) error {
	repo, _, err := v.d.writable()
	if err != nil {
		return err
	}
	return repo.DeleteView(ctx, name)
}
