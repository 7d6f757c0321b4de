package version

import (
	"context"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// checkExpiry holds an expiry against its key.
func (r *Repo) checkExpiry(ctx context.Context, e format.Expiry) error {
	key := format.ExpiryKey(e)
	got, err := chunkmap.FetchRequired(ctx, r.Store, "read expiry", key, func(data []byte) (format.Expiry, error) {
		if r.replaced(data) {
			return e, nil // about a branch that nothing leads to
		}
		return format.DecodeExpiry(data, r.bind(key))
	})
	if err == nil && got != e {
		err = errs.Op("read expiry", key).New(errs.Corrupt, "it says branch %s below %d", got.Branch, got.Below)
	}
	return err
}

// unexpired refuses a commit that is expired: errs.NotFound. One that a tag stands for is not.
// Where nothing can be listed it is not known.
func (r *Repo) unexpired(ctx context.Context, rec *format.Record) error {
	var e format.Expiry
	var bad error
	err := List(ctx, r.Store, format.ExpiryPrefixOf(rec.Branch), "", func(o storage.Object) bool {
		e, bad = format.ParseExpiryKey(o.Key)
		return false
	})
	switch {
	case errs.Is(err, errs.Unsupported), errs.Is(err, errs.Denied):
		return nil // for who may read and not list, an expired version lacks objects
	case err != nil:
		return err
	case bad != nil:
		return bad
	case rec.Version >= e.Below:
		return nil
	}
	if err := r.checkExpiry(ctx, e); err != nil {
		return err
	}
	tags, err := r.Tags(ctx)
	if err != nil {
		return err
	}
	for _, t := range tags {
		if t.Commit == rec.UUID {
			return nil
		}
	}
	return errs.New(errs.NotFound, "open version %d (commit %s) of dataset %q: it is expired, as a gc was told to keep no version of its branch below %d that has no tag; open a newer one, see log()",
		rec.Version, rec.UUID, r.Store.URI(), e.Below)
}
