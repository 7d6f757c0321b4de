package read

import (
	"cmp"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/format"
)

// Group is runs of values that lie close together in one chunk, so that reading them with all items
// in between is the fastest way.
type Group struct {
	Values         // from the first item to the last
	Runs   []int32 // which runs, in order of items
}

// joinBytes is the size of the items between two runs, up to which they are read together. The
// store reads them anyway: a block has 16 KiB or more.
const joinBytes = 1 << 10

// Groups makes groups of runs, chunk by chunk. Rows that were updated or deleted divide the rows of
// a chunk into many runs. It leaves out missing values. A run of files, links or tiles is a group
// of its own.
func Groups(runs []Values) []Group {
	order := byChunk(runs)
	out := make([]Group, 0, min(len(order), 64))
	for k, i := range order {
		r := &runs[i]
		if n := len(out) - 1; n >= 0 && out[n].joins(r) {
			out[n].N = r.Item + r.N - out[n].Item
			out[n].Runs = order[k-len(out[n].Runs) : k+1]
			continue
		}
		out = append(out, Group{Values: *r, Runs: order[k : k+1]})
	}
	return out
}

// joins reports whether a run that follows in order belongs to the group.
func (g *Group) joins(r *Values) bool {
	if g.Segment.Chunk != r.Segment.Chunk || g.Tiled() || g.Coded() {
		return false
	}
	return near(g.Segment.Chunk.Index, g.Item+g.N, r.Item)
}

// near reports whether items are read together up to end and from item on.
func near(x *format.Index, end, item int64) bool {
	if item <= end {
		return item == end && !x.Linked()
	}
	if x.Linked() {
		return false
	}
	if x.ItemsBytes(end, item-end) <= joinBytes {
		return true
	}
	b, first := x.BlockOf(end - 1)
	return item < first+x.BlockItems(b)
}

// Joined returns the first place behind from of a run whose item is not to be read together with
// those before.
func Joined(plan *chunk.GatherPlan, run *chunk.Run, from int) int {
	to := from + 1
	for ; to < run.To; to++ {
		if last := plan.Items[to-1]; plan.Items[to] != last && !near(run.Chunk.Index, last+1, plan.Items[to]) {
			break
		}
	}
	return to
}

// byChunk lists the runs that have values: those of one chunk together, in order of items.
func byChunk(runs []Values) []int32 {
	numbers := map[*chunk.Chunk]int{}
	of := make([]int, len(runs))
	var counts []int
	last, number := (*chunk.Chunk)(nil), 0
	for i := range runs {
		c := runs[i].Segment.Chunk
		if c == nil {
			of[i] = -1
			continue
		}
		if c != last {
			known, ok := numbers[c]
			if !ok {
				known = len(counts)
				numbers[c] = known
				counts = append(counts, 0)
			}
			last, number = c, known
		}
		of[i] = number
		counts[number]++
	}
	at := 0
	for k, n := range counts {
		counts[k], at = at, at+n
	}
	out := make([]int32, at)
	for i, k := range of {
		if k >= 0 {
			out[counts[k]] = int32(i)
			counts[k]++
		}
	}
	from := 0
	for _, to := range counts {
		part := out[from:to]
		rising := func(a, b int32) int { return cmp.Compare(runs[a].Item, runs[b].Item) }
		if !slices.IsSortedFunc(part, rising) {
			slices.SortFunc(part, rising)
		}
		from = to
	}
	return out
}
