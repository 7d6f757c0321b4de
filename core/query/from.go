package query

import (
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tql"
)

// maxNamed bounds how often a query reads the queries of its WITH. Each reading is planned anew.
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
	return &origin{name: as, at: x.At, table: t, fields: fields, types: make([]*array.Type, len(fields))}, nil
}

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
		return nil, tql.Errorf(c.text, x.At, errs.NotFound, "there is no source %q%s; want %s, a name of WITH, or the URI of a dataset in quotes", x.Name, errs.Suggest(x.Name, names), askedName)
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
