// Package dataset owns what a user works with: Dataset (schema, rows, commits), View (some rows of
// one version, for reading) and Column (one tensor of a view). It ties chunks to versions; it
// schedules nothing and knows no Python.
package dataset
