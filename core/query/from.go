package query

import (
	"context"
	"strings"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// maxNamed bounds how often a query reads the queries of its WITH. Each reading is planned again.
const maxNamed = 1000

// from checks the sources of rows.
func (c *checker) from(s *selected, x *tql.Select) error {
	first := x.From
	if first == nil {
		first = &tql.Source{At: x.At, Name: askedName}
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

// askedName is the name of the queried dataset in FROM.
const askedName = "dataset"

// origin resolves a name in FROM: a query of WITH, the queried dataset, or another one by its URI.
func (c *checker) origin(x *tql.Source, s *scope) (*origin, error) {
	if x.Query != nil {
		p, err := c.below(x.Query, s)
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
		if c.unfold++; c.unfold > maxNamed {
			// each may read another twice: plans double with every name
			return nil, c.fail(x.At, "queries of WITH are read more than %d times; materialize one of them and ask that", maxNamed)
		}
		before := c.with
		c.with = q.with
		around := s
		if q.alone {
			around = &scope{}
		}
		p, err := c.below(q.query, around)
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
	if d, ok := t.(RemoteTable); ok && d.Remote() {
		c.far = true
	}
	fields := t.Columns()
	o := &origin{name: as, at: x.At, table: t, fields: fields, types: make([]*array.Type, len(fields))}
	c.resolveAhead(o, func(f Field) bool { return strings.Contains(c.text, f.Name) })
	return o, nil
}

// resolveAhead learns the types of columns of a table behind a network, all at once: each takes
// requests that wait for each other. Errors recur where a column is used.
func (c *checker) resolveAhead(o *origin, wanted func(f Field) bool) {
	if d, ok := o.table.(RemoteTable); !ok || !d.Remote() {
		return
	}
	g := task.New(c.ctx, resolvedAtOnce)
	for i, f := range o.fields {
		if o.types[i] == nil && wanted(f) {
			g.Go(func(ctx context.Context) error {
				_, _ = o.table.Resolve(ctx, i)
				return nil
			})
		}
	}
	_ = g.Wait()
}

// resolvedAtOnce bounds the columns whose types are learnt at once.
const resolvedAtOnce = 32

func (c *checker) table(x *tql.Source) (Table, error) {
	ref := ""
	switch r := x.Ref.(type) {
	case nil:
	case *tql.Name:
		ref = r.Name
	case *tql.Literal:
		if text, ok := r.Value.(string); ok {
			ref = text
		} else {
			ref = tql.FormatValue(r.Value)
		}
	default:
		return nil, c.fail(x.At, "a version is %s, want a name or a number", tql.Text(x.Ref))
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
		x = &tql.Source{At: x.At, Name: c.asked.Name()}
	} else if !uri {
		names := []string{askedName}
		for name := range c.with {
			names = append(names, name)
		}
		return nil, tql.Errorf(c.text, x.At, errs.NotFound, "there is no source %q%s; want %s, a name of WITH, or the URI of a dataset in quotes, a path with a \"/\" as in \"./d\"", x.Name, errs.Suggest(x.Name, names), askedName)
	}
	key := x.Name + "\x00" + ref
	if t := c.opened[key]; t != nil {
		return t, nil
	}
	if c.tables == nil {
		return nil, tql.Errorf(c.text, x.At, errs.Unsupported, "other datasets cannot be opened here")
	}
	t, err := c.tables.Table(c.ctx, x.Name, ref)
	if errs.Is(err, errs.Canceled) {
		return nil, err
	}
	if err != nil {
		return nil, tql.Errorf(c.text, x.At, errs.KindOf(err), "%w", err)
	}
	c.opened[key] = t
	return t, nil
}

func (c *checker) join(s *selected, x *tql.Join) error {
	o, err := c.origin(&x.With, s.scope)
	if err != nil {
		return err
	}
	k := len(s.scope.origins)
	for _, other := range s.scope.origins {
		if o.name != "" && other.name == o.name {
			return c.fail(x.With.At, "two sources are called %q; give one another name with AS", o.name)
		}
	}
	s.scope.origins = append(s.scope.origins, o)
	if x.Kind == "LEFT" || x.Kind == "FULL" {
		o.null = true
	}
	if x.Kind == "RIGHT" || x.Kind == "FULL" {
		for _, other := range s.scope.origins[:k] {
			other.null = true
		}
	}
	j := join{kind: x.Kind}
	for _, name := range x.Using {
		if err := c.joinUsing(s, x, &j, name); err != nil {
			return err
		}
	}
	if x.On != nil {
		cond, err := c.condition(s.scope, x.On, "ON")
		if err != nil {
			return err
		}
		for _, n := range conjuncts(cond, nil) {
			if err := c.joinOn(&j, n, k); err != nil {
				return err
			}
		}
	}
	s.joins = append(s.joins, j)
	return nil
}

// joinOn adds a condition, as a pair of equal keys if it is one.
func (c *checker) joinOn(j *join, n *node, k int) error {
	if n.op == "=" && n.compute != nil && len(n.args) == 2 && n.t.Scalar() {
		a, b := n.args[0], n.args[1]
		if sideOf(a, k) == 1 && sideOf(b, k) == 0 {
			a, b = b, a
		}
		if sideOf(a, k) == 0 && sideOf(b, k) == 1 && a.t.Scalar() && b.t.Scalar() {
			if _, ok := meets(a.t, b.t); ok {
				return c.joinKeys(j, n.at, a, b)
			}
			if err := c.joinCoarse(j, n.at, a, b); err != nil {
				return err
			}
		}
	}
	j.rest = append(j.rest, n)
	return nil
}

// joinCoarse makes two keys that are equal wherever = holds between values of different types:
// JSON, and large unsigned numbers with others. The condition itself then filters the candidates.
func (c *checker) joinCoarse(j *join, at tql.Pos, a, b *node) error {
	if a.t.DType != tensor.JSON && b.t.DType != tensor.JSON {
		if !a.t.Number() || !b.t.Number() || a.t.Unit != b.t.Unit {
			return nil
		}
		double := array.Of(tensor.Float64)
		for _, x := range []**node{&a, &b} {
			var err error
			if *x, err = c.become(*x, double); err != nil {
				return err
			}
		}
	} else {
		for _, x := range []**node{&a, &b} {
			var err error
			*x, err = c.apply(at, "coarse", array.Of(tensor.String), moderate, []*node{*x}, func(w *array.Work, v []*array.Column) (*array.Column, error) { return compute.Coarse(w, v[0]) })
			if err != nil {
				return err
			}
			(*x).say = (*x).args[0].say
		}
	}
	j.left, j.right = append(j.left, a), append(j.right, b)
	return nil
}

// joinKeys makes two keys of one type.
func (c *checker) joinKeys(j *join, at tql.Pos, a, b *node) error {
	t, err := array.Unify(a.t, b.t)
	if err != nil {
		return placed(c.text, at, err)
	}
	for _, x := range []**node{&a, &b} {
		if *x, err = c.become(*x, t); err != nil {
			return err
		}
	}
	j.left, j.right = append(j.left, a), append(j.right, b)
	return nil
}

// become is x as a value of another type.
func (c *checker) become(x *node, t array.Type) (*node, error) {
	if x.t.DType == t.DType && x.t.Unit == t.Unit && x.t.Names == nil && t.Names == nil && x.t.List == t.List {
		return x, nil
	}
	n, err := c.apply(x.at, "become "+t.String(), t, cheap, []*node{x}, func(w *array.Work, v []*array.Column) (*array.Column, error) { return array.Become(w, v[0], t) })
	if err == nil {
		n.say = x.say
	}
	return n, err
}

// sideOf returns 0 if x reads only origins below k, 1 if it reads only k, and else -1.
func sideOf(x *node, k int) int {
	side := -1
	for o := range x.origins() {
		s := 0
		if o == k {
			s = 1
		}
		if side >= 0 && side != s {
			return -1
		}
		side = s
	}
	return side
}

func (c *checker) joinUsing(s *selected, x *tql.Join, j *join, name string) error {
	k := len(s.scope.origins) - 1
	left := *s.scope
	left.origins = s.scope.origins[:k]
	left.outer = nil
	a, err := c.name(&tql.Name{Start: tql.Start(x.At), Name: name}, &left)
	if err != nil {
		return err
	}
	right := &scope{origins: s.scope.origins, hidden: map[[2]int]bool{}}
	for i, o := range s.scope.origins[:k] {
		for f := range o.fields {
			right.hidden[[2]int{i, f}] = true
		}
	}
	b, err := c.name(&tql.Name{Start: tql.Start(x.At), Name: name}, right)
	if err != nil {
		return err
	}
	if s.scope.using == nil {
		s.scope.using, s.scope.hidden = map[string][][2]int{}, map[[2]int]bool{}
	}
	if s.scope.using[name] == nil {
		if a.ref == nil {
			return errs.New(errs.Internal, "join using %q: it is no column", name)
		}
		s.scope.using[name] = [][2]int{{a.ref.origin, a.ref.column}}
	}
	s.scope.using[name] = append(s.scope.using[name], [2]int{k, b.ref.column})
	s.scope.hidden[[2]int{k, b.ref.column}] = true
	return c.joinKeys(j, x.At, a, b)
}
