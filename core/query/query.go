package query

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// Options are the parameters of a query.
type Options struct {
	Params    []any    // values: nil, bool, int64, float64, string, or an *array.Column of one row
	Names     []string // of Params, in any order, for :name; nil: Params are in the order of ?
	Seed      uint64
	Budget    int64           // bound of the bytes in memory; 0: 4 GiB
	Threads   int             // 0: as many as there are cores, more where rows come over a network
	Batch     int             // rows that are computed at once, at most; 0: as many as pay
	Functions map[string]User // by upper-case name
	// Batched lists parameters by number. Each has a list of values on its first axis. The query
	// runs with each value, and reads its rows once for all. It needs one SELECT with ORDER BY and
	// LIMIT. Only ORDER BY and the results may use these parameters. The rows of all answers follow
	// one another.
	Batched []int
	// Looked counts the examined rows of tables while a query runs; nil: they are not counted.
	Looked *atomic.Int64
}

// User is a function of the user.
type User interface {
	// Type is the type of one result.
	Type() array.Type
	// Call computes the results of all rows. No column is Const. Implementations must be safe for
	// concurrent use.
	Call(ctx context.Context, args []*array.Column) (*array.Column, error)
}

const defaultBudget = 4 << 30

// Plan is a query that was checked against the tables that it is of. It does not change and may be
// run several times, in parallel too.
type Plan struct {
	text      string // as written, for errors
	canonical string
	o         Options
	order     []int // see Order
	plan      *plan
	batches   []*plan // of each of Options.Each; else the plan alone
	far       bool    // a table lies behind a network
	places    bool    // the caller needs the positions of rows
}

// farThreads is the number of batches that are on their way where each waits for a network.
const farThreads = 16

// Prepare parses and checks a query. from is the table that FROM "dataset" and a missing FROM name;
// it may be nil. tables, which may be nil, opens others. It reads index pages at most. An error
// gives line and column, the expected syntax, and the text found there.
func Prepare(ctx context.Context, text string, from Table, tables Tables, o Options) (*Plan, error) {
	s, err := tql.Parse(text)
	if err != nil {
		return nil, err
	}
	order, err := s.Bind(text, o.Names, len(o.Params))
	if err != nil {
		return nil, err
	}
	if Reorders && order != nil {
		o.reorder(order)
	}
	if o.Budget == 0 {
		o.Budget = defaultBudget
	}
	if o.Threads == 0 {
		o.Threads = task.Cores()
	}
	if o.Budget < 0 || o.Threads < 0 || o.Batch < 0 {
		return nil, errs.Op("prepare a query", "").New(errs.Invalid, "memory is %d bytes, threads %d and rows at once %d, want positive numbers", o.Budget, o.Threads, o.Batch)
	}
	turns, err := batchesOf(&o)
	if err != nil {
		return nil, err
	}
	c := &checker{ctx: ctx, text: text, tables: tables, asked: from, opened: map[string]Table{}, with: map[string]*named{}, ids: map[string]int{}}
	out := &Plan{text: text, canonical: s.String(), o: o, order: order}
	for _, params := range turns {
		with := o
		with.Params, c.o, c.calls, c.unfold = params, &with, 0, 0
		p, err := c.statement(s, nil, nil)
		if err != nil {
			return nil, err
		}
		if err := c.storable(p); err != nil {
			return nil, err
		}
		out.batches = append(out.batches, p)
	}
	out.plan, out.far, out.places = out.batches[0], c.far, c.places
	if len(o.Batched) > 0 {
		return out, c.together(s, out.batches)
	}
	return out, nil
}

// reorder brings the values of parameters into an order.
func (o *Options) reorder(order []int) {
	given := *o
	o.Params, o.Names, o.Batched = nil, []string{}, nil
	for i, number := range order {
		o.Params, o.Names = append(o.Params, given.Params[number]), append(o.Names, given.Names[number])
		if slices.Contains(given.Batched, number) {
			o.Batched = append(o.Batched, i)
		}
	}
}

// ParamNames returns the names of the parameters of a query by their numbers, "" for each ?. It
// returns the errors of [tql.Parse].
func ParamNames(text string) ([]string, error) {
	s, err := tql.Parse(text)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(s.Params))
	for i, p := range s.Params {
		names[i] = p.Name
	}
	return names, nil
}

// label returns a parameter as messages name it: "parameter 2" or "parameter :label".
func (o *Options) label(number int) string {
	if o.Names != nil {
		return "parameter :" + o.Names[number]
	}
	return "parameter " + strconv.Itoa(number+1)
}

// nth returns the number of the RANDOM at a position of the text. Unlike the position, the number
// is the same in the canonical form.
func (c *checker) nth(at tql.Pos) uint64 {
	if c.randoms == nil {
		list, err := tql.Tokens(c.text)
		if err != nil {
			return 0
		}
		for _, t := range list {
			if t.Kind == tql.WordToken && strings.EqualFold(t.Text, "RANDOM") {
				c.randoms = append(c.randoms, t.At.Offset)
			}
		}
	}
	i, _ := slices.BinarySearch(c.randoms, at.Offset)
	return uint64(i + 1)
}

// Reorders reports whether Order may return an order. The linker drops what never happens.
const Reorders = tql.Reorders

// Order returns for each parameter of the query, in the order of the text, the number of its value
// in [Options.Params]; nil: the values have that order.
func (p *Plan) Order() []int { return p.order }

// Text returns the query in its canonical form.
func (p *Plan) Text() string { return p.canonical }

func (p *Plan) newRun(ctx context.Context) *run {
	return &run{
		ctx: ctx, text: p.text, o: &p.o, threads: p.o.Threads, used: new(atomic.Int64), tally: new(tally), answers: newAnswers(),
		ranks: map[int]*ranking{}, places: p.places,
	}
}

// Explain predicts the work of the query. It reads index pages only.
func (p *Plan) Explain(ctx context.Context) (*Explanation, error) {
	e := &explainer{r: p.newRun(ctx)}
	step := p.plan.explain(e)
	return &Explanation{Query: p.canonical, Plan: step}, e.err
}

// Result is the rows that a query gives. It does not change and may be used in parallel.
type Result struct {
	N       int64
	Outputs []Output
	Sources []SourceRows // the tables of which rows are drawn
	Done    Done
}

// SourceRows is a table, and for each row of a result the row of it.
type SourceRows struct {
	Table Table
	Rows  []int64 // -1: none
}

// Output is one column of a result: stored in a table, computed, or to be computed when it is read.
type Output struct {
	Name   string
	Type   array.Type
	Source int           // of Result.Drawn; -1: computed
	Column int           // of that table
	Values *array.Column // all rows; nil: see Compute
	Size   float64       // bytes of a value in memory, about

	x    *node
	rows *rel
	r    *run
}

// lazySize is from how many bytes in all a computed column is left to be computed when it is read.
const lazySize = 64 << 20

// Run runs the query. When ctx ends it stops within a fraction of a second, with errs.Canceled.
func (p *Plan) Run(ctx context.Context) (*Result, error) {
	began := time.Now()
	r := p.newRun(ctx)
	if r.far = p.far; r.far {
		r.threads = max(r.threads, farThreads)
	}
	var rows *rel
	var err error
	var own []*array.Column // results that differ from turn to turn
	if len(p.o.Batched) > 0 {
		rows, own, err = batchIndex(r, p.batches)
	} else {
		rows, err = p.plan.run(r, -1)
	}
	if err := r.alive(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	out := &Result{N: int64(rows.n)}
	for i, o := range p.plan.outs {
		t := o.x.t
		t.Weak = false
		q := Output{Name: o.name, Type: t, Source: -1, Size: o.x.size, x: o.x, rows: rows, r: r}
		if own != nil && own[i] != nil {
			q.Values = own[i]
		} else if err := q.settle(out); err != nil {
			if dead := r.alive(); dead != nil {
				err = dead
			}
			return nil, err
		}
		out.Outputs = append(out.Outputs, q)
	}
	if len(out.Sources) == 0 && len(rows.tables) == 1 && len(rows.rows) == 1 && len(rows.rows[0]) == rows.n {
		if _, ok := rows.tables[0].(*derived); !ok {
			out.draw(rows.tables[0], rows.rows[0]) // everything is computed, of these rows
		}
	}
	out.Done = *r.tally.done(began, out.N, r.used.Load())
	return out, nil
}

// settle finds where an output comes from, and computes it where that is little work.
func (q *Output) settle(out *Result) error {
	if x := q.x; x.ref != nil && x.ref.want == Values && x.ref.part == nil {
		table, rows, column := q.rows.tables[x.ref.origin], q.rows.rows[x.ref.origin], x.ref.column
		for {
			d, ok := table.(*derived)
			if !ok {
				break
			}
			y := d.outs[column].x
			if y.ref == nil || y.ref.want != Values || y.ref.part != nil {
				table = nil
				break
			}
			below := d.rows.rows[y.ref.origin]
			through := make([]int64, len(rows))
			for i, row := range rows {
				if through[i] = -1; row >= 0 {
					through[i] = below[row]
				}
			}
			table, rows, column = d.rows.tables[y.ref.origin], through, y.ref.column
		}
		if table != nil {
			q.Source, q.Column = out.draw(table, rows), column
			return nil
		}
	}
	if q.Size*float64(q.rows.n) > lazySize && q.x.fixed() && len(q.x.refs()) > 0 && q.Type.DType.Fixed() && !q.Type.List {
		return nil
	}
	v, err := computed(q.r, q.rows, q.x)
	if err != nil {
		return err
	}
	q.Values, err = q.r.expand(v)
	return err
}

// draw notes rows of a table, once for equal ones.
func (out *Result) draw(table Table, rows []int64) int {
	for i, d := range out.Sources {
		if d.Table == table && (len(rows) == 0 || &d.Rows[0] == &rows[0]) {
			return i
		}
	}
	for i, d := range out.Sources {
		if d.Table == table && slices.Equal(d.Rows, rows) {
			return i
		}
	}
	out.Sources = append(out.Sources, SourceRows{table, rows})
	return len(out.Sources) - 1
}

// Compute computes the output for rows of the result. It may be called in parallel.
func (q *Output) Compute(ctx context.Context, rows []int64) (*array.Column, error) {
	picked := make([]int, len(rows))
	for i, row := range rows {
		if row < 0 || row >= int64(q.rows.n) {
			return nil, errs.New(errs.Range, "row %d is out of range, there are %d rows", row, q.rows.n)
		}
		picked[i] = int(row)
	}
	if q.Values != nil {
		return q.Values.Take(picked), nil
	}
	r := *q.r
	r.ctx, r.threads = ctx, 1
	few := q.rows.take(picked)
	w := newWorker(r.tally)
	defer w.close()
	f := few.frame(&r, w, 0, few.n)
	defer f.ledger.end()
	v, err := f.eval(q.x)
	if err != nil {
		return nil, err
	}
	return r.expand(v)
}

// maxName bounds the name of a user's function, in bytes.
const maxName = 64

// CheckName refuses a name that a user's function cannot have. A built-in function of that name is
// errs.Exists; case does not count.
func CheckName(name string) error {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return badName(name)
		}
	}
	if name == "" || len(name) > maxName {
		return badName(name)
	}
	upper := strings.ToUpper(name)
	if slices.Contains(FunctionNames(), upper) {
		return errs.Op("register function", upper).New(errs.Exists, "there is a built-in one of that name; take another")
	}
	if slices.Contains(tql.Reserved(), upper) {
		return errs.Op("register function", upper).New(errs.Invalid, "it is a word of the language; take another")
	}
	return nil
}

func badName(name string) error {
	return errs.Op("register function", "").New(errs.Invalid, "name is %q, want letters, digits and _, %d at most", name, maxName)
}

// maxBatched bounds the values of a batched parameter: each has a plan and rows of its own.
const maxBatched = 1 << 14

// batchesOf returns the parameters of each turn. A batched parameter has one of its values in each.
func batchesOf(o *Options) ([][]any, error) {
	if len(o.Batched) == 0 {
		return [][]any{o.Params}, nil
	}
	turns := -1
	for _, k := range o.Batched {
		if k < 0 || k >= len(o.Params) {
			return nil, errs.Op("query", "").New(errs.Invalid, "parameter %d is to take values in turn, there are %d parameters", k+1, len(o.Params))
		}
		c, ok := o.Params[k].(*array.Column)
		if !ok || c.N != 1 || c.IsNull(0) || len(c.ShapeAt(0)) == 0 {
			return nil, errs.Op("query", "").New(errs.Type, "%s is to take values in turn, want an array with an axis of them", o.label(k))
		}
		n := int(c.ShapeAt(0)[0])
		if turns >= 0 && n != turns {
			return nil, errs.Op("query", "").New(errs.Invalid, "parameters take %d and %d values in turn, want as many", turns, n)
		}
		turns = n
	}
	if turns < 1 || turns > maxBatched {
		return nil, errs.Op("query", "").New(errs.Invalid, "parameters take %d values in turn, want 1 to %d", turns, maxBatched)
	}
	out := make([][]any, turns)
	for i := range out {
		out[i] = slices.Clone(o.Params)
		for _, k := range o.Batched {
			at := array.Constant(array.Of(tensor.Int64), int64(i), 1)
			one, err := array.Index(nil, o.Params[k].(*array.Column), []array.Item{{At: at}})
			if err != nil {
				return nil, err
			}
			out[i][k] = one
		}
	}
	return out, nil
}

// together refuses queries that cannot be answered for all values of batched parameters in one pass
// over the rows.
func (c *checker) together(s *tql.Statement, turns []*plan) error {
	first, ok := turns[0].body.(*selected)
	if !ok || first.group != nil || first.unique || first.expand != nil || len(turns[0].order) == 0 || turns[0].limit < 0 ||
		turns[0].limit > mostTop-turns[0].offset || len(turns[0].arrange) > 0 || turns[0].sample != nil {
		return c.fail(s.At, "values that are taken in turn want one SELECT with ORDER BY and a LIMIT of at most %d, without groups, DISTINCT, EXPAND BY, ARRANGE BY and SAMPLE BY", mostTop)
	}
	for _, o := range first.scope.origins {
		if o.table == nil {
			return c.fail(o.at, "values that are taken in turn want tables, not a query in FROM")
		}
	}
	for _, p := range turns[1:] {
		other := p.body.(*selected)
		same := sameNodes(first.where, other.where)
		for i, j := range first.joins {
			k := other.joins[i]
			same = same && sameNodes(j.left, k.left) && sameNodes(j.right, k.right) && sameNodes(j.rest, k.rest)
		}
		if !same {
			return c.fail(s.At, "values that are taken in turn have no place in WHERE and ON: all answers are of the same rows")
		}
	}
	return nil
}

func sameNodes(a, b []*node) bool {
	return slices.EqualFunc(a, b, func(x, y *node) bool { return x.id == y.id })
}

// batchIndex makes the rows of all turns, one turn after another, and the results whose expression
// differs between turns.
func batchIndex(r *run, turns []*plan) (*rel, []*array.Column, error) {
	s := turns[0].body.(*selected)
	src, tables, err := s.source(r)
	if err != nil {
		return nil, nil, err
	}
	var ranks []*node
	orders := make([][]key, len(turns))
	for i, p := range turns {
		orders[i] = p.order
		ranks = append(ranks, p.body.(*selected).ranked()...)
	}
	if err := rank(r, &src, tables, ranks); err != nil {
		return nil, nil, err
	}
	offset, limit := turns[0].offset, turns[0].limit
	rels, err := top(r, src, tables, orders, int(offset+limit))
	if err != nil {
		return nil, nil, err
	}
	var all *rel
	for i, rows := range rels {
		rows = rows.cut(int(min(offset, int64(rows.n))), rows.n)
		if rels[i] = rows; i == 0 {
			all = rows
		} else {
			all = joined(all, rows)
		}
	}
	own := make([]*array.Column, len(turns[0].outs))
	for k, o := range turns[0].outs {
		if !slices.ContainsFunc(turns, func(p *plan) bool { return p.outs[k].x.id != o.x.id }) {
			continue
		}
		parts := make([]*array.Column, len(turns))
		for i, p := range turns {
			if parts[i], err = computed(r, rels[i], p.outs[k].x); err != nil {
				return nil, nil, err
			}
		}
		if own[k], err = r.concat(o.x.t, parts); err != nil {
			return nil, nil, err
		}
		if own[k], err = r.expand(own[k]); err != nil {
			return nil, nil, err
		}
	}
	return all, own, r.alive()
}
