package tql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// String returns the query in its canonical form, which parses to the same tree.
func (s *Statement) String() string {
	var w writer
	w.statement(s)
	return w.String()
}

// Text returns an expression in its canonical form.
func Text(x Expr) string {
	var w writer
	w.expr(x, 0)
	return w.String()
}

// The levels of precedence, as in expr.go. The printer adds parentheses around an expression in a
// position of higher precedence.
const (
	atOr = iota
	atAnd
	atNot
	atIs
	atCompare
	atMatch
	atJoin
	atSum
	atProduct
	atPower
	atSign
	atIndex
)

type writer struct {
	strings.Builder
	items int // of how many indices the expression is an item
}

func (w *writer) put(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

func (w *writer) statement(s *Statement) {
	for i, n := range s.With {
		if i == 0 {
			w.put("WITH ")
		} else {
			w.put(", ")
		}
		w.put(ident(n.Name), " AS ")
		w.enclosed(n.Query)
	}
	if len(s.With) > 0 {
		w.put(" ")
	}
	w.body(s.Body)
	for i, o := range s.Order {
		w.comma(i, " ORDER BY ")
		w.expr(o.Expr, 0)
		if o.Desc {
			w.put(" DESC")
		}
		if o.Nulls != "" {
			w.put(" NULLS ", o.Nulls)
		}
	}
	w.list(" ARRANGE BY ", s.Arrange, "")
	if s.Limit != nil && s.Offset != nil && s.Offset.Pos().Offset < s.Limit.Pos().Offset {
		// Parameters are numbered by position, so the clauses keep their order.
		w.clause(" OFFSET ", s.Offset)
		w.clause(" LIMIT ", s.Limit)
	} else {
		w.clause(" LIMIT ", s.Limit)
		w.clause(" OFFSET ", s.Offset)
	}
	if m := s.Sample; m != nil {
		w.clause(" SAMPLE BY ", m.Weight)
		if m.Keep {
			w.put(" REPLACE FALSE")
		}
		w.clause(" LIMIT ", m.Limit)
		if m.Percent {
			w.put(" PERCENT")
		}
	}
}

// comma writes the separator before item i of a clause.
func (w *writer) comma(i int, begin string) {
	if i == 0 {
		w.put(begin)
	} else {
		w.put(", ")
	}
}

func (w *writer) list(begin string, list []Expr, end string) {
	for i, x := range list {
		w.comma(i, begin)
		w.expr(x, 0)
	}
	if len(list) > 0 {
		w.put(end)
	}
}

func (w *writer) clause(begin string, x Expr) {
	if x != nil {
		w.put(begin)
		w.expr(x, 0)
	}
}

func (w *writer) enclosed(s *Statement) {
	w.put("(")
	w.statement(s)
	w.put(")")
}

// body writes a body. A union that needs parentheses is already a parenthesized statement.
func (w *writer) body(b Body) {
	switch b := b.(type) {
	case *Statement:
		w.enclosed(b)
	case *Select:
		w.selected(b)
	case *Union:
		w.body(b.Left)
		w.put(" ", b.Op, " ")
		if b.All {
			w.put("ALL ")
		}
		w.body(b.Right)
	}
}

func (w *writer) selected(s *Select) {
	w.put("SELECT ")
	if s.Distinct {
		w.put("DISTINCT ")
		w.list("ON (", s.On, ") ")
	}
	for i, c := range s.List {
		w.comma(i, "")
		switch {
		case c.Expr != nil:
			w.expr(c.Expr, 0)
			w.alias(c.As)
		default:
			if c.Of != "" {
				w.put(ident(c.Of), ".")
			}
			w.put("*")
			w.exclude(c.Exclude)
		}
	}
	if s.From != nil {
		w.put(" FROM ")
		w.source(s.From)
	}
	for i := range s.Joins {
		j := &s.Joins[i]
		w.put(" ", j.Kind, " JOIN ")
		w.source(&j.With)
		w.clause(" ON ", j.On)
		for i, name := range j.Using {
			w.comma(i, " USING (")
			w.put(ident(name))
		}
		if len(j.Using) > 0 {
			w.put(")")
		}
	}
	w.clause(" WHERE ", s.Where)
	if e := s.Expand; e != nil {
		w.put(" EXPAND BY ")
		w.operand(e.Before)
		if e.After != nil {
			w.put(" ")
			w.operand(e.After)
		}
		if e.Merge {
			w.put(" OVERLAP FALSE")
		}
	}
	w.list(" GROUP BY ", s.Group, "")
	w.clause(" HAVING ", s.Having)
	if s.Across != "" {
		w.put(" ACROSS ", s.Across)
	}
	if u := s.Ungroup; u != nil {
		w.put(" UNGROUP BY ")
		if u.By == nil {
			w.put("SPLIT")
		} else if n, ok := u.By.(*Name); ok && n.Of == "" && strings.EqualFold(n.Name, "SPLIT") {
			w.put(`"`, n.Name, `"`)
		} else {
			w.expr(u.By, 0)
		}
	}
}

// operand writes a number of rows of EXPAND. Two of them are adjacent, so it parenthesizes
// expressions in which a sign or bracket would be ambiguous.
func (w *writer) operand(x Expr) {
	bare := false
	switch x := x.(type) {
	case *Param:
		bare = true
	case *Literal:
		switch x.Value.(type) {
		case string, bool, nil: // the parser takes them in parentheses only
		default:
			bare = true
		}
	}
	if bare {
		w.expr(x, 0)
		return
	}
	w.put("(")
	w.expr(x, 0)
	w.put(")")
}

func (w *writer) exclude(names []*Name) {
	for i, n := range names {
		w.comma(i, " EXCLUDE (")
		w.expr(n, 0)
	}
	if len(names) > 0 {
		w.put(")")
	}
}

func (w *writer) alias(name string) {
	if name != "" {
		w.put(" AS ", ident(name))
	}
}

func (w *writer) source(s *Source) {
	if s.Query != nil {
		w.enclosed(s.Query)
	} else {
		w.put(ident(s.Name))
	}
	if s.Ref != nil {
		w.put("@")
		w.expr(s.Ref, atIndex)
	}
	w.alias(s.As)
}

// ident returns a name, quoted if needed.
func ident(name string) string {
	plain := name != "" && !slices.Contains(keywords(), strings.ToUpper(name))
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		plain = plain && (letter || i > 0 && isDigit(c))
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// expr writes x in a position that needs at least the precedence least.
func (w *writer) expr(x Expr, least int) {
	level := levelOf(x)
	if level < least {
		w.put("(")
		defer w.put(")")
	}
	switch x := x.(type) {
	case *Name:
		if x.Of != "" {
			w.put(ident(x.Of), ".")
		}
		w.put(ident(x.Name))
	case *Literal:
		w.put(FormatValue(x.Value))
	case *Time:
		w.put(x.Kind, " ", Quote(x.Text))
	case *Param:
		w.param(x)
	case *Array:
		w.put("ARRAY[")
		w.list("", x.Items, "")
		w.put("]")
	case *Unary:
		w.unary(x)
	case *Binary:
		right := level + 1
		left := level
		if level == atCompare {
			left++
		}
		w.expr(x.X, left)
		w.put(" ", x.Op, " ")
		w.expr(x.Y, right)
	case *IsNull:
		w.expr(x.X, level)
		w.put(" IS ", not(x.Not), "NULL")
	case *Between, *In, *Like:
		w.match(x)
	case *Index:
		w.index(x)
	case *Subquery:
		w.enclosed(x.Query)
	case *Exists:
		w.put("EXISTS ")
		w.enclosed(x.Query)
	default:
		w.function(x)
	}
}

// param writes a parameter. In an index a name gets parentheses: a colon there begins a slice.
func (w *writer) param(x *Param) {
	switch {
	case x.Name == "":
		w.put("?")
	case w.items > 0:
		w.put("(:", x.Name, ")")
	default:
		w.put(":", x.Name)
	}
}

func (w *writer) unary(x *Unary) {
	if x.Op == "NOT" {
		w.put("NOT ")
		w.expr(x.X, atNot)
		return
	}
	w.put(x.Op)
	if inner, ok := x.X.(*Unary); ok && inner.Op != "NOT" {
		w.put(" ") // two signs in a row begin a comment
	}
	w.expr(x.X, atSign)
}

func (w *writer) match(x Expr) {
	switch x := x.(type) {
	case *Between:
		w.expr(x.X, atMatch)
		w.put(" ", not(x.Not), "BETWEEN ")
		w.expr(x.Low, atJoin)
		w.put(" AND ")
		w.expr(x.High, atJoin)
	case *In:
		w.expr(x.X, atMatch)
		w.put(" ", not(x.Not), "IN ")
		if x.Query != nil {
			w.enclosed(x.Query)
			return
		}
		if x.Param != nil {
			w.expr(x.Param, atMatch)
			return
		}
		w.list("(", x.List, ")")
	case *Like:
		op := "LIKE "
		if x.Fold {
			op = "ILIKE "
		}
		w.expr(x.X, atMatch)
		w.put(" ", not(x.Not), op)
		w.expr(x.Pattern, atJoin)
	}
}

func not(is bool) string {
	if is {
		return "NOT "
	}
	return ""
}

func (w *writer) index(x *Index) {
	w.expr(x.X, atIndex)
	w.items++
	defer func() { w.items-- }()
	for i, it := range x.Items {
		w.comma(i, "[")
		switch {
		case it.Ellipsis:
			w.put("...")
		case it.Slice:
			w.clause("", it.Low)
			w.put(":")
			w.clause("", it.High)
			w.clause(":", it.Step)
		default:
			w.expr(it.At, 0)
		}
	}
	w.put("]")
}

// function writes the expressions with a function-like syntax.
func (w *writer) function(x Expr) {
	switch x := x.(type) {
	case *Case:
		w.put("CASE")
		w.clause(" ", x.Of)
		for _, one := range x.Whens {
			w.clause(" WHEN ", one.If)
			w.clause(" THEN ", one.Then)
		}
		w.clause(" ELSE ", x.Else)
		w.put(" END")
	case *Cast:
		w.put("CAST(")
		w.expr(x.X, 0)
		w.put(" AS ", ident(x.Type), ")")
	case *Extract:
		w.put("EXTRACT(", ident(x.Field), " FROM ")
		w.expr(x.X, 0)
		w.put(")")
	case *Call:
		w.put(x.Name, "(")
		if x.Distinct {
			w.put("DISTINCT ")
		}
		if x.Star {
			w.put("*")
		}
		w.list("", x.Args, "")
		for i, one := range x.Weights {
			w.comma(i, "")
			w.expr(one.If, 0)
			w.clause(": ", one.Then)
		}
		w.put(")")
	default:
		w.put(fmt.Sprintf("<%T>", x)) // no such expression: it does not read back
	}
}

func levelOf(x Expr) int {
	switch x := x.(type) {
	case *Unary:
		if x.Op == "NOT" {
			return atNot
		}
		return atSign
	case *Binary:
		switch x.Op {
		case "OR":
			return atOr
		case "AND":
			return atAnd
		case "||":
			return atJoin
		case "+", "-":
			return atSum
		case "*", "/", "%":
			return atProduct
		case "^":
			return atPower
		}
		return atCompare
	case *IsNull:
		return atIs
	case *Between, *In, *Like:
		return atMatch
	}
	return atIndex
}

// FormatValue returns a value as a literal that parses to the same value.
func FormatValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		return strings.ToUpper(strconv.FormatBool(v))
	case string:
		return Quote(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(v)
}
