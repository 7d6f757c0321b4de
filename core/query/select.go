package query

import (
	"deeplake/core/errs"
	"deeplake/core/tql"
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
	keys   []*node // that the statement sorts, spreads or draws by

	c *checker // for keys to sort by, while the statement is checked
}

// expansion is EXPAND BY.
type expansion struct {
	before, after int64
	merge         bool
}

func (s *selected) columns() []out { return s.outs }

func (c *checker) selected(x *tql.Select, outer *scope, bound *[]*node) (body, error) {
	c.calls++
	s := &selected{scope: &scope{number: c.calls, outer: outer, bound: bound}, unique: x.Distinct, c: c}
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
func (c *checker) names(s *selected, x *tql.Select) error {
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

// nameOf returns the name of a result without an alias.
func nameOf(x tql.Expr) string {
	if n, ok := x.(*tql.Name); ok {
		return n.Name
	}
	return tql.Text(x)
}

// star adds all columns of the origins, or of one.
func (c *checker) star(s *selected, col tql.Column) error {
	found, begin := false, len(s.outs)
	left := make([]bool, len(col.Exclude)) // the names of EXCLUDE that are columns
	var all []string
	for i, o := range s.scope.origins {
		if col.Of != "" && col.Of != o.name {
			continue
		}
		found = true
		c.resolveAhead(o, func(f Field) bool { return !f.Hidden })
		for j, f := range o.fields {
			at := [2]int{i, j}
			if f.Hidden {
				continue
			}
			all = append(all, f.Name)
			if excluded(col.Exclude, o.name, f.Name, left) || col.Of == "" && s.scope.hidden[at] {
				continue
			}
			var n *node
			var err error
			if same := s.scope.using[f.Name]; col.Of == "" && same != nil && same[0] == at {
				n, err = c.merged(&tql.Name{Start: tql.Start(col.At), Name: f.Name}, same, s.scope)
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
		return tql.Errorf(c.text, col.At, errs.NotFound, "there is no source %q", col.Of)
	}
	for k, is := range left {
		if n := col.Exclude[k]; !is {
			return tql.Errorf(c.text, n.Pos(), errs.NotFound, "EXCLUDE: there is no column %s%s", tql.Text(n), suggest(n.Name, all))
		}
	}
	if len(left) > 0 && len(s.outs) == begin {
		return c.fail(col.Exclude[0].Pos(), "EXCLUDE leaves out all columns; keep one at least")
	}
	return nil
}

// excluded reports whether EXCLUDE names a column of a source, and notes in left which names do.
func excluded(names []*tql.Name, source, column string, left []bool) (out bool) {
	for k, n := range names {
		if n.Name == column && (n.Of == "" || n.Of == source) || n.Of != "" && n.Of+"/"+n.Name == column {
			left[k], out = true, true
		}
	}
	return out
}

// condition returns an expression in a boolean place, over rows.
func (c *checker) condition(s *scope, x tql.Expr, place string) (*node, error) {
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

// noRanks refuses BM25 in places where its rows are not known yet.
func (c *checker) noRanks(n *node, place string) error {
	var err error
	n.each(func(m *node) {
		if m.terms != nil && err == nil {
			err = c.fail(m.at, "BM25_SIMILARITY is over the rows that WHERE leaves, and has no place in %s; use it in SELECT or ORDER BY", place)
		}
	})
	return err
}

func (c *checker) expanded(s *selected, x *tql.Expand) error {
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

// grouped checks GROUP BY, HAVING and aggregates, and replaces results over rows by results over
// groups.
func (c *checker) grouped(s *selected, x *tql.Select) error {
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
		if l, ok := y.(*tql.Literal); ok {
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
	s.group.whole = x.Ungroup != nil
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

// node makes the node of an expression over the result rows of the select: groups, if it has any.
func (s *selected) node(c *checker, x tql.Expr) (*node, error) {
	inner := *s.scope
	inner.rows, inner.place = s.group == nil, "a select without groups"
	if name, ok := x.(*tql.Name); ok && name.Of == "" { // a result first, then a column
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

func (s *selected) key(c *checker, x tql.Expr) (*node, error) {
	n, err := s.node(c, x)
	if err != nil {
		return nil, err
	}
	s.keys = append(s.keys, n)
	if !s.unique || s.on != nil {
		return n, nil
	}
	for _, o := range s.outs {
		if o.x.id == n.id {
			return n, nil
		}
	}
	return nil, c.fail(x.Pos(), "%s is no result, and the rows of SELECT DISTINCT differ in their results alone; select it too", tql.Text(x))
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
		if src, err = s.expand.run(r, all); err != nil {
			return nil, false, err
		}
	}
	in := s.ranked()
	if s.group != nil {
		in = s.group.needs()
	}
	if err := rank(r, &src, tables, in); err != nil {
		return nil, false, err
	}
	distinct := most // rows of DISTINCT to keep; with an order, all
	if len(order) > 0 {
		distinct = -1
	}
	if s.group != nil {
		return s.groups(r, src, order, distinct)
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
		rows, err := top(r, src, tables, [][]key{order}, int(most))
		if err != nil {
			return nil, false, err
		}
		return rows[0], true, nil
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
func (s *selected) groups(r *run, src flow, order []key, most int64) (*rel, bool, error) {
	rows, err := s.group.run(r, src)
	if err != nil {
		return nil, false, err
	}
	src = rows
	if err := rank(r, &src, nil, s.ranked()); err != nil {
		return nil, false, err
	}
	if s.having != nil {
		if rows, err = filtered(r, rows, s.having); err != nil {
			return nil, false, err
		}
	}
	if !s.unique {
		return rows, false, nil
	}
	sorted := s.on != nil && len(order) > 0
	if sorted { // the first of each in this order
		if rows, err = ordered(r, rows, order, -1); err != nil {
			return nil, false, err
		}
	}
	rows, err = s.distinct(r, rows, most)
	return rows, sorted, err
}

// expandBlock is the number of rows between checks of the context: a megabyte of them.
const expandBlock = 1 << 17

// run joins each row with the rows before and after it.
func (e *expansion) run(r *run, all *rel) (*rel, error) {
	n := all.tables[0].Rows()
	last := int64(-1) // the highest row that is there, with merge
	reach := func(row int64) (from, to int64) {
		from, to = max(0, row-min(row, e.before)), row+min(e.after, n-1-row)
		if e.merge {
			from = max(from, last+1)
			last = max(last, to)
		}
		return from, to
	}
	total := int64(0)
	for _, row := range all.rows[0] {
		if from, to := reach(row); from <= to {
			total += to - from + 1
		}
		if total > r.o.Budget { // no sum overflows
			break
		}
	}
	if err := r.hold(total * 8); err != nil {
		return nil, err
	}
	rows := make([]int64, 0, total)
	last = -1
	for _, row := range all.rows[0] {
		for from, to := reach(row); from <= to; from += expandBlock {
			if err := r.alive(); err != nil {
				return nil, err
			}
			for k := from; k <= to && k < from+expandBlock; k++ {
				rows = append(rows, k)
			}
		}
	}
	return &rel{n: len(rows), tables: all.tables, rows: [][]int64{rows}}, nil
}
