package query

import (
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/internal/invariant"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// The costs of computing one row, in nanoseconds, which order conditions. They need be right to a
// factor of a few.
const (
	cheap    = 2
	moderate = 50
	dear     = 2000
)

// apply makes a node of a function of columns.
func (c *checker) apply(at tql.Pos, op string, t array.Type, cost float64, args []*node, fn operation) (*node, error) {
	return c.applyAs(0, at, op, t, cost, args, fn)
}

// applyAs is apply for a node of a role.
func (c *checker) applyAs(as role, at tql.Pos, op string, t array.Type, cost float64, args []*node, fn operation) (*node, error) {
	perValue := max(1, sizeOf(t)/8)
	for _, a := range args {
		perValue = max(perValue, a.size/8)
	}
	n := &node{at: at, role: as, t: t, args: args, cost: cost * perValue, facts: compute.FactsOf(op)}
	infallible := sync.OnceValue(n.infallible)
	n.compute = func(f *frame, values []*array.Column) (*array.Column, error) {
		checked := fn
		if invariant.Enabled {
			checked = func(w *array.Work, values []*array.Column) (*array.Column, error) {
				out, err := fn(w, values)
				if w.Err() == nil {
					n.facts.Check(op, values, infallible(), out, err)
				}
				return out, err
			}
		}
		if f == nil {
			return c.fold(op, checked, values)
		}
		return f.call(op, checked, values)
	}
	return c.make(n, op)
}

// operation computes a column of others. Its Work counts the memory that it allocates.
type operation = func(w *array.Work, args []*array.Column) (*array.Column, error)

// outcome computes an operator. The error of w counts before all others: what follows it is
// arbitrary.
func outcome(op string, fn operation, w *array.Work, values []*array.Column) (out *array.Column, err error) {
	defer func() {
		if w.Err() != nil {
			_ = recover()
			out, err = nil, w.Err()
		}
	}()
	if invariant.Enabled {
		return fn(w, values)
	}
	return contained(op, fn, w, values)
}

// contained computes an operator. A panic fails the query alone: an operator holds no lock, and
// what it made is dropped.
func contained(op string, fn operation, w *array.Work, values []*array.Column) (out *array.Column, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, errs.New(errs.Internal, "compute %s: panic: %v\n%s", op, p, debug.Stack())
		}
	}()
	return fn(w, values)
}

func (c *checker) unary(x *tql.Unary, s *scope) (*node, error) {
	if l, ok := x.X.(*tql.Literal); ok && x.Op == "-" {
		switch v, _ := l.Value.(uint64); {
		case v == 1<<63:
			return c.literal(x.Pos(), int64(math.MinInt64)), nil
		case v > 0:
			return c.literal(x.Pos(), -float64(v)), nil
		}
	}
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	switch x.Op {
	case "NOT":
		if err := compute.TruthType(v.t); err != nil {
			return nil, placed(c.text, v.at, err)
		}
		return c.apply(x.Pos(), "NOT", logic(v.t), cheap, []*node{v}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return compute.Not(w, a[0]) })
	case "-":
		t, err := compute.NegType(v.t)
		if err != nil {
			return nil, placed(c.text, x.Pos(), err)
		}
		return c.apply(x.Pos(), "negative", t, cheap, []*node{v}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return compute.Neg(w, a[0]) })
	default:
		if _, err := compute.NegType(v.t); err != nil {
			return nil, placed(c.text, x.Pos(), err)
		}
		return v, nil
	}
}

// logic returns the type of NOT, AND and OR of values of type t.
func logic(t array.Type) array.Type {
	return array.Type{DType: tensor.Bool, Dims: t.Dims, Shape: t.Shape}
}

func (c *checker) binary(x *tql.Binary, s *scope) (*node, error) {
	a, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	b, err := c.expr(x.Y, s)
	if err != nil {
		return nil, err
	}
	switch x.Op {
	case "AND", "OR":
		return c.logical(x.Pos(), x.Op, a, b)
	case "||":
		return c.joined(x.Pos(), a, b)
	case "=", "!=", "<", "<=", ">", ">=":
		return c.compare(x.Pos(), x.Op, a, b)
	}
	t, err := compute.ArithType(x.Op, a.t, b.t)
	if err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	return c.apply(x.Pos(), x.Op, t, cheap, []*node{a, b}, func(w *array.Work, v []*array.Column) (*array.Column, error) {
		return compute.Arith(w, x.Op, v[0], v[1])
	})
}

// logical is AND or OR: of scalars with three values, of arrays element by element. Scalar operands
// become bools: WHERE evaluates those of AND as conditions of their own.
func (c *checker) logical(at tql.Pos, op string, a, b *node) (*node, error) {
	for _, n := range []**node{&a, &b} {
		if err := compute.TruthType((*n).t); err != nil {
			return nil, placed(c.text, (*n).at, err)
		}
		if !(*n).t.Scalar() {
			continue
		}
		var err error
		if *n, err = c.truth(*n); err != nil {
			return nil, err
		}
	}
	t, err := compute.LogicType(op, a.t, b.t)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	fn := compute.And
	if op == "OR" {
		fn = compute.Or
	}
	return c.apply(at, op, t, cheap, []*node{a, b}, func(w *array.Work, v []*array.Column) (*array.Column, error) { return fn(w, v[0], v[1]) })
}

// truth is x as a condition: of an array, whether any element holds.
func (c *checker) truth(x *node) (*node, error) {
	if err := compute.TruthType(x.t); err != nil {
		return nil, placed(c.text, x.at, err)
	}
	if x.t.Scalar() && x.t.DType == tensor.Bool {
		return x, nil
	}
	return c.applyAs(roleTruth, x.at, "TRUE OF", array.Of(tensor.Bool), cheap, []*node{x}, func(w *array.Work, v []*array.Column) (*array.Column, error) { return compute.Truth(w, v[0]) })
}

// byName makes two operands comparable if one is a class label: a string that the query gives
// becomes the number of the class, else both become names.
func (c *checker) byName(a, b *node) (*node, *node, error) {
	switch {
	case a.t.Names != nil && b.t.Text():
		if b.constant() && b.t.Scalar() {
			n, err := c.class(a.t, b)
			return a, n, err
		}
		n, err := c.named(a)
		return n, b, err
	case b.t.Names != nil && a.t.Text():
		y, x, err := c.byName(b, a)
		return x, y, err
	case a.t.Names != nil && b.t.Names != nil && !slices.Equal(a.t.Names, b.t.Names):
		x, err := c.named(a)
		if err != nil {
			return nil, nil, err
		}
		y, err := c.named(b)
		return x, y, err
	}
	return a, b, nil
}

// class returns the number of a class that a constant names.
func (c *checker) class(t array.Type, x *node) (*node, error) {
	name, ok := x.value.Value(0).(string)
	if !ok {
		return x, nil // NULL
	}
	for i, n := range t.Names {
		if n == name {
			v := c.constantNode(x.at, array.Constant(array.Type{DType: tensor.Int64, Names: t.Names}, int64(i), 1))
			v.say = x.say
			return v, nil
		}
	}
	hint := errs.Suggest(name, t.Names)
	if len(t.Names) == 0 {
		hint = "; no class has a name"
	} else if hint == "" && len(t.Names) <= 20 {
		hint = "; there are " + strings.Join(t.Names, ", ")
	}
	return nil, tql.Errorf(c.text, x.at, errs.NotFound, "there is no class %q%s", name, hint)
}

// named returns a class label as its name.
func (c *checker) named(x *node) (*node, error) {
	if x.t.Names == nil {
		return x, nil
	}
	return c.castTo(x.at, x, "text")
}

func (c *checker) compare(at tql.Pos, op string, a, b *node) (*node, error) {
	a, b, err := c.byName(a, b)
	if err != nil {
		return nil, err
	}
	if err := refuseTextLists(a, b.t); err != nil {
		return nil, placed(c.text, at, err)
	}
	if err := refuseTextLists(b, a.t); err != nil {
		return nil, placed(c.text, at, err)
	}
	t, err := compute.CompareType(op, a.t, b.t)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	n, err := c.apply(at, op, t, cheap, []*node{a, b}, func(w *array.Work, v []*array.Column) (*array.Column, error) {
		return compute.Compare(w, op, v[0], v[1])
	})
	return n, err
}

// refuseTextLists refuses to compare lists of texts with a text.
func refuseTextLists(x *node, with array.Type) error {
	if !x.textLists || !with.Text() {
		return nil
	}
	return errs.New(errs.Type, "%q has lists of texts, and a text is equal to none; CONTAINS(%s, 'x') looks for one in them", x.say, x.say)
}

func (c *checker) joined(at tql.Pos, a, b *node) (*node, error) {
	a, err := c.named(a)
	if err != nil {
		return nil, err
	}
	if b, err = c.named(b); err != nil {
		return nil, err
	}
	t, err := compute.ConcatType(a.t, b.t)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	return c.apply(at, "||", t, moderate, []*node{a, b}, func(w *array.Work, v []*array.Column) (*array.Column, error) {
		return compute.ConcatText(w, v[0], v[1])
	})
}

func (c *checker) isNull(x *tql.IsNull, s *scope) (*node, error) {
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	scalar := array.Of(tensor.Bool)
	if v.ref != nil && v.ref.want == Values && v.ref.part == nil {
		nulls := c.reading(v, Nulls, scalar)
		if !x.Not {
			return nulls, nil
		}
		return c.apply(x.Pos(), "NOT", scalar, cheap, []*node{nulls}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return compute.Not(w, a[0]) })
	}
	op := "IS NULL"
	if x.Not {
		op = "IS NOT NULL"
	}
	return c.apply(x.Pos(), op, scalar, cheap, []*node{v}, func(w *array.Work, a []*array.Column) (*array.Column, error) {
		nulls := compute.IsNull(a[0])
		if x.Not {
			return compute.Not(w, nulls)
		}
		return nulls, nil
	})
}

// reading returns the node that reads something else of a column than its values.
func (c *checker) reading(of *node, want Want, t array.Type) *node {
	r := *of.ref
	r.want = want
	n := &node{at: of.at, t: t, ref: &r, extra: -1, cost: 30, size: sizeOf(t)}
	n.id = c.intern("column ", r.origin, " ", r.column, " ", int(want))
	n.say = [...]string{"", "SHAPE", "IS NULL", "LENGTH"}[want] + " of " + of.say
	return n
}

func (c *checker) between(x *tql.Between, s *scope) (*node, error) {
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	low, err := c.expr(x.Low, s)
	if err != nil {
		return nil, err
	}
	high, err := c.expr(x.High, s)
	if err != nil {
		return nil, err
	}
	if v.t.Names != nil && (low.t.Text() || high.t.Text()) { // by name, as text
		if v, err = c.named(v); err != nil {
			return nil, err
		}
	}
	above, err := c.compare(x.Pos(), ">=", v, low)
	if err != nil {
		return nil, err
	}
	below, err := c.compare(x.Pos(), "<=", v, high)
	if err != nil {
		return nil, err
	}
	both, err := c.logical(x.Pos(), "AND", above, below)
	if err != nil || !x.Not {
		return both, err
	}
	return c.apply(x.Pos(), "NOT", logic(both.t), cheap, []*node{both}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return compute.Not(w, a[0]) })
}

func (c *checker) like(x *tql.Like, s *scope) (*node, error) {
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	if v, err = c.named(v); err != nil {
		return nil, err
	}
	pattern, err := c.expr(x.Pattern, s)
	if err != nil {
		return nil, err
	}
	if err := refuseTextLists(v, pattern.t); err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	t, err := compute.LikeType(v.t, pattern.t)
	if err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	op := "LIKE"
	if x.Fold {
		op = "ILIKE"
	}
	n, err := c.apply(x.Pos(), op, t, moderate*4, []*node{v, pattern}, func(w *array.Work, a []*array.Column) (*array.Column, error) {
		return compute.Like(w, a[0], a[1], x.Fold)
	})
	if err != nil || !x.Not {
		return n, err
	}
	return c.apply(x.Pos(), "NOT", logic(t), cheap, []*node{n}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return compute.Not(w, a[0]) })
}

func (c *checker) cast(x *tql.Cast, s *scope) (*node, error) {
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	return c.castTo(x.Pos(), v, x.Type)
}

func (c *checker) castTo(at tql.Pos, v *node, to string) (*node, error) {
	t, err := array.CastType(v.t, to)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	n, err := c.apply(at, "CAST "+to, t, moderate, []*node{v}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return array.Cast(w, a[0], t) })
	if err == nil {
		n.say = "CAST(" + v.say + " AS " + to + ")"
	}
	return n, err
}

func (c *checker) extract(x *tql.Extract, s *scope) (*node, error) {
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	t, err := compute.ExtractType(x.Field, v.t)
	if err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	return c.apply(x.Pos(), "EXTRACT "+x.Field, t, moderate, []*node{v}, func(w *array.Work, a []*array.Column) (*array.Column, error) {
		return compute.Extract(w, x.Field, a[0])
	})
}
