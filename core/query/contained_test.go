package query

import (
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/errs"
)

// TestContained: builds without invariants compute operators through contained.
func TestContained(t *testing.T) {
	t.Parallel()
	var none []*array.Column
	var w *array.Work
	out, err := contained("AREA", func(_ *array.Work, args []*array.Column) (*array.Column, error) { return args[3], nil }, w, none)
	if out != nil || !errs.Is(err, errs.Internal) || !strings.Contains(err.Error(), "compute AREA: panic: runtime error: index out of range [3]") {
		t.Errorf("a panic gave %v, %v", out, err)
	}
	one := array.FromBools([]bool{true}, nil)
	if out, err = contained("NOT", func(*array.Work, []*array.Column) (*array.Column, error) { return one, nil }, w, none); out != one || err != nil {
		t.Errorf("without a panic: %v, %v", out, err)
	}
}
