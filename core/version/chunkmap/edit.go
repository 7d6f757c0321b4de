package chunkmap

import (
	"cmp"
	"deeplake/core/format"
	"slices"
	"sort"
)

// Edit replaces the entries of rows [From, To) by Entries, which lie within that range in order.
// Without entries the range becomes a hole.
type Edit struct {
	From, To int64
	Entries  []format.Entry
}

// cut returns the parts of edits within rows [from, to). The entries of an edit go to the part in
// which the edit begins, even if they reach beyond to. The next page then begins behind them.
func cut(edits []Edit, from, to int64) []Edit {
	var out []Edit
	for _, e := range edits[sort.Search(len(edits), func(i int) bool { return edits[i].To > from }):] {
		switch {
		case e.From >= to:
			return out
		case e.From >= from:
			out = append(out, e)
		default:
			out = append(out, Edit{From: from, To: e.To})
		}
	}
	return out
}

// Follows reports whether e continues last: the next items of the same chunk for the next rows.
func Follows(last, e *format.Entry) bool {
	return last.Session == e.Session && last.Ordinal == e.Ordinal && last.Tiles == 0 && e.Tiles == 0 &&
		last.Row+last.Rows == e.Row && last.First+last.Rows == e.First
}

// Overlay applies edits to entries. Both are in order. Entries that follow each other in one chunk
// become one.
func Overlay(old []format.Entry, edits []Edit) []format.Entry {
	below, r := newRun(len(old)), newRun(len(old)+2*len(edits))
	below.entries(old)
	r.lay(append(below.rows, below.end), below.items, below.chunks, func(i int) uint32 { return below.refs[i] }, edits)
	out := make([]format.Entry, 0, len(r.refs))
	for i, ref := range r.refs {
		if ref == noRef {
			continue
		}
		e := r.chunks[ref]
		e.Row, e.First = r.rows[i], r.items[i]
		if e.Rows = r.end - e.Row; i+1 < len(r.rows) {
			e.Rows = r.rows[i+1] - e.Row
		}
		out = append(out, e)
	}
	return out
}

// InOrder sorts disjoint edits into a new slice.
func InOrder(edits []Edit) []Edit {
	return slices.SortedFunc(slices.Values(edits), func(a, b Edit) int { return cmp.Compare(a.From, b.From) })
}

// RangesOf returns the rows of edits.
func RangesOf(edits []Edit) []format.RowRange {
	out := make([]format.RowRange, len(edits))
	for i, ed := range edits {
		out[i] = format.RowRange{Start: ed.From, Count: ed.To - ed.From}
	}
	return out
}

// Without removes rows, in any order, from edits, which are in order.
func Without(edits []Edit, rows []format.RowRange) []Edit {
	if len(rows) == 0 {
		return edits
	}
	rows = slices.SortedFunc(slices.Values(rows), func(a, b format.RowRange) int { return cmp.Compare(a.Start, b.Start) })
	var out []Edit
	k := 0 // rows[:k] end before the edit
	for _, ed := range edits {
		for k < len(rows) && rows[k].Start+rows[k].Count <= ed.From {
			k++
		}
		at := ed.From
		for _, r := range rows[k:] {
			if r.Start >= ed.To {
				break
			}
			if r.Start > at {
				out = append(out, clip(ed, at, r.Start))
			}
			at = max(at, r.Start+r.Count)
		}
		if at < ed.To {
			out = append(out, clip(ed, at, ed.To))
		}
	}
	return out
}

// clip returns the part of an edit in rows [from, to).
func clip(ed Edit, from, to int64) Edit {
	return Edit{From: from, To: to, Entries: clipEntries(ed.Entries, from, to)}
}

// clipEntries returns the parts of entries, which are in order, in rows [from, to).
func clipEntries(entries []format.Entry, from, to int64) []format.Entry {
	var out []format.Entry
	for _, e := range entries {
		end := min(to, e.Row+e.Rows)
		if cut := from - e.Row; cut > 0 {
			e.Row, e.First = from, e.First+cut
		}
		if e.Rows = end - e.Row; e.Rows > 0 {
			out = append(out, e)
		}
	}
	return out
}
