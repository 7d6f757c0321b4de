package session

import (
	"context"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/scan"
)

// Save saves the view in ds under a name, with the query that it is the result of and the
// parameters of that. With replace it takes the place of a saved view of that name.
func (v *View) Save(ctx context.Context, ds *dataset.Dataset, name string, replace bool) error {
	var spec scan.QuerySpec
	if v.spec != nil {
		params, err := v.spec.document()
		if err != nil {
			return errs.Op("save view", name).New(errs.KindOf(err), "%w", err)
		}
		spec = scan.QuerySpec{Query: v.spec.plan.Text(), Params: params, Seed: v.spec.seed}
		if err := v.spec.canRepeat(v.result, name); err != nil {
			return err
		}
	}
	return v.table().Save(ctx, ds, name, spec, replace)
}

// canRepeat refuses to save computed columns of anything but all rows of a commit: only such a
// query can be asked again.
func (c *checked) canRepeat(r *scan.Result, name string) error {
	if _, plain := r.View(); plain || (c.view != nil && c.view.whole()) {
		return nil
	}
	return errs.Op("save view", name).New(errs.Unsupported, "it is computed from a part of the rows, or from a result; ask the dataset itself, or materialize it")
}

// Load loads a saved view at its commit. A query that must run again has its saved text, seed and
// parameters, and takes the rest from q. The caller closes the view, before or after ds.
func (s *Session) Load(ctx context.Context, ds *dataset.Dataset, name string, q *Query) (*View, Info, error) {
	var c *checked
	var done *query.Result
	r, at, err := scan.Load(ctx, ds, name, func(ctx context.Context, base *dataset.View, saved dataset.SavedView) (*scan.Result, error) {
		again := *q
		again.Text, again.Seed, again.Stored = saved.Query, saved.Seed, true
		params, err := parseParams(saved.Params)
		if err != nil {
			return nil, errs.New(errs.Corrupt, "%w", err)
		}
		params.give(&again)
		if c, err = s.prepare(ctx, NewView(base), &again); err != nil {
			return nil, err
		}
		var r *scan.Result
		r, done, err = c.run(ctx, s.env)
		return r, err
	})
	of := newShare(&share{})
	if c != nil {
		of = c.share
	}
	if err != nil {
		of.leave()
		return nil, Info{}, err
	}
	of.dataset = at
	v := viewOfResult(r, of)
	info := Info{URI: ds.URI()}
	if c != nil {
		v.spec, v.done = c, &done.Done
		info = c.resultInfo(r, done.Outputs)
	}
	return v, info, nil
}

// Copy sets the target of Materialize.
type Copy = scan.Copy

// Materialize copies the rows of a view into a new dataset. After a failure there is none.
func (s *Session) Materialize(ctx context.Context, v *View, to Copy) error {
	return v.table().Materialize(ctx, s.env, to)
}
