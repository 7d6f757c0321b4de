package query

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
)

// run is a query on its way.
type run struct {
	ctx     context.Context
	text    string
	o       *Options
	threads int
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

// hold accounts for memory that stays in use until the query ends.
func (r *run) hold(bytes int64) error {
	if total := r.used.Add(bytes); total > r.o.Budget {
		return errs.Op("run a query", "").New(errs.Invalid, "it takes more than %d MB of memory; select less, add LIMIT, or allow more with memory=", r.o.Budget>>20)
	}
	return nil
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
	out := &frame{run: f.run, w: f.w, tables: f.tables, n: len(rows), memo: map[int]*array.Column{}, parent: f, picked: rows}
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
	out.extra = make([]*array.Column, len(f.extra)) // taken when they are asked for
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
			return v.Take(f.picked), nil
		}
	}
	switch {
	case n.bound > 0:
		v := *f.run.bound[n.bound-1]
		v.Const, v.N = true, f.n
		return &v, nil
	case n.extra >= 0:
		return f.taken(n.extra), nil
	case n.ref != nil && n.ref.part == nil && f.parent != nil && len(f.picked)*few > f.parent.n && n.cost < dear/10 && n.size <= 64:
		// a run of rows costs less to read than most of its rows one by one
		v, err := f.parent.borrow(n)
		if err != nil {
			return nil, err
		}
		return v.Take(f.picked), nil
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
func (f *frame) taken(i int) *array.Column {
	if f.extra[i] == nil {
		f.extra[i] = f.parent.taken(i).Take(f.picked)
	}
	return f.extra[i]
}

// read reads a column of a table; row -1 has none.
func (f *frame) read(origin, column int, rows Rows, want Want, part []Span) (*array.Column, error) {
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
