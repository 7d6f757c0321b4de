package scan

import (
	"slices"
	"testing"

	"deeplake/core/internal/invariant"
)

func TestRowRange(t *testing.T) {
	var r rowRange
	first := []int64{7, 5, 9}
	for range 2 {
		r.use(first)
		if r.low != 5 || r.high != 9 || !slices.Equal(r.at(), []int{2, 0, 4}) {
			t.Errorf("%v: from %d to %d, offsets %v", first, r.low, r.high, r.at())
		}
	}
	for _, list := range [][]int64{first[:2], first[1:], {1, 1, 1}, {3}} {
		r.use(list)
		low := slices.Min(list)
		for i, at := range r.at() {
			if int64(at) != list[i]-low {
				t.Errorf("%v: offsets %v", list, r.at())
			}
		}
		if len(r.at()) != len(list) || r.low != low || r.high != slices.Max(list) {
			t.Errorf("%v: from %d to %d, offsets %v", list, r.low, r.high, r.at())
		}
	}
}

// TestRowRangeFindsChanges holds that a list which is written between two columns is found.
func TestRowRangeFindsChanges(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("needs the build tag invariants, which make test sets")
	}
	var r rowRange
	list := []int64{7, 5, 9}
	r.use(list)
	r.at()
	list[0] = 6
	defer func() {
		if recover() == nil {
			t.Error("a changed list is taken for the old one")
		}
	}()
	r.use(list)
}
