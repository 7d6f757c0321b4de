package query

import (
	"slices"
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
)

// selected is a select that was checked.
type selected struct {
	scope  *scope
	single bool // one origin, without joins
	joins  []join
	where  []*node
	expand *expansion
	group  *grouping // nil: rows
	having *node     // over groups
	unique bool
	on     []*node // DISTINCT ON; nil: all results
	outs   []out

	c *checker // for keys to sort by, while the statement is checked
}

// expansion is EXPAND BY.
type expansion struct {
	before, after int64
	merge         bool
}

func (s *selected) columns() []out { return s.outs }

func (c *checker) selected(x *Select, outer *scope, bound *[]*node) (body, error) {
	s := &selected{scope: &scope{outer: outer, bound: bound}, unique: x.Distinct, c: c}
	if err := c.from(s, x); err != nil {
		return nil, err
	}
	if err := c.names(s, x); err != nil {
		return nil, err
	}
	if x.Where != nil {
		cond, err := c.condition(s.scope, x.Where, "WHERE")
		if err != nil {
			return nil, err
		}
		s.where = conjuncts(cond, nil)
	}
	if x.Expand != nil {
		if err := c.expanded(s, x.Expand); err != nil {
			return nil, err
		}
	}
	if err := c.grouped(s, x); err != nil {
		return nil, err
	}
	for _, y := range x.On {
		n, err := s.node(c, y)
		if err != nil {
			return nil, err
		}
		s.on = append(s.on, n)
	}
	uniqueNames(s.outs)
	if x.Ungroup != nil {
		return c.ungrouped(s, x.Ungroup)
	}
	return s, nil
}

// names makes the results, over rows, so that other clauses find them by their names.
func (c *checker) names(s *selected, x *Select) error {
	aliases := map[string]*node{}
	inner := *s.scope
	inner.place = "SELECT"
	for _, col := range x.List {
		if col.Expr == nil {
			if err := c.star(s, col); err != nil {
				return err
			}
			continue
		}
		n, err := c.expr(col.Expr, &inner)
		if err != nil {
			return err
		}
		name := col.As
		if name == "" {
			name = nameOf(col.Expr)
		} else if _, ok := aliases[name]; !ok {
			aliases[name] = n
		}
		s.outs = append(s.outs, out{name, n})
	}
	s.scope.aliases = aliases
	return nil
}

// nameOf is what a result is called without an alias.
func nameOf(x Expr) string {
	if n, ok := x.(*Name); ok {
		return n.Name
	}
	return Text(x)
}

// star adds all columns of the origins, or of one.
func (c *checker) star(s *selected, col Column) error {
	found := false
	for i, o := range s.scope.origins {
		if col.Of != "" && col.Of != o.name {
			continue
		}
		found = true
		for j, f := range o.fields {
			at := [2]int{i, j}
			if col.Of == "" && s.scope.hidden[at] {
				continue
			}
			var n *node
			var err error
			if same := s.scope.using[f.Name]; col.Of == "" && same != nil && same[0] == at {
				n, err = c.merged(&Name{at: atOf(col.At), Name: f.Name}, same, s.scope)
			} else {
				n, err = c.stored(col.At, s.scope, i, j)
			}
			if err != nil {
				return err
			}
			s.outs = append(s.outs, out{f.Name, n})
		}
	}
	if !found {
		return mistake(c.text, col.At, errs.NotFound, "there is no source %q", col.Of)
	}
	return nil
}

func atOf(p Pos) at { return at(p) }

// condition is an expression in a boolean place, over rows.
func (c *checker) condition(s *scope, x Expr, place string) (*node, error) {
	inner := *s
	inner.rows, inner.place = true, place
	n, err := c.expr(x, &inner)
	if err != nil {
		return nil, err
	}
	if n, err = c.truth(n); err != nil {
		return nil, err
	}
	return n, c.noRanks(n, place)
}

// noRanks refuses BM25 where the rows that it is over are not known yet.
func (c *checker) noRanks(n *node, place string) error {
	var err error
	n.each(func(m *node) {
		if m.words != nil && err == nil {
			err = c.fail(m.at, "BM25_SIMILARITY is over the rows that WHERE leaves, and has no place in %s; use it in SELECT or ORDER BY", place)
		}
	})
	return err
}

func (c *checker) expanded(s *selected, x *Expand) error {
	if !s.single {
		return c.fail(x.At, "EXPAND BY wants the rows of one source, there are %d", len(s.scope.origins))
	}
	e := &expansion{merge: x.Merge}
	var err error
	if e.before, err = c.count(x.Before, "EXPAND BY"); err != nil {
		return err
	}
	if e.after = e.before; x.After != nil {
		if e.after, err = c.count(x.After, "EXPAND BY"); err != nil {
			return err
		}
	}
	s.expand = e
	return nil
}

// grouped checks GROUP BY, HAVING and aggregates, and puts results over groups in the place of those over rows.
func (c *checker) grouped(s *selected, x *Select) error {
	aggregated := x.Having != nil
	for _, o := range s.outs {
		aggregated = aggregated || o.x.aggregates()
	}
	if len(x.Group) == 0 && !aggregated {
		return nil
	}
	inner := *s.scope
	inner.rows, inner.place = true, "GROUP BY"
	var keys []*node
	for _, y := range x.Group {
		var n *node
		var err error
		if l, ok := y.(*Literal); ok {
			if i, ok := l.Value.(int64); ok {
				if i < 1 || i > int64(len(s.outs)) {
					return c.fail(y.Pos(), "there is no result %d, there are %d", i, len(s.outs))
				}
				n = s.outs[i-1].x
			}
		}
		if n == nil {
			if n, err = c.expr(y, &inner); err != nil {
				return err
			}
		}
		if n.aggregates() {
			return c.fail(y.Pos(), "GROUP BY an aggregate")
		}
		if err := c.noRanks(n, "GROUP BY"); err != nil {
			return err
		}
		keys = append(keys, n)
	}
	s.group = newGrouping(keys, x.Across, len(x.Group) > 0)
	for i := range s.outs {
		n, err := c.lift(s.group, s.outs[i].x)
		if err != nil {
			return err
		}
		s.outs[i].x = n
	}
	if x.Having != nil {
		n, err := s.node(c, x.Having)
		if err != nil {
			return err
		}
		if s.having, err = c.truth(n); err != nil {
			return err
		}
	}
	return nil
}

// node is an expression over the rows that the select gives: groups where there are such.
func (s *selected) node(c *checker, x Expr) (*node, error) {
	inner := *s.scope
	inner.rows, inner.place = s.group == nil, "a select without groups"
	if name, ok := x.(*Name); ok && name.Of == "" { // a result first, then a column
		for _, o := range s.outs {
			if o.name == name.Name {
				return o.x, nil
			}
		}
	}
	n, err := c.expr(x, &inner)
	if err != nil || s.group == nil {
		return n, err
	}
	return c.lift(s.group, n)
}

func (s *selected) key(c *checker, x Expr) (*node, error) {
	n, err := s.node(c, x)
	if err != nil || !s.unique || s.on != nil {
		return n, err
	}
	for _, o := range s.outs {
		if o.x.id == n.id {
			return n, nil
		}
	}
	return nil, c.fail(x.Pos(), "%s is no result, and the rows of SELECT DISTINCT differ in their results alone; select it too", Text(x))
}

// run makes the rows.
func (s *selected) run(r *run, order []key, most int64) (*rel, bool, error) {
	src, tables, err := s.source(r)
	if err != nil {
		return nil, false, err
	}
	if s.expand != nil {
		all, err := collect(r, src, tables, 8, nil, -1)
		if err != nil {
			return nil, false, err
		}
		src = s.expand.run(all)
	}
	if err := s.rank(r, &src, tables, order); err != nil {
		return nil, false, err
	}
	distinct := most // rows of DISTINCT that are needed: with an order, who knows which
	if len(order) > 0 {
		distinct = -1
	}
	if s.group != nil {
		return s.groups(r, src, distinct)
	}
	if s.unique {
		all, err := collect(r, src, tables, 8, nil, -1)
		if err != nil {
			return nil, false, err
		}
		if s.on != nil && len(order) > 0 { // the first of each in this order
			if all, err = ordered(r, all, order, -1); err != nil {
				return nil, false, err
			}
			all, err = s.distinct(r, all, -1)
			return all, true, err
		}
		all, err = s.distinct(r, all, distinct)
		return all, false, err
	}
	// An index that knows the order, as one of near vectors, would give these rows without a scan.
	if len(order) > 0 && most >= 0 && most <= mostTop {
		rows, err := top(r, src, tables, order, int(most))
		return rows, true, err
	}
	if len(order) > 0 {
		most = -1
	}
	if all, ok := src.(*rel); ok {
		return all, false, nil
	}
	rows, err := collect(r, src, tables, 8, nil, most)
	return rows, false, err
}

// groups makes the rows of groups.
func (s *selected) groups(r *run, src flow, most int64) (*rel, bool, error) {
	rows, err := s.group.run(r, src)
	if err != nil {
		return nil, false, err
	}
	if s.having != nil {
		if rows, err = filtered(r, rows, s.having); err != nil {
			return nil, false, err
		}
	}
	if s.unique {
		rows, err = s.distinct(r, rows, most)
	}
	return rows, false, err
}

// filtered is the rows for which a condition holds.
func filtered(r *run, rows *rel, cond *node) (*rel, error) {
	weight := cond.weight()
	parts := make([][]int, rows.units(r, weight))
	err := rows.each(r, weight, nil, func(unit int, f *frame) error {
		v, err := f.eval(cond)
		if err != nil {
			return err
		}
		for _, i := range array.Pick(v) {
			parts[unit] = append(parts[unit], int(f.first)+i)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows.take(slices.Concat(parts...)), nil
}

// distinct is the first rows of which no other has the same values, at most most of them.
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
	return rows.take(picked), nil
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

// keys is the values of expressions, together, as bytes that are equal where the values are; with whole, nil where one is NULL.
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

// run puts to each row those before and behind it.
func (e *expansion) run(all *rel) *rel {
	n := all.tables[0].Rows()
	var rows []int64
	last := int64(-1) // the highest row that is there, with merge
	for _, row := range all.rows[0] {
		from, to := max(0, row-min(row, e.before)), row+min(e.after, n-1-row)
		if e.merge {
			from = max(from, last+1)
			last = max(last, to)
		}
		for k := from; k <= to; k++ {
			rows = append(rows, k)
		}
	}
	return &rel{n: len(rows), tables: all.tables, rows: [][]int64{rows}}
}

// from checks what rows are drawn from.
func (c *checker) from(s *selected, x *Select) error {
	first := x.From
	if first == nil {
		first = &Source{At: x.At, Name: askedName}
	}
	o, err := c.origin(first, s.scope)
	if err != nil {
		return err
	}
	s.scope.origins = []*origin{o}
	s.single = len(x.Joins) == 0
	for i := range x.Joins {
		if err := c.join(s, &x.Joins[i]); err != nil {
			return err
		}
	}
	return nil
}

// askedName is what FROM calls the dataset that is asked.
const askedName = "dataset"

// origin finds what FROM names: a query of WITH, the dataset that is asked, or one by its URI.
func (c *checker) origin(x *Source, s *scope) (*origin, error) {
	if x.Query != nil {
		p, err := c.inner(x.Query, s)
		if err != nil {
			return nil, err
		}
		return derivedOrigin(x.As, x.At, p), nil
	}
	as := x.As
	if as == "" {
		as = x.Name
	}
	if q := c.with[x.Name]; q != nil && x.Ref == nil {
		before := c.with
		c.with = q.with
		p, err := c.inner(q.query, s)
		c.with = before
		if err != nil {
			return nil, err
		}
		return derivedOrigin(as, x.At, p), nil
	}
	t, err := c.table(x)
	if err != nil {
		return nil, err
	}
	if d, ok := t.(Distant); ok && d.Remote() {
		c.far = true
	}
	fields := t.Columns()
	return &origin{name: as, at: x.At, table: t, fields: fields, types: make([]*array.Type, len(fields))}, nil
}

func (c *checker) table(x *Source) (Table, error) {
	ref := ""
	switch r := x.Ref.(type) {
	case nil:
	case *Name:
		ref = r.Name
	case *Literal:
		if text, ok := r.Value.(string); ok {
			ref = text
		} else {
			ref = literal(r.Value)
		}
	default:
		return nil, c.fail(x.At, "a version is %s, want a name or a number", Text(x.Ref))
	}
	uri := strings.ContainsAny(x.Name, "/:.")
	if !uri && strings.EqualFold(x.Name, askedName) && ref == "" {
		if c.asked == nil {
			return nil, c.fail(x.At, "no dataset is asked; name one, as in FROM \"s3://bucket/name\"")
		}
		return c.asked, nil
	}
	if c.asked != nil && ref == "" && x.Name == c.asked.Name() {
		return c.asked, nil
	}
	if !uri && strings.EqualFold(x.Name, askedName) && c.asked != nil {
		x = &Source{At: x.At, Name: c.asked.Name()}
	} else if !uri {
		names := []string{askedName}
		for name := range c.with {
			names = append(names, name)
		}
		return nil, mistake(c.text, x.At, errs.NotFound, "there is no source %q%s; want %s, a name of WITH, or the URI of a dataset in double quotes", x.Name, errs.Suggest(x.Name, names), askedName)
	}
	key := x.Name + "\x00" + ref
	if t := c.opened[key]; t != nil {
		return t, nil
	}
	if c.tables == nil {
		return nil, mistake(c.text, x.At, errs.Unsupported, "other datasets cannot be opened here")
	}
	t, err := c.tables.Table(c.ctx, x.Name, ref)
	if errs.Is(err, errs.Canceled) {
		return nil, err
	}
	if err != nil {
		return nil, mistake(c.text, x.At, errs.KindOf(err), "%w", err)
	}
	c.opened[key] = t
	return t, nil
}
