// Package array owns columns of values: some rows of a tensor, or of what is computed from tensors,
// in one piece of memory, and what can be computed from them row by row, in groups and by order.
// Values are arrays of any shape, scalars among them; a row may have none (NULL).
//
// Of two vectors, products and distances are sums of float64. Who wants no values beyond a Limit
// need not pay for all of them: near.go derives, after Higham (2002), what a pass in float32 tells
// of the exact value, so that what is left is the same to the bit.
//
// It knows no query, no dataset and no store: the language names what is to be done, tables bring
// the columns.
package array
