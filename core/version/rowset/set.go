package rowset

import (
	"cmp"
	"deeplake/core/format"
	"slices"
)

// Set is a set of rows as ranges. Ranges come from files and may have any length, so no operation
// takes time or memory for each row. The ranges of a normal set rise, and neither overlap, touch
// nor are empty.
type Set []format.RowRange

// Of sorts and joins ranges, which may overlap, into a normal set of their own.
func Of(ranges []format.RowRange) Set {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b format.RowRange) int { return cmp.Compare(a.Start, b.Start) })
	out := Set{}
	for _, r := range sorted {
		if n := len(out); n > 0 && out[n-1].Start+out[n-1].Count >= r.Start {
			out[n-1].Count = max(out[n-1].Count, r.Start+r.Count-out[n-1].Start)
		} else if r.Count > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Or returns the union of two sets, which need not be normal.
func (a Set) Or(b Set) Set { return Of(append(slices.Clone(a), b...)) }

// And returns the intersection of two normal sets.
func (a Set) And(b Set) Set {
	out := Set{}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		endA, endB := a[i].Start+a[i].Count, b[j].Start+b[j].Count
		if from, to := max(a[i].Start, b[j].Start), min(endA, endB); from < to {
			out = append(out, format.RowRange{Start: from, Count: to - from})
		}
		if endA < endB {
			i++
		} else {
			j++
		}
	}
	return out
}

// Minus returns the rows of a that are not in b. Both sets are normal.
func (a Set) Minus(b Set) Set {
	out := Set{}
	j := 0
	for _, r := range a {
		at, end := r.Start, r.Start+r.Count
		for ; j < len(b) && b[j].Start+b[j].Count <= at; j++ {
		}
		for k := j; k < len(b) && b[k].Start < end; k++ {
			if b[k].Start > at {
				out = append(out, format.RowRange{Start: at, Count: b[k].Start - at})
			}
			at = b[k].Start + b[k].Count
		}
		if at < end {
			out = append(out, format.RowRange{Start: at, Count: end - at})
		}
	}
	return out
}

// Count returns the number of rows of a normal set.
func (a Set) Count() int64 {
	n := int64(0)
	for _, r := range a {
		n += r.Count
	}
	return n
}

// First lists the first n rows, or all if there are fewer.
func (a Set) First(n int) []int64 {
	var out []int64
	for _, r := range a {
		for row := r.Start; row < r.Start+r.Count && len(out) < n; row++ {
			out = append(out, row)
		}
	}
	return out
}
