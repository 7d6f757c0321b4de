package query

import (
	"context"
	"math"
	"slices"
	"strconv"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// plan is a statement that was checked.
type plan struct {
	body    body
	outs    []out
	order   []key
	arrange []*node
	limit   int64 // -1: all
	offset  int64
	sample  *sampling
	corr    []*node // the values that it takes from the outer query
	number  int     // distinguishes subqueries
	same    int     // equal for subqueries with equal rows
}

// out is one column of a result.
type out struct {
	name string
	x    *node // over the rel of the body
}

// key is one to sort by.
type key struct {
	x          *node
	desc       bool
	nullsFirst bool
}

// sampling is SAMPLE BY.
type sampling struct {
	weight  *node
	replace bool
	count   int64   // -1: as many as there are rows
	percent float64 // of the rows; < 0: count
	at      tql.Pos
}

// body gives rows for a statement to order and cut.
type body interface {
	// columns are the results, over the rel that run makes.
	columns() []out
	// key makes a node of an expression to sort by, over the same rel.
	key(c *checker, x tql.Expr) (*node, error)
	// run makes the rel. With order, the caller needs at most the first most rows in that order;
	// without order, any first rows. most is -1 for all. sorted reports that the rel is in that
	// order already.
	run(r *run, order []key, most int64) (rows *rel, sorted bool, err error)
	// explain predicts the work of the step.
	explain(e *explainer) *Step
}

// statement checks a statement.
func (c *checker) statement(s *tql.Statement, outer *scope, bound *[]*node) (*plan, error) {
	c.deep++
	defer func() { c.deep-- }()
	if c.deep > maxNested {
		return nil, c.fail(s.At, "queries are nested more than %d deep", maxNested)
	}
	if len(s.With) > 0 {
		before := c.with
		c.with = map[string]*named{}
		for name, q := range before {
			c.with[name] = q
		}
		defer func() { c.with = before }()
		for i := range s.With {
			if slices.ContainsFunc(s.With[:i], func(q tql.Named) bool { return q.Name == s.With[i].Name }) {
				return nil, c.fail(s.At, "WITH has two queries of the name %q", s.With[i].Name)
			}
			seen := map[string]*named{}
			for name, q := range c.with {
				seen[name] = q
			}
			c.with[s.With[i].Name] = &named{s.With[i].Query, seen, outer == nil}
		}
	}
	b, err := c.body(s.Body, outer, bound)
	if err != nil {
		return nil, err
	}
	p := &plan{body: b, outs: b.columns(), limit: -1}
	for _, o := range s.Order {
		k := key{desc: o.Desc, nullsFirst: o.Nulls == "FIRST"}
		if k.x, err = c.sortKey(b, o.Expr); err != nil {
			return nil, err
		}
		if err := array.OrderType(k.x.t); err != nil {
			return nil, placed(c.text, k.x.at, err)
		}
		p.order = append(p.order, k)
	}
	for _, x := range s.Arrange {
		n, err := c.sortKey(b, x)
		if err != nil {
			return nil, err
		}
		p.arrange = append(p.arrange, n)
	}
	if s.Limit != nil {
		if p.limit, err = c.count(s.Limit, "LIMIT"); err != nil {
			return nil, err
		}
	}
	if s.Offset != nil {
		if p.offset, err = c.count(s.Offset, "OFFSET"); err != nil {
			return nil, err
		}
	}
	if s.Sample != nil {
		if p.sample, err = c.sampled(b, s.Sample); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// storable makes results of a query that datasets can store: arrays of texts become lists.
func (c *checker) storable(p *plan) error {
	p.outs = slices.Clone(p.outs)
	for i, o := range p.outs {
		t := o.x.t
		if !t.Text() || t.Dims == 0 {
			continue
		}
		list := array.Of(tensor.String)
		if list.List = true; t.List || t.Dims > 1 {
			return tql.Errorf(c.text, o.x.at, errs.Type, "result %q is a %s, want texts or lists of texts", o.name, t)
		}
		x, err := c.apply(o.x.at, "LIST", list, cheap, []*node{o.x}, func(w *array.Work, v []*array.Column) (*array.Column, error) { return array.TextLists(w, v[0]) })
		if err != nil {
			return err
		}
		x.say = o.x.say
		p.outs[i].x = x
	}
	return nil
}

// named is a query of WITH, and the ones before it.
type named struct {
	query *tql.Statement
	with  map[string]*named
	alone bool // there is no query around the statement that it begins
}

// sortKey returns an expression to sort by: the number of a result, its name, or anything over the
// rows.
func (c *checker) sortKey(b body, x tql.Expr) (*node, error) {
	if l, ok := x.(*tql.Literal); ok {
		if i, ok := l.Value.(int64); ok {
			outs := b.columns()
			if i < 1 || i > int64(len(outs)) {
				return nil, c.fail(x.Pos(), "there is no result %d, there are %d", i, len(outs))
			}
			return outs[i-1].x, nil
		}
	}
	return b.key(c, x)
}

// resultKey returns an expression over results alone.
func (c *checker) resultKey(outs []out, place string, x tql.Expr) (*node, error) {
	s := &scope{rows: true, place: place, aliases: map[string]*node{}}
	for _, o := range outs {
		s.aliases[o.name] = o.x
	}
	n, err := c.expr(x, s)
	if err != nil {
		return nil, err
	}
	return n, c.noRanks(n, place)
}

// count returns a constant number of rows.
func (c *checker) count(x tql.Expr, what string) (int64, error) {
	n, err := c.expr(x, &scope{rows: true, place: what})
	if err != nil {
		return 0, err
	}
	if n.constant() && n.t.Scalar() {
		switch v := n.value.Value(0).(type) {
		case int64:
			if v >= 0 {
				return v, nil
			}
		case nil:
			if what == "LIMIT" {
				return -1, nil
			}
			return 0, nil
		}
	}
	got := tql.Text(x)
	if n.constant() && n.t.Scalar() {
		got = tql.FormatValue(n.value.Value(0))
	}
	return 0, c.fail(x.Pos(), "%s is %s, want a whole number of at least 0", what, got)
}

func (c *checker) sampled(b body, s *tql.Sample) (*sampling, error) {
	w, err := b.key(c, s.Weight)
	if err != nil {
		return nil, err
	}
	if w.t.DType == tensor.Bool && w.t.Scalar() {
		if w, err = c.castTo(w.at, w, "double"); err != nil {
			return nil, err
		}
	}
	if !w.t.Scalar() || !w.t.Number() && w.t.DType != 0 {
		return nil, tql.Errorf(c.text, w.at, errs.Type, "SAMPLE BY %s, want a number for each row", w.t)
	}
	out := &sampling{weight: w, replace: !s.Keep, count: -1, percent: -1, at: s.At}
	if s.Limit == nil {
		return out, nil
	}
	n, err := c.expr(s.Limit, &scope{rows: true, place: "LIMIT"})
	if err != nil {
		return nil, err
	}
	if n.constant() && n.t.Scalar() {
		switch v := n.value.Value(0).(type) {
		case int64:
			if v >= 0 && !s.Percent {
				out.count = v
				return out, nil
			}
			if v >= 0 {
				out.percent = float64(v)
				return out, nil
			}
		case float64:
			if v >= 0 && s.Percent && !math.IsInf(v, 0) {
				out.percent = v
				return out, nil
			}
		}
	}
	return nil, c.fail(s.Limit.Pos(), "LIMIT of SAMPLE BY is %s, want a number of at least 0", tql.Text(s.Limit))
}

// body checks the part of a statement that ORDER BY and LIMIT apply to.
func (c *checker) body(b tql.Body, outer *scope, bound *[]*node) (body, error) {
	switch b := b.(type) {
	case *tql.Select:
		return c.selected(b, outer, bound)
	case *tql.Union:
		return c.union(b, outer, bound)
	case *tql.Statement:
		p, err := c.statement(b, outer, bound)
		if err != nil {
			return nil, err
		}
		return c.whole(b.At, p)
	}
	return nil, errs.New(errs.Internal, "check a query of type %T", b)
}

// whole returns all rows of a statement in parentheses.
func (c *checker) whole(at tql.Pos, p *plan) (body, error) {
	o := derivedOrigin("", at, p)
	s := &selected{scope: &scope{origins: []*origin{o}}, single: true}
	for i, f := range o.fields {
		n, err := c.stored(at, s.scope, 0, i)
		if err != nil {
			return nil, err
		}
		s.outs = append(s.outs, out{f.Name, n})
	}
	return s, nil
}

// run makes the rows of a statement, ordered and cut, over which its results are computed. No more
// than most are needed.
func (p *plan) run(r *run, most int64) (*rel, error) {
	want := int64(-1)
	if p.limit >= 0 && p.limit < math.MaxInt64-p.offset {
		want = p.limit + p.offset
	}
	if most >= 0 && p.sample == nil && (want < 0 || most < want-p.offset) && most < math.MaxInt64-p.offset {
		want = most + p.offset
	}
	if len(p.arrange) > 0 {
		want = -1
	}
	rows, sorted, err := p.body.run(r, p.order, want)
	if err != nil {
		return nil, err
	}
	if len(p.order) > 0 && !sorted {
		if rows, err = ordered(r, rows, p.order, want); err != nil {
			return nil, err
		}
	}
	if len(p.arrange) > 0 {
		if rows, err = arranged(r, rows, p.arrange); err != nil {
			return nil, err
		}
	}
	if p.limit >= 0 || p.offset > 0 {
		from := min(int64(rows.n), p.offset)
		to := int64(rows.n)
		if p.limit >= 0 {
			to = min(to, from+min(p.limit, to))
		}
		rows = rows.cut(int(from), int(to))
	}
	if p.sample != nil {
		return p.sample.run(r, rows)
	}
	return rows, nil
}

// cut returns the rel of the rows from to to.
func (rl *rel) cut(from, to int) *rel {
	out := &rel{n: to - from, tables: rl.tables}
	for _, list := range rl.rows {
		if list != nil {
			list = list[from:to]
		}
		out.rows = append(out.rows, list)
	}
	for _, c := range rl.extra {
		out.extra = append(out.extra, c.Slice(from, to))
	}
	if rl.places != nil {
		out.places = rl.places[from:to]
	}
	return out
}

// uniqueNames gives results of equal names different ones: x, x_1, x_2.
func uniqueNames(outs []out) {
	seen := map[string]bool{}
	for _, o := range outs {
		seen[o.name] = true
	}
	taken := map[string]bool{}
	for i := range outs {
		name := outs[i].name
		for k := 1; taken[name]; k++ {
			if next := outs[i].name + "_" + strconv.Itoa(k); !seen[next] && !taken[next] {
				name = next
			}
		}
		taken[name] = true
		outs[i].name = name
	}
}

// derived is the rows of a query as a table.
type derived struct {
	rows   *rel
	outs   []out
	fields []Field
	r      *run
}

func derivedOrigin(name string, at tql.Pos, p *plan) *origin {
	o := &origin{name: name, at: at, plan: p, types: make([]*array.Type, len(p.outs))}
	for i := range p.outs {
		x := p.outs[i].x
		t := x.t
		t.Weak = false
		o.types[i] = &t
		o.fields = append(o.fields, Field{Name: p.outs[i].name, Type: t, Cost: x.price(), Size: x.size, Bytes: x.size})
	}
	return o
}

func (d *derived) Name() string     { return "a query" }
func (d *derived) Rows() int64      { return int64(d.rows.n) }
func (d *derived) Columns() []Field { return d.fields }

func (d *derived) Resolve(_ context.Context, column int) (array.Type, error) {
	return d.outs[column].x.t, nil
}

// Zones knows nothing.
func (d *derived) Zones(_ context.Context, _ int, from, to int64) ([]Zone, error) {
	return []Zone{{From: from, To: to}}, nil
}

func (d *derived) Reader() Reader { return &derivedReader{d: d, w: newWorker(d.r.tally)} }

// derivedReader computes the results of a query.
type derivedReader struct {
	d *derived
	w *worker
}

func (r *derivedReader) Bytes() (read, decoded int64) { return 0, 0 } // its own readers are counted
func (r *derivedReader) Close()                       { r.w.close() }

func (r *derivedReader) Read(ctx context.Context, column int, rows Rows, want Want, part []Span) (*array.Column, error) {
	picked := make([]int, rows.N)
	for i := range picked {
		picked[i] = int(rows.At(i))
	}
	few := r.d.rows.take(picked)
	now := *r.d.r
	now.ctx = ctx // the query itself may have ended long ago
	f := few.frame(&now, r.w, 0, few.n)
	defer f.ledger.end() // the caller counts the column
	x := r.d.outs[column].x
	if x.ref != nil && x.ref.want == Values && x.ref.part == nil {
		// Reading below this must not read more than the part either.
		return f.read(x.ref.origin, x.ref.column, f.rows[x.ref.origin], want, part)
	}
	v, err := f.eval(x)
	if err != nil {
		return nil, err
	}
	switch want {
	case Nulls:
		return compute.IsNull(v), nil
	case Shapes, Length:
		name := "SHAPE"
		if v.List || want == Length {
			name = "LENGTH"
		}
		return f.call(name, compute.Find(name).Call, []*array.Column{v})
	}
	if part != nil {
		return f.call("index", func(w *array.Work, a []*array.Column) (*array.Column, error) {
			return array.Index(w, a[0], itemsOf(part))
		}, []*array.Column{v})
	}
	return v, nil
}

// itemsOf are spans as the items of an index.
func itemsOf(part []Span) []array.Item {
	one := func(v *int64) *array.Column {
		if v == nil {
			return nil
		}
		return array.Constant(array.Of(tensor.Int64), *v, 1)
	}
	items := make([]array.Item, len(part))
	for i, s := range part {
		items[i] = array.Item{
			Ellipsis: s.Ellipsis, Slice: s.At == nil && !s.Ellipsis, At: one(s.At), Low: one(s.Low), High: one(s.High), Step: one(s.Step),
		}
	}
	return items
}
