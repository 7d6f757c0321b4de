package query

import (
	"fmt"
	"slices"
	"strings"

	"deeplake/core/errs"
)

// Parse reads a query. A mistake is errs.Invalid and says line, column, what was wanted and what
// stands there.
func Parse(text string) (*Statement, error) {
	p := &parser{text: text}
	var err error
	if p.tokens, err = tokens(text); err != nil {
		return nil, err
	}
	s := p.statement()
	if p.err == nil && p.now().kind != atEnd {
		p.misspelt()
		p.want("the end of the query", clauses()...)
	}
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// misspelt finds that what was read as a name before the place where nothing fits was meant to
// begin a clause: SELECT a FRM b.
func (p *parser) misspelt() {
	if p.i == 0 {
		return
	}
	before := p.tokens[p.i-1]
	if before.kind != aWord || before.word != "" {
		return
	}
	if hint := errs.Suggest(strings.ToUpper(before.text), clauses()); hint != "" {
		p.fail(before.at, "%s is read as a name here, and nothing can follow it%s", before.text, hint)
	}
}

// clauses begin what may follow where a query could end.
func clauses() []string {
	return []string{"FROM", "WHERE", "EXPAND", "GROUP", "UNGROUP", "HAVING", "ORDER", "ARRANGE", "LIMIT", "OFFSET", "SAMPLE", "UNION", "INTERSECT", "EXCEPT", "JOIN"}
}

// parser reads by recursive descent. After the first mistake it reads nothing more, and what it
// returns means nothing.
type parser struct {
	text   string
	tokens []token
	i      int
	depth  int
	links  int
	parts  int
	params int
	err    error
}

func (p *parser) now() token {
	if p.err != nil {
		return token{at: p.tokens[len(p.tokens)-1].at}
	}
	return p.tokens[p.i]
}

// after is the token n places further on.
func (p *parser) after(n int) token { return p.tokens[min(p.i+n, len(p.tokens)-1)] }

func (p *parser) advance() token {
	t := p.now()
	if t.kind != atEnd {
		p.i++
	}
	return t
}

// fail keeps the first mistake.
func (p *parser) fail(at Pos, format string, args ...any) {
	if p.err == nil {
		p.err = mistake(p.text, at, errs.Invalid, format, args...)
	}
}

// want says what should stand here, and which of some words was perhaps meant.
func (p *parser) want(what string, meant ...string) {
	t := p.now()
	hint := ""
	if t.kind == aWord {
		if near := errs.Nearest(t.text, meant); near != "" && !strings.EqualFold(near, t.text) {
			hint = "; did you mean " + near + "?"
		}
	}
	p.fail(t.at, "got %s, want %s%s", t.shown(), what, hint)
}

// is reports whether a keyword or symbol stands here.
func (p *parser) is(word string) bool { return p.now().word == word }

// take goes over a keyword or symbol if it stands here.
func (p *parser) take(word string) bool {
	if p.is(word) {
		p.advance()
		return true
	}
	return false
}

// need goes over a keyword or symbol, which must stand here.
func (p *parser) need(word string) {
	if !p.take(word) {
		p.want(word, word)
	}
}

// isSoft reports whether a word stands here that is a word of the language in this place only.
func (p *parser) isSoft(word string) bool {
	t := p.now()
	return t.kind == aWord && t.word == "" && strings.EqualFold(t.text, word)
}

func (p *parser) takeSoft(word string) bool {
	if p.isSoft(word) {
		p.advance()
		return true
	}
	return false
}

// deeper counts what lies within each other; leave it by p.depth--.
func (p *parser) deeper() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.now().at, "more than %d expressions and queries lie within each other here", maxDepth)
	}
	return p.err == nil
}

// linked counts operators and indices that follow each other. Each makes the tree one level deeper,
// and the checker, the printer and the engine recurse over the tree: a stack without a bound ends
// the process.
func (p *parser) linked() bool {
	if p.links++; p.links > maxLinks {
		p.fail(p.now().at, "a query has at most %d operators and indices; shorten it, as by IN (...) in place of many OR", maxLinks)
	}
	return p.err == nil
}

// parted counts joins and set operations, each of which is planned by itself.
func (p *parser) parted() bool {
	if p.parts++; p.parts > maxParts {
		p.fail(p.now().at, "a query has at most %d joins and set operations; materialize a part of it", maxParts)
	}
	return p.err == nil
}

// name reads a name.
func (p *parser) name(what string) string {
	if t := p.now(); t.kind == aQuoted || t.kind == aWord && t.word == "" {
		return p.advance().text
	} else if t.kind == aWord {
		what = fmt.Sprintf("%s; a name that is a word of the language goes in double quotes, \"%s\"", what, t.text)
	}
	p.want(what)
	return ""
}

// alias reads [AS] name, if there is one.
func (p *parser) alias() string {
	if p.take("AS") {
		return p.name("a name after AS")
	}
	t := p.now()
	if t.kind == aQuoted || t.kind == aWord && t.word == "" {
		return p.advance().text
	}
	return ""
}

func (p *parser) statement() *Statement {
	defer func() { p.depth-- }()
	s := &Statement{At: p.now().at}
	if !p.deeper() {
		return s
	}
	if p.take("WITH") {
		s.With = commas(p, func() Named {
			n := Named{Name: p.name("a name for the query of WITH")}
			p.need("AS")
			n.Query = p.enclosed()
			return n
		})
	}
	s.Body = p.union(p.part())
	p.tail(s)
	return bare(s)
}

// bare is s without parentheses around all of it.
func bare(s *Statement) *Statement {
	inner, ok := s.Body.(*Statement)
	if ok && s.With == nil && s.Order == nil && s.Arrange == nil && s.Limit == nil && s.Offset == nil && s.Sample == nil {
		return inner
	}
	return s
}

// goOn reads the rest of a statement of which a first part in parentheses was read, where there is
// a rest.
func (p *parser) goOn(first *Statement) *Statement {
	if t := p.now(); !oneOf(t.word, []string{"UNION", "EXCEPT", "INTERSECT", "ORDER", "ARRANGE", "LIMIT", "OFFSET", "SAMPLE"}) {
		return first
	}
	s := &Statement{At: first.At, Body: p.union(first)}
	p.tail(s)
	return bare(s)
}

// enclosed reads a statement in parentheses.
func (p *parser) enclosed() *Statement {
	p.need("(")
	s := p.statement()
	p.need(")")
	return s
}

// union reads what is joined to a first part.
func (p *parser) union(first Body) Body {
	left := p.intersect(first)
	for (p.is("UNION") || p.is("EXCEPT")) && p.parted() {
		u := &Union{Op: p.advance().word, Left: left}
		u.All = p.all()
		u.Right = p.intersect(p.part())
		left = u
	}
	return left
}

func (p *parser) intersect(left Body) Body {
	for p.is("INTERSECT") && p.parted() {
		p.advance()
		u := &Union{Op: "INTERSECT", Left: left}
		u.All = p.all()
		u.Right = p.part()
		left = u
	}
	return left
}

// all reads ALL or DISTINCT, which is what nothing means.
func (p *parser) all() bool {
	if p.take("ALL") {
		return true
	}
	p.take("DISTINCT")
	return false
}

func (p *parser) part() Body {
	if p.is("(") {
		return p.enclosed()
	}
	return p.selected()
}

func (p *parser) selected() *Select {
	s := &Select{At: p.now().at}
	if !p.take("SELECT") {
		p.want("SELECT", "SELECT", "WITH")
	}
	if p.take("DISTINCT") {
		s.Distinct = true
		if p.take("ON") {
			p.need("(")
			s.On = p.list()
			p.need(")")
		}
	}
	s.List = commas(p, p.column)
	if p.take("FROM") {
		source := p.source()
		s.From = &source
		p.joins(s)
	}
	if p.take("WHERE") {
		s.Where = p.expr()
	}
	if p.is("EXPAND") {
		s.Expand = p.expand()
	}
	if p.take("GROUP") {
		p.need("BY")
		s.Group = p.list()
		if p.take("HAVING") {
			s.Having = p.expr()
		}
		if p.take("ACROSS") {
			switch {
			case p.takeSoft("TIME"):
				s.Across = "TIME"
			case p.takeSoft("SPACE"):
				s.Across = "SPACE"
			default:
				p.want("TIME or SPACE", "TIME", "SPACE")
			}
		}
	}
	if s.Group == nil && p.take("HAVING") { // of all rows
		s.Having = p.expr()
	}
	if p.is("UNGROUP") {
		s.Ungroup = &Ungroup{At: p.advance().at}
		p.need("BY")
		if p.isSoft("SPLIT") && ends(p.after(1)) {
			p.advance()
		} else {
			s.Ungroup.By = p.expr()
		}
	}
	return s
}

func (p *parser) column() Column {
	c := Column{At: p.now().at}
	if p.take("*") {
		return c
	}
	if t := p.now(); (t.kind == aQuoted || t.kind == aWord && t.word == "") && p.after(1).word == "." && p.after(2).word == "*" {
		c.Of = p.advance().text
		p.advance()
		p.advance()
		return c
	}
	c.Expr = p.expr()
	c.As = p.alias()
	return c
}

func (p *parser) source() Source {
	s := Source{At: p.now().at}
	if p.is("(") {
		s.Query = p.enclosed()
		s.As = p.alias()
		return s
	}
	s.Name = p.sourceName()
	switch {
	case p.take("@"):
		s.Ref = p.ref()
	case p.isSoft("AT") && p.after(1).kind == aString:
		p.advance()
		s.Ref = p.ref()
	}
	s.As = p.alias()
	return s
}

// sourceName reads the name or URI of a dataset. Here nothing else may stand, so single quotes do
// as well as double ones.
func (p *parser) sourceName() string {
	if t := p.now(); t.kind == aString && t.text != "" {
		return p.advance().text
	}
	return p.name("a dataset: a name, or a URI in quotes")
}

// ref reads a version.
func (p *parser) ref() Expr {
	t := p.now()
	switch {
	case t.kind == aString:
		p.advance()
		return &Literal{at(t.at), t.text}
	case t.kind == aNumber:
		return p.number()
	}
	return &Name{at: at(t.at), Name: p.name("a version: a branch, a tag, a number, or a string")}
}

func (p *parser) joins(s *Select) {
	for {
		j := Join{At: p.now().at}
		switch {
		case !oneOf(p.now().word, []string{"JOIN", ",", "INNER", "CROSS", "LEFT", "RIGHT", "FULL"}), !p.parted():
			return
		case p.is("JOIN"), p.is(","):
			j.Kind = "INNER"
			if p.take(",") {
				j.Kind = "CROSS"
				j.With = p.source()
				s.Joins = append(s.Joins, j)
				continue
			}
		case p.is("INNER"), p.is("CROSS"):
			j.Kind = p.advance().word
		case p.is("LEFT"), p.is("RIGHT"), p.is("FULL"):
			j.Kind = p.advance().word
			p.take("OUTER")
		default:
			return
		}
		p.need("JOIN")
		j.With = p.source()
		switch {
		case j.Kind == "CROSS":
		case p.take("ON"):
			j.On = p.expr()
		case p.take("USING"):
			p.need("(")
			j.Using = commas(p, func() string { return p.name("a column") })
			p.need(")")
		default:
			p.want("ON or USING")
		}
		if p.err != nil {
			return
		}
		s.Joins = append(s.Joins, j)
	}
}

func (p *parser) expand() *Expand {
	e := &Expand{At: p.advance().at}
	p.need("BY")
	e.Before = p.sum()
	if !p.isSoft("OVERLAP") && !ends(p.now()) {
		e.After = p.operand()
	}
	if p.takeSoft("OVERLAP") {
		e.Merge = !p.truth()
	}
	return e
}

// operand reads a number of rows that follows another.
func (p *parser) operand() Expr {
	switch t := p.now(); {
	case t.kind == aNumber, t.word == "?", t.word == "(":
		return p.primary()
	}
	p.want("a number, ?, an expression in parentheses, or OVERLAP", "OVERLAP")
	return nil
}

// ends reports whether a clause ends before t.
func ends(t token) bool {
	switch t.kind {
	case atEnd:
		return true
	case aWord:
		return slices.Contains(clauses(), t.word)
	case aSymbol:
		return t.word == ")" || t.word == ","
	}
	return false
}

// truth reads TRUE or FALSE; nothing is TRUE.
func (p *parser) truth() bool {
	if p.take("FALSE") {
		return false
	}
	p.take("TRUE")
	return true
}

// tail reads what comes after all rows are there.
func (p *parser) tail(s *Statement) {
	if p.take("ORDER") {
		p.need("BY")
		s.Order = commas(p, p.order)
	}
	if p.take("ARRANGE") {
		p.need("BY")
		s.Arrange = p.list()
	}
	for range 2 { // in either order, as people write them
		switch {
		case s.Limit == nil && p.take("LIMIT"):
			if p.is("ALL") && p.after(1).word != "(" {
				p.advance()
			} else {
				s.Limit = p.expr()
			}
		case s.Offset == nil && p.take("OFFSET"):
			s.Offset = p.expr()
		}
	}
	if p.is("SAMPLE") {
		s.Sample = p.sample()
	}
}

func (p *parser) order() Order {
	o := Order{Expr: p.expr()}
	if !p.take("ASC") {
		o.Desc = p.take("DESC")
	}
	if p.takeSoft("NULLS") {
		switch {
		case p.takeSoft("FIRST"):
			o.Nulls = "FIRST"
		case p.takeSoft("LAST"):
			o.Nulls = "LAST"
		default:
			p.want("FIRST or LAST", "FIRST", "LAST")
		}
	}
	return o
}

func (p *parser) sample() *Sample {
	s := &Sample{At: p.advance().at}
	p.need("BY")
	s.Weight = p.expr()
	if p.takeSoft("REPLACE") {
		s.Keep = !p.truth()
	}
	if p.take("LIMIT") {
		s.Limit = p.expr()
		s.Percent = p.takeSoft("PERCENT")
	}
	return s
}

// list reads expressions.
func (p *parser) list() []Expr { return commas(p, p.expr) }

// commas reads one or more, between commas.
func commas[T any](p *parser, one func() T) []T {
	out := []T{one()}
	for p.take(",") {
		out = append(out, one())
	}
	return out
}
