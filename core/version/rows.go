package version

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
	"deeplake/core/format"
)

// deletedRows are the deleted rows of the axis.
func (s *Snapshot) deletedRows() rowset.Set {
	out := rowset.Set{}
	at := int64(0)
	m := s.Live
	for k := range m.physical {
		if m.physical[k] > at {
			out = append(out, format.RowRange{Start: at, Count: m.physical[k] - at})
		}
		if k+1 < len(m.logical) {
			at = m.physical[k] + m.logical[k+1] - m.logical[k]
		}
	}
	return out
}

// liveRows are the rows of the axis that are not deleted.
func (s *Snapshot) liveRows() rowset.Set {
	return rowset.Of([]format.RowRange{{Start: 0, Count: s.Record.Rows}}).Minus(s.deletedRows())
}

// asCounted is a set of physical rows as the user counts them; deleted ones fall away.
func (s *Snapshot) asCounted(rows rowset.Set) RowSet {
	live := rows.Minus(s.deletedRows())
	out := make([]format.RowRange, len(live))
	for i, r := range live {
		out[i] = format.RowRange{Start: s.Live.Logical(r.Start), Count: r.Count}
	}
	set := rowset.Of(out)
	return RowSet{Count: set.Count(), Ranges: set}
}

// align finds the rows of a on the axis of b by their identities. Pages that both have are not
// read.
func align(ctx context.Context, a, b *Snapshot) (rowset.Alignment, error) {
	as, bs, err := chunkmap.Unshared(ctx, a.RowIDs(), b.RowIDs())
	if err != nil {
		return nil, err
	}
	byID := map[format.UUID][]format.Entry{}
	for _, e := range bs {
		byID[e.Session] = append(byID[e.Session], e)
	}
	for _, list := range byID {
		slices.SortFunc(list, func(x, y format.Entry) int { return cmp.Compare(x.First, y.First) })
	}
	var out rowset.Alignment
	at := int64(0)
	same := func(to int64) { // rows up to to lie in pages that both have
		if to > at {
			out = append(out, rowset.Segment{From: at, To: at, Rows: to - at})
		}
	}
	for _, e := range as {
		same(e.Row)
		at = e.Row + e.Rows
		list := byID[e.Session]
		for i := sort.Search(len(list), func(i int) bool { return list[i].First+list[i].Rows > e.First }); i < len(list) && list[i].First < e.First+e.Rows; i++ {
			from, to := max(e.First, list[i].First), min(e.First+e.Rows, list[i].First+list[i].Rows)
			out = append(out, rowset.Segment{From: e.Row + from - e.First, To: list[i].Row + from - list[i].First, Rows: to - from})
		}
	}
	same(a.Record.Rows)
	return out, nil
}
