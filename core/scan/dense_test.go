package scan

import (
	"slices"
	"testing"
)

func TestNear(t *testing.T) {
	var n near
	first := []int64{7, 5, 9}
	for range 2 {
		n.see(first)
		if n.low != 5 || n.high != 9 || !slices.Equal(n.at(), []int{2, 0, 4}) {
			t.Errorf("%v: from %d to %d, offsets %v", first, n.low, n.high, n.at())
		}
	}
	for _, list := range [][]int64{first[:2], first[1:], {1, 1, 1}, {3}} {
		n.see(list)
		low := slices.Min(list)
		for i, at := range n.at() {
			if int64(at) != list[i]-low {
				t.Errorf("%v: offsets %v", list, n.at())
			}
		}
		if len(n.at()) != len(list) || n.low != low || n.high != slices.Max(list) {
			t.Errorf("%v: from %d to %d, offsets %v", list, n.low, n.high, n.at())
		}
	}
}
