package array

import (
	"math"
	"testing"
)

// FuzzSlice holds slices against Python's rules, written down one element after the other.
func FuzzSlice(f *testing.F) {
	f.Add(int64(5), int64(1), int64(-1), int64(2), uint8(7))
	f.Add(int64(0), int64(math.MinInt64), int64(math.MaxInt64), int64(-1), uint8(5))
	f.Add(int64(5), int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64), uint8(7))
	f.Fuzz(func(t *testing.T, size, low, high, step int64, given uint8) {
		if size < 0 || size > 1000 || step == 0 {
			return
		}
		hasLow, hasHigh := given&1 != 0, given&2 != 0
		clip := func(v, least, most int64) int64 {
			if v < 0 {
				if v < -size {
					v = least
				} else {
					v += size
				}
			}
			return min(max(v, least), most)
		}
		from, to := int64(0), size
		if step < 0 {
			from, to = size-1, -1
		}
		if hasLow {
			if from = clip(low, 0, size); step < 0 {
				from = clip(low, -1, size-1)
			}
		}
		if hasHigh {
			if to = clip(high, 0, size); step < 0 {
				to = clip(high, -1, size-1)
			}
		}
		var want []int64
		for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
			want = append(want, i)
			if step > size || step < -size {
				break
			}
		}
		c := sliceOf(size, low, high, step, hasLow, hasHigh)
		if c.count != len(want) {
			t.Fatalf("%d[%d:%d:%d] %d: %d elements, want %d", size, low, high, step, given, c.count, len(want))
		}
		for i, w := range want {
			if got := int64(c.start + i*c.step); got != w {
				t.Fatalf("%d[%d:%d:%d] %d: element %d is %d, want %d", size, low, high, step, given, i, got, w)
			}
		}
	})
}
