package rowset

// Seek returns the last index from at on whose start is at most row. Starts rise, and that of at is
// at most row. The steps double, so rows that lie close together are found in few of them.
func Seek(starts []int64, at int, row int64) int {
	if at+1 >= len(starts) || starts[at+1] > row {
		return at
	}
	at++
	step := 1
	for at+step < len(starts) && starts[at+step] <= row {
		at += step
		step *= 2
	}
	high := min(at+step, len(starts)) // starts[high] is behind row
	for at+1 < high {
		if mid := int(uint(at+high) >> 1); starts[mid] <= row {
			at = mid
		} else {
			high = mid
		}
	}
	return at
}
