// Package query owns TQL, the tensor query language: what a query may say (token, lex, ast), its reading (parse, expr) and
// its canonical form (print). docs/tql.ebnf is its grammar; a test makes queries of it and has them read.
//
// It does not know datasets, stores or Python. Data will reach it through an interface of its own.
package query
