package query

import (
	"deeplake/core/array"
	"deeplake/core/compute/aggregate"
)

// passes reports whether an aggregate keeps no reference to the columns that it takes.
func (a *aggregateCall) passes() bool {
	f := aggregate.Find(a.name)
	return f != nil && f.NoAlias
}

// borrow is eval for a caller that keeps no reference to the column. A stored column is then used
// in place, without a copy, if its reader allows that.
func (f *frame) borrow(n *node) (*array.Column, error) {
	if f.memo[n.id] == nil {
		if v := f.shown(n); v != nil {
			return v, nil
		}
	}
	return f.eval(n)
}

// shown returns a stored column in place, valid until its batch ends. Returns nil if the column
// must be read or lies in several pieces.
func (f *frame) shown(n *node) *array.Column {
	if n.ref == nil || n.ref.want != Values || n.ref.part != nil || f.rows[n.ref.origin].List != nil {
		return nil
	}
	if v, asked := f.shows[n.id]; asked {
		return v
	}
	v := f.borrowRows(n, f.rows[n.ref.origin])
	if v != nil && v.N < f.n {
		v = nil
	}
	f.show(n, v)
	return v
}

func (f *frame) show(n *node, v *array.Column) {
	if f.shows == nil {
		f.shows = map[int]*array.Column{}
	}
	f.shows[n.id] = v
}

func (f *frame) borrowRows(n *node, rows Rows) *array.Column {
	l, ok := f.w.reader(f.tables[n.ref.origin]).(Borrower)
	if !ok {
		return nil
	}
	v, err := l.Borrow(f.run.ctx, n.ref.column, rows)
	if err != nil {
		return nil // reading reports the error
	}
	return v
}

// large is the size of a value, in bytes, from which computing a batch by pieces pays.
const large = 256

// inPieces computes n by pieces. Returns nil if n cannot be computed so.
func (f *frame) inPieces(n *node) (*array.Column, error) {
	var parts []*array.Column
	found, err := f.pieces(n, func(part *array.Column, _ int) {
		parts = append(parts, part)
	})
	if !found || err != nil {
		return nil, err
	}
	return array.Concat(n.t, parts)
}

// pieces computes n if one argument is a column of large values and the others are constants. It
// calls take for each contiguous piece of the column; from is the first row of the piece in the
// frame. If found is false, the caller must discard all results of take.
func (f *frame) pieces(n *node, take func(part *array.Column, from int)) (found bool, err error) {
	if !n.facts.NoAlias || !n.t.Scalar() || f.parent != nil {
		return false, nil
	}
	var of *node
	for _, a := range n.args {
		switch {
		case a.constant():
		case of == nil && a.size >= large && a.ref != nil && a.ref.want == Values && a.ref.part == nil && f.memo[a.id] == nil:
			of = a
		default:
			return false, nil
		}
	}
	if of == nil || f.rows[of.ref.origin].List != nil {
		return false, nil
	}
	all := f.rows[of.ref.origin]
	for from := 0; from < f.n; {
		if err := f.run.alive(); err != nil {
			return false, err
		}
		rows := Rows{From: all.From + int64(from), N: int64(f.n - from)}
		v := f.borrowRows(of, rows)
		if v == nil || v.N == 0 {
			return false, nil
		}
		if v.N == f.n {
			f.show(of, v)
			return false, nil // as any other
		}
		rows.N = int64(v.N)
		g := &frame{run: f.run, w: f.w, tables: f.tables, n: v.N, first: f.first + int64(from), rows: make([]Rows, len(f.rows)), memo: map[int]*array.Column{}}
		g.rows[of.ref.origin] = rows
		args := make([]*array.Column, len(n.args))
		for i, a := range n.args {
			if args[i] = v; a.constant() {
				args[i], _ = g.eval(a) // which cannot fail
			}
		}
		part, err := n.compute(g, args)
		if err != nil {
			return false, err
		}
		take(part, from)
		from += v.N
	}
	return true, nil
}

// ended returns all columns that a worker borrowed.
func (w *worker) ended() {
	for _, r := range w.readers {
		if l, ok := r.(Borrower); ok {
			l.Return()
		}
	}
}
