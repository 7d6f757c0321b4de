package dataset

import (
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/version"
)

// gc keeps all that can be reached, and what is younger than a week. Now and then it is told to expire versions.
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
	o := version.GCOptions{OlderThan: version.GCGrace}
	if s.b%2 == 0 {
		w.expires = true
		o.Expire = &version.Retention{Last: int(s.b>>1) % 4}
	}
	_, err := h.d.Versions().GC(w.ctx, o)
	return failed(err, s)
}

// mayBeExpired reports whether err says so, of a handle at a commit of which that may be true.
func (w *world) mayBeExpired(h *handle, err error) bool {
	_, passed := w.past[h.base]
	return w.expires && passed && errs.Is(err, errs.NotFound)
}

// checkPast opens every version of every branch: each can be read, or is expired, and the newest ones are not.
func (w *world) checkPast() error {
	for branch := range w.heads {
		d, err := Open(w.ctx, w.env(nil), "mem://d", OpenOptions{Branch: branch})
		if err != nil {
			return err
		}
		err = w.checkVersions(d)
		_ = d.Close()
		if err != nil {
			return fmt.Errorf("branch %q: %w", branch, err)
		}
	}
	return nil
}

func (w *world) checkVersions(d *Dataset) error {
	for v := int(d.head.Record.Version); v >= 0; v-- {
		at, err := Open(w.ctx, w.env(nil), "mem://d", OpenOptions{Branch: d.Branch(), At: fmt.Sprint(v)})
		if errs.Is(err, errs.NotFound) && w.expires && v != int(d.head.Record.Version) {
			continue
		}
		if err == nil {
			_, err = shown(w.ctx, at)
			_ = at.Close()
		}
		if err != nil {
			return fmt.Errorf("version %d: %w", v, err)
		}
	}
	return nil
}
