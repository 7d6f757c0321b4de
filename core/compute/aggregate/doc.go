// Package aggregate owns the functions that reduce rows to one value for each group: one table with
// their types, facts and makers. It knows no query and no plan: package query feeds the rows.
package aggregate
