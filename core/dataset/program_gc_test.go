package dataset

import (
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// gc keeps reachable objects, and objects younger than a week. Now and then it expires versions.
func (w *world) gc(h *handle, s step) error {
	const late = 6 * 24 // hours
	for _, other := range w.handles {
		changed := !other.pend.empty() && w.hour.Load()-other.since > late
		past, passed := w.past[other.base]
		stale := passed && w.hour.Load()-past > late
		if !changed && !stale {
			continue
		}
		faults := other.faults
		faults.SetPlan(nil)
		other.pend = newPending()
		if err := other.d.Discard(w.ctx); err != nil {
			return err
		}
		if err := other.d.Refresh(w.ctx); err != nil {
			return err
		}
		other.base = w.heads[other.branch]
	}
	o := maintain.GCOptions{OlderThan: version.GCGrace}
	if s.b%2 == 0 {
		w.expires = true
		o.Expire = &maintain.Retention{Last: int(s.b>>1) % 4}
		if err := w.expireTo(max(1, o.Expire.Last)); err != nil {
			return err
		}
	}
	_, err := h.d.Versions().GC(w.ctx, o)
	return failed(err, s)
}

// mayBeExpired reports whether err says so, of a handle at a commit of which that may be true.
func (w *world) mayBeExpired(h *handle, err error) bool {
	_, passed := w.past[h.base]
	return w.expires && passed && errs.Is(err, errs.NotFound)
}

// expireTo notes that all but the last versions of each branch may be expired from now on.
func (w *world) expireTo(last int) error {
	for branch := range w.heads {
		d, err := Open(w.ctx, w.env(nil), "mem://d", OpenOptions{Branch: branch})
		if err != nil {
			return err
		}
		if n := int(d.head.Record.Version) + 1; n > last {
			w.below[branch] = max(w.below[branch], uint64(n-last))
		}
		_ = d.Close()
	}
	return nil
}

// checkPast opens every version of every branch: each has its expected rows, or is expired.
// Versions that no gc expired are readable.
func (w *world) checkPast() error {
	for branch := range w.heads {
		d, err := Open(w.ctx, w.env(nil), "mem://d", OpenOptions{Branch: branch})
		if err != nil {
			return err
		}
		err = w.checkVersions(d, branch)
		_ = d.Close()
		if err != nil {
			return fmt.Errorf("branch %q: %w", branch, err)
		}
	}
	return nil
}

func (w *world) checkVersions(d *Dataset, branch string) error {
	want := w.heads[branch]
	for v := int(d.head.Record.Version); v >= 0; v-- {
		what := fmt.Sprintf("version %d", v)
		at, err := Open(w.ctx, w.env(nil), "mem://d", OpenOptions{Branch: branch, At: fmt.Sprint(v)})
		switch {
		case errs.Is(err, errs.NotFound) && uint64(v) < w.below[branch]:
		case err != nil:
			return fmt.Errorf("%s, none below %d was to be expired: %w", what, w.below[branch], err)
		default:
			empty := wantCommit{} // the version that the creation makes
			c := &empty
			if want >= 0 {
				c = &w.commits[want]
			}
			err = shows(w.ctx, at, c, what)
			_ = at.Close()
			if err != nil {
				return err
			}
		}
		if want >= 0 && len(w.commits[want].parents) > 0 {
			want = w.commits[want].parents[0]
		} else {
			want = -1
		}
	}
	return nil
}
