package query

import (
	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// array is ARRAY[...]: numbers, or arrays of one shape, one after the other.
func (c *checker) array(x *tql.Array, s *scope) (*node, error) {
	items, err := c.exprs(x.Items, s)
	if err != nil {
		return nil, err
	}
	types := make([]array.Type, len(items))
	for i, n := range items {
		types[i] = n.t
	}
	t, err := array.StackType(types)
	if err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	if len(items) == 0 {
		none := &array.Column{Type: t, N: 1, Const: true, Same: t.Shape, Data: []float64{}}
		return c.constantNode(x.Pos(), none), nil
	}
	n, err := c.apply(x.Pos(), "ARRAY", t, cheap, items, array.Stack)
	if err == nil {
		n.say = tql.Text(x)
	}
	return n, err
}

// cases computes CASE. It computes each arm only for the rows that reach it.
func (c *checker) cases(x *tql.Case, s *scope) (*node, error) {
	var of *node
	if x.Of != nil {
		var err error
		if of, err = c.expr(x.Of, s); err != nil {
			return nil, err
		}
	}
	n := &node{at: x.Pos(), say: "CASE", role: roleCase, cost: moderate}
	t := array.Type{}
	arm := func(y tql.Expr) error {
		v, err := c.expr(y, s)
		if err != nil {
			return err
		}
		if len(n.args) < 2 {
			t = v.t
		} else if t, err = array.Unify(t, v.t); err != nil {
			return placed(c.text, v.at, err)
		}
		n.args = append(n.args, v)
		return nil
	}
	for _, w := range x.Whens {
		cond, err := c.expr(w.If, s)
		if err != nil {
			return nil, err
		}
		if of != nil {
			if cond, err = c.compare(w.If.Pos(), "=", of, cond); err != nil {
				return nil, err
			}
		}
		if cond, err = c.truth(cond); err != nil {
			return nil, err
		}
		n.args = append(n.args, cond)
		if err := arm(w.Then); err != nil {
			return nil, err
		}
	}
	last := tql.Expr(&tql.Literal{Start: tql.Start(x.Pos())})
	if x.Else != nil {
		last = x.Else
	}
	if err := arm(last); err != nil {
		return nil, err
	}
	t.Weak = false
	n.t = t
	n.alone = (*frame).cases
	return c.make(n, "CASE")
}

// cases computes a CASE: the arguments are conditions and values alternately, then the value of
// ELSE.
func (f *frame) cases(n *node) (*array.Column, error) {
	left := make([]int, f.n)
	for i := range left {
		left[i] = i
	}
	place := make([]int, f.n) // of a row's value in parts, one behind the other
	var parts []*array.Column
	total := 0
	give := func(rows []int, value *node) error {
		if len(rows) == 0 {
			return nil
		}
		v, err := f.only(rows).eval(value)
		if err != nil {
			return err
		}
		if v, err = f.counted(func(w *array.Work) (*array.Column, error) { return array.Become(w, v, n.t) }); err != nil {
			return err
		}
		parts = append(parts, v)
		for i, row := range rows {
			place[row] = total + i
		}
		total += len(rows)
		return nil
	}
	for k := 0; k+1 < len(n.args) && len(left) > 0; k += 2 {
		cond, err := f.only(left).eval(n.args[k])
		if err != nil {
			return nil, err
		}
		var yes, no []int
		picked := compute.Pick(cond)
		for i, row := range left {
			if len(picked) > 0 && picked[0] == i {
				yes, picked = append(yes, row), picked[1:]
			} else {
				no = append(no, row)
			}
		}
		if err := give(yes, n.args[k+1]); err != nil {
			return nil, err
		}
		left = no
	}
	if err := give(left, n.args[len(n.args)-1]); err != nil {
		return nil, err
	}
	return f.counted(func(w *array.Work) (*array.Column, error) {
		all, err := array.Concat(w, n.t, parts)
		if err != nil {
			return nil, err
		}
		return all.TakeIn(w, place), nil
	})
}

// index makes the node of x[...]. If x is a stored column, only the indexed part is read.
func (c *checker) index(x *tql.Index, s *scope) (*node, error) {
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	args := []*node{v}
	items := make([]array.Item, len(x.Items))
	where := make([][4]int, len(x.Items)) // of At, Low, High and Step in args; 0: left out
	for i, it := range x.Items {
		items[i].Ellipsis, items[i].Slice = it.Ellipsis, it.Slice
		for k, y := range []tql.Expr{it.At, it.Low, it.High, it.Step} {
			if y == nil {
				continue
			}
			n, err := c.expr(y, s)
			if err != nil {
				return nil, err
			}
			if !n.t.Scalar() || n.t.DType.Fixed() && n.t.DType >= tensor.Float16 {
				return nil, tql.Errorf(c.text, n.at, errs.Type, "an index is %s, want an integer, or a key of JSON in single quotes", n.t)
			}
			where[i][k] = len(args)
			args = append(args, n)
		}
	}
	sample := make([]*array.Column, len(args))
	for i, a := range args {
		if sample[i] = a.value; a.value == nil {
			sample[i] = &array.Column{Type: a.t}
		}
	}
	t, err := array.IndexType(v.t, placedItems(items, where, sample))
	if err != nil {
		return nil, placed(c.text, x.Pos(), err)
	}
	if n := c.part(x, v, args, items, where, t); n != nil {
		return n, nil
	}
	as := role(0)
	if len(items) == 1 && !items[0].Slice && !items[0].Ellipsis {
		as = roleItem
	}
	n, err := c.applyAs(as, x.Pos(), "index "+shapeOf(items, where), t, cheap, args, func(w *array.Work, a []*array.Column) (*array.Column, error) {
		return array.Index(w, a[0], placedItems(items, where, a))
	})
	if err == nil {
		n.say = tql.Text(x)
	}
	return n, err
}

// placedItems returns the items with their columns, taken from args.
func placedItems(items []array.Item, where [][4]int, args []*array.Column) []array.Item {
	out := make([]array.Item, len(items))
	for i, it := range items {
		for k, to := range []**array.Column{&it.At, &it.Low, &it.High, &it.Step} {
			if where[i][k] > 0 {
				*to = args[where[i][k]]
			}
		}
		out[i] = it
	}
	return out
}

// shapeOf distinguishes indices with the same args: a[1:] is not a[:1].
func shapeOf(items []array.Item, where [][4]int) string {
	text := ""
	for i, it := range items {
		switch {
		case it.Ellipsis:
			text += "..."
		case it.Slice:
			for _, k := range where[i][1:] {
				text += ":"
				if k > 0 {
					text += "x"
				}
			}
		default:
			text += "x"
		}
		text += ","
	}
	return text
}

// part returns the node that reads no more of a stored column than constant items name; nil where
// that cannot be.
func (c *checker) part(x *tql.Index, v *node, args []*node, items []array.Item, where [][4]int, t array.Type) *node {
	if v.ref == nil || v.ref.want != Values || v.ref.part != nil || v.t.List || !v.t.DType.Fixed() || v.t.Dims == 0 {
		return nil
	}
	spans := make([]Span, len(items))
	for i, it := range items {
		spans[i].Ellipsis = it.Ellipsis
		for k, to := range []**int64{&spans[i].At, &spans[i].Low, &spans[i].High, &spans[i].Step} {
			if where[i][k] == 0 {
				continue
			}
			value := args[where[i][k]].value
			if value == nil {
				return nil
			}
			n, ok := value.Value(0).(int64)
			if !ok {
				return nil
			}
			*to = &n
		}
	}
	r := *v.ref
	r.part = spans
	n := &node{at: x.Pos(), t: t, ref: &r, extra: -1, cost: v.cost + dear/10, size: sizeOf(t), say: tql.Text(x)}
	key := []any{"column ", r.origin, " ", r.column, " part ", shapeOf(items, where)}
	for _, a := range args[1:] {
		key = append(key, " ", a.id)
	}
	n.id = c.intern(key...)
	return n
}
