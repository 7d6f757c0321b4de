package version

import (
	"context"
	"time"

	"deeplake/core/format"
	"deeplake/core/storage"
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
