package query

import "deeplake/core/array"

// apart reports whether what an operator or function gives shares no memory with its arguments, so that these may be columns
// that are shown where they lie.
func apart(op string) bool {
	switch op {
	case "=", "!=", "<", "<=", ">", ">=", "IN", "TRUE OF", "+", "-", "*", "/", "%", "negative",
		"DOT", "COSINE_SIMILARITY", "HAMMING_DISTANCE", "L1_DISTANCE", "L2_DISTANCE", "LINF_DISTANCE", "L1_NORM", "L2_NORM",
		"LINF_NORM", "MAXSIM", "IOU", "AREA":
		return true
	}
	return false
}

// passes reports whether an aggregate looks at the columns it is given, and keeps nothing of them.
func (a *aggregate) passes() bool {
	switch a.name {
	case "COUNT", "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE":
		return true
	}
	return false
}

// borrow is eval for somebody who keeps nothing that shares memory with the column: a stored one need not be read if it can be
// shown where it lies.
func (f *frame) borrow(n *node) (*array.Column, error) {
	if f.memo[n.id] == nil {
		if v := f.shown(n); v != nil {
			return v, nil
		}
	}
	return f.eval(n)
}

// shown is a stored column where it lies, for as long as its batch; nil: it has to be read.
func (f *frame) shown(n *node) *array.Column {
	if n.ref == nil || n.ref.want != Values || n.ref.part != nil || f.rows[n.ref.origin].List != nil {
		return nil
	}
	if v, asked := f.shows[n.id]; asked {
		return v
	}
	l, ok := f.w.reader(f.tables[n.ref.origin]).(Lender)
	if !ok {
		return nil
	}
	v, err := l.Lend(f.run.ctx, n.ref.column, f.rows[n.ref.origin])
	if err != nil {
		v = nil // reading says what is wrong
	}
	if f.shows == nil {
		f.shows = map[int]*array.Column{}
	}
	f.shows[n.id] = v
	return v
}

// ended ends the use of all that was shown to a worker.
func (w *worker) ended() {
	for _, r := range w.readers {
		if l, ok := r.(Lender); ok {
			l.Return()
		}
	}
}
