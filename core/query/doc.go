// Package query owns the meaning of TQL queries. Package tql parses their text.
//
// Its interface:
//
//   - query.go: Prepare, Plan and Result, and parameters that take several values;
//   - table.go: the tables and readers that a caller provides;
//   - explain.go: the description of a plan.
//
// Names and types, from syntax to nodes (node.go):
//
//   - check.go: expressions, literals and columns; operator.go: operators; in.go: IN;
//   - value.go: CASE, arrays and indexing; call.go: functions;
//   - subquery.go: queries within expressions.
//
// Clauses, each with its check and its execution:
//
//   - plan.go: a statement; select.go: one SELECT; from.go: FROM, JOIN and their conditions;
//   - join.go: joined rows; group.go: GROUP BY; ungroup.go: UNGROUP BY;
//   - sets.go: DISTINCT, UNION, INTERSECT and EXCEPT;
//   - order.go: ORDER BY, ARRANGE BY and SAMPLE BY; score.go: BM25 and the cutoff of best scores.
//
// Execution:
//
//   - scan.go: rows of one table; bounds.go: conditions on statistics, which skip rows unread;
//   - rel.go: rows of an intermediate result;
//   - frame.go: one batch between operators, and columns that are not copied.
//
// The package knows no datasets, stores or Python. The files of testdata state results of queries;
// tests here and in Python run them.
package query
