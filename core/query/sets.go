package query

import (
	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tql"
)

// united is UNION, INTERSECT or EXCEPT of two bodies.
type united struct {
	op          string
	all         bool
	left, right body
	outs        []out
	x, y        []*node // the columns of both sides as outs have them
	// both sides give the same columns of one table: rows, not values, are put together
	stored bool
}

func (u *united) columns() []out { return u.outs }

func (c *checker) union(x *tql.Union, outer *scope, bound *[]*node) (body, error) {
	left, err := c.body(x.Left, outer, bound)
	if err != nil {
		return nil, err
	}
	right, err := c.body(x.Right, outer, bound)
	if err != nil {
		return nil, err
	}
	a, b := left.columns(), right.columns()
	if len(a) != len(b) {
		return nil, c.fail(bodyAt(x.Right), "%s of %d and %d columns, want as many on both sides", x.Op, len(a), len(b))
	}
	u := &united{op: x.Op, all: x.All, left: left, right: right}
	u.stored = sameTable(left, right)
	for i := range a {
		t, err := array.Unify(a[i].x.t, b[i].x.t)
		if err != nil {
			return nil, placed(c.text, b[i].x.at, errs.New(errs.Type, "%s: column %q: %w", x.Op, a[i].name, err))
		}
		if u.stored {
			u.outs, u.x, u.y = append(u.outs, a[i]), append(u.x, a[i].x), append(u.y, b[i].x)
			continue
		}
		t.Weak = false
		x, err := c.become(a[i].x, t)
		if err != nil {
			return nil, err
		}
		y, err := c.become(b[i].x, t)
		if err != nil {
			return nil, err
		}
		// Not in the sides themselves: values that DISTINCT distinguishes there may become equal.
		u.x, u.y = append(u.x, x), append(u.y, y)
		u.outs = append(u.outs, out{a[i].name, &node{at: a[i].x.at, id: -2000000 - i, t: t, extra: i, size: a[i].x.size, say: a[i].name}})
	}
	return u, nil
}

func bodyAt(b tql.Body) tql.Pos {
	switch b := b.(type) {
	case *tql.Select:
		return b.At
	case *tql.Statement:
		return b.At
	case *tql.Union:
		return bodyAt(b.Left)
	}
	return tql.Pos{Line: 1, Column: 1}
}

// sameTable reports whether two bodies give the same stored columns of one table.
func sameTable(a, b body) bool {
	s, ok := a.(*selected)
	t, also := b.(*selected)
	if u, is := a.(*united); is && u.stored {
		s, ok = u.base(), true
	}
	if u, is := b.(*united); is && u.stored {
		t, also = u.base(), true
	}
	if !ok || !also || !s.single || !t.single || s.group != nil || t.group != nil {
		return false
	}
	if s.scope.origins[0].table == nil || s.scope.origins[0].table != t.scope.origins[0].table {
		return false
	}
	x, y := a.columns(), b.columns()
	for i := range x {
		if x[i].x.ref == nil || y[i].x.ref == nil || x[i].x.ref.want != Values || x[i].x.id != y[i].x.id {
			return false
		}
	}
	return true
}

// base returns the first select of a union of stored columns.
func (u *united) base() *selected {
	if s, ok := u.left.(*selected); ok {
		return s
	}
	return u.left.(*united).base()
}

func (u *united) key(c *checker, x tql.Expr) (*node, error) {
	return c.resultKey(u.outs, "ORDER BY of "+u.op, x)
}

func (u *united) run(r *run, _ []key, _ int64) (*rel, bool, error) {
	a, _, err := u.left.run(r, nil, -1)
	if err != nil {
		return nil, false, err
	}
	b, _, err := u.right.run(r, nil, -1)
	if err != nil {
		return nil, false, err
	}
	x, y := u.x, u.y
	if u.op == "UNION" && u.all {
		rows, err := u.together(r, a, b, x, y)
		return rows, false, err
	}
	counts := map[string]int{}
	if u.op != "UNION" {
		err = inOrder(r, b, y, false, func(_ int, keys [][]byte) error {
			for _, k := range keys {
				counts[string(k)]++
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	} else if a, err = u.together(r, a, b, x, y); err != nil {
		return nil, false, err
	} else {
		x = nodesOf(u.outs)
	}
	seen := map[string]int{}
	var picked []int
	err = inOrder(r, a, x, false, func(first int, keys [][]byte) error {
		for i, k := range keys {
			n := seen[string(k)]
			seen[string(k)] = n + 1
			if u.keeps(n, counts[string(k)]) {
				picked = append(picked, first+i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	a = a.take(picked)
	if u.op != "UNION" && !u.stored {
		a, err = u.values(r, a, x)
	}
	return a, false, err
}

// keeps reports whether a row stays. before counts equal earlier rows, other counts equal rows on
// the right side.
func (u *united) keeps(before, other int) bool {
	switch u.op {
	case "INTERSECT":
		return other > 0 && (u.all && before < other || before == 0)
	case "EXCEPT":
		return u.all && before >= other || !u.all && other == 0 && before == 0
	}
	return before == 0
}

func nodesOf(outs []out) []*node {
	nodes := make([]*node, len(outs))
	for i, o := range outs {
		nodes[i] = o.x
	}
	return nodes
}

// values returns the rows as values alone.
func (u *united) values(r *run, rows *rel, x []*node) (*rel, error) {
	made := &rel{n: rows.n}
	for i := range x {
		v, err := computed(r, rows, x[i])
		if err != nil {
			return nil, err
		}
		if v, err = r.become(v, u.outs[i].x.t); err != nil {
			return nil, err
		}
		made.extra = append(made.extra, v)
	}
	return made, nil
}

// together appends the rows of b to the rows of a.
func (u *united) together(r *run, a, b *rel, x, y []*node) (*rel, error) {
	out := &rel{n: a.n + b.n, tables: a.tables}
	if u.stored {
		out.rows = [][]int64{append(append(make([]int64, 0, out.n), a.rows[0]...), b.rows[0]...)}
		return out, nil
	}
	left, err := u.values(r, a, x)
	if err != nil {
		return nil, err
	}
	right, err := u.values(r, b, y)
	if err != nil {
		return nil, err
	}
	out.tables = nil
	for i := range u.outs {
		v, err := r.concat(u.outs[i].x.t, []*array.Column{left.extra[i], right.extra[i]})
		if err != nil {
			return nil, err
		}
		out.extra = append(out.extra, v)
	}
	return out, nil
}

// distinct returns the first rows with different values, at most most of them.
func (s *selected) distinct(r *run, rows *rel, most int64) (*rel, error) {
	by := s.on
	if by == nil {
		for _, o := range s.outs {
			by = append(by, o.x)
		}
	}
	seen := map[string]bool{}
	var picked []int
	err := inOrder(r, rows, by, false, func(first int, keys [][]byte) error {
		for i, k := range keys {
			if most >= 0 && int64(len(picked)) >= most {
				return nil
			}
			if !seen[string(k)] {
				seen[string(k)] = true
				picked = append(picked, first+i)
				if err := r.hold(int64(len(k)) + 64); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows.taken(r, picked)
}

// inOrder calls do with the values of expressions as keys, batch by batch in order of rows.
func inOrder(r *run, rows *rel, by []*node, whole bool, do func(first int, keys [][]byte) error) error {
	type batch struct {
		first int
		keys  [][]byte
	}
	weight := weightOf(by)
	parts := make([][]batch, rows.units(r, weight))
	err := rows.each(r, weight, nil, func(unit int, f *frame) error {
		keys, err := f.keys(by, whole)
		if err != nil {
			return err
		}
		parts[unit] = append(parts[unit], batch{int(f.first), keys})
		total := int64(0)
		for _, k := range keys {
			total += int64(len(k)) + 24
		}
		return r.hold(total)
	})
	if err != nil {
		return err
	}
	for _, unit := range parts {
		for _, b := range unit {
			if err := do(b.first, b.keys); err != nil {
				return err
			}
		}
		if err := r.alive(); err != nil {
			return err
		}
	}
	return nil
}

// keys encodes the values of expressions as bytes. Keys are equal exactly if the values are
// equal. With whole, the key of a row with a NULL is nil.
func (f *frame) keys(by []*node, whole bool) ([][]byte, error) {
	cols := make([]*array.Column, len(by))
	for k, x := range by {
		v, err := f.eval(x)
		if err != nil {
			return nil, err
		}
		cols[k] = v
	}
	var buf []byte
	ends := make([]int, f.n)
	for i := range f.n {
		for _, c := range cols {
			buf = array.AppendKey(buf, c, i)
		}
		ends[i] = len(buf)
	}
	keys := make([][]byte, f.n)
	begin := 0
	for i, end := range ends {
		keys[i] = buf[begin:end:end]
		for _, c := range cols {
			if whole && c.IsNull(i) {
				keys[i] = nil
			}
		}
		begin = end
	}
	return keys, nil
}
