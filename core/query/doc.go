// Package query owns the meaning of TQL queries:
//
//   - names and types: check.go, operator.go, value.go, call.go, subquery.go;
//   - the plan: plan.go, select.go, from.go, join.go, distinct.go, group.go, union.go, ungroup.go,
//     rank.go, order.go;
//   - execution: scan.go, bounds.go, rel.go, frame.go, borrow.go.
//
// Package tql parses the text. The files of testdata state results of queries; tests here and in
// Python run them.
//
// The package knows no datasets, stores or Python. Rows come from tables ([Table]); values are
// columns of package array.
package query
