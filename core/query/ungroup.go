package query

import (
	"math"
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// ungrouping is UNGROUP BY: several rows for each row of a select. Lists are taken apart, other
// results repeat.
type ungrouping struct {
	of   *selected
	by   *node // how many items each row takes; nil: one row for each item
	at   tql.Pos
	outs []out
	src  []out // over the rows of the select
}

func (u *ungrouping) columns() []out { return u.outs }

func (c *checker) ungrouped(s *selected, x *tql.Ungroup) (body, error) {
	u := &ungrouping{of: s, at: x.At}
	if x.By != nil {
		n, err := s.node(c, x.By)
		if err != nil {
			return nil, err
		}
		if !n.t.Scalar() || !n.t.Integer() {
			return nil, tql.Errorf(c.text, n.at, errs.Type, "UNGROUP BY %s, want how many items a row takes, or SPLIT", n.t)
		}
		u.by = n
	}
	lists := 0
	for i, o := range s.outs {
		t := o.x.t
		if divided(t) {
			lists++
			if u.by == nil {
				t = itemType(t)
			} else if !t.List && len(t.Shape) > 0 {
				t.Shape = t.Shape.Clone()
				t.Shape[0] = -1 // as many items as the row takes
			}
		}
		t.Weak = false
		u.src = append(u.src, o)
		u.outs = append(u.outs, out{o.name, &node{at: o.x.at, id: -3000000 - i, t: t, extra: i, size: o.x.size, say: o.name}})
	}
	if lists == 0 {
		return nil, tql.Errorf(c.text, x.At, errs.Type, "UNGROUP BY: no result is a list or an array, of which rows could be made")
	}
	return u, nil
}

// divided reports whether rows of a type are taken apart. Pictures and masks are one thing each,
// though they are arrays.
func divided(t array.Type) bool {
	if t.List {
		return true
	}
	pixels := t.HType == "image" || strings.HasPrefix(t.HType, "image.") || t.Dims >= 2 && strings.HasSuffix(t.HType, "_mask") || t.Dims >= 2 && t.HType == "instance_label"
	return t.Dims > 0 && t.DType.Fixed() && !pixels
}

// itemType returns the type of the items of a list or array.
func itemType(t array.Type) array.Type {
	if t.List {
		return array.ItemType(t)
	}
	one := array.Item{At: &array.Column{Type: array.Of(tensor.Int64)}}
	if item, err := array.IndexType(t, []array.Item{one}); err == nil {
		return item
	}
	return t.Bare().WithAxes(nil)
}

func (u *ungrouping) key(c *checker, x tql.Expr) (*node, error) {
	return c.resultKey(u.outs, "ORDER BY of UNGROUP BY", x)
}

func (u *ungrouping) run(r *run, _ []key, _ int64) (*rel, bool, error) {
	rows, _, err := u.of.run(r, nil, -1)
	if err != nil {
		return nil, false, err
	}
	cols := make([]*array.Column, len(u.src))
	for i, o := range u.src {
		if cols[i], err = computed(r, rows, o.x); err != nil {
			return nil, false, err
		}
		if cols[i], err = r.expand(cols[i]); err != nil {
			return nil, false, err
		}
	}
	counts, err := u.counts(cols, rows.n)
	if err != nil {
		return nil, false, placed(r.text, u.at, err)
	}
	var steps []int64 // items that a row takes
	if u.by != nil {
		v, err := computed(r, rows, u.by)
		if err != nil {
			return nil, false, err
		}
		for i := range rows.n {
			step, ok := v.Value(i).(int64)
			if u, big := v.Value(i).(uint64); big {
				step, ok = int64(min(u, math.MaxInt64)), true
			}
			if !ok || step < 1 {
				return nil, false, placed(r.text, u.by.at, errs.New(errs.Invalid, "UNGROUP BY: row %d would take %v items, want at least 1", i, v.Value(i)))
			}
			steps = append(steps, step)
		}
	}
	var repeat []int // of each new row, the row it is of
	var from, to []int
	for i, n := range counts {
		step := 1
		if steps != nil {
			step = int(min(steps[i], int64(max(n, 1))))
		}
		for at := 0; at < n; at += step {
			repeat, from, to = append(repeat, i), append(from, at), append(to, min(n, at+step))
		}
	}
	if err := r.hold(int64(len(repeat)) * 24); err != nil {
		return nil, false, err
	}
	out := &rel{n: len(repeat)}
	for i, c := range cols {
		v, err := r.do("UNGROUP BY", func(w *array.Work) (*array.Column, error) {
			if divided(c.Type) {
				return array.Items(w, c, repeat, from, to, u.by == nil)
			}
			return c.TakeIn(w, repeat), nil
		})
		if err != nil {
			return nil, false, placed(r.text, u.outs[i].x.at, err)
		}
		if v.List {
			v = withoutNull(v)
		}
		out.extra = append(out.extra, v)
	}
	return out, false, nil
}

// counts is the number of items that each row has, which must be as many in all its lists.
func (u *ungrouping) counts(cols []*array.Column, n int) ([]int, error) {
	counts := make([]int, n)
	for i := range counts {
		counts[i] = -1
	}
	for k, c := range cols {
		if !divided(c.Type) {
			continue
		}
		for i := range n {
			items := 0
			if !c.IsNull(i) {
				items = array.Count(c, i)
			}
			if counts[i] >= 0 && counts[i] != items {
				return nil, errs.New(errs.Invalid, "UNGROUP BY: row %d has %d items in %q and %d before, want as many in each list", i, items, u.outs[k].name, counts[i])
			}
			counts[i] = items
		}
	}
	return counts, nil
}
