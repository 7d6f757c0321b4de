package v3

import (
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version/rowset"
)

// axis is the rows of a commit among all rows that its branch ever had, as this format counts them.
type axis struct {
	live     rowset.Set // rows of the commit: the others are deleted
	physical int64      // rows that there ever were
	ids      []format.Entry
	from     int64 // rows from here on are new in the commit
}

// maxDeleted bounds the deleted rows of a commit, for which a bitmap is made.
const maxDeleted = 1 << 34

// axisOf is the axis of rows of which none was deleted.
func axisOf(rows int64, session format.UUID) axis {
	a := axis{}
	a.grow(rows, session)
	return a
}

// grow appends rows.
func (a *axis) grow(rows int64, session format.UUID) {
	if rows == 0 {
		return
	}
	added := format.RowRange{Start: a.physical, Count: rows}
	a.live = a.live.Or(rowset.Set{added})
	a.ids = append(a.ids[:len(a.ids):len(a.ids)], format.Entry{Row: added.Start, Rows: rows, Session: session})
	a.physical += rows
}

// deleted is the rows that the commit does not have.
func (a *axis) deleted() rowset.Set {
	return rowset.Of([]format.RowRange{{Count: a.physical}}).Minus(a.live)
}

// within returns where rows of the commit lie on the axis. rows is normal.
func (a *axis) within(rows rowset.Set) rowset.Set {
	var out []format.RowRange
	before, i := int64(0), 0
	for _, r := range a.live {
		for ; i < len(rows) && rows[i].Start+rows[i].Count <= before; i++ {
		}
		for k := i; k < len(rows) && rows[k].Start < before+r.Count; k++ {
			from, to := max(rows[k].Start, before), min(rows[k].Start+rows[k].Count, before+r.Count)
			out = append(out, format.RowRange{Start: r.Start + from - before, Count: to - from})
		}
		before += r.Count
	}
	return rowset.Of(out)
}

// placed returns the entries of rows of the commit as they lie on the axis: one with rows on both
// sides of deleted ones is several.
func (a *axis) placed(entries []format.Entry) []format.Entry {
	out := make([]format.Entry, 0, len(entries)+len(a.live))
	before, i := int64(0), 0
	for k := range entries {
		e := &entries[k]
		for from := int64(0); from < e.Rows; {
			row := e.Row + from
			for i < len(a.live) && row >= before+a.live[i].Count {
				before, i = before+a.live[i].Count, i+1
			}
			if i == len(a.live) {
				return out
			}
			part := *e
			part.Row, part.Rows = a.live[i].Start+row-before, min(e.Rows-from, before+a.live[i].Count-row)
			if e.Tiles == 0 {
				part.First += from
			}
			out = append(out, part)
			from += part.Rows
		}
	}
	return out
}

// measure finds the kinds and lengths of the tensors, of which hidden ones go.
func (s *state) measure() error {
	s.tensors = shown(s.tensors)
	for _, t := range s.tensors {
		if n := t.meta.Length; n < 0 || n > maxRows {
			return errs.New(errs.Corrupt, "tensor %q has %d samples, want 0 to %d", clip(t.name), n, int64(maxRows))
		}
		t.kind = t.meta.kindOf()
		s.rows = max(s.rows, t.rows())
		s.popped = s.popped || t.changed.deleted > 0 || t.changed.cleared
	}
	return nil
}

// shown returns the tensors that users see.
func shown(tensors []*tensorState) (out []*tensorState) {
	for _, t := range tensors {
		if !t.meta.Hidden || t.key == indexTensor {
			out = append(out, t)
		}
	}
	return out
}

// moved reports whether the rows of a commit may be others than those of the one before.
func (s *state) moved(before *state) bool {
	return before != nil && (s.popped || s.rows < before.rows)
}

// settle makes the axis of a commit that was measured. before is the commit that it follows; nil:
// none. removed are the rows of before that it does not have; nil: if rows have moved, it is not
// known which, and all are others.
func (s *state) settle(before *state, removed rowset.Set) error {
	a := axis{}
	if before != nil {
		a = before.axis
	}
	switch {
	case removed != nil:
		gone := a.within(removed)
		a.live, s.removed = a.live.Minus(gone), gone
	case s.moved(before):
		a.live, s.removed = nil, a.live
	}
	a.from = a.physical
	if a.physical+s.rows-a.live.Count() > s.rows+maxDeleted {
		return errs.New(errs.Unsupported, "its commits have deleted %d rows, want at most %d", a.physical-a.live.Count(), int64(maxDeleted))
	}
	a.grow(s.rows-a.live.Count(), idOf("rows", s.id))
	s.axis = a
	return nil
}
