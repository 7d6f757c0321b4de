package query

import (
	"fmt"
	"slices"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// inner checks a query within another one. plan.corr lists the values that it takes from the outer
// query.
func (c *checker) inner(q *tql.Statement, s *scope) (*plan, error) {
	var corr []*node
	turned, varied := c.batched, c.varied
	p, err := c.statement(q, s, &corr)
	if err != nil {
		return nil, err
	}
	p.corr = corr
	c.asks++
	p.number = c.asks
	alone := 0
	text := q.String()
	if c.varied > varied { // else the same words in the same place give the same
		if alone = q.At.Offset + 1; c.batched > turned {
			alone = -p.number
		}
	}
	p.same = c.intern("query ", alone, " ", s.number, " ", len(s.origins), " ", text)
	return p, nil
}

// below checks a subquery of FROM. It sees the names outside the select, but not the rows of the
// select.
func (c *checker) below(q *tql.Statement, s *scope) (*plan, error) {
	if c.belows++; c.belows > maxBelow {
		return nil, c.fail(q.At, "more than %d queries are in FROM, those of WITH counted each time", maxBelow)
	}
	return c.statement(q, s.outer, s.bound)
}

// fromOutside returns a value of the outer query. It is the same for all rows of the inner one.
func (c *checker) fromOutside(x *tql.Name, n *node, s *scope) *node {
	at := -1
	for i, seen := range *s.bound {
		if seen.id == n.id {
			at = i
		}
	}
	if at < 0 {
		at = len(*s.bound)
		*s.bound = append(*s.bound, n)
	}
	out := &node{at: x.Pos(), t: n.t, bound: at + 1, extra: -1, size: n.size, say: n.say}
	out.id = c.intern("of the query around ", at)
	return out
}

// askedOf makes a node that has a value of a subquery for each row. take makes the value of the
// plan's rows.
func (c *checker) askedOf(at tql.Pos, op string, t array.Type, p *plan, args []*node, most int64, take func(r *run, rows *rel, args []*array.Column) (*array.Column, error)) (*node, error) {
	own := len(args)
	n := &node{at: at, t: t, args: append(args, p.corr...), cost: dear, say: op, slow: len(p.corr) > 0}
	n.compute = nil
	n.alone = func(f *frame, n *node) (*array.Column, error) {
		cols := make([]*array.Column, len(n.args))
		for i, a := range n.args {
			v, err := f.eval(a)
			if err != nil {
				return nil, err
			}
			cols[i] = v
		}
		if len(cols) == own { // the same for all rows
			rows, r, err := p.answer(f.run, nil, most)
			if err != nil {
				return nil, err
			}
			v, err := take(r, rows, cols)
			if err == nil && own == 0 {
				one := *v.Expand()
				one.Const, one.N = true, f.n
				v = &one
			}
			return v, err
		}
		return f.eachRow(n, p, own, cols, most, take)
	}
	return c.make(n, fmt.Sprint(op, " ", p.same))
}

// eachRow runs a subquery for each row by itself, once for equal outer values.
func (f *frame) eachRow(n *node, p *plan, own int, cols []*array.Column, most int64, take func(r *run, rows *rel, args []*array.Column) (*array.Column, error)) (*array.Column, error) {
	parts := make([]*array.Column, f.n)
	for i := range f.n {
		bound := make([]*array.Column, len(cols)-own)
		for k := range bound {
			bound[k] = cols[own+k].Slice(i, i+1)
		}
		rows, r, err := p.answer(f.run, bound, most)
		if err != nil {
			return nil, err
		}
		args := make([]*array.Column, own)
		for k := range args {
			args[k] = cols[k].Slice(i, i+1)
		}
		if parts[i], err = take(r, rows, args); err != nil {
			return nil, err
		}
	}
	return f.counted(func(w *array.Work) (*array.Column, error) { return array.Concat(w, n.t, parts) })
}

// answer returns the rows of a subquery, and the run that computes its results. Equal outer values
// share one run; concurrent callers wait for it.
func (p *plan) answer(r *run, bound []*array.Column, most int64) (*rel, *run, error) {
	key := []byte(fmt.Sprint(p.number, " "))
	for _, b := range bound {
		key = array.AppendSigns(array.AppendKey(key, b, 0), b, 0)
	}
	for {
		r.answers.mu.Lock()
		a := r.answers.seen[string(key)]
		mine := a == nil
		if mine {
			a = &answered{done: make(chan struct{})}
			r.answers.seen[string(key)] = a
		}
		r.answers.mu.Unlock()
		if mine {
			if err := r.answers.find(string(key), a, func() error { return p.find(a, r, bound, most) }); err != nil {
				return nil, nil, err
			}
		}
		select {
		case <-a.done:
		case <-r.ctx.Done():
			return nil, nil, r.alive()
		}
		if a.rows != nil {
			own := *a.run
			own.ctx = r.ctx
			return a.rows, &own, nil
		}
	}
}

// find runs find once for all waiting callers. If it fails, a caller that was not cancelled may run
// it again.
func (s *answers) find(key string, a *answered, find func() error) error {
	defer func() {
		if a.rows == nil {
			s.mu.Lock()
			delete(s.seen, key)
			s.mu.Unlock()
		}
		close(a.done)
	}()
	return find()
}

// find runs a subquery.
func (p *plan) find(a *answered, r *run, bound []*array.Column, most int64) error {
	inner := *r
	inner.ranks = map[int]*ranking{}
	inner.bound = bound
	if bound != nil {
		inner.threads = 1
	}
	inner.used = new(atomic.Int64) // its memory is free after the run
	inner.used.Store(r.used.Load())
	rows, err := p.run(&inner, most)
	if err != nil {
		return err
	}
	inner.used = r.used
	bytes := int64(rows.n * 8 * len(rows.rows))
	for _, c := range rows.extra {
		bytes += c.Bytes()
	}
	if err := r.hold(bytes + 512); err != nil {
		return err
	}
	a.run, a.rows = &inner, rows
	return nil
}

// one returns the plan's only column.
func (c *checker) one(at tql.Pos, p *plan, what string) error {
	if len(p.outs) != 1 {
		return c.fail(at, "%s has %d columns, want one", what, len(p.outs))
	}
	return nil
}

// value returns the values of the plan's column for its rows.
func (p *plan) value(r *run, rows *rel) (*array.Column, error) { return computed(r, rows, p.outs[0].x) }

func (c *checker) scalarQuery(x *tql.Subquery, s *scope) (*node, error) {
	p, err := c.inner(x.Query, s)
	if err != nil {
		return nil, err
	}
	if err := c.one(x.Pos(), p, "a query for a value"); err != nil {
		return nil, err
	}
	t := p.outs[0].x.t
	t.Weak = false
	return c.askedOf(x.Pos(), "a query's value", t, p, nil, 2, func(r *run, rows *rel, args []*array.Column) (*array.Column, error) {
		n := 1
		switch rows.n {
		case 0:
			return array.Nothing(t, n), nil
		case 1:
			v, err := p.value(r, rows)
			return v, err
		}
		return nil, errs.New(errs.Invalid, "a query for a value gives more than one row; add LIMIT 1, or aggregate")
	})
}

func (c *checker) exists(x *tql.Exists, s *scope) (*node, error) {
	p, err := c.inner(x.Query, s)
	if err != nil {
		return nil, err
	}
	t := array.Of(tensor.Bool)
	return c.askedOf(x.Pos(), "EXISTS", t, p, nil, 1, func(_ *run, rows *rel, _ []*array.Column) (*array.Column, error) {
		return array.FromBools([]bool{rows.n > 0}, nil), nil
	})
}

func (c *checker) inQuery(x *tql.In, v *node, s *scope) (*node, error) {
	p, err := c.inner(x.Query, s)
	if err != nil {
		return nil, err
	}
	if err := c.one(x.Pos(), p, "a query of IN"); err != nil {
		return nil, err
	}
	y := p.outs[0].x
	if v.t.Names != nil && (y.t.Text() || y.t.Names != nil) && !slices.Equal(v.t.Names, y.t.Names) {
		if v, err = c.named(v); err != nil {
			return nil, err
		}
	}
	if y.t.Names != nil && v.t.Names == nil && v.t.Text() {
		if y, err = c.named(y); err != nil {
			return nil, err
		}
	}
	if !v.t.Scalar() {
		return nil, tql.Errorf(c.text, v.at, errs.Type, "IN of a query compares single values, got %s", v.t)
	}
	if _, err := compute.CompareType("=", v.t, y.t); err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	t, meet := meets(v.t, y.t)
	n, err := c.askedOf(x.Pos(), "IN", array.Of(tensor.Bool), p, []*node{v}, -1, func(r *run, rows *rel, args []*array.Column) (*array.Column, error) {
		if rows.n == 0 { // nothing is in there, NULL neither
			return array.FromBools(make([]bool, args[0].N), nil), nil
		}
		become := func(c *array.Column) (*array.Column, error) { return c, nil }
		if meet {
			become = func(c *array.Column) (*array.Column, error) { return r.become(c, t) }
		}
		set, err := r.answers.set(r, rows, y, become)
		if err != nil {
			return nil, err
		}
		a, err := become(args[0])
		if err != nil {
			return nil, err
		}
		return r.do("IN", func(w *array.Work) (*array.Column, error) { return compute.IsIn(w, a, set) })
	})
	if err != nil || !x.Not {
		return n, err
	}
	return c.apply(x.Pos(), "NOT", logic(n.t), cheap, []*node{n}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return compute.Not(w, a[0]) })
}

// set returns the values of a query as a set, made once.
func (a *answers) set(r *run, rows *rel, x *node, become func(*array.Column) (*array.Column, error)) (*compute.Set, error) {
	a.mu.Lock()
	set := a.sets[rows]
	a.mu.Unlock()
	if set != nil {
		return set, nil
	}
	v, err := computed(r, rows, x)
	if err != nil {
		return nil, err
	}
	if v, err = become(v); err != nil {
		return nil, err
	}
	if set, err = compute.NewSet(v); err != nil {
		return nil, err
	}
	set.Stop = func() bool { return r.ctx.Err() != nil }
	a.mu.Lock()
	a.sets[rows] = set
	a.mu.Unlock()
	return set, nil
}
