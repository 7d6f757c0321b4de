package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// maxNested bounds how deep expressions may be nested, so that no query takes more stack than there
// is.
const maxNested = 5000

// maxBelow bounds the queries of FROM: each of a chain of WITH that names the one before twice
// would double them.
const maxBelow = 10_000

// checker makes nodes of expressions: it finds names, types and constants. It reads no samples.
type checker struct {
	ctx     context.Context
	text    string
	o       *Options
	tables  Tables
	asked   Table
	opened  map[string]Table
	with    map[string]*named
	ids     map[string]int
	calls   int // selects of this turn
	unfold  int // reads of queries of WITH in this turn
	asks    int // subqueries of all turns
	batched int // batched parameters found so far
	belows  int // queries of FROM
	deep    int
	held    int64 // bytes of constants
	far     bool  // a table lies behind a network
	places  bool  // RANDOM or ROW_NUMBER is called
	varied  int   // calls of RANDOM, and parameters, found so far: the same words may differ

	randoms []int // positions of RANDOM in the text; nil until the first use
}

// scope holds the names that an expression sees.
type scope struct {
	number  int // distinguishes selects
	origins []*origin
	outer   *scope // of the query around a subquery
	// columns that USING merged: origin and column, of which the first counts
	using   map[string][][2]int
	hidden  map[[2]int]bool  // the others of them
	aliases map[string]*node // names of results
	rows    bool             // aggregates have no place here
	place   string           // the clause, for messages: "WHERE"
	bound   *[]*node         // the values taken from the outer query, in order
}

// origin is a source of rows: a table, or a query in its place.
type origin struct {
	name   string
	at     tql.Pos
	fields []Field
	types  []*array.Type // nil until requested
	table  Table         // nil: a query
	plan   *plan
	null   bool // an outer join may have no row of it
}

func (c *checker) fail(at tql.Pos, format string, args ...any) error {
	return tql.Errorf(c.text, at, errs.Invalid, format, args...)
}

// placed adds the position in the query to an error, unless it has one.
func placed(text string, at tql.Pos, err error) error {
	var p *tql.PositionError
	if err == nil || errors.As(err, &p) || errs.Is(err, errs.Canceled) {
		return err
	}
	kind := errs.KindOf(err)
	if kind == errs.Internal || kind == errs.Storage || kind == errs.Corrupt || kind == errs.Closed {
		return err
	}
	return tql.Errorf(text, at, kind, "%w", err)
}

// intern numbers equal things equally.
func (c *checker) intern(parts ...any) int {
	key := fmt.Sprint(parts...)
	id, ok := c.ids[key]
	if !ok {
		id = len(c.ids)
		c.ids[key] = id
	}
	return id
}

// make completes a node of args: its id, its depth, and its value where all args are constants.
func (c *checker) make(n *node, op string) (*node, error) {
	key := []any{op}
	fold := n.compute != nil && len(n.args) > 0
	for _, a := range n.args {
		key = append(key, " ", a.id)
		n.depth = max(n.depth, a.depth+1)
		fold = fold && a.constant()
	}
	n.extra = -1
	n.id, n.op = c.intern(key...), op
	if n.say == "" {
		n.say = op
	}
	if n.size == 0 {
		n.size = sizeOf(n.t)
	}
	if n.depth > maxNested {
		return nil, c.fail(n.at, "an expression is nested more than %d deep", maxNested)
	}
	if !fold {
		return n, nil
	}
	values := make([]*array.Column, len(n.args))
	for i, a := range n.args {
		values[i] = a.value
	}
	v, err := n.compute(nil, values)
	if err != nil {
		return nil, placed(c.text, n.at, err)
	}
	weak := n.t.Weak
	n.t, n.value, n.args, n.compute = v.Type, v, nil, nil
	n.t.Weak = weak
	n.value.Weak = weak
	return n, nil
}

// sizeOf guesses how many bytes a value takes.
func sizeOf(t array.Type) float64 {
	one := 24.0
	if t.DType.Fixed() {
		one = float64(t.DType.Size())
	}
	if t.Dims == array.Unranked || t.List {
		return one * 16
	}
	for i := range t.Dims {
		if t.Shape != nil && t.Shape[i] >= 0 {
			one *= float64(t.Shape[i])
		} else {
			one *= 8
		}
	}
	return one
}

// constantNode returns a node of one value.
func (c *checker) constantNode(at tql.Pos, value *array.Column) *node {
	key := []any{"constant ", value.DType, value.Unit, value.Weak, value.Shape, " "}
	n := &node{at: at, t: value.Type, value: value, extra: -1, id: c.intern(append(key, string(array.AppendSigns(array.AppendKey(nil, value, 0), value, 0)))...)}
	n.size = 0
	return n
}

// expr makes the node of an expression.
func (c *checker) expr(x tql.Expr, s *scope) (*node, error) {
	c.deep++
	defer func() { c.deep-- }()
	if c.deep > maxNested {
		return nil, c.fail(x.Pos(), "an expression is nested more than %d deep", maxNested)
	}
	switch x := x.(type) {
	case *tql.Name:
		return c.name(x, s)
	case *tql.Literal:
		return c.literal(x.Pos(), x.Value), nil
	case *tql.Time:
		return c.time(x)
	case *tql.Param:
		return c.param(x)
	case *tql.Array:
		return c.array(x, s)
	case *tql.Unary:
		return c.unary(x, s)
	case *tql.Binary:
		return c.binary(x, s)
	case *tql.IsNull:
		return c.isNull(x, s)
	case *tql.Between:
		return c.between(x, s)
	case *tql.In:
		return c.in(x, s)
	case *tql.Like:
		return c.like(x, s)
	case *tql.Case:
		return c.cases(x, s)
	case *tql.Cast:
		return c.cast(x, s)
	case *tql.Extract:
		return c.extract(x, s)
	case *tql.Call:
		return c.call(x, s)
	case *tql.Index:
		return c.index(x, s)
	case *tql.Subquery:
		return c.scalarQuery(x, s)
	case *tql.Exists:
		return c.exists(x, s)
	}
	return nil, errs.New(errs.Internal, "check an expression of type %T", x)
}

func (c *checker) exprs(list []tql.Expr, s *scope) ([]*node, error) {
	out := make([]*node, len(list))
	for i, x := range list {
		n, err := c.expr(x, s)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// literal returns the node of a value in the text. A number takes the dtype of the other operand.
func (c *checker) literal(at tql.Pos, v any) *node {
	t := array.Of(0)
	switch v.(type) {
	case bool:
		t.DType = tensor.Bool
	case int64:
		t.DType, t.Weak = tensor.Int64, true
	case uint64:
		t.DType = tensor.Uint64 // not Weak: most dtypes cannot hold it
	case float64:
		t.DType, t.Weak = tensor.Float64, true
	case string:
		t.DType = tensor.String
	}
	n := c.constantNode(at, array.Constant(t, v, 1))
	switch v := v.(type) {
	case nil:
		n.say = "NULL"
	default:
		n.say = tql.FormatValue(v)
	}
	return n
}

func (c *checker) time(x *tql.Time) (*node, error) {
	unit := map[string]array.Unit{"DATE": array.Date, "TIMESTAMP": array.Timestamp, "INTERVAL": array.Interval}[x.Kind]
	v, err := array.ParseTime(unit, x.Text)
	if err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	n := c.constantNode(x.Pos(), array.Constant(array.OfUnit(unit), v, 1))
	n.say = x.Kind + " " + tql.Quote(x.Text)
	return n, nil
}

func (c *checker) param(x *tql.Param) (*node, error) {
	if x.Number >= len(c.o.Params) {
		if x.Name != "" {
			return nil, c.fail(x.Pos(), "there is no value for :%s; give it by name", x.Name)
		}
		return nil, c.fail(x.Pos(), "there is no value for parameter %d, %d are given", x.Number+1, len(c.o.Params))
	}
	say := ":" + x.Name
	if x.Name == "" {
		say = fmt.Sprintf("?%d", x.Number+1)
	}
	c.varied++
	if slices.Contains(c.o.Batched, x.Number) {
		c.batched++
	}
	switch v := c.o.Params[x.Number].(type) {
	case nil, bool, int64, float64, string:
		n := c.literal(x.Pos(), v)
		n.say = say
		return n, nil
	case *array.Column:
		if v == nil || v.N != 1 {
			return nil, c.fail(x.Pos(), "%s is a column, want one of one row", c.o.label(x.Number))
		}
		n := c.constantNode(x.Pos(), v)
		n.say = say
		return n, nil
	default:
		return nil, c.fail(x.Pos(), "%s is a %T, want a number, a string or an array", c.o.label(x.Number), v)
	}
}

// name finds a column: a result of that name where the scope has such, a column of an origin, or
// one of the query around.
func (c *checker) name(x *tql.Name, s *scope) (*node, error) {
	if n, err := c.column(x, s); n != nil || err != nil {
		return n, err
	}
	if x.Of == "" {
		if n := s.aliases[x.Name]; n != nil {
			if n.aggregates() && s.rows {
				return nil, c.fail(x.Pos(), "%q is an aggregate, which has no place in %s", x.Name, s.place)
			}
			return n, nil
		}
	}
	if s.outer != nil {
		if n, err := c.name(x, s.outer); err == nil {
			return c.fromOutside(x, n, s), nil
		}
	}
	return nil, c.unknown(x, s)
}

// column finds a column of the origins of s; nil: there is none.
func (c *checker) column(x *tql.Name, s *scope) (*node, error) {
	if x.Of == "" {
		if same := s.using[x.Name]; same != nil {
			return c.merged(x, same, s)
		}
	}
	var found *node
	look := func(name, of string) error {
		for i, o := range s.origins {
			if of != "" && of != o.name {
				continue
			}
			for j := range o.fields {
				if o.fields[j].Hidden || o.fields[j].Name != name || s.hidden[[2]int{i, j}] && of == "" {
					continue
				}
				if found != nil {
					return c.fail(x.Pos(), "column %q is in %q and in %q; write which, as in %q.%q", name, s.origins[found.ref.origin].name, o.name, o.name, name)
				}
				n, err := c.stored(x.Pos(), s, i, j)
				if err != nil {
					return err
				}
				found = n
			}
		}
		return nil
	}
	if err := look(x.Name, x.Of); err != nil || found != nil || x.Of == "" {
		return found, err
	}
	err := look(x.Of+"/"+x.Name, "") // group.tensor for "group/tensor"
	return found, err
}

// merged returns a column that USING joins: that of the left, or where it may be missing that of
// the right.
func (c *checker) merged(x *tql.Name, same [][2]int, s *scope) (*node, error) {
	var args []*node
	for _, at := range same {
		n, err := c.stored(x.Pos(), s, at[0], at[1])
		if err != nil {
			return nil, err
		}
		if args = append(args, n); !s.origins[at[0]].null {
			if len(args) == 1 {
				return n, nil
			}
			break
		}
	}
	n, err := c.function(x.Pos(), "COALESCE", args)
	if err == nil {
		n.say = x.Name
	}
	return n, err
}

// stored returns the node that reads a column of an origin.
func (c *checker) stored(at tql.Pos, s *scope, origin, column int) (*node, error) {
	o := s.origins[origin]
	f := o.fields[column]
	if o.types[column] == nil {
		t := f.Type
		if o.table != nil {
			var err error
			if t, err = o.table.Resolve(c.ctx, column); err != nil {
				return nil, err
			}
		}
		o.types[column] = &t
	}
	t := *o.types[column]
	if t.DType == tensor.Complex64 || t.DType == tensor.Complex128 {
		return nil, c.fail(at, "column %q is of dtype %s, with which queries cannot compute; * EXCLUDE (%s) leaves it out", f.Name, t.DType, tql.Text(&tql.Name{Name: f.Name}))
	}
	n := &node{at: at, t: t, ref: &ref{origin: origin, column: column}, extra: -1, say: f.Name, cost: f.Cost, size: f.Size, textLists: f.TextLists, videos: f.Videos}
	n.id = c.intern("column ", origin, " ", column)
	return n, nil
}

// unknown returns the error of a name that no table, alias or field has.
func (c *checker) unknown(x *tql.Name, s *scope) error {
	var all []string
	of := false
	for ; s != nil; s = s.outer {
		for _, o := range s.origins {
			of = of || x.Of == o.name
			for _, f := range o.fields {
				if !f.Hidden {
					all = append(all, f.Name)
				}
			}
		}
		for name := range s.aliases {
			all = append(all, name)
		}
	}
	if x.Of != "" && !of {
		return tql.Errorf(c.text, x.Pos(), errs.NotFound, "there is no source %q", x.Of)
	}
	hint := ""
	if x.Of == "" && strings.HasPrefix(c.text[x.Pos().Offset:], `"`) {
		hint = "; for a text value write " + tql.Quote(x.Name) + errs.Suggest(x.Name, all)
	} else {
		hint = suggest(x.Name, all)
	}
	return tql.Errorf(c.text, x.Pos(), errs.NotFound, "there is no column %q%s", x.Name, hint)
}

// suggest returns the nearest name, or else all of a few.
func suggest(name string, all []string) string {
	hint := errs.Suggest(name, all)
	if hint == "" && len(all) > 0 && len(all) <= 20 {
		hint = "; there are " + strings.Join(all, ", ")
	}
	return hint
}
