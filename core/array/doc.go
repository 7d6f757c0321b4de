// Package array owns columns of values in one piece of memory: rows of a tensor, or values computed
// from tensors. It also owns their computation: row by row, in groups, and by order. A value is an
// array of any shape; a row may be NULL.
//
// Products and distances of vectors are sums of float64. A caller that needs no values beyond a
// Limit can avoid most of this work: near.go derives error bounds for a pass in float32, after
// Higham, Accuracy and Stability of Numerical Algorithms (2002). Only rows within the bounds are
// computed exactly, so results agree to the bit.
//
// The package knows no queries, datasets or stores.
package array
