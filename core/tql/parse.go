package tql

import (
	"fmt"
	"slices"
	"strings"

	"deeplake/core/errs"
)

// Parse reads a query. A syntax error is errs.Invalid; its message names line and column, the
// expected syntax and the text found.
func Parse(text string) (*Statement, error) {
	p := &parser{text: text}
	var err error
	if p.tokens, err = Tokens(text); err != nil {
		return nil, err
	}
	s := p.statement()
	if p.err == nil && p.now().Kind != EndToken {
		p.misspelt()
		p.want("the end of the query", clauses()...)
	}
	if p.err != nil {
		return nil, p.err
	}
	s.Params = p.params
	return s, nil
}

// misspelt reports a misspelt clause that was read as a name: SELECT a FRM b.
func (p *parser) misspelt() {
	if p.i == 0 {
		return
	}
	before := p.tokens[p.i-1]
	if before.Kind != WordToken || before.Word != "" {
		return
	}
	if hint := errs.Suggest(strings.ToUpper(before.Text), clauses()); hint != "" {
		p.fail(before.At, "%s is read as a name here, and nothing can follow it%s", before.Text, hint)
	}
}

// clauses returns the words that begin a clause after a complete query.
func clauses() []string {
	return []string{"FROM", "WHERE", "EXPAND", "GROUP", "UNGROUP", "HAVING", "ORDER", "ARRANGE", "LIMIT", "OFFSET", "SAMPLE", "UNION", "INTERSECT", "EXCEPT", "JOIN"}
}

// parser is a recursive-descent parser. After the first error it stops reading; its results are
// then invalid.
type parser struct {
	text    string
	tokens  []Token
	i       int
	depth   int
	links   int
	parts   int
	params  []*Param
	numbers map[string]int // of named parameters
	err     error
}

func (p *parser) now() Token {
	if p.err != nil {
		return Token{At: p.tokens[len(p.tokens)-1].At}
	}
	return p.tokens[p.i]
}

// after returns the token n tokens ahead.
func (p *parser) after(n int) Token { return p.tokens[min(p.i+n, len(p.tokens)-1)] }

func (p *parser) advance() Token {
	t := p.now()
	if t.Kind != EndToken {
		p.i++
	}
	return t
}

// fail records the first error.
func (p *parser) fail(at Pos, format string, args ...any) {
	if p.err == nil {
		p.err = Errorf(p.text, at, errs.Invalid, format, args...)
	}
}

// want fails with the expected syntax, and suggests the nearest word of meant.
func (p *parser) want(what string, meant ...string) {
	t := p.now()
	hint := ""
	if t.Kind == WordToken {
		if near := errs.Nearest(t.Text, meant); near != "" && !strings.EqualFold(near, t.Text) {
			hint = "; did you mean " + near + "?"
		}
	}
	if name := p.dotted(); name != "" {
		hint = fmt.Sprintf("; a name with dots stands in double quotes: %q", name)
	}
	p.fail(t.At, "got %s, want %s%s", t.shown(), what, hint)
}

// dotted returns the unquoted name with dots around the next token; "": there is none.
func (p *parser) dotted() string {
	if p.err != nil || p.i == 0 || p.tokens[p.i-1].Kind != WordToken || p.now().shown() != "." {
		return ""
	}
	first := p.i - 1 // a.b is a column of a table
	for first > 1 && p.tokens[first-1].shown() == "." && p.tokens[first-2].Kind == WordToken {
		first -= 2
	}
	name := p.tokens[first].Text
	for i := first + 1; i+1 < len(p.tokens) && p.tokens[i].shown() == "." && p.tokens[i+1].Kind == WordToken; i += 2 {
		name += "." + p.tokens[i+1].Text
	}
	return name
}

// is reports whether the next token is a keyword or symbol.
func (p *parser) is(word string) bool { return p.now().Word == word }

// take consumes a keyword or symbol if it is next.
func (p *parser) take(word string) bool {
	if p.is(word) {
		p.advance()
		return true
	}
	return false
}

// need consumes a keyword or symbol, and fails if another token is next.
func (p *parser) need(word string) {
	if !p.take(word) {
		p.want(word, word)
	}
}

// isSoft reports whether the next token is a word that is a keyword in this position only.
func (p *parser) isSoft(word string) bool {
	t := p.now()
	return t.Kind == WordToken && t.Word == "" && strings.EqualFold(t.Text, word)
}

func (p *parser) takeSoft(word string) bool {
	if p.isSoft(word) {
		p.advance()
		return true
	}
	return false
}

// deeper counts one level of nesting. The caller decrements p.depth when it leaves the level.
func (p *parser) deeper() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.now().At, "more than %d expressions and queries lie within each other here", maxDepth)
	}
	return p.err == nil
}

// linked counts consecutive operators and indices. Each makes the tree one level deeper. The
// checker, the printer and the engine recurse over the tree, and an unbounded stack would end the
// process.
func (p *parser) linked() bool {
	if p.links++; p.links > maxLinks {
		p.fail(p.now().At, "a query has at most %d operators and indices; shorten it, as by IN (...) in place of many OR", maxLinks)
	}
	return p.err == nil
}

// parted counts joins and set operations. Each is planned separately.
func (p *parser) parted() bool {
	if p.parts++; p.parts > maxParts {
		p.fail(p.now().At, "a query has at most %d joins and set operations; materialize a part of it", maxParts)
	}
	return p.err == nil
}

// name reads a name.
func (p *parser) name(what string) string {
	if t := p.now(); t.Kind == QuotedToken || t.Kind == WordToken && t.Word == "" {
		return p.advance().Text
	} else if t.Kind == WordToken {
		what = fmt.Sprintf("%s; a name that is a word of the language goes in double quotes, \"%s\"", what, t.Text)
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
	if t.Kind == QuotedToken || t.Kind == WordToken && t.Word == "" {
		return p.advance().Text
	}
	return ""
}

func (p *parser) statement() *Statement {
	defer func() { p.depth-- }()
	s := &Statement{At: p.now().At}
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

// bare returns s without parentheses around the whole statement.
func bare(s *Statement) *Statement {
	inner, ok := s.Body.(*Statement)
	if ok && s.With == nil && s.Order == nil && s.Arrange == nil && s.Limit == nil && s.Offset == nil && s.Sample == nil {
		return inner
	}
	return s
}

// goOn reads the rest of a statement after its parenthesized first part, if there is a rest.
func (p *parser) goOn(first *Statement) *Statement {
	if t := p.now(); !oneOf(t.Word, []string{"UNION", "EXCEPT", "INTERSECT", "ORDER", "ARRANGE", "LIMIT", "OFFSET", "SAMPLE"}) {
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

// union reads UNION and EXCEPT after a first part.
func (p *parser) union(first Body) Body {
	left := p.intersect(first)
	for (p.is("UNION") || p.is("EXCEPT")) && p.parted() {
		u := &Union{Op: p.advance().Word, Left: left}
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

// all reads ALL or DISTINCT. DISTINCT is the default.
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
	s := &Select{At: p.now().At}
	if !p.take("SELECT") {
		if p.i > 1 && p.tokens[p.i-1].Word == "(" && p.tokens[p.i-2].Word == "EXCEPT" {
			p.want("SELECT; to leave columns out, write * EXCLUDE (...)")
		}
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
		s.Ungroup = &Ungroup{At: p.advance().At}
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
	c := Column{At: p.now().At}
	if p.take("*") {
		c.Exclude = p.exclude()
		return c
	}
	if t := p.now(); (t.Kind == QuotedToken || t.Kind == WordToken && t.Word == "") && p.after(1).Word == "." && p.after(2).Word == "*" {
		c.Of = p.advance().Text
		p.advance()
		p.advance()
		c.Exclude = p.exclude()
		return c
	}
	c.Expr = p.expr()
	c.As = p.alias()
	return c
}

// exclude reads EXCLUDE after *, if it is there: one name, or several in parentheses.
func (p *parser) exclude() []*Name {
	if !p.takeSoft("EXCLUDE") {
		return nil
	}
	if !p.take("(") {
		return []*Name{p.named()}
	}
	names := commas(p, p.named)
	p.need(")")
	return names
}

func (p *parser) source() Source {
	s := Source{At: p.now().At}
	if p.is("(") {
		s.Query = p.enclosed()
		s.As = p.alias()
		return s
	}
	s.Name = p.sourceName()
	switch {
	case p.take("@"):
		s.Ref = p.ref()
	case p.isSoft("AT") && p.after(1).Kind == StringToken:
		p.advance()
		s.Ref = p.ref()
	}
	s.As = p.alias()
	return s
}

// sourceName reads the name or URI of a dataset, in single or double quotes: no string literal is
// allowed in this position.
func (p *parser) sourceName() string {
	if t := p.now(); t.Kind == StringToken && t.Text != "" {
		return p.advance().Text
	}
	return p.name("a dataset: a name, or a URI in quotes")
}

// ref reads a version.
func (p *parser) ref() Expr {
	t := p.now()
	switch {
	case t.Kind == StringToken:
		p.advance()
		return &Literal{Start(t.At), t.Text}
	case t.Kind == NumberToken:
		return p.number()
	}
	return &Name{Start: Start(t.At), Name: p.name("a version: a branch, a tag, a number, or a string")}
}

func (p *parser) joins(s *Select) {
	for {
		j := Join{At: p.now().At}
		switch {
		case !oneOf(p.now().Word, []string{"JOIN", ",", "INNER", "CROSS", "LEFT", "RIGHT", "FULL"}), !p.parted():
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
			j.Kind = p.advance().Word
		case p.is("LEFT"), p.is("RIGHT"), p.is("FULL"):
			j.Kind = p.advance().Word
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
	e := &Expand{At: p.advance().At}
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

// operand reads the second number of rows of EXPAND.
func (p *parser) operand() Expr {
	switch t := p.now(); {
	case t.Kind == NumberToken, t.Word == "?", t.Word == ":", t.Word == "(":
		return p.primary()
	}
	p.want("a number, a parameter, an expression in parentheses, or OVERLAP", "OVERLAP")
	return nil
}

// ends reports whether t cannot belong to the current clause.
func ends(t Token) bool {
	switch t.Kind {
	case EndToken:
		return true
	case WordToken:
		return slices.Contains(clauses(), t.Word)
	case SymbolToken:
		return t.Word == ")" || t.Word == ","
	}
	return false
}

// truth reads TRUE or FALSE. TRUE is the default.
func (p *parser) truth() bool {
	if p.take("FALSE") {
		return false
	}
	p.take("TRUE")
	return true
}

// tail reads the clauses that apply to all rows: ORDER BY, ARRANGE BY, LIMIT, OFFSET and SAMPLE BY.
func (p *parser) tail(s *Statement) {
	if p.take("ORDER") {
		p.need("BY")
		s.Order = commas(p, p.order)
	}
	if p.take("ARRANGE") {
		p.need("BY")
		s.Arrange = p.list()
	}
	for range 2 { // LIMIT and OFFSET in either order
		switch {
		case s.Limit == nil && p.take("LIMIT"):
			if p.is("ALL") && p.after(1).Word != "(" {
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
	s := &Sample{At: p.advance().At}
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
