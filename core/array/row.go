package array

import (
	"fmt"
	"slices"

	"deeplake/core/errs"
)

// RowError is an error of one row of a column, counted from the first row of the column. A caller
// that knows the position of the column in a table gives the row of the table with At.
type RowError struct {
	Row    int
	kind   errs.Kind
	format string
	args   []any
}

// hereRow is a placeholder for the row in the arguments of a RowError.
type hereRow uint8

// Here is a placeholder for the row in the arguments of InRow.
const Here hereRow = 0

// InRow returns a RowError. Arguments equal to Here are replaced by the number of the row.
func InRow(kind errs.Kind, row int, format string, args ...any) error {
	return &RowError{Row: row, kind: kind, format: format, args: args}
}

// At returns the error as one about the given row.
func (e *RowError) At(row int64) error { return errs.New(e.kind, "%w", e.with(row)) }

func (e *RowError) with(row int64) error {
	args := slices.Clone(e.args)
	for i, a := range args {
		if _, ok := a.(hereRow); ok {
			args[i] = row
		}
	}
	return fmt.Errorf(e.format, args...)
}

// Error names the row by its number in the column.
func (e *RowError) Error() string { return e.with(int64(e.Row)).Error() }

// Unwrap shows the kind.
func (e *RowError) Unwrap() error { return errs.New(e.kind, "row %d", e.Row) }
