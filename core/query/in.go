package query

import (
	"encoding/json"
	"fmt"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// in is IN: of constants by a set that is made once, else by comparing with each.
func (c *checker) in(x *tql.In, s *scope) (*node, error) {
	v, err := c.expr(x.X, s)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Query != nil:
		return c.inQuery(x, v, s)
	case x.Param != nil:
		n, err := c.inParam(x, v)
		return c.negate(x, n, err)
	}
	list, err := c.exprs(x.List, s)
	if err != nil {
		return nil, err
	}
	fixed := v.t.Scalar()
	for i := range list {
		a, b, err := c.byName(v, list[i])
		if err != nil {
			return nil, err
		}
		if a != v || !b.constant() || !b.t.Scalar() {
			fixed = false
			continue
		}
		if list[i] = b; i > 0 {
			_, ok := meets(list[0].t, b.t)
			fixed = fixed && ok
		}
	}
	var n *node
	if fixed {
		n, err = c.inSet(x.Pos(), v, list)
	} else {
		n, err = c.anyOf(x.Pos(), v, list)
	}
	return c.negate(x, n, err)
}

// negate returns the condition n, or for NOT IN its negation. It passes an error on.
func (c *checker) negate(x *tql.In, n *node, err error) (*node, error) {
	if err != nil || !x.Not {
		return n, err
	}
	return c.apply(x.Pos(), "NOT", logic(n.t), cheap, []*node{n}, func(w *array.Work, a []*array.Column) (*array.Column, error) { return compute.Not(w, a[0]) })
}

// inParam is IN with a parameter, of the items of an array or of a JSON list.
func (c *checker) inParam(x *tql.In, v *node) (*node, error) {
	p, err := c.param(x.Param)
	if err != nil {
		return nil, err
	}
	items, err := listOf(p.value)
	if err != nil {
		return nil, c.fail(p.at, "%s is %s; IN (%s) compares with one value", c.o.label(x.Param.Number), err, tql.Text(x.Param))
	}
	if items.N == 0 { // of a dtype that means nothing
		items = array.Empty(v.t.WithAxes(tensor.Shape{}))
	}
	if v.t.Names != nil && items.Text() {
		if items, err = c.classes(v.t, p.at, items); err != nil {
			return nil, err
		}
	}
	if err := refuseTextLists(v, items.Type); err != nil {
		return nil, placed(c.text, v.at, err)
	}
	if _, err := compute.CompareType("=", v.t, items.Type); err != nil {
		return nil, placed(c.text, p.at, err)
	}
	both, meet := meets(v.t, items.Type)
	if meet {
		if items, err = array.Become(nil, items, both.WithAxes(tensor.Shape{})); err != nil {
			return nil, placed(c.text, p.at, err)
		}
	}
	args := []*node{v, p}
	if bounds := c.extremes(p.at, items); bounds != nil {
		list := c.constantNode(p.at, array.FromArrays(items.Type, tensor.Shape{int64(items.N)}, items.Data, nil))
		args = append([]*node{v, list}, bounds...)
	}
	n, err := c.oneOf(x.Pos(), v, items, both, meet, args)
	if err == nil {
		n.say = v.say + " IN " + p.say + fmt.Sprintf(" (%d items)", items.N)
	}
	return n, err
}

// listOf returns the items of a parameter as a column of scalars.
func listOf(p *array.Column) (*array.Column, error) {
	switch {
	case p.DType == tensor.JSON && p.Dims == 0 && !p.IsNull(0):
		text, _ := p.Value(0).(string)
		return textItems(text)
	case p.Dims == 1 && p.DType.Fixed() && !p.List && !p.IsNull(0):
		return array.Flat(p), nil
	}
	return nil, errs.New(errs.Type, "%s, want a list of numbers or texts", p.Type)
}

// textItems returns the items of a JSON list of texts.
func textItems(text string) (*array.Column, error) {
	var items []*string
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, errs.New(errs.Type, "JSON that is no list of texts, want one, or an array of numbers")
	}
	out, null := make([]string, len(items)), make([]bool, len(items))
	holes := false
	for i, s := range items {
		if null[i] = s == nil; null[i] {
			holes = true
			continue
		}
		out[i] = *s
	}
	if !holes {
		null = nil
	}
	return array.FromStrings(out, null), nil
}

// classes returns the numbers of the classes that items name.
func (c *checker) classes(t array.Type, at tql.Pos, items *array.Column) (*array.Column, error) {
	out := make([]int64, items.N)
	var null []bool
	for i := range out {
		n, err := c.class(t, c.constantNode(at, items.Take([]int{i})))
		if err != nil {
			return nil, err
		}
		if items.IsNull(i) {
			if null == nil {
				null = make([]bool, items.N)
			}
			null[i] = true
			continue
		}
		out[i], _ = n.value.Value(0).(int64)
	}
	return array.From(array.Type{DType: tensor.Int64, Names: t.Names}, out, null), nil
}

// extremes returns the least and the greatest of numbers as constants: a zone beyond them has no
// match. It returns none where an item is NULL or cannot be compared.
func (c *checker) extremes(at tql.Pos, items *array.Column) []*node {
	var low, high any
	for i := range items.N {
		v := items.Value(i)
		if i == 0 {
			low, high = v, v
		}
		if !atMost(low, v) && !atMost(v, low) {
			return nil
		}
		if before(v, low) {
			low = v
		}
		if before(high, v) {
			high = v
		}
	}
	if low == nil {
		return nil
	}
	t := items.Type
	return []*node{c.constantNode(at, array.Constant(t, low, 1)), c.constantNode(at, array.Constant(t, high, 1))}
}

// anyOf compares with one after the other.
func (c *checker) anyOf(at tql.Pos, v *node, list []*node) (*node, error) {
	var all *node
	for _, y := range list {
		n, err := c.compare(y.at, "=", v, y)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = n
		} else if all, err = c.logical(at, "OR", all, n); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *checker) inSet(at tql.Pos, v *node, list []*node) (*node, error) {
	t := array.Type{}
	for _, y := range list {
		if err := refuseTextLists(v, y.t); err != nil {
			return nil, placed(c.text, v.at, err)
		}
		if _, err := compute.CompareType("=", v.t, y.t); err != nil {
			return nil, placed(c.text, y.at, err)
		}
		var err error
		if t, err = array.Unify(t, y.t); err != nil {
			return nil, placed(c.text, y.at, err)
		}
	}
	both, meet := meets(v.t, t)
	if meet {
		t = both
	}
	parts := make([]*array.Column, len(list))
	for i, y := range list {
		var err error
		if parts[i], err = array.Become(nil, y.value, t); err != nil {
			return c.anyOf(at, v, list) // which the type of the others does not hold
		}
	}
	values, err := array.Concat(nil, t, parts)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	return c.oneOf(at, v, values, t, meet, append([]*node{v}, list...))
}

// oneOf looks each value up in a set of values; of type t, if it can become such.
func (c *checker) oneOf(at tql.Pos, v *node, values *array.Column, t array.Type, meet bool, args []*node) (*node, error) {
	set, err := compute.NewSet(values)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	of, err := compute.IsInType(v.t, set.Type)
	if err != nil {
		return nil, placed(c.text, at, err)
	}
	return c.apply(at, "IN", of, 20, args, func(w *array.Work, a []*array.Column) (*array.Column, error) {
		x := a[0]
		if meet {
			var err error
			if x, err = array.Become(w, x, t); err != nil {
				return nil, err
			}
		}
		return compute.IsIn(w, x, set)
	})
}

// meets returns the common type in which values of both are compared; false: they are compared
// unchanged, like JSON with numbers, and large unsigned numbers with others.
func meets(a, b array.Type) (array.Type, bool) {
	t, err := array.Unify(a, b)
	signed := t.DType == tensor.Int64 && (a.DType == tensor.Uint64 || b.DType == tensor.Uint64)
	return t, err == nil && !signed
}
