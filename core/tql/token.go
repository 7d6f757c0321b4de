package tql

import (
	"strings"
)

// Pos is a position in the text of a query. Line and Column count from 1, Column in characters.
type Pos struct {
	Offset int // in bytes
	Line   int
	Column int
}

// Kind is the kind of a token.
type Kind uint8

const (
	EndToken    Kind = iota
	WordToken        // a keyword or a name
	QuotedToken      // a name in double quotes
	StringToken      // a text in single quotes
	NumberToken
	SymbolToken
)

// Token is one word, literal or symbol.
type Token struct {
	Kind Kind
	Text string // as written, without quotes
	Word string // the keyword in upper case, or the symbol; otherwise ""
	At   Pos
}

// shown returns the token as messages show it.
func (t Token) shown() string {
	switch t.Kind {
	case EndToken:
		return "the end"
	case QuotedToken:
		return `"` + strings.ReplaceAll(t.Text, `"`, `""`) + `"`
	case StringToken:
		return Quote(t.Text)
	}
	return t.Text
}

// Quote returns text as a string literal of the language.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// keywords returns the reserved words. A name that equals one needs double quotes.
func keywords() []string {
	return []string{
		"ACROSS", "ALL", "AND", "ARRANGE", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CROSS", "DESC", "DISTINCT", "ELSE",
		"END", "EXCEPT", "EXISTS", "EXPAND", "FALSE", "FROM", "FULL", "GROUP", "HAVING", "ILIKE", "IN", "INNER", "INTERSECT", "IS",
		"JOIN", "LEFT", "LIKE", "LIMIT", "NOT", "NULL", "OFFSET", "ON", "OR", "ORDER", "OUTER", "RIGHT", "SAMPLE", "SELECT",
		"THEN", "TRUE", "UNGROUP", "UNION", "USING", "WHEN", "WHERE", "WITH",
	}
}

// Reserved returns the words that cannot name a user's function: keywords, and words that the
// grammar reads differently before a parenthesis.
func Reserved() []string { return append(keywords(), "EXTRACT") }

// symbols returns all symbols, longer ones first, so that the first prefix found is the longest.
func symbols() []string {
	return []string{"...", "==", "!=", "<>", "<=", ">=", "||", "=", "<", ">", "+", "-", "*", "/", "%", "^", "(", ")", "[", "]", ",", ".", ":", "?", "@"}
}
