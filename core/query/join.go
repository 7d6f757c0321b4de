package query

import (
	"slices"

	"deeplake/core/compute"
)

// join adds the rows of one more origin.
type join struct {
	kind        string // INNER, LEFT, RIGHT, FULL or CROSS
	left, right []*node
	rest        []*node // of the condition, besides equal keys
}

// source makes the flow of the rows that FROM and WHERE leave.
func (s *selected) source(r *run) (flow, []Table, error) {
	tables := make([]Table, len(s.scope.origins))
	for i, o := range s.scope.origins {
		if tables[i] = o.table; o.table == nil {
			d, err := o.plan.table(r, o.fields)
			if err != nil {
				return nil, nil, err
			}
			tables[i] = d
		}
	}
	if s.single {
		sc := newScan(tables, 0, s.where)
		return sc, tables, sc.prepare(r)
	}
	own, rest := s.pushed()
	rows, err := s.all(r, tables, 0, own[0])
	if err != nil {
		return nil, nil, err
	}
	for k := range s.joins {
		right, err := s.all(r, tables, k+1, own[k+1])
		if err != nil {
			return nil, nil, err
		}
		if rows, err = s.joins[k].run(r, rows, right); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(rest, func(a, b *node) int { return a.stands() - b.stands() })
	for _, cond := range rest {
		if cond.stands() > 0 && rows.places == nil {
			if err := rows.stand(r); err != nil {
				return nil, nil, err
			}
		}
		if rows, err = filtered(r, rows, cond); err != nil {
			return nil, nil, err
		}
	}
	if rows.places == nil {
		if err := rows.stand(r); err != nil {
			return nil, nil, err
		}
	}
	return rows, tables, nil
}

// table runs a query and makes its rows a table.
func (p *plan) table(r *run, fields []Field) (Table, error) {
	inner := *r
	inner.ranks = map[int]*ranking{}
	rows, err := p.run(&inner, -1)
	if err != nil {
		return nil, err
	}
	return &derived{rows: rows, outs: p.outs, fields: fields, r: &inner}, nil
}

// pushed returns the conditions that each origin can check alone, and the others.
func (s *selected) pushed() (own [][]*node, rest []*node) {
	own = make([][]*node, len(s.scope.origins))
	for _, cond := range s.where {
		at := -1
		of := cond.origins()
		for o := range of {
			at = o
		}
		if len(of) == 1 && !s.scope.origins[at].null && cond.fixed() {
			own[at] = append(own[at], cond)
		} else {
			rest = append(rest, cond)
		}
	}
	return own, rest
}

// stands is 1 if x asks for positions of rows. Positions count the rows that satisfy all other
// conditions.
func (x *node) stands() int {
	asks := 0
	x.each(func(n *node) {
		if n.placed() {
			asks = 1
		}
	})
	return asks
}

// fixed reports whether a condition depends on values alone: neither on positions of rows nor on
// the enclosing query.
func (x *node) fixed() bool {
	ok := true
	x.each(func(n *node) { ok = ok && (n.alone == nil || n.role == roleCase) && n.bound == 0 })
	return ok
}

// all returns the rows of one origin that satisfy conditions.
func (s *selected) all(r *run, tables []Table, origin int, conds []*node) (*rel, error) {
	sc := newScan(tables, origin, conds)
	if err := sc.prepare(r); err != nil {
		return nil, err
	}
	rows, err := collect(r, sc, tables, 8, nil, -1)
	if err != nil {
		return nil, err
	}
	for k := range rows.rows {
		if k != origin {
			rows.rows[k] = nil // also where there is no row at all
		}
	}
	if rows.rows[origin] == nil {
		rows.rows[origin] = []int64{}
	}
	return rows, nil
}

// maxPairs bounds the pairs of rows that are examined together.
const maxPairs = 1 << 18

// run joins rows with the rows of one more origin.
func (j *join) run(r *run, left, right *rel) (*rel, error) {
	index, err := j.index(r, right)
	if err != nil {
		return nil, err
	}
	if len(j.left)+len(j.rest) == 0 && left.n > 0 { // better now than when memory is full
		most := (r.o.Budget - r.used.Load()) / int64(16+8*len(left.rows))
		if int64(right.n) > most/int64(left.n) {
			return nil, r.hold(r.o.Budget + 1)
		}
	}
	p := &pairing{r: r, j: j, left: left, right: right, seenRight: make([]bool, right.n)}
	every := make([]int, right.n)
	for i := range every {
		every[i] = i
	}
	if len(j.left) == 0 {
		for i := range left.n {
			if err := p.add(i, every); err != nil {
				return nil, err
			}
		}
	} else {
		err := inOrder(r, left, j.left, true, func(first int, keys [][]byte) error {
			for i, k := range keys {
				var rows []int
				if k != nil {
					rows = index[string(k)]
				}
				if err := p.add(first+i, rows); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	if j.kind == "RIGHT" || j.kind == "FULL" {
		for i, seen := range p.seenRight {
			if !seen {
				p.a, p.b = append(p.a, -1), append(p.b, i)
			}
		}
	}
	out, err := left.taken(r, p.a)
	if err != nil {
		return nil, err
	}
	other := right.take(p.b)
	for k, list := range other.rows {
		if list != nil {
			out.rows[k] = list
		}
	}
	return out, nil
}

// index maps keys to rows. Rows with a NULL key are left out.
func (j *join) index(r *run, right *rel) (map[string][]int, error) {
	index := map[string][]int{}
	if len(j.right) == 0 {
		return index, nil
	}
	err := inOrder(r, right, j.right, true, func(first int, keys [][]byte) error {
		for i, k := range keys {
			if k != nil {
				index[string(k)] = append(index[string(k)], first+i)
			}
		}
		return r.hold(int64(len(keys)) * 64)
	})
	return index, err
}

// pairing finds the pairs of rows that go together. Rows of the left come in order.
type pairing struct {
	r           *run
	j           *join
	left, right *rel
	seenRight   []bool
	a, b        []int // that go together; -1: none
	// Not examined yet: left rows, and the pairs of each.
	rows   []int
	ends   []int
	ca, cb []int
	looked int64 // earlier pairs
}

// add adds a row of the left with the rows it may go together with.
func (p *pairing) add(row int, with []int) error {
	p.rows = append(p.rows, row)
	for _, other := range with {
		p.ca, p.cb = append(p.ca, row), append(p.cb, other)
	}
	p.ends = append(p.ends, len(p.ca))
	if len(p.ca) >= maxPairs || len(p.rows) >= maxPairs {
		return p.flush()
	}
	return nil
}

// flush examines the pairs.
func (p *pairing) flush() error {
	holds, err := p.look()
	if err != nil {
		return err
	}
	before := len(p.a)
	at := 0
	for i, row := range p.rows {
		found := false
		for ; at < p.ends[i]; at++ {
			if holds == nil || holds[at] {
				found = true
				p.seenRight[p.cb[at]] = true
				p.a, p.b = append(p.a, row), append(p.b, p.cb[at])
			}
		}
		if !found && (p.j.kind == "LEFT" || p.j.kind == "FULL") {
			p.a, p.b = append(p.a, row), append(p.b, -1)
		}
	}
	p.rows, p.ends, p.ca, p.cb = p.rows[:0], p.ends[:0], p.ca[:0], p.cb[:0]
	if err := p.r.hold(int64(len(p.a)-before) * int64(16+8*len(p.left.rows))); err != nil {
		return err
	}
	return p.r.alive()
}

// look returns the pairs that satisfy the rest of the condition; nil: all.
func (p *pairing) look() ([]bool, error) {
	if len(p.j.rest) == 0 || len(p.ca) == 0 {
		return nil, nil
	}
	pairs := p.left.take(p.ca)
	for k, list := range p.right.take(p.cb).rows {
		if list != nil {
			pairs.rows[k] = list
		}
	}
	if p.r.places {
		pairs.places = make([]int64, len(p.ca))
		for i := range pairs.places {
			pairs.places[i] = p.looked + int64(i)
		}
	}
	p.looked += int64(len(p.ca))
	holds := make([]bool, len(p.ca))
	weight := weightOf(p.j.rest)
	err := pairs.each(p.r, weight, nil, func(_ int, f *frame) error {
		first := int(f.first)
		rows := make([]int, f.n)
		for i := range rows {
			rows[i] = i
		}
		for _, cond := range p.j.rest {
			v, err := f.eval(cond)
			if err != nil {
				return err
			}
			picked := compute.Pick(v)
			left := make([]int, len(picked))
			for i, at := range picked {
				left[i] = rows[at]
			}
			rows, f = left, f.only(picked)
		}
		for _, row := range rows {
			holds[first+row] = true
		}
		return nil
	})
	return holds, err
}
