package order

import (
	"fmt"
	"slices"
	"testing"
)

// The windows of a mixture hold every row that the pass still takes from a position on, by the time
// of its position and until behind its last.
func TestMixedWindowsHoldEveryRow(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]int64{{1}, {700, 700}, {1, 2, 3000}, {9000, 17, 4500, 1}} {
		for _, b := range []MixPolicy{{}, {Mode: MixExact}, {Mode: MixSequential}, {Length: 9001}, {Mode: MixExact, Length: 40_000}} {
			m := mixed(t, b, rows...)
			for _, bytes := range []int64{64 << 10, 8 << 20} {
				c := epochOrderOf(t, m, Options{Shuffle: Window, ShuffleBytes: bytes})
				for epoch := range int64(2) {
					if testing.Short() && epoch == 0 {
						continue
					}
					for _, from := range []int64{0, 1, c.order.Rows / 2, c.order.Rows - 1} {
						t.Run(fmt.Sprintf("%v/%v/%d/%d/%d", rows, b, bytes, epoch, from), func(t *testing.T) {
							checkMixedWindows(t, c, Pass{Epoch: epoch, Position: from, World: 1})
						})
					}
				}
			}
		}
	}
}

func checkMixedWindows(t *testing.T, c *EpochOrder, p Pass) {
	t.Helper()
	const batch = 32
	s, w := c.Share(p, batch, TailExact), c.Share(p, batch, TailExact).MixedWindows()
	var open []PartWindow
	rows := make([]int64, s.Length())
	s.fillFrom(rows, 0)
	planned, total := int64(0), int64(0)
	for pos, row := range rows {
		for planned <= int64(pos) {
			to, more := w.Next(batch)
			if to <= planned {
				t.Fatalf("windows from %d on end at %d", planned, to)
			}
			open, planned = append(open, more...), to
			for _, x := range more {
				if x.Until > s.Length() || x.Until <= int64(pos) {
					t.Fatalf("at %d comes a window until %d of %d", pos, x.Until, s.Length())
				}
				for _, run := range x.Runs {
					total += run[1] - run[0]
				}
			}
		}
		open = slices.DeleteFunc(open, func(x PartWindow) bool { return x.Until <= int64(pos) })
		if !slices.ContainsFunc(open, func(x PartWindow) bool { return holds(x.Runs, row) }) {
			t.Fatalf("row %d at %d is in no window", row, pos)
		}
	}
	if total != s.total-s.from {
		t.Errorf("the windows have %d rows, want %d", total, s.total-s.from)
	}
}

// holds reports whether some run has row.
func holds(runs [][2]int64, row int64) bool {
	return slices.ContainsFunc(runs, func(run [2]int64) bool { return run[0] <= row && row < run[1] })
}

// Orders without windows of views, and several ranks, have no such windows.
func TestMixedWindowsAreOfOneRank(t *testing.T) {
	t.Parallel()
	m := mixed(t, MixPolicy{}, 100, 200)
	for _, shuffle := range []string{Sequential, Full} {
		if epochOrderOf(t, m, Options{Shuffle: shuffle}).Share(Pass{World: 1}, 8, TailExact).MixedWindows() != nil {
			t.Errorf("%q has windows", shuffle)
		}
	}
	if epochOrderOf(t, m, Options{Shuffle: Window}).Share(Pass{World: 2}, 8, TailExact).MixedWindows() != nil {
		t.Error("one of two ranks has windows")
	}
}
