package query

import (
	"fmt"
	"slices"
	"strings"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/compute/aggregate"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// aggregateCall is a function of the rows of a group, or of all rows.
type aggregateCall struct {
	name     string
	distinct bool
	arg      *node // nil: COUNT(*)
	t        array.Type
	// of STRING_AGG(text, separator); nil: the usual one
	separator *string
}

// aggregator makes an aggregator of values of type t.
func (a *aggregateCall) aggregator(t array.Type) (aggregate.Aggregator, error) {
	if a.separator != nil {
		return aggregate.NewStringAgg(a.distinct, t, *a.separator)
	}
	return aggregate.New(a.name, a.distinct, t)
}

// plannedFunction is a function that needs more than the values of its arguments: a seed, the
// position of the row, another row or all rows of the query.
type plannedFunction struct {
	name  string
	check func(c *checker, x *tql.Call, s *scope) (*node, error)
	doc   string // its signature and meaning, in a line
}

// plannedFunctions returns a function: a variable would refer to itself through the checker.
func plannedFunctions() []plannedFunction {
	return []plannedFunction{
		{"RANDOM", (*checker).random, "RANDOM(): a number of [0, 1) for each row, the same for the same seed"},
		{"ROW_NUMBER", (*checker).rowNumber, "ROW_NUMBER(): the number of the row, from 0"},
		{"SOURCE", (*checker).sourceOf, "SOURCE(table): the file from which a row was imported, without its folder; NULL if there is none"},
		{"FRAMES", (*checker).ofVideo, "FRAMES(video): the number of frames"},
		{"DURATION", (*checker).ofVideo, "DURATION(video): the seconds to the end of the last frame"},
		{"FPS", (*checker).ofVideo, "FPS(video): frames a second in the mean; 0: the video has no duration"},
		{"DATA", (*checker).data, "DATA(column, row): the value of a column at another row"},
		{"BM25_SIMILARITY", (*checker).bm25, "BM25_SIMILARITY(text, words): how well a text fits the words, among the texts of all rows that are asked (Robertson and Zaragoza, 2009)"},
		{"MAX_WEIGHT", (*checker).weights, "MAX_WEIGHT(condition: weight, ...): in SAMPLE BY, the greatest weight of the conditions that hold; 0 if none does"},
		{"SUM_WEIGHT", (*checker).weights, "SUM_WEIGHT(condition: weight, ...): in SAMPLE BY, the sum of the weights of the conditions that hold"},
	}
}

// findPlanned returns nil if the planner has no function of that name.
func findPlanned(name string) *plannedFunction {
	for _, f := range plannedFunctions() {
		if f.name == name {
			return &f
		}
	}
	return nil
}

// FunctionNames lists every function of the language.
func FunctionNames() []string {
	all := slices.Concat(compute.Names(), aggregate.Names())
	for _, f := range plannedFunctions() {
		all = append(all, f.name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *checker) call(x *tql.Call, s *scope) (*node, error) {
	if f := findPlanned(x.Name); f != nil {
		return f.check(c, x, s)
	}
	if x.Star && x.Name != "COUNT" {
		return nil, c.fail(x.Pos(), "%s(*): only COUNT takes *", x.Name)
	}
	args, err := c.exprs(x.Args, s)
	if err != nil {
		return nil, err
	}
	if isAggregate(x, args) {
		return c.aggregate(x, args, s)
	}
	if x.Distinct {
		return nil, c.fail(x.Pos(), "%s(DISTINCT ...): %s is no aggregate of these arguments", x.Name, x.Name)
	}
	if u := c.o.Functions[x.Name]; u != nil {
		return c.user(x, u, args)
	}
	return c.function(x.Pos(), x.Name, args)
}

// stringAgg is the one aggregate that takes two arguments.
const stringAgg = "STRING_AGG"

// isAggregate reports whether a call aggregates rows. A name that is also a function of arrays is
// that function if its argument is an array.
func isAggregate(x *tql.Call, args []*node) bool {
	if x.Name == stringAgg && len(args) == 2 {
		return true
	}
	if !slices.Contains(aggregate.Names(), x.Name) || len(args) > 1 {
		return false
	}
	return len(args) == 0 || compute.Find(x.Name) == nil || x.Distinct || args[0].t.Scalar()
}

func (c *checker) aggregate(x *tql.Call, args []*node, s *scope) (*node, error) {
	if s.rows {
		return nil, c.fail(x.Pos(), "%s is an aggregate of rows, which has no place in %s", x.Name, s.place)
	}
	a := &aggregateCall{name: x.Name, distinct: x.Distinct}
	if len(args) == 0 {
		if !x.Star {
			return nil, c.fail(x.Pos(), "%s() wants an argument", x.Name)
		}
		a.t = array.Of(tensor.Int64)
	} else {
		a.arg = args[0]
		if a.arg.aggregates() {
			return nil, c.fail(a.arg.at, "%s of an aggregate: %s is of rows together already", x.Name, a.arg.say)
		}
		if x.Name == "COUNT" && a.arg.ref != nil && a.arg.ref.want == Values && !x.Distinct {
			a.arg = c.present(a.arg)
		}
		if len(args) == 2 {
			y := args[1]
			if !y.constant() || !y.t.Scalar() || !y.t.Text() || y.value.IsNull(0) {
				return nil, c.fail(y.at, "%s: the separator is %s, want a constant text", x.Name, y.say)
			}
			separator, _ := y.value.Value(0).(string)
			a.separator = &separator
		}
		var err error
		if a.t, err = aggregate.ResultType(a.name, a.arg.t); err != nil {
			return nil, placed(c.text, x.Pos(), err)
		}
	}
	n := &node{at: x.Pos(), t: a.t, agg: a, extra: -1, say: tql.Text(x), size: sizeOf(a.t)}
	key := -1
	if a.arg != nil {
		key = a.arg.id
		n.depth = a.arg.depth + 1
	}
	parts := []any{"aggregate ", a.name, a.distinct, key}
	if a.separator != nil {
		parts = append(parts, " by ", *a.separator)
	}
	n.id = c.intern(parts...)
	return n, nil
}

// present returns a value where a column has one and NULL elsewhere, without reading it.
func (c *checker) present(of *node) *node {
	nulls := c.reading(of, Nulls, array.Of(tensor.Bool))
	n, err := c.apply(of.at, "present", nulls.t, cheap, []*node{nulls}, func(w *array.Work, a []*array.Column) (*array.Column, error) {
		out := *a[0].Expand()
		out.Null, _ = out.Data.([]bool)
		return &out, nil
	})
	if err != nil {
		return of
	}
	n.facts.Infallible = func([]compute.Arg, array.Type) bool { return true }
	return n
}

// function makes the node of a function, or of a cheaper equivalent.
func (c *checker) function(at tql.Pos, name string, args []*node) (*node, error) {
	f := compute.Find(name)
	if f == nil {
		if slices.Contains(aggregate.Names(), name) {
			return nil, c.fail(at, "%s has %d arguments, want 1", name, len(args))
		}
		names := FunctionNames()
		for user := range c.o.Functions {
			names = append(names, user)
		}
		return nil, tql.Errorf(c.text, at, errs.NotFound, "there is no function %s%s", name, errs.Suggest(name, names))
	}
	if len(args) < f.Least || f.Most >= 0 && len(args) > f.Most {
		return nil, c.fail(at, "%s has %d arguments, want %s", name, len(args), counts(f.Least, f.Most))
	}
	if n, err := c.instead(at, name, args); n != nil || err != nil {
		return n, err
	}
	if name == "CONTAINS" && args[0].t.Names != nil && !args[0].t.Scalar() {
		a, b, err := c.byName(args[0], args[1])
		if err != nil {
			return nil, err
		}
		args = []*node{a, b}
	}
	types := make([]array.Type, len(args))
	var err error
	for i := range args {
		if args[i], err = c.nameForText(name, args[i], args); err != nil {
			return nil, err
		}
		types[i] = args[i].t
	}
	t, err := f.Check(types)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	n, err := c.apply(at, name, t, 10, args, f.Call)
	if err == nil {
		n.say, n.bounded = name+"("+says(args)+")", f.Bounded
	}
	return n, err
}

func counts(least, most int) string {
	switch {
	case most < 0:
		return fmt.Sprintf("%d or more", least)
	case most == least:
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

func says(args []*node) string {
	text := ""
	for i, a := range args {
		if i > 0 {
			text += ", "
		}
		text += a.say
	}
	return text
}

// nameForText gives functions of text the names of classes.
func (c *checker) nameForText(name string, x *node, args []*node) (*node, error) {
	switch name {
	case "CONTAINS":
		if !args[0].t.Scalar() { // an array or a list of labels, which are compared by number
			return x, nil
		}
		return c.named(x)
	case "EQUALS", "LOWER", "UPPER", "CONCAT", "SUBSTRING", "SUBSTR", "TRIM", "REPLACE", "STARTS_WITH", "ENDS_WITH":
		return c.named(x)
	case "COALESCE", "NULLIF", "GREATEST", "LEAST":
		for _, a := range args {
			if a.t.Text() {
				return c.named(x)
			}
		}
	}
	return x, nil
}

// instead returns an equivalent that reads less than the values, nil if there is none: shapes come
// from the index, and the norm of a difference is computed without the difference.
func (c *checker) instead(at tql.Pos, name string, args []*node) (*node, error) {
	x := args
	if len(x) == 0 {
		return nil, nil
	}
	stored := x[0].ref != nil && x[0].ref.want == Values && x[0].ref.part == nil
	shape := func() *node {
		t := array.Type{DType: tensor.Int64, Dims: 1, Shape: tensor.Shape{-1}}
		if x[0].t.List {
			t = array.Of(tensor.Int64)
		} else if x[0].t.Dims >= 0 {
			t.Shape[0] = int64(x[0].t.Dims)
		}
		return c.reading(x[0], Shapes, t)
	}
	call := func(name string, args ...*node) (*node, error) {
		f := compute.Find(name)
		if f == nil {
			return nil, nil
		}
		types := make([]array.Type, len(args))
		for i := range args {
			types[i] = args[i].t
		}
		t, err := f.Check(types)
		if err != nil {
			return nil, placed(c.text, at, err)
		}
		n, err := c.apply(at, name, t, 10, args, f.Call)
		if err == nil {
			n.bounded = f.Bounded
		}
		return n, err
	}
	switch {
	case name == "SHAPE" && len(x) == 1 && x[0].t.HType == "video":
		return c.shapeOfVideo(at, x[0])
	case name == "L2_NORM" && len(x) == 1 && x[0].op == "-" && x[0].compute != nil && len(x[0].args) == 2 && !x[0].t.Scalar():
		return call("L2_DISTANCE", x[0].args...)
	case !stored || !x[0].t.DType.Fixed() && !x[0].t.List:
		if stored && name == "LENGTH" && x[0].t.DType == tensor.Bytes {
			return c.reading(x[0], Length, array.Of(tensor.Int64)), nil
		}
		return nil, nil
	case name == "SHAPE" && len(x) == 1:
		return shape(), nil
	case x[0].t.List || len(x) != 1:
		if name == "LENGTH" && x[0].t.List {
			return c.reading(x[0], Length, array.Of(tensor.Int64)), nil
		}
	case name == "NDIM":
		return call("SIZE", shape())
	case name == "SIZE":
		return call("PROD", shape())
	}
	return nil, nil
}

// user calls a function that the user has registered.
func (c *checker) user(x *tql.Call, u User, args []*node) (*node, error) {
	n := &node{at: x.Pos(), t: u.Type(), args: args, cost: dear, say: tql.Text(x)}
	n.compute = func(f *frame, a []*array.Column) (*array.Column, error) {
		full := make([]*array.Column, len(a))
		for i := range a {
			var err error
			if full[i], err = f.counted(func(w *array.Work) (*array.Column, error) { return a[i].ExpandIn(w), nil }); err != nil {
				return nil, err
			}
		}
		out, err := u.Call(f.run.ctx, full)
		if err == nil {
			err = f.ledger.hold(out)
		}
		return out, err
	}
	if len(args) == 0 {
		return nil, c.fail(x.Pos(), "%s() wants an argument: a function of the user is called with columns", x.Name)
	}
	constant := true
	for _, a := range args {
		constant = constant && a.constant()
	}
	if constant {
		return nil, c.fail(x.Pos(), "%s: all arguments are constants, want a column: a function of the user is called with columns", x.Name)
	}
	return c.make(n, x.Name)
}

func (c *checker) none(x *tql.Call) error {
	if len(x.Args) > 0 || x.Star {
		return c.fail(x.Pos(), "%s has %d arguments, want none", x.Name, max(len(x.Args), 1))
	}
	return nil
}

// random returns a number in [0, 1) for each row. It depends on the seed, the row and the call
// only, so that a query of WITH draws the same numbers wherever it is named.
func (c *checker) random(x *tql.Call, _ *scope) (*node, error) {
	if err := c.none(x); err != nil {
		return nil, err
	}
	c.places = true
	c.varied++
	which, seed := c.nth(x.Pos()), c.o.Seed
	n := &node{at: x.Pos(), t: array.Of(tensor.Float64), cost: cheap, say: "RANDOM()", role: roleRandom}
	n.alone = func(f *frame, _ *node) (*array.Column, error) {
		out := make([]float64, f.n)
		for i := range out {
			out[i] = draw(seed, which, uint64(f.position(i)))
		}
		return array.FromFloats(out, nil), nil
	}
	return c.make(n, fmt.Sprint("RANDOM ", which))
}

// draw returns a number in [0, 1) made of three numbers by splitmix64 (Steele, Lea and Flood,
// 2014).
func draw(seed, which, row uint64) float64 {
	z := seed
	for _, v := range [2]uint64{which, row} {
		z += 0x9e3779b97f4a7c15 * (v + 1)
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return float64(z>>11) / (1 << 53)
}

// sourceOf reads the hidden column of a table. The table may be left out where one alone has it.
func (c *checker) sourceOf(x *tql.Call, s *scope) (*node, error) {
	of := ""
	if len(x.Args) > 0 {
		name, ok := x.Args[0].(*tql.Name)
		if len(x.Args) > 1 || !ok || name.Of != "" {
			return nil, c.fail(x.Pos(), "SOURCE takes the name of a table of FROM at most, as in SOURCE() or SOURCE(t)")
		}
		of = name.Name
	} else if x.Star {
		return nil, c.none(x)
	}
	var found *node
	named := false
	for i, o := range s.origins {
		if of != "" && of != o.name {
			continue
		}
		named = true
		at := slices.IndexFunc(o.fields, func(f Field) bool { return f.Hidden && f.Type.DType == tensor.String })
		if at < 0 {
			continue
		}
		if found != nil {
			return nil, c.fail(x.Pos(), "SOURCE(): rows of %q and of %q have files; write which, as in SOURCE(%s)", s.origins[found.ref.origin].name, o.name, o.name)
		}
		n, err := c.stored(x.Pos(), s, i, at)
		if err != nil {
			return nil, err
		}
		found = n
	}
	switch {
	case found != nil:
		return found, nil
	case !named:
		return nil, tql.Errorf(c.text, x.Pos(), errs.NotFound, "there is no source %q", of)
	}
	// The rows of a query, and of a dataset without imported rows, have no files.
	return c.constantNode(x.Pos(), array.Constant(array.Of(tensor.String), nil, 1)), nil
}

func (c *checker) rowNumber(x *tql.Call, _ *scope) (*node, error) {
	if err := c.none(x); err != nil {
		return nil, err
	}
	c.places = true
	n := &node{at: x.Pos(), t: array.Of(tensor.Int64), cost: cheap, say: "ROW_NUMBER()", role: roleRowNumber}
	n.alone = func(f *frame, _ *node) (*array.Column, error) {
		out := make([]int64, f.n)
		for i := range out {
			out[i] = f.position(i)
		}
		return array.FromInts(out, nil), nil
	}
	return c.make(n, "ROW_NUMBER")
}

// data is DATA(column, row): the value of a column in another row of its table.
func (c *checker) data(x *tql.Call, s *scope) (*node, error) {
	if len(x.Args) != 2 {
		return nil, c.fail(x.Pos(), "DATA has %d arguments, want a column and a row", len(x.Args))
	}
	args, err := c.exprs(x.Args, s)
	if err != nil {
		return nil, err
	}
	of, row := args[0], args[1]
	if of.ref == nil || of.ref.want != Values {
		return nil, tql.Errorf(c.text, of.at, errs.Type, "DATA wants a column as it is stored")
	}
	if !row.t.Scalar() || row.t.DType != tensor.Int64 && row.t.DType != 0 && (row.t.DType < tensor.Uint8 || row.t.DType > tensor.Int64) {
		return nil, tql.Errorf(c.text, row.at, errs.Type, "a row is %s, want an integer", row.t)
	}
	n := &node{at: x.Pos(), t: of.t, args: []*node{row}, also: of, cost: of.cost, say: tql.Text(x)}
	n.compute = func(f *frame, a []*array.Column) (*array.Column, error) {
		if f == nil {
			return nil, errs.New(errs.Internal, "DATA was computed without rows")
		}
		return f.elsewhere(of, a[0])
	}
	if row.constant() { // not to be computed before there are rows
		compute := n.compute
		n.args, n.compute = nil, nil
		n.alone = func(f *frame, _ *node) (*array.Column, error) {
			v, err := compute(f, []*array.Column{row.value})
			if err != nil {
				return nil, err
			}
			at := make([]int, f.n)
			return f.counted(func(w *array.Work) (*array.Column, error) { return v.TakeIn(w, at), nil })
		}
		return c.make(n, fmt.Sprint("DATA ", of.id, " ", row.id))
	}
	return c.make(n, fmt.Sprint("DATA ", of.id))
}

// weights is MAX_WEIGHT or SUM_WEIGHT: of the conditions that hold, the largest weight or the sum;
// 0 where none holds.
func (c *checker) weights(x *tql.Call, s *scope) (*node, error) {
	var all *node
	for _, w := range x.Weights {
		cond, err := c.expr(w.If, s)
		if err != nil {
			return nil, err
		}
		if cond, err = c.truth(cond); err != nil {
			return nil, err
		}
		then, err := c.expr(w.Then, s)
		if err != nil {
			return nil, err
		}
		if !then.t.Scalar() {
			return nil, tql.Errorf(c.text, then.at, errs.Type, "a weight is %s, want a number", then.t)
		}
		one := array.Of(tensor.Float64)
		n := &node{at: w.If.Pos(), t: one, args: []*node{cond, then, c.literal(w.If.Pos(), 0.0)}, role: roleCase, cost: moderate}
		n.alone = (*frame).cases
		if n, err = c.make(n, "CASE"); err != nil {
			return nil, err
		}
		if all == nil {
			all = n
			continue
		}
		a := []*node{all, n}
		if x.Name == "MAX_WEIGHT" {
			all, err = c.function(x.Pos(), "GREATEST", a)
		} else {
			all, err = c.apply(x.Pos(), "+", one, cheap, a, func(w *array.Work, v []*array.Column) (*array.Column, error) {
				return compute.Arith(w, "+", v[0], v[1])
			})
		}
		if err != nil {
			return nil, err
		}
	}
	all.say = tql.Text(x)
	return all, nil
}

// Help returns the signature of a function and its meaning, in a line each.
func Help(name string) (signature, doc string) {
	text := ""
	if f := compute.Find(name); f != nil {
		text = f.Doc
	}
	also := ""
	if f := findPlanned(name); f != nil {
		also = f.doc
	}
	if a := aggregate.Find(name); a != nil {
		also = a.Doc
	}
	if also != "" {
		text = strings.TrimPrefix(text+"; "+also, "; ")
	}
	if i := strings.Index(text, "): "); i > 0 && strings.HasPrefix(text, name+"(") {
		return text[:i+1], text[i+3:]
	}
	return name + "(...)", text
}
