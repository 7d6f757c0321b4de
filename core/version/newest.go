package version

import (
	"context"
	"math"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
)

// hintEvery is the number of commits from one hint to the next: readers look some steps behind a
// hint anyway.
const hintEvery = 64

// hint stores the number of the commit before rec, which stands, beside other writes of rec. No
// write waits for it. A hint that is not written, or is overwritten by an older one, costs readers
// a few requests.
func (r *Repo) hint(g *task.Group, rec *format.Record) {
	if rec.Version == 0 || rec.Version%hintEvery != 0 {
		return
	}
	g.Go(func(ctx context.Context) error {
		_ = r.Store.Put(ctx, format.HintKey(rec.Branch), format.EncodeHint(rec.Version-1))
		return nil
	})
}

// seek finds the newest commit of a store that does not list, from the hint on.
func (r *Repo) seek(ctx context.Context) (*format.Record, error) {
	from, _ := r.hinted(ctx)
	var newest *format.Record
	_, err := r.lastNumber(ctx, from, func(ctx context.Context, n uint64) error {
		rec, err := r.record(ctx, n)
		if err == nil && (newest == nil || newest.Version < n) {
			newest = rec
		}
		return err
	})
	if err == nil && newest == nil {
		err = r.noCommit(ctx)
	}
	return newest, err
}

// hinted is the number that the hint names, 0 without one that can be read.
func (r *Repo) hinted(ctx context.Context) (uint64, bool) {
	data, err := r.Store.Get(ctx, format.HintKey(r.branch))
	if err != nil {
		return 0, false
	}
	n, err := format.DecodeHint(data)
	return n, err == nil
}

// near finds the number of the newest commit from a hint whose commit stands, in a store where a
// look at an object costs less than to list a directory: a local disk reads all names of a
// directory to find the first. found is false where the hint does not help. Numbers have no gaps,
// so any hint leads to the answer of a listing. Where damage has made a gap, near requests the
// listing.
func (r *Repo) near(ctx context.Context) (version uint64, found bool, err error) {
	from, ok := r.hinted(ctx)
	if !ok {
		return 0, false, nil
	}
	var first [1]byte
	look := func(ctx context.Context, n uint64) error {
		err := r.Store.ReadAt(ctx, format.RecordKey(r.branch, n), first[:], 0)
		if errs.Is(err, errs.Corrupt) {
			return nil // it is there, and empty: reading it says so
		}
		return err
	}
	if err := look(ctx, from); err != nil {
		return 0, false, nil // the caller lists the records then, and reports a failure
	}
	last, err := r.lastNumber(ctx, from, look)
	if err != nil || last < 0 {
		return 0, false, err
	}
	version = uint64(last)
	for step := uint64(2); step <= hintEvery; step *= 2 {
		if look(ctx, version+step) == nil && look(ctx, version+1) != nil {
			return 0, false, nil // a record was lost: a commit must not take its number
		}
	}
	return version, true, nil
}

// lastNumber returns the last number for which read succeeds, -1 if there is none. Numbers are
// taken from 0 on without a gap. It searches upwards from a number that may be taken, in steps that
// grow and then shrink. A store that hides unlisted objects answers that a missing one must not be
// read.
func (r *Repo) lastNumber(ctx context.Context, from uint64, read func(ctx context.Context, n uint64) error) (int64, error) {
	var hidden error
	taken := func(n uint64) (bool, error) {
		err := read(ctx, n)
		if errs.Is(err, errs.Denied) {
			hidden, err = err, nil
			return false, err
		}
		if errs.Is(err, errs.NotFound) {
			return false, nil
		}
		return err == nil, err
	}
	lo, err := r.lowest(from, taken)
	switch {
	case err != nil:
		return 0, err
	case lo < 0 && hidden != nil:
		return 0, hidden
	case lo < 0:
		return lo, nil
	}
	hi := int64(math.MaxInt64) // lo is taken, hi is not
	for step := int64(1); lo+1 < hi; {
		at := lo + (hi-lo)/2 // once hi is known
		if hi == math.MaxInt64 {
			at = lo + min(step, (hi-lo)/2)
			step = min(2*step, 1<<32)
		}
		found, err := taken(uint64(at))
		if err != nil {
			return 0, err
		}
		if found {
			lo = at
		} else {
			hi = at
		}
	}
	if hidden != nil { // or the permission has ended meanwhile
		if _, err := r.Store.Get(ctx, format.TSFKey()); err != nil {
			return 0, errs.Wrap(errs.Denied, "open dataset", r.Store.URI(), hidden)
		}
	}
	return lo, nil
}

// lowest is from if that is taken, else 0, else -1.
func (*Repo) lowest(from uint64, taken func(uint64) (bool, error)) (int64, error) {
	for _, n := range []uint64{from, 0} {
		if n > math.MaxInt64 {
			continue
		}
		if found, err := taken(n); err != nil || found {
			return int64(n), err
		}
		if from == 0 {
			break
		}
	}
	return -1, nil
}
