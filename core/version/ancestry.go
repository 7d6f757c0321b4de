package version

import (
	"cmp"
	"context"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
)

// divergence holds the commits that two commits do not share.
type divergence struct {
	a, b []*format.Record // commits that only the one comes from, itself included, the newest first
	base *format.Record   // the newest commit that both come from
}

// Which of two commits comes from a third one.
const (
	fromA = 1 << iota
	fromB
	fromBoth = fromA | fromB
)

// ancestor is a commit that one of two commits comes from.
type ancestor struct {
	rec      *format.Record
	from     int
	expanded bool // its parents are marked too
}

// divergence finds where the histories of a and b part. It reads the records since then, and few
// that are older. Either may be a preview.
func (h *history) divergence(ctx context.Context, a, b *format.Record) (*divergence, error) {
	if a == b || a.UUID == b.UUID && !a.UUID.IsZero() {
		return &divergence{base: a}, nil
	}
	known := map[format.BranchPoint]*ancestor{}
	open := []*ancestor{h.start(known, a, fromA), h.start(known, b, fromB)}
	if open[0] == open[1] {
		open = open[:1]
	}
	for len(open) > 0 && !settled(known, open) {
		k := newest(open, func(n *ancestor) *format.Record { return n.rec })
		n := open[k]
		open = slices.Delete(open, k, k+1)
		n.expanded = true
		for _, p := range parents(n.rec) {
			up := known[p]
			if up == nil {
				rec, err := h.get(ctx, p)
				if err != nil {
					return nil, err
				}
				up = &ancestor{rec: rec, expanded: true}
				known[p] = up
			}
			if up.from|n.from == up.from {
				continue
			}
			up.from |= n.from
			if up.expanded { // closed, or new
				up.expanded = false
				open = append(open, up)
			}
		}
	}
	return sorted(known)
}

// start makes the node of one of the two commits. A preview has no number in the log, and gets an
// unused one.
func (h *history) start(known map[format.BranchPoint]*ancestor, rec *format.Record, from int) *ancestor {
	p := format.BranchPoint{Branch: rec.Branch, Version: rec.Version}
	if rec.UUID.IsZero() {
		p = format.BranchPoint{Version: uint64(from)}
	} else {
		h.recs[p] = rec
	}
	n := known[p]
	if n == nil {
		n = &ancestor{rec: rec}
		known[p] = n
	}
	n.from |= from
	return n
}

// settled reports whether the open nodes cannot change the result: all of them are shared, and
// older than the nodes that are not.
func settled(known map[format.BranchPoint]*ancestor, open []*ancestor) bool {
	newest := open[0].rec.Time
	for _, n := range open {
		if n.from != fromBoth {
			return false
		}
		if n.rec.Time.After(newest) {
			newest = n.rec.Time
		}
	}
	for _, n := range known {
		if n.from != fromBoth && !n.rec.Time.After(newest) {
			return false
		}
	}
	return true
}

// sorted returns the nodes in order.
func sorted(known map[format.BranchPoint]*ancestor) (*divergence, error) {
	var all []*ancestor
	above := map[format.BranchPoint]bool{} // shared commits that another shared one comes from
	for _, n := range known {
		all = append(all, n)
		if n.from == fromBoth {
			for _, p := range parents(n.rec) {
				above[p] = true
			}
		}
	}
	slices.SortFunc(all, func(x, y *ancestor) int {
		a, b := x.rec, y.rec
		return cmp.Or(b.Time.Compare(a.Time), slices.Compare(a.Branch[:], b.Branch[:]), cmp.Compare(b.Version, a.Version))
	})
	out := &divergence{}
	for _, n := range all {
		switch {
		case n.from == fromA:
			out.a = append(out.a, n.rec)
		case n.from == fromB:
			out.b = append(out.b, n.rec)
		case out.base == nil && !above[format.BranchPoint{Branch: n.rec.Branch, Version: n.rec.Version}]:
			out.base = n.rec
		}
	}
	if out.base == nil {
		return nil, errs.New(errs.Invalid, "the two commits have no commit in common: they are of different datasets")
	}
	return out, nil
}

// changed sums up commits, in the rows of one commit that descends from them all. It counts the
// commits that a merge took in, and not the merge itself.
type changed struct {
	updated map[format.UUID]rowset.Set // by tensor
	deleted rowset.Set
	info    bool
}

// changes reads what recs did, all of which head comes from.
func (h *history) changes(ctx context.Context, recs []*format.Record, head *Snapshot) (*changed, error) {
	ops := make([][]format.Op, len(recs))
	g := task.New(ctx, chunkmap.InFlight)
	for i, rec := range recs {
		if rec.Merged == nil {
			g.Go(func(ctx context.Context) (err error) {
				ops[i], err = h.repo.ops(ctx, rec)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	c := &changed{updated: map[format.UUID]rowset.Set{}}
	axes := map[format.UUID]rowset.Alignment{}
	for i, rec := range recs {
		for _, op := range ops[i] {
			if op.Op == format.OpSetInfo {
				c.info = true
			}
			if op.Op != format.OpUpdate && op.Op != format.OpDelete {
				continue
			}
			axis, ok := axes[rec.Branch]
			if !ok {
				var err error
				if axis, err = h.axis(ctx, rec, head); err != nil {
					return nil, err
				}
				axes[rec.Branch] = axis
			}
			rows := axis.Apply(op.Ranges)
			if op.Op == format.OpUpdate {
				c.updated[op.Tensor] = append(c.updated[op.Tensor], rows...)
			} else {
				c.deleted = append(c.deleted, rows...)
			}
		}
	}
	for id, rows := range c.updated {
		c.updated[id] = rowset.Of(rows)
	}
	c.deleted = rowset.Of(c.deleted)
	return c, nil
}

// axis maps the rows of the commit rec to those of head. Rows keep their places on the line that
// leads to head.
func (h *history) axis(ctx context.Context, rec *format.Record, head *Snapshot) (rowset.Alignment, error) {
	at := format.BranchPoint{Branch: head.Record.Branch, Version: head.Record.Version}
	for {
		if at.Branch == rec.Branch && rec.Version <= at.Version {
			return rowset.Alignment{{Rows: format.MaxRows}}, nil
		}
		zero, err := h.get(ctx, format.BranchPoint{Branch: at.Branch})
		if err != nil {
			return nil, err
		}
		if zero.Base == nil {
			break
		}
		at = *zero.Base
	}
	s := &Snapshot{Record: rec, pages: h.repo.Pages}
	return align(ctx, s, head)
}
