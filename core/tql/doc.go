// Package tql owns the syntax of TQL, the tensor query language: tokens, the grammar, the syntax
// tree and its canonical text.
//
// [Parse] turns text into a [Statement], whose nodes have positions. [Statement.String] prints the
// canonical form, which parses to the same tree. [Tokens] serves editors. [Errorf] makes the errors
// that quote a line of the query with a caret under the position.
//
// docs/tql.ebnf is the grammar. A test generates queries from it and parses them.
//
// The package knows no tables, types or functions: package query checks names and types, and
// package compute evaluates functions. It must not import either.
package tql
