package version

import (
	"context"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// Objects gives package maintain the stored objects of a dataset, and the rules for them. It is
// valid as long as its Repo.
type Objects struct{ repo *Repo }

// Objects returns the objects of r.
func (r *Repo) Objects() Objects { return Objects{r} }

// Bind returns the binding of the object under key.
func (o Objects) Bind(key string) format.Binding { return o.repo.bind(key) }

// Record reads the commit at a point.
func (o Objects) Record(ctx context.Context, p format.BranchPoint) (*format.Record, error) {
	return o.repo.recordAt(ctx, p)
}

// Head reads the head of a branch under key. A left-over of a replaced dataset counts as deleted.
func (o Objects) Head(ctx context.Context, key string) (format.Head, error) {
	return o.repo.readHead(ctx, key)
}

// View reads the n-th object of a saved view's name.
func (o Objects) View(ctx context.Context, name string, n uint64) (View, error) {
	return o.repo.viewAt(ctx, name, n)
}

// CheckExpiry compares an expiry with its key.
func (o Objects) CheckExpiry(ctx context.Context, e format.Expiry) error {
	return o.repo.checkExpiry(ctx, e)
}

// Same refuses work where another dataset has taken the place of this one: errs.Conflict.
func (o Objects) Same(ctx context.Context, op string) error { return o.repo.same(ctx, op) }

// Replaced reports whether a named object or a record belongs to a dataset that this one replaced.
func (o Objects) Replaced(data []byte) bool { return o.repo.replaced(data) }

// Unreplaced drops the named objects of replaced datasets.
func (o Objects) Unreplaced(ctx context.Context, named []storage.Object) ([]storage.Object, error) {
	return o.repo.unreplaced(ctx, named)
}

// RemoveLeftovers removes the named objects and records of replaced datasets; with dry it counts
// them.
func (o Objects) RemoveLeftovers(ctx context.Context, dry bool) (objects, size int64, err error) {
	return o.repo.removeLeftovers(ctx, dry)
}

// Time returns the time by the clock that dates objects; see Repo.Now. With dry it writes no probe.
func (o Objects) Time(ctx context.Context, op string, dry bool) (time.Time, error) {
	return o.repo.storeTime(ctx, op, dry)
}

// CopyInto writes the commit at as the first one of a new dataset in dst, which has its pages and
// chunks. It returns the tsf.json of that dataset, which the caller writes.
func (o Objects) CopyInto(ctx context.Context, at *Snapshot, dst storage.Provider, message, author string) (format.TSF, error) {
	return o.repo.copyInto(ctx, at, dst, message, author)
}

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

// unexpired refuses a commit that is expired: errs.NotFound. One that a tag stands for is not, nor
// one that a lease keeps. Where nothing can be listed it is not known.
func (r *Repo) unexpired(ctx context.Context, rec *format.Record) error {
	return r.notExpired(ctx, format.BranchPoint{Branch: rec.Branch, Version: rec.Version}, rec.UUID, format.UUID{})
}

// notExpired is unexpired for the commit at p. The lease of the write own does not count.
func (r *Repo) notExpired(ctx context.Context, p format.BranchPoint, commit, own format.UUID) error {
	var e format.Expiry
	var bad error
	err := List(ctx, r.Store, format.ExpiryPrefixOf(p.Branch), "", func(o storage.Object) bool {
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
	case p.Version >= e.Below:
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
		if t.Commit == commit {
			return nil
		}
	}
	if kept, err := r.leased(ctx, p, own); err != nil || kept {
		return err
	}
	return errs.New(errs.NotFound, "open version %d (commit %s) of dataset %q: it is expired, as a gc was told to keep no version of its branch below %d that has no tag; open a newer one, see log()",
		p.Version, commit, r.Store.URI(), e.Below)
}
