package query

import (
	"strings"
)

// Pos is a place in the text of a query. Line and Column count from 1, Column in characters.
type Pos struct {
	Offset int // in bytes
	Line   int
	Column int
}

// kind is what a token is.
type kind uint8

const (
	atEnd   kind = iota
	aWord        // a keyword or a name, as written
	aQuoted      // a name in double quotes, without them
	aString      // in single quotes, without them
	aNumber
	aSymbol
)

// token is one word, literal or symbol. Of words, text is as written and word in upper case.
type token struct {
	kind kind
	text string
	word string // keyword or symbol; "" for all else
	at   Pos
}

// shown is the token in a message.
func (t token) shown() string {
	switch t.kind {
	case atEnd:
		return "the end"
	case aQuoted:
		return `"` + strings.ReplaceAll(t.text, `"`, `""`) + `"`
	case aString:
		return quote(t.text)
	}
	return t.text
}

// quote is text as a string of the language.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// keywords are the words that no name can be, unless in double quotes.
func keywords() []string {
	return []string{
		"ACROSS", "ALL", "AND", "ARRANGE", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CROSS", "DESC", "DISTINCT", "ELSE",
		"END", "EXCEPT", "EXISTS", "EXPAND", "FALSE", "FROM", "FULL", "GROUP", "HAVING", "ILIKE", "IN", "INNER", "INTERSECT", "IS",
		"JOIN", "LEFT", "LIKE", "LIMIT", "NOT", "NULL", "OFFSET", "ON", "OR", "ORDER", "OUTER", "RIGHT", "SAMPLE", "SELECT",
		"THEN", "TRUE", "UNGROUP", "UNION", "USING", "WHEN", "WHERE", "WITH",
	}
}

// Reserved lists the words that a function of the user's cannot be named, unless one built in is:
// keywords, and what is read as something else than a call where a parenthesis follows.
func Reserved() []string { return append(keywords(), "EXTRACT") }

// symbols, longer ones first.
func symbols() []string {
	return []string{"...", "==", "!=", "<>", "<=", ">=", "||", "=", "<", ">", "+", "-", "*", "/", "%", "^", "(", ")", "[", "]", ",", ".", ":", "?", "@"}
}
