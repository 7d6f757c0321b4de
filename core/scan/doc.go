// Package scan owns the seam between datasets and queries: views of datasets as tables that a query
// can ask (query.Table), and the rows that it results with as a source that can be read and loaded
// like any view.
//
// It computes nothing itself: expressions are evaluated by query, values by array.
package scan
