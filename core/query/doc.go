// Package query owns TQL, the tensor query language: what a query may say (token, lex, ast), its
// reading (parse, expr), its canonical form (print), what its names and types are (check, operator,
// value, call, subquery), its plan (plan, select, from, join, distinct, group, union, ungroup,
// rank, order) and how that is run (scan, bounds, rel, frame, borrow). docs/tql.ebnf is its
// grammar; a test makes queries of it and has them read. The files of testdata say what queries
// give; tests here and in Python run them.
//
// It does not know datasets, stores or Python: rows come from tables (Table), values are columns of
// package array.
package query
