package maintain

import (
	"context"
	"sort"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version"
)

// Retention says which versions are kept. A version that another one of its branch has followed is
// kept as long as that other one is younger than Age: so each state of a branch since then can be
// opened. A version that another branch left, or that a merge took in, is not kept for that reason:
// only the parts stay that merges need.
type Retention struct {
	Age  time.Duration
	Last int // the newest versions of each branch that are kept in any case; 0 is 1, the head
}

// boundary is the limit of the expired versions of a branch.
type boundary struct {
	below uint64 // the versions below are expired
	// the versions below were so before the grace period began: what only they need may go
	ripe uint64
}

// boundaries are the expiries of a dataset, by branch.
type boundaries map[format.UUID]boundary

// below gives the limits for readers, ripe those for what removes.
func (b boundaries) below() map[format.UUID]uint64 {
	out := map[format.UUID]uint64{}
	for id, at := range b {
		out[id] = at.below
	}
	return out
}

func (b boundaries) ripe() map[format.UUID]uint64 {
	out := map[format.UUID]uint64{}
	for id, at := range b {
		if at.ripe > 0 {
			out[id] = at.ripe
		}
	}
	return out
}

// expiries reads the expiries of all branches. It reads the content of those that count, since a
// listing has no checksum. An expiry is ripe if it is older than before, by the clock of the store.
// With all, every expiry is ripe.
func expiries(ctx context.Context, r *version.Repo, before time.Time, all bool, bad func(name, key string, err error) error) (boundaries, error) {
	if bad == nil {
		bad = func(_, _ string, err error) error { return err }
	}
	found := boundaries{}
	var check []format.Expiry
	var failed error
	if err := version.List(ctx, r.Store, format.ExpiryPrefix(), "", func(o storage.Object) bool {
		e, err := format.ParseExpiryKey(o.Key)
		if err != nil {
			failed = bad(o.Key, o.Key, err)
			return failed == nil
		}
		at := found[e.Branch]
		ripe := all || !o.Modified.IsZero() && o.Modified.Before(before)
		if e.Below > at.below || ripe && e.Below > at.ripe {
			check = append(check, e)
		}
		at.below = max(at.below, e.Below)
		if ripe {
			at.ripe = max(at.ripe, e.Below)
		}
		found[e.Branch] = at
		return true
	}); err != nil {
		return nil, err
	}
	errors := make([]error, len(check))
	g := task.New(ctx, version.RefsInFlight)
	for i, e := range check {
		g.Go(func(ctx context.Context) error {
			errors[i] = r.Objects().CheckExpiry(ctx, e)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, err := range errors {
		if err != nil && failed == nil {
			failed = bad("expiry", format.ExpiryKey(check[i]), err)
		}
	}
	return found, failed
}

// superseded says how far a retention expires the versions of each branch that a walk has seen.
// Branches whose names were taken away a short time ago are left alone; of one that has none, as
// only merges and branches that left it lead to it, there is no head to keep.
func (w *marker) superseded(tips []root, keep Retention, now time.Time) map[format.UUID]uint64 {
	heads, gone := map[format.UUID]bool{}, map[format.UUID]bool{}
	for _, t := range tips {
		switch {
		case t.head && t.gone:
			gone[t.branch] = true
		case t.head:
			heads[t.branch] = true
		}
	}
	out := map[format.UUID]uint64{}
	for id, times := range w.times {
		n := len(times)
		old := func(v int) bool { // the first version for which it is not, is kept
			return keep.Age == 0 || !times[min(v+1, n-1)].After(now.Add(-keep.Age))
		}
		last := n
		switch {
		case heads[id]:
			last = n - max(1, keep.Last)
		case gone[id]:
			continue
		}
		if below := sort.Search(max(0, last), func(v int) bool { return !old(v) }); below > 0 {
			out[id] = uint64(below)
		}
	}
	return out
}

// expire stores the limits of a retention beyond those that are known, and returns them with the
// number of versions that they expire. A stored limit is never taken back.
func expire(ctx context.Context, r *version.Repo, w *marker, limits map[format.UUID]uint64, known boundaries, dry bool) (boundaries, int64, error) {
	fresh, versions := boundaries{}, int64(0)
	g := task.New(ctx, version.RefsInFlight)
	for id, below := range limits {
		was := known[id].below
		if below <= was {
			continue
		}
		fresh[id] = boundary{below, below}
		for v := was; v < below; v++ {
			if p := (format.BranchPoint{Branch: id, Version: v}); !w.named[p] && !w.leased[p] {
				versions++
			}
		}
		if dry {
			continue
		}
		g.Go(func(ctx context.Context) error {
			e := format.Expiry{Branch: id, Below: below}
			data, err := format.EncodeExpiry(e, r.Objects().Bind(format.ExpiryKey(e)))
			if err != nil {
				return err
			}
			return errs.Wrap(errs.Storage, "gc of", r.Store.URI(), version.PutOurs(ctx, r.Store, format.ExpiryKey(e), data))
		})
	}
	return fresh, versions, g.Wait()
}
