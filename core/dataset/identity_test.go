package dataset

import (
	"slices"
	"testing"
)

// The same rows in the same order have one name, others another.
func TestSelectionsHaveNames(t *testing.T) {
	t.Parallel()
	all := &View{step: 1, n: 1000}
	pick := func(v *View, rows ...int64) *View {
		t.Helper()
		out, err := v.Select(rows)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	slice := func(v *View, start, stop, step int64) *View {
		t.Helper()
		out, err := v.Slice(start, stop, step)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	views := map[string][]*View{
		"all":      {all, slice(all, 0, 1000, 1)},
		"nothing":  {slice(all, 0, 0, 1), slice(all, 5, 2, 1), pick(all)},
		"row 5":    {slice(all, 5, 6, 1), slice(all, 5, 6, 7), pick(all, 5), slice(pick(all, 1, 5, 2), 1, 2, 1)},
		"regular":  {slice(all, 2, 10, 3), pick(all, 2, 5, 8), slice(slice(all, 2, 1000, 3), 0, 3, 1)},
		"reversed": {slice(all, 8, 1, -3), pick(all, 8, 5, 2)},
		"drawn":    {pick(all, 7, 1, 9), slice(pick(all, 3, 7, 1, 9), 1, 4, 1)},
		"repeated": {pick(all, 7, 7, 7)},
		"another":  {pick(all, 9, 1, 7)},
	}
	names := map[string]string{}
	for what, same := range views {
		for i, v := range same {
			if got, want := v.selection(), same[0].selection(); got != want {
				t.Errorf("%s, made in way %d: %q, want %q", what, i, got, want)
			}
		}
		if other, ok := names[same[0].selection()]; ok {
			t.Errorf("%s and %s are both %q", what, other, same[0].selection())
		}
		names[same[0].selection()] = what
	}
	long := make([]int64, 5000) // more than one block of the digest
	for i := range long {
		long[i] = int64(i*i) % 1000
	}
	a := pick(all, long...).selection()
	long[4999]++
	if b := pick(all, long...).selection(); a == b || len(a) > 64 {
		t.Errorf("5000 rows of which one differs are %q and %q", a, b)
	}
	slices.Reverse(long)
	if b := pick(all, long...).selection(); a == b {
		t.Error("rows in another order have the same name")
	}
}
