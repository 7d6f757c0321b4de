package tql

import (
	"math"
	"strconv"
	"strings"
)

// Precedence of operators, lowest first: OR; AND; NOT; IS; comparisons; BETWEEN, IN and LIKE; ||;
// + and -; * / and %; ^; a sign; an index. PostgreSQL and DuckDB have the same order.

// expr reads an expression.
func (p *parser) expr() Expr {
	defer func() { p.depth-- }()
	if !p.deeper() {
		return nil
	}
	return p.either()
}

// chain reads operands of one precedence, left to right.
func (p *parser) chain(operand func() Expr, ops ...string) Expr {
	x := operand()
	for {
		op := p.now().Word
		if !oneOf(op, ops) || !p.linked() {
			return x
		}
		p.advance()
		x = &Binary{Start: Start(posOf(x)), Op: op, X: x, Y: operand()}
	}
}

func oneOf(word string, words []string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

func posOf(x Expr) Pos {
	if x == nil {
		return Pos{}
	}
	return x.Pos()
}

func (p *parser) either() Expr { return p.chain(p.both, "OR") }
func (p *parser) both() Expr   { return p.chain(p.not, "AND") }

func (p *parser) not() Expr {
	if !p.is("NOT") {
		return p.isNull()
	}
	defer func() { p.depth-- }()
	if !p.deeper() {
		return nil
	}
	u := &Unary{Start: Start(p.advance().At), Op: "NOT"}
	u.X = p.not()
	return u
}

func (p *parser) isNull() Expr {
	x := p.compared()
	for p.is("IS") && p.linked() {
		p.advance()
		n := &IsNull{Start: Start(posOf(x)), X: x, Not: p.take("NOT")}
		p.need("NULL")
		x = n
	}
	return x
}

func (p *parser) compared() Expr {
	x := p.matched()
	op, ok := comparison(p.now().Word)
	if !ok {
		return x
	}
	p.advance()
	x = &Binary{Start: Start(posOf(x)), Op: op, X: x, Y: p.matched()}
	if _, again := comparison(p.now().Word); again {
		p.fail(p.now().At, "got a second comparison; want AND between them, or parentheses")
	}
	return x
}

// comparison returns the canonical spelling of a comparison operator.
func comparison(word string) (string, bool) {
	switch word {
	case "=", "==":
		return "=", true
	case "!=", "<>":
		return "!=", true
	case "<", "<=", ">", ">=":
		return word, true
	}
	return "", false
}

func (p *parser) matched() Expr {
	x := p.joined()
	for {
		not := p.is("NOT")
		t := p.now()
		if not {
			t = p.after(1)
		}
		if !oneOf(t.Word, []string{"BETWEEN", "IN", "LIKE", "ILIKE"}) || !p.linked() {
			return x
		}
		if not {
			p.advance()
		}
		p.advance()
		begin := Start(posOf(x))
		switch t.Word {
		case "BETWEEN":
			b := &Between{Start: begin, X: x, Low: p.joined(), Not: not}
			p.need("AND")
			b.High = p.joined()
			x = b
		case "IN":
			x = p.in(&In{Start: begin, X: x, Not: not})
		default:
			x = &Like{Start: begin, X: x, Pattern: p.joined(), Fold: t.Word == "ILIKE", Not: not}
		}
	}
}

func (p *parser) in(n *In) Expr {
	if p.is("?") || p.is(":") {
		n.Param, _ = p.primary().(*Param)
		return n
	}
	if !p.is("(") {
		p.fail(p.now().At, "got %s, want ( or a parameter; CONTAINS(array, value) looks for a value in an array or a list", p.now().shown())
		return nil
	}
	p.advance()
	if p.is("SELECT") || p.is("WITH") {
		n.Query = p.statement()
	} else if n.List = p.list(); len(n.List) == 1 {
		if q, ok := n.List[0].(*Subquery); ok {
			n.List, n.Query = nil, p.goOn(q.Query)
		}
	}
	p.need(")")
	return n
}

func (p *parser) joined() Expr  { return p.chain(p.sum, "||") }
func (p *parser) sum() Expr     { return p.chain(p.product, "+", "-") }
func (p *parser) product() Expr { return p.chain(p.power, "*", "/", "%") }
func (p *parser) power() Expr   { return p.chain(p.signed, "^") }

func (p *parser) signed() Expr {
	if !p.is("-") && !p.is("+") {
		return p.indexed()
	}
	defer func() { p.depth-- }()
	if !p.deeper() {
		return nil
	}
	t := p.advance()
	u := &Unary{Start: Start(t.At), Op: t.Word}
	u.X = p.signed()
	return u
}

func (p *parser) indexed() Expr {
	x := p.primary()
	for p.is("[") && p.linked() {
		p.advance()
		n := &Index{Start: Start(posOf(x)), X: x, Items: commas(p, p.item)}
		p.need("]")
		if p.err != nil {
			return nil
		}
		x = n
	}
	return x
}

// item reads one item of an index.
func (p *parser) item() (it Item) {
	if p.take("...") {
		it.Ellipsis = true
		return it
	}
	bound := func() Expr {
		if p.is(":") || p.is(",") || p.is("]") {
			return nil
		}
		return p.expr()
	}
	if p.is(",") || p.is("]") {
		p.want("an index, a slice like 1:5, or ...")
	}
	first := bound()
	if !p.take(":") {
		it.At = first
		return it
	}
	it.Slice, it.Low, it.High = true, first, bound()
	if p.take(":") {
		it.Step = bound()
	}
	return it
}

func (p *parser) primary() Expr {
	t := p.now()
	begin := Start(t.At)
	switch t.Kind {
	case NumberToken:
		return p.number()
	case StringToken:
		p.advance()
		return &Literal{begin, t.Text}
	case QuotedToken:
		return p.named()
	case WordToken:
		if t.Word == "" {
			return p.word()
		}
	}
	switch t.Word {
	case "TRUE", "FALSE":
		p.advance()
		return &Literal{begin, t.Word == "TRUE"}
	case "NULL":
		p.advance()
		return &Literal{begin, nil}
	case "?", ":":
		return p.param()
	case "ARRAY", "[":
		return p.array()
	case "CASE":
		return p.cases()
	case "CAST":
		return p.cast()
	case "EXISTS":
		p.advance()
		return &Exists{begin, p.enclosed()}
	case "LEFT", "RIGHT", "ALL":
		if p.after(1).Word == "(" {
			return p.call()
		}
	case "(":
		if next := p.after(1).Word; next == "SELECT" || next == "WITH" {
			return &Subquery{begin, p.enclosed()}
		}
		p.advance()
		x := p.expr()
		if q, ok := x.(*Subquery); ok {
			x = &Subquery{begin, p.goOn(q.Query)}
		}
		p.need(")")
		return x
	}
	p.want("an expression")
	return nil
}

// param reads ? or :name. The name follows the colon at once and may be a word of the language.
// In an index, a colon where a bound may begin is that of a slice.
func (p *parser) param() Expr {
	t := p.advance()
	n := &Param{Start: Start(t.At), Number: len(p.params)}
	if t.Word == ":" {
		name := p.now()
		if name.Kind != WordToken || name.At.Offset != t.At.Offset+1 {
			p.fail(t.At, "got :, want an expression; a parameter is a colon and a word, as in :label")
			return n
		}
		n.Name = p.advance().Text
	}
	if len(p.params) > 0 && (p.params[0].Name == "") != (n.Name == "") {
		p.fail(t.At, "parameters are by position, ?, or by name, :label; a query has one kind of them")
		return n
	}
	if number, ok := p.numbers[n.Name]; ok {
		n.Number = number
		return n
	}
	if n.Name != "" {
		if p.numbers == nil {
			p.numbers = map[string]int{}
		}
		p.numbers[n.Name] = n.Number
	}
	p.params = append(p.params, n)
	return n
}

// number reads a number. It is an integer if it has no point or exponent and fits into 64 bits:
// int64, or uint64 if it fits only there.
func (p *parser) number() Expr {
	t := p.advance()
	if n, err := strconv.ParseInt(t.Text, 10, 64); err == nil {
		return &Literal{Start(t.At), n}
	}
	if n, err := strconv.ParseUint(t.Text, 10, 64); err == nil {
		return &Literal{Start(t.At), n}
	}
	f, err := strconv.ParseFloat(t.Text, 64)
	if err != nil || math.IsInf(f, 0) {
		p.fail(t.At, "the number %s is beyond what 64 bits hold", t.Text)
	}
	return &Literal{Start(t.At), f}
}

// word reads an expression that begins with a word other than a keyword: a date, call or name.
func (p *parser) word() Expr {
	t, next := p.now(), p.after(1)
	upper := strings.ToUpper(t.Text)
	switch {
	case next.Kind == StringToken && oneOf(upper, []string{"DATE", "TIMESTAMP", "INTERVAL"}):
		p.advance()
		p.advance()
		return &Time{Start(t.At), upper, next.Text}
	case next.Word == "(" && upper == "EXTRACT":
		return p.extract()
	case next.Word == "(":
		return p.call()
	}
	return p.named()
}

// named reads a column name, with an optional source before it.
func (p *parser) named() *Name {
	n := &Name{Start: Start(p.now().At), Name: p.name("a column")}
	if p.is(".") {
		p.advance()
		n.Of, n.Name = n.Name, p.name("a column")
	}
	return n
}

func (p *parser) array() Expr {
	a := &Array{Start: Start(p.now().At)}
	p.take("ARRAY")
	p.need("[")
	if !p.is("]") {
		a.Items = p.list()
	}
	p.need("]")
	return a
}

func (p *parser) cases() Expr {
	c := &Case{Start: Start(p.advance().At)}
	if !p.is("WHEN") {
		c.Of = p.expr()
	}
	for p.take("WHEN") {
		w := When{If: p.expr()}
		p.need("THEN")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.want("WHEN", "WHEN")
	}
	if p.take("ELSE") {
		c.Else = p.expr()
	}
	p.need("END")
	return c
}

func (p *parser) cast() Expr {
	c := &Cast{Start: Start(p.advance().At)}
	p.need("(")
	c.X = p.expr()
	p.need("AS")
	c.Type = strings.ToLower(p.name("a type"))
	p.need(")")
	return c
}

func (p *parser) extract() Expr {
	e := &Extract{Start: Start(p.advance().At)}
	p.need("(")
	e.Field = strings.ToLower(p.name("a field like year or hour"))
	p.need("FROM")
	e.X = p.expr()
	p.need(")")
	return e
}

// call reads a function and its arguments.
func (p *parser) call() Expr {
	t := p.advance()
	c := &Call{Start: Start(t.At), Name: strings.ToUpper(t.Text)}
	p.need("(")
	switch {
	case p.is(")"):
	case p.is("*") && p.after(1).Word == ")":
		p.advance()
		c.Star = true
	case oneOf(c.Name, []string{"MAX_WEIGHT", "SUM_WEIGHT"}):
		c.Weights = p.weights()
	default:
		c.Distinct = p.take("DISTINCT")
		c.Args = p.list()
	}
	p.need(")")
	return c
}

func (p *parser) weights() []Weight {
	return commas(p, func() Weight {
		w := Weight{If: p.expr()}
		p.need(":")
		w.Then = p.expr()
		return w
	})
}
