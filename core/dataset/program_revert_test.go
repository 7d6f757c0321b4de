package dataset

import (
	"fmt"
	"maps"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/version"
)

// earlier returns a version of the handle's branch that is up to n commits older than its head, its
// name, and the one before it, which is -1 where there is none on the branch.
func (w *world) earlier(h *handle, n uint64) (at, before int, ref string, err error) {
	d, err := Open(w.ctx, w.env(nil), "mem://d", OpenOptions{Branch: h.branch})
	if err != nil {
		return 0, 0, "", err
	}
	defer d.Close()
	first := uint64(0)
	if h.branch == "main" {
		first = 1 // version 0 is that of the creation
	}
	version := d.head.Record.Version
	at = w.heads[h.branch]
	for ; n > 0 && version > first; n-- {
		version--
		at = w.commits[at].parents[0]
	}
	before = -1
	if version > first {
		before = w.commits[at].parents[0]
	}
	return at, before, fmt.Sprintf("%s@%d", h.branch, version), nil
}

// restoredTo returns the expected result of a restore, and whether its rows have the order of the
// version.
func restoredTo(ours, at *wantCommit) (out wantCommit, ordered bool) {
	out = ours.clone()
	for i := range out.rows {
		r := at.row(out.rows[i].id)
		if out.rows[i].dead = r == nil || r.dead; r != nil {
			out.rows[i].vals = maps.Clone(r.vals)
		}
	}
	for _, r := range at.rows {
		if !r.dead && ours.row(r.id) == nil {
			out.rows = append(out.rows, wantRow{r.id, false, maps.Clone(r.vals)})
		}
	}
	out.tensors, out.order = maps.Clone(at.tensors), slices.Clone(at.order)
	return out, slices.Equal(out.shown(), at.shown())
}

// reverted returns the expected result of a revert of the commit undone, which was made on before.
// clear is false where it depends on more than the three versions: changed lists the rows and
// tensors that later commits touched.
func reverted(before, undone, ours *wantCommit, on version.Strategy, touched map[[2]int]bool) (out wantCommit, conflict, clear bool) {
	out = ours.clone()
	if !maps.Equal(before.tensors, undone.tensors) || !maps.Equal(names2(ours, undone), undone.tensors) {
		return out, false, false
	}
	for i := range undone.rows {
		then := &undone.rows[i]
		o := out.row(then.id)
		was := before.row(then.id)
		if o == nil {
			return out, false, false
		}
		if was == nil {
			was = &wantRow{dead: true}
		}
		var again []int // tensors with other values than undone gave them
		for _, id := range out.order {
			value, had := then.vals[id]
			now, has := o.vals[id]
			if now != value || had != has {
				again = append(again, id)
			} else if touched[[2]int{then.id, id}] && !then.dead {
				return out, false, false // it has its value again, perhaps in another layout
			}
		}
		switch {
		case was.dead && !then.dead && !o.dead:
			conflict = conflict || len(again) > 0
			o.dead = len(again) == 0 || on == version.OnConflictTheirs
		case !was.dead && then.dead && o.dead:
			o.dead, o.vals = false, maps.Clone(was.vals)
		case !was.dead && !then.dead && !maps.Equal(was.vals, then.vals):
			if o.dead {
				conflict = true
				if on == version.OnConflictTheirs {
					o.dead, o.vals = false, maps.Clone(was.vals)
				}
				continue
			}
			for _, id := range undone.order {
				old, had := was.vals[id]
				if old == then.vals[id] {
					continue
				}
				if old == o.vals[id] { // it has it already, perhaps in another layout
					return out, false, false
				}
				if slices.Contains(again, id) {
					if conflict = true; on != version.OnConflictTheirs {
						continue
					}
				}
				if o.vals[id] = old; !had {
					delete(o.vals, id)
				}
			}
		}
	}
	return out, conflict, true
}

// touchedSince lists the rows and tensors whose values some commit changed that head comes from and
// at does not, with deletions as those of all tensors.
func (w *world) touchedSince(at, head int) map[[2]int]bool {
	out := map[[2]int]bool{}
	before := w.ancestors(at)
	for i := range w.ancestors(head) {
		if before[i] || len(w.commits[i].parents) == 0 {
			continue
		}
		c, p := &w.commits[i], &w.commits[w.commits[i].parents[0]]
		for _, r := range c.rows {
			old := p.row(r.id)
			for _, id := range c.order {
				if old == nil || old.vals[id] != r.vals[id] || old.dead != r.dead {
					out[[2]int{r.id, id}] = true
				}
			}
		}
	}
	return out
}

// returned reports whether a value changed since the commit base and is the old one at the commit
// at: then the layout decides about a conflict.
func (w *world) returned(base, at int) bool {
	for cell := range w.touchedSince(base, at) {
		was, is := w.commits[base].row(cell[0]), w.commits[at].row(cell[0])
		if was != nil && is != nil && was.vals[cell[1]] == is.vals[cell[1]] {
			return true
		}
	}
	return false
}

// restore takes an earlier version back, or one of another branch.
func (w *world) restore(h *handle, s step, calm func()) error {
	at, _, ref, err := w.earlier(h, s.a%5)
	if err != nil {
		return err
	}
	if s.b%4 == 0 {
		ref = w.branchName(s.b >> 2)
		at = w.heads[ref]
	}
	want, ordered := restoredTo(&w.commits[w.heads[h.branch]], &w.commits[at])
	message := fmt.Sprint("restore ", w.number())
	_, done, err := h.d.Versions().Restore(w.ctx, ref, message)
	if !ordered && errs.Is(err, errs.Unsupported) {
		return nil
	}
	return w.replaced(h, s, calm, message, done, err, want)
}

// revert undoes one of the latest commits.
func (w *world) revert(h *handle, s step, calm func()) error {
	at, before, ref, err := w.earlier(h, s.a%4)
	if err != nil || before < 0 {
		return err
	}
	head := w.heads[h.branch]
	on := []version.Strategy{version.OnConflictError, version.OnConflictOurs, version.OnConflictTheirs}[s.b%3]
	want, conflict, clear := reverted(&w.commits[before], &w.commits[at], &w.commits[head], on, w.touchedSince(at, head))
	if !clear {
		return nil
	}
	message := fmt.Sprint("revert ", w.number())
	_, done, err := h.d.Versions().Revert(w.ctx, ref, on, message)
	if conflict && on == version.OnConflictError && (err == nil || errs.Is(err, errs.Conflict)) {
		if err == nil {
			return fmt.Errorf("revert %q: no conflict", ref)
		}
		return nil
	}
	return w.replaced(h, s, calm, message, done, err, want)
}

// replaced takes note of a restore or a revert.
func (w *world) replaced(h *handle, s step, calm func(), message string, done bool, err error, want wantCommit) error {
	head := w.heads[h.branch]
	if err != nil && errs.Is(err, errs.NotFound) && w.expires {
		return nil
	}
	if err != nil {
		if err := failed(err, s); err != nil {
			return err
		}
		calm()
		if done, err = w.newestIs(h, message); err != nil {
			return err
		}
		if err := h.d.Refresh(w.ctx); err != nil {
			return err
		}
		if h.base = head; !done {
			return nil
		}
	}
	h.base = head
	if want.replaced = true; done {
		w.add(h.branch, want)
		h.base = w.heads[h.branch]
	} else if now := w.commits[head].shown(); !slices.Equal(want.shown(), now) {
		return fmt.Errorf("%s: nothing was done, want %v", s.kind, want.shown())
	}
	return nil
}
