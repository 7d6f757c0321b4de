// Package array owns columns of values: some rows of a tensor, or of what is computed from tensors, in one piece of
// memory, and what can be computed from them row by row, in groups and by order. Values are arrays of any shape, scalars
// among them; a row may have none (NULL).
//
// It knows no query, no dataset and no store: the language names what is to be done, tables bring the columns.
package array
