package version

import (
	"context"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// View is a saved view by name.
type View struct {
	Name string
	format.View
}

// newestView reads the newest object about a name: its number is next-1. Without one, next is 0.
func (r *Repo) newestView(ctx context.Context, name string) (v View, next uint64, err error) {
	if next, err = r.nextNumber(ctx, format.ViewsPrefix(), format.ViewAfter(name), format.ParseViewKey, func(n uint64) string { return format.ViewKey(name, n) }); err != nil || next == 0 {
		return v, next, err
	}
	v, err = r.viewAt(ctx, name, next-1)
	return v, next, err
}

func (r *Repo) viewAt(ctx context.Context, name string, n uint64) (View, error) {
	key := format.ViewKey(name, n)
	look := func() error { return stopped(ctx, "read saved view") }
	v, err := chunkmap.FetchRequired(ctx, r.Store, "read saved view", key, func(data []byte) (format.View, error) {
		if r.replaced(data) {
			return format.View{Deleted: true}, nil
		}
		return format.DecodeViewWhile(data, r.bind(key), look)
	})
	if canceled := stopped(ctx, "read saved view"); canceled != nil {
		return View{}, canceled
	}
	return View{name, v}, err
}

// stopped is errs.Canceled once the caller has given up.
func stopped(ctx context.Context, op string) error {
	if ctx.Err() == nil {
		return nil
	}
	return errs.Cause(ctx, op)
}

// SaveView gives a view a name. One of that name is errs.Exists, unless it is to be replaced: then
// the new one counts from then on. Of several at a time the last one counts.
func (r *Repo) SaveView(ctx context.Context, name string, v format.View, replace bool) error {
	if err := format.CheckRefName(name); err != nil {
		return errs.Wrap(errs.Invalid, "save view", name, err)
	}
	g := r.sameBeside(ctx, "save view in")
	for range refTries {
		old, next, err := r.newestView(ctx, name)
		if changed := g.Wait(); changed != nil {
			return changed
		}
		if err != nil {
			return err
		}
		if next > 0 && !old.Deleted && !replace {
			return errs.Op("save view", name).New(errs.Exists, "it exists in dataset %q; replace it, or take another name", r.Store.URI())
		}
		key := format.ViewKey(name, next)
		data, err := format.EncodeViewWhile(v, r.bind(key), func() error { return stopped(ctx, "save view") })
		if err != nil {
			return errs.Wrap(errs.Invalid, "save view", name, err)
		}
		if err := PutOurs(ctx, r.Store, key, data); !errs.Is(err, errs.Exists) {
			return err
		}
	}
	return errs.Op("save view", name).New(errs.Conflict, "others go on saving it in dataset %q; try again", r.Store.URI())
}

// View reads a saved view; errs.NotFound if there is none of that name.
func (r *Repo) View(ctx context.Context, name string) (View, error) {
	if err := format.CheckRefName(name); err != nil {
		return View{}, errs.Wrap(errs.Invalid, "load view", name, err)
	}
	v, next, err := r.newestView(ctx, name)
	if err != nil {
		return View{}, err
	}
	if next == 0 || v.Deleted {
		return View{}, r.noSuchView(ctx, "load view", name)
	}
	return v, nil
}

func (r *Repo) noSuchView(ctx context.Context, op, name string) error {
	views, err := r.Views(ctx)
	if err != nil && !errs.Is(err, errs.Unsupported) {
		return err
	}
	names := make([]string, len(views))
	for i, v := range views {
		names[i] = v.Name
	}
	if len(names) == 0 {
		return errs.Op(op, name).New(errs.NotFound, "dataset %q has none of that name", r.Store.URI())
	}
	return errs.Op(op, name).New(errs.NotFound, "dataset %q has none of that name; its saved views are %s%s", r.Store.URI(), quoted(names), errs.Suggest(name, names))
}

// Views lists the saved views by name.
func (r *Repo) Views(ctx context.Context) ([]View, error) {
	last := map[string]uint64{}
	var bad error
	if err := List(ctx, r.Store, format.ViewsPrefix(), "", func(o storage.Object) bool {
		name, n, err := format.ParseViewKey(o.Key)
		if bad = err; err == nil {
			last[name] = max(last[name], n)
		}
		return err == nil
	}); err != nil {
		return nil, err
	}
	if bad != nil {
		return nil, bad
	}
	names := make([]string, 0, len(last))
	for name := range last {
		names = append(names, name)
	}
	slices.Sort(names)
	views := make([]View, len(names))
	g := task.New(ctx, RefsInFlight)
	for i, name := range names {
		g.Go(func(ctx context.Context) (err error) {
			views[i], err = r.viewAt(ctx, name, last[name])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(views, func(v View) bool { return v.Deleted }), nil
}

// DeleteView takes a name away from a saved view; errs.NotFound if there is none. The name may be
// given again.
func (r *Repo) DeleteView(ctx context.Context, name string) error {
	if err := format.CheckRefName(name); err != nil {
		return errs.Wrap(errs.Invalid, "delete view", name, err)
	}
	g := r.sameBeside(ctx, "delete view of")
	for range refTries {
		v, next, err := r.newestView(ctx, name)
		if changed := g.Wait(); changed != nil {
			return changed
		}
		if err != nil {
			return err
		}
		if next == 0 || v.Deleted {
			return r.noSuchView(ctx, "delete view", name)
		}
		key := format.ViewKey(name, next)
		gone, err := format.EncodeView(format.View{Deleted: true}, r.bind(key))
		if err != nil {
			return err
		}
		if err := PutOurs(ctx, r.Store, key, gone); !errs.Is(err, errs.Exists) {
			return err
		}
	}
	return errs.Op("delete view", name).New(errs.Conflict, "others go on saving it in dataset %q; try again", r.Store.URI())
}

// AtPoint is the commit at a place, whose uuid is known; errs.NotFound if it is expired, or if no
// branch or tag leads to it, as then a gc may have removed its objects.
func (r *Repo) AtPoint(ctx context.Context, p format.BranchPoint, commit format.UUID) (*Snapshot, error) {
	rec, err := r.recordAt(ctx, p)
	if errs.Is(err, errs.NotFound) {
		return nil, errs.New(errs.NotFound, "version %d of branch %s is not in dataset %q any more", p.Version, p.Branch, r.Store.URI())
	}
	if err != nil {
		return nil, err
	}
	if rec.UUID != commit {
		return nil, errs.New(errs.Corrupt, "version %d of branch %s is commit %s, want %s", p.Version, p.Branch, rec.UUID, commit)
	}
	if err := r.unexpired(ctx, rec); err != nil {
		return nil, err
	}
	if err := r.reached(ctx, rec); err != nil {
		return nil, err
	}
	return r.load(ctx, rec)
}

// reached refuses a commit of a deleted branch, unless a tag, or a merge of another branch, leads
// to it. Where nothing can be listed it is not known.
func (r *Repo) reached(ctx context.Context, rec *format.Record) error {
	if rec.Branch == r.TSF.Main {
		return nil
	}
	branches, err := r.Branches(ctx)
	if errs.Is(err, errs.Unsupported) || errs.Is(err, errs.Denied) {
		return nil
	}
	if err != nil || slices.ContainsFunc(branches, func(b Branch) bool { return b.ID == rec.Branch }) {
		return err
	}
	found, err := r.atPrefix(ctx, rec.UUID.String())
	if err == nil && found == nil {
		err = errs.New(errs.NotFound, "open version %d (commit %s) of dataset %q: its branch was deleted, and no other branch or tag has it; tag the versions that must stay", rec.Version, rec.UUID, r.Store.URI())
	}
	return err
}
