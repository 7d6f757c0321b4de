package scan

import (
	"context"
	"slices"
	"sort"

	"deeplake/core/dataset"
	"deeplake/core/query"
	"deeplake/core/read"
)

// located is where rows of a column lie.
type located struct {
	segments []read.Segment // each row of the dataset once, in its order
	n        int            // rows in segments
	at       []int          // the i-th requested row is row at[i] of these; nil: row i
}

// locate finds rows of a column, in the memory of l.
func (l *located) locate(ctx context.Context, f *field, rows query.Rows) error {
	runs, at := runsOf(f.view, rows)
	err := l.locateRuns(ctx, f, runs)
	l.at = at
	return err
}

// locateRuns finds runs of rows of the dataset.
func (l *located) locateRuns(ctx context.Context, f *field, runs [][2]int64) error {
	l.at, l.n = nil, 0
	for _, r := range runs {
		l.n += int(r[1] - r[0])
	}
	var err error
	l.segments, err = read.Locate(ctx, f.column, runs, f.remote(), l.segments[:0])
	return err
}

// runsOf lists the dataset's rows behind rows of a view, in order and each once. It also returns
// the index of each of rows in that list; nil: they are in order.
func runsOf(v *dataset.View, rows query.Rows) (runs [][2]int64, at []int) {
	if start, step, regular := v.Regular(); regular && step == 1 && rows.List == nil {
		if rows.N == 0 {
			return nil, nil
		}
		return [][2]int64{{start + rows.From, start + rows.From + rows.N}}, nil
	}
	list := make([]int64, rows.N)
	inOrder := true
	for i := range list {
		list[i] = v.Row(rows.At(i))
		inOrder = inOrder && (i == 0 || list[i-1] < list[i])
	}
	if !inOrder {
		sorted := slices.Clone(list)
		slices.Sort(sorted)
		sorted = slices.Compact(sorted)
		at = make([]int, len(list))
		for i, row := range list {
			at[i] = sort.Search(len(sorted), func(k int) bool { return sorted[k] >= row })
		}
		list = sorted
	}
	for _, row := range list {
		if n := len(runs) - 1; n >= 0 && runs[n][1] == row && row > 0 {
			// a row that is missing is a run of its own
			runs[n][1] = row + 1
		} else {
			runs = append(runs, [2]int64{row, row + 1})
		}
	}
	return runs, at
}
