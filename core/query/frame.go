package query

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/compute/aggregate"
	"deeplake/core/errs"
)

// run is a query on its way.
type run struct {
	ctx     context.Context
	text    string
	o       *Options
	threads int
	far     bool             // reads are requests over a network
	used    *atomic.Int64    // bytes of memory in use
	bound   []*array.Column  // the values of the outer query, each of one row
	tally   *tally           // the counts of explain
	answers *answers         // of subqueries
	ranks   map[int]*ranking // of BM25, by node
	places  bool             // the caller needs the positions of rows
}

// answers caches the outcomes of subqueries, by plan and by values of the outer query.
type answers struct {
	mu   sync.Mutex
	seen map[string]*answered
	sets map[*rel]*compute.Set
}

// answered is the outcome of a subquery.
type answered struct {
	done chan struct{} // closed when the others are set
	rows *rel          // nil: it failed
	run  *run
}

func newAnswers() *answers {
	return &answers{seen: map[string]*answered{}, sets: map[*rel]*compute.Set{}}
}

// alive fails when the caller has given up.
func (r *run) alive() error {
	if r.ctx.Err() != nil {
		return errs.Cause(r.ctx, "run a query")
	}
	return nil
}

// worker is the readers of one goroutine.
type worker struct {
	readers map[Table]Reader
	tally   *tally
	room    []float64 // for values that are read and not kept
}

func newWorker(t *tally) *worker { return &worker{readers: map[Table]Reader{}, tally: t} }

func (w *worker) reader(t Table) Reader {
	r := w.readers[t]
	if r == nil {
		r = t.Reader()
		w.readers[t] = r
	}
	return r
}

// close frees the readers, and adds up their reads.
func (w *worker) close() {
	for _, r := range w.readers {
		read, decoded := r.Bytes()
		w.tally.read.Add(read)
		w.tally.decoded.Add(decoded)
		r.Close()
	}
	w.readers = map[Table]Reader{}
}

// frame is a batch of rows for which expressions are computed, by one goroutine.
type frame struct {
	run    *run
	w      *worker
	tables []Table
	rows   []Rows          // of each table
	extra  []*array.Column // computed before
	n      int
	first  int64   // where the first row stands among all; the others follow
	places []int64 // where the rows stand; nil: as in parent, or they follow
	memo   map[int]*array.Column
	ledger *ledger // shared with the frames of some of the rows

	parent *frame // of which these are some rows
	picked []int  // which

	borrowed []borrowedColumn // columns that were read, where they are all rows of a batch
	// stored columns used in place; nil: a column cannot be used so
	shows map[int]*array.Column
}

// borrowedColumn is a column with memory that goes back to its reader.
type borrowedColumn struct {
	reader Recycler
	column *array.Column
}

// recycle returns read buffers for reuse, except memory that kept columns share. Frames of some of
// the rows have copies.
func (f *frame) recycle(kept ...*array.Column) {
	for _, l := range f.borrowed {
		l.reader.Recycle(l.column, kept...)
	}
	f.borrowed = nil
	clear(f.memo)
}

// position returns the position of row i among the rows of the select: its number, if the source is
// a table.
func (f *frame) position(i int) int64 {
	switch {
	case f.places != nil:
		return f.places[i]
	case f.parent != nil:
		return f.parent.position(f.picked[i])
	}
	return f.first + int64(i)
}

// standing returns the positions of all rows; nil: they follow the first.
func (f *frame) standing() []int64 {
	if f.places == nil && f.parent != nil {
		f.places = make([]int64, f.n)
		for i, row := range f.picked {
			f.places[i] = f.parent.position(row)
		}
	}
	return f.places
}

// only returns the frame of some of the rows, in order.
func (f *frame) only(rows []int) *frame {
	if len(rows) == f.n {
		return f
	}
	out := &frame{run: f.run, w: f.w, tables: f.tables, n: len(rows), memo: map[int]*array.Column{}, ledger: f.ledger, parent: f, picked: rows}
	out.rows = make([]Rows, len(f.rows))
	for k, from := range f.rows {
		if from.N == 0 {
			continue
		}
		list := make([]int64, len(rows))
		for i, row := range rows {
			list[i] = from.At(row)
		}
		out.rows[k] = Rows{List: list, N: int64(len(list))}
	}
	out.extra = make([]*array.Column, len(f.extra)) // taken when they are requested
	return out
}

// eval computes a node for every row.
func (f *frame) eval(n *node) (*array.Column, error) {
	if n.value != nil {
		v := *n.value
		v.Const, v.N = true, f.n
		return &v, nil
	}
	if v := f.memo[n.id]; v != nil {
		return v, nil
	}
	v, err := f.compute(n)
	if err != nil {
		return nil, placed(f.run.text, n.at, f.inTable(err))
	}
	if v.N != f.n {
		return nil, errs.New(errs.Internal, "compute %s: %d rows came of %d", n.say, v.N, f.n)
	}
	f.memo[n.id] = v
	return v, nil
}

// inTable makes an error about a row of the frame one about the row of the table.
func (f *frame) inTable(err error) error {
	var r *array.RowError
	if errors.As(err, &r) && r.Row < f.n {
		return r.At(f.position(r.Row))
	}
	return err
}

func (f *frame) compute(n *node) (*array.Column, error) {
	if f.parent != nil {
		if v := f.parent.memo[n.id]; v != nil {
			return f.some(v)
		}
	}
	switch {
	case n.bound > 0:
		v := *f.run.bound[n.bound-1]
		v.Const, v.N = true, f.n
		return &v, nil
	case n.extra >= 0:
		return f.taken(n.extra)
	case n.ref != nil && n.ref.part == nil && f.parent != nil && len(f.picked)*few > f.parent.n && n.cost < dear/10 && n.size <= 64:
		// a run of rows costs less to read than most of its rows one by one
		v, err := f.parent.borrow(n)
		if err != nil {
			return nil, err
		}
		return f.some(v)
	case n.ref != nil:
		return f.read(n.ref.origin, n.ref.column, f.rows[n.ref.origin], n.ref.want, n.ref.part)
	case n.alone != nil:
		return n.alone(f, n)
	case n.compute == nil:
		return nil, errs.New(errs.Internal, "compute %s: there is no way", n.say)
	}
	if v, err := f.inPieces(n); v != nil || err != nil {
		return v, err
	}
	args := make([]*array.Column, len(n.args))
	eval := f.eval
	if n.facts.NoAlias {
		eval = f.borrow
	}
	for i, a := range n.args {
		v, err := eval(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	if err := f.run.alive(); err != nil {
		return nil, err
	}
	return n.compute(f, args)
}

// few is of how many rows one must be wanted for the rows to be read one by one.
const few = 8

// taken returns an extra column.
func (f *frame) taken(i int) (*array.Column, error) {
	if f.extra[i] != nil {
		return f.extra[i], nil
	}
	all, err := f.parent.taken(i)
	if err != nil {
		return nil, err
	}
	f.extra[i], err = f.some(all)
	return f.extra[i], err
}

// some returns the picked rows of a column of the parent.
func (f *frame) some(all *array.Column) (*array.Column, error) {
	bytes := all.TakeBytes(f.picked)
	if err := f.run.hold(bytes); err != nil {
		return nil, err
	}
	out := all.Take(f.picked)
	f.ledger.add(out, bytes)
	return out, nil
}

// read reads a column of a table, which is counted until the batch ends.
func (f *frame) read(origin, column int, rows Rows, want Want, part []Span) (*array.Column, error) {
	v, err := f.fetch(origin, column, rows, want, part)
	if err == nil {
		err = f.ledger.hold(v)
	}
	return v, err
}

// fetch reads a column of a table; row -1 has none.
func (f *frame) fetch(origin, column int, rows Rows, want Want, part []Span) (*array.Column, error) {
	if err := f.run.alive(); err != nil {
		return nil, err
	}
	r := f.w.reader(f.tables[origin])
	if rows.List == nil || !slices.Contains(rows.List, -1) {
		c, err := r.Read(f.run.ctx, column, rows, want, part)
		if recycler, ok := r.(Recycler); ok && err == nil && f.parent == nil && want == Values {
			f.borrowed = append(f.borrowed, borrowedColumn{recycler, c})
		}
		return c, err
	}
	there := make([]int64, 0, len(rows.List))
	places := make([]int, len(rows.List))
	for i, row := range rows.List {
		if places[i] = -1; row >= 0 {
			places[i] = len(there)
			there = append(there, row)
		}
	}
	v, err := r.Read(f.run.ctx, column, Rows{List: there, N: int64(len(there))}, want, part)
	if err != nil {
		return nil, err
	}
	v = v.Take(places)
	if want == Nulls { // of a row that is not there everything is NULL
		full := v.Expand()
		out := make([]bool, v.N)
		copy(out, full.Data.([]bool))
		for i, at := range places {
			out[i] = out[i] || at < 0
		}
		return array.FromBools(out, nil), nil
	}
	return v, nil
}

// elsewhere reads a column in the rows that a column of numbers names; NULL names none.
func (f *frame) elsewhere(of *node, at *array.Column) (*array.Column, error) {
	n := f.tables[of.ref.origin].Rows()
	rows := make([]int64, at.N)
	for i := range rows {
		rows[i] = -1
		if at.IsNull(i) {
			continue
		}
		row, ok := at.Value(i).(int64)
		if !ok || row < 0 || row >= n {
			return nil, errs.New(errs.Range, "row %v is out of range, there are %d rows", at.Value(i), n)
		}
		rows[i] = row
	}
	v, err := f.read(of.ref.origin, of.ref.column, Rows{List: rows, N: int64(len(rows))}, Values, of.ref.part)
	return v, err
}

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
	return f.run.concat(n.t, parts)
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
		g := &frame{run: f.run, w: f.w, tables: f.tables, n: v.N, first: f.first + int64(from), rows: make([]Rows, len(f.rows)), memo: map[int]*array.Column{}, ledger: f.ledger}
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
