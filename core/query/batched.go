package query

import (
	"slices"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

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
			return nil, errs.Op("query", "").New(errs.Type, "parameter %d is to take values in turn, want an array with an axis of them", k+1)
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
			one, err := array.Index(o.Params[k].(*array.Column), []array.Item{{At: at}})
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
		if own[k], err = array.Concat(o.x.t, parts); err != nil {
			return nil, nil, err
		}
		own[k] = own[k].Expand()
	}
	return all, own, r.alive()
}
