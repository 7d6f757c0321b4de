// Package target owns what every import does with the dataset that it fills: opening that of an
// earlier run, the member of its info with the state of the import, and removing one that got no
// commit. It knows no source and no format.
package target

import (
	"cmp"
	"context"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
)

// StateKey is the member of a dataset's info that holds the state of an import.
const StateKey = "ingest"

// Open opens the dataset of an earlier run. It returns nil if there is none. A cancellation of ctx
// does not end the dataset.
func Open(ctx context.Context, env *dataset.Env, place string, o storage.Options) (*dataset.Dataset, error) {
	d, err := dataset.Open(context.WithoutCancel(ctx), env, place, dataset.OpenOptions{Storage: o})
	if errs.Is(err, errs.NotFound) {
		return nil, nil //nolint:nilnil // as documented
	}
	return d, err
}

// Withdraw gives up the replacement of another dataset, if it has no commit yet. It returns err,
// with a note if the old dataset remains.
func Withdraw(ctx context.Context, d *dataset.Dataset, err error) error {
	if waits, failed := d.Withdraw(ctx); waits && failed == nil {
		return stays(err)
	}
	return err
}

// Remove removes a dataset that an import has made and not committed, or withdraws it if it was to
// replace another one, and closes it. It returns err, with a note if the old dataset remains, or
// the error of the removal.
func Remove(ctx context.Context, env *dataset.Env, d *dataset.Dataset, place string, o storage.Options, err error) error {
	waits, gone := d.Withdraw(ctx)
	_ = d.Close()
	switch {
	case gone != nil:
		return gone
	case waits:
		return stays(err)
	}
	return cmp.Or(dataset.Delete(ctx, env, place, o), err)
}

func stays(err error) error {
	return errs.New(errs.KindOf(err), "%w; the dataset that it was to overwrite is still there", err)
}
