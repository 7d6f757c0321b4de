package maintain

import (
	"context"
	"errors"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version"
)

// GCOptions are the options of GC.
type GCOptions struct {
	// OlderThan is the least age of removed objects, by the clock of the store. 0 removes every
	// object that no commit names now, which is right only while there is no writer.
	OlderThan time.Duration
	Expire    *Retention // nil: expires no more versions
	DryRun    bool       // remove and expire nothing
	// Progress, if not nil, counts the commits that were read, then the objects of the listing.
	Progress *version.Progress
}

// GCReport says what GC did, or with DryRun would do.
type GCReport struct {
	DryRun    bool  `json:"dry_run"`
	Objects   int64 `json:"objects"` // removed
	Bytes     int64 `json:"bytes"`
	TempFiles int64 `json:"temp_files"` // removed besides: what killed writers left
	TempBytes int64 `json:"temp_bytes"`
	// no commit names them, but they may belong to one that is being made
	Young     int64 `json:"young"`
	YoungSize int64 `json:"young_bytes"`
	Expired   int64 `json:"expired"` // versions that this run has expired
	Commits   int64 `json:"commits"` // kept, with all that they name
	Kept      int64 `json:"kept"`    // objects that they name
	KeptBytes int64 `json:"kept_bytes"`
}

// GC removes objects older than the grace period that no commit of a branch or a tag names. These
// are objects of writers that never committed, of branches deleted that long ago, and of versions
// expired that long ago. It never removes commit records, their operations, or objects of old
// commits that merges need.
//
// With o.Expire it first expires versions. They cannot be opened from then on; readers that have
// one open may go on for the grace period. GC leaves a damaged dataset alone. After an error some
// garbage may be removed, or some branches may have expired versions. Nothing else changes.
func GC(ctx context.Context, r *version.Repo, o GCOptions) (GCReport, error) {
	report := GCReport{DryRun: o.DryRun}
	if o.OlderThan < 0 {
		return report, errs.Op("gc", "").New(errs.Invalid, "older_than is %s, want 0 or more", o.OlderThan)
	}
	if e := o.Expire; e != nil && (e.Age < 0 || e.Last < 0) {
		return report, errs.Op("gc", "").New(errs.Invalid, "expire is %s and keep_last %d, want 0 or more", e.Age, e.Last)
	}
	now, err := r.Objects().Time(ctx, "gc of", o.DryRun)
	if err != nil {
		return report, err
	}
	before := now.Add(-o.OlderThan)
	if err := r.Objects().Same(ctx, "gc of"); err != nil {
		return report, err
	}
	leased, err := r.Objects().Leases(ctx, now)
	if err != nil {
		return report, err
	}
	if report.Objects, report.Bytes, err = r.Objects().RemoveLeftovers(ctx, o.DryRun); err != nil {
		return report, errs.Wrap(errs.Storage, "gc of", r.Store.URI(), err)
	}
	w, err := kept(ctx, r, o, now, leased.Bases, &report)
	var late *expireError
	if errors.As(err, &late) {
		return report, errs.Op("gc of", r.Store.URI()).New(errs.KindOf(err), "some versions may be expired already, no object was removed: %w", late.err)
	}
	if err != nil {
		return report, errs.Op("gc of", r.Store.URI()).New(errs.KindOf(err), "nothing was removed, as not all that is in use can be read; fsck() says more: %w", err)
	}
	report.Commits = w.kept
	// The objects of another dataset were not visited.
	if err := r.Objects().Same(ctx, "gc of"); err != nil {
		return report, err
	}
	s := &sweep{repo: r, marker: w, before: before, leased: leased.Oldest, all: o.OlderThan == 0, report: &report, progress: o.Progress}
	if err := s.leases(ctx, leased.Ended); err != nil {
		return report, err
	}
	for _, prefix := range []string{"data/", "map/", "txn/"} {
		if err := s.prefix(ctx, prefix); err != nil {
			return report, err
		}
	}
	if sw, ok := storage.As[storage.Sweeper](r.Store); ok {
		report.TempFiles, report.TempBytes, err = sw.Sweep(ctx, before, o.DryRun)
	}
	return report, err
}

// expireError is a failure to write down what expires.
type expireError struct{ err error }

func (e *expireError) Error() string { return e.err.Error() }
func (e *expireError) Unwrap() error { return e.err }

// kept expires versions as o says, and visits every object to keep: those that the branches and
// tags of now name, those that were deleted within the grace period, without versions expired
// before it, and those of leased commits.
func kept(ctx context.Context, r *version.Repo, o GCOptions, now time.Time, leased []format.BranchPoint, report *GCReport) (*marker, error) {
	before := now.Add(-o.OlderThan)
	known, err := expiries(ctx, r, before, o.OlderThan == 0, nil)
	if err != nil {
		return nil, err
	}
	tips, err := roots(ctx, r, before, o.OlderThan == 0, nil)
	if err != nil {
		return nil, err
	}
	bases, err := basesOf(ctx, r, leased)
	if err != nil {
		return nil, err
	}
	tips = append(tips, bases...)
	w := newMarker(r)
	w.expired, w.ripe, w.progress = known.below(), known.ripe(), o.Progress
	if o.Expire != nil {
		w.times = map[format.UUID][]time.Time{}
	}
	if err := w.markAll(ctx, tips); err != nil || o.Expire == nil {
		return w, err
	}
	fresh, versions, err := expire(ctx, r, w, w.superseded(tips, *o.Expire, now), known, o.DryRun)
	report.Expired = versions
	if err != nil {
		err = &expireError{err}
	}
	if err != nil || o.OlderThan > 0 || len(fresh) == 0 {
		return w, err
	}
	// Without a grace period, versions expired now go now, but for the base of a write that has
	// begun since the leases were read. A write that begins later finds its base expired.
	since, err := r.Objects().Leases(ctx, now)
	if err != nil {
		return nil, err
	}
	if bases, err = basesOf(ctx, r, since.Bases); err != nil {
		return nil, err
	}
	again := newMarker(r)
	again.expired = w.expired
	for id, at := range fresh {
		again.expired[id] = at.ripe
	}
	again.ripe = again.expired
	return again, again.markAll(ctx, append(tips, bases...))
}

// sweep removes the objects of a listing that a walk has not reached.
type sweep struct {
	repo   *version.Repo
	marker *marker
	before time.Time
	leased time.Time // younger objects may be of a write that goes on; zero: there is none
	all    bool      // there is no grace
	report *GCReport

	progress *version.Progress

	session string           // whose chunks are being listed
	young   bool             // one of them is young: the writer may be at it still
	pending []storage.Object // unreached old ones of the session
	doomed  []string
}

func (s *sweep) prefix(ctx context.Context, prefix string) error {
	g := task.New(ctx, version.DeletesInFlight)
	err := version.List(ctx, s.repo.Store, prefix, "", func(o storage.Object) bool {
		s.look(o, prefix == "data/")
		for len(s.doomed) >= version.DeleteBatch {
			s.remove(g, s.doomed[:version.DeleteBatch])
			s.doomed = s.doomed[version.DeleteBatch:]
		}
		return g.Context().Err() == nil
	})
	if err == nil {
		s.settle()
		for len(s.doomed) > 0 {
			n := min(len(s.doomed), version.DeleteBatch)
			s.remove(g, s.doomed[:n])
			s.doomed = s.doomed[n:]
		}
	}
	if failed := g.Wait(); failed != nil {
		return failed
	}
	return err
}

// leases removes leases that have ended.
func (s *sweep) leases(ctx context.Context, ended []storage.Object) error {
	var keys []string
	for _, o := range ended {
		keys = append(keys, o.Key)
		s.report.Objects++
		s.report.Bytes += o.Size
	}
	if s.report.DryRun || len(keys) == 0 {
		return nil
	}
	return errs.Wrap(errs.Storage, "gc of", s.repo.Store.URI(), s.repo.Store.Delete(ctx, keys...))
}

// look decides about one object; of a chunk not before all of its session are seen.
func (s *sweep) look(o storage.Object, chunk bool) {
	if chunk {
		session, _, _ := format.ParseDataKey(o.Key)
		if id := session.String(); id != s.session {
			s.settle()
			s.session = id
		}
	}
	s.progress.Did(1, o.Size)
	young := !s.all && (o.Modified.IsZero() || !o.Modified.Before(s.before)) ||
		!s.leased.IsZero() && (o.Modified.IsZero() || !o.Modified.Before(s.leased))
	switch {
	case s.marker.marked(o.Key):
		s.report.Kept++
		s.report.KeptBytes += o.Size
		s.young = s.young || young
	case young:
		s.report.Young++
		s.report.YoungSize += o.Size
		s.young = true
	default:
		s.pending = append(s.pending, o)
	}
	if !chunk {
		s.young = false
		s.settle()
	}
}

// settle dooms the pending objects, unless their session is young.
func (s *sweep) settle() {
	for _, o := range s.pending {
		if s.young {
			s.report.Young++
			s.report.YoungSize += o.Size
			continue
		}
		s.report.Objects++
		s.report.Bytes += o.Size
		s.doomed = append(s.doomed, o.Key)
	}
	s.pending, s.young = s.pending[:0], false
}

// remove deletes keys beside the listing.
func (s *sweep) remove(g *task.Group, keys []string) {
	if s.report.DryRun {
		return
	}
	g.Go(func(ctx context.Context) error {
		return errs.Wrap(errs.Storage, "gc of", s.repo.Store.URI(), s.repo.Store.Delete(ctx, keys...))
	})
}
