// Package scan connects datasets and queries. It presents views of datasets as tables
// (query.Table), and query results as sources that can be read and loaded like any view.
//
// It computes nothing: query evaluates expressions, array computes values.
package scan
