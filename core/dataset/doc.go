// Package dataset owns the user's objects: Dataset (schema, rows, commits), View (rows of one
// version, for reading) and Column (one tensor of a view). It ties chunks to versions. It schedules
// nothing and knows no Python.
package dataset
