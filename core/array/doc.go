// Package array owns columns of values in one piece of memory: rows of a tensor, or values computed
// from tensors. It makes, indexes, stacks, casts, unifies and orders them. A value is an array of
// any shape; a row may be NULL.
//
// Functions, operators and aggregates over columns are core/compute. The package knows no queries,
// datasets or stores.
package array
