// Package query owns TQL, the tensor query language:
//
//   - the syntax: token.go, lex.go, ast.go, parse.go, expr.go, and print.go for the canonical form;
//   - names and types: check.go, operator.go, value.go, call.go, subquery.go;
//   - the plan: plan.go, select.go, from.go, join.go, distinct.go, group.go, union.go, ungroup.go,
//     rank.go, order.go;
//   - execution: scan.go, bounds.go, rel.go, frame.go, borrow.go.
//
// docs/tql.ebnf is the grammar; a test generates queries from it and parses them. The files of
// testdata state results of queries; tests here and in Python run them.
//
// The package knows no datasets, stores or Python. Rows come from tables (Table); values are
// columns of package array.
package query
