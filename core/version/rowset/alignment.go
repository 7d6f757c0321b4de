package rowset

import (
	"cmp"
	"deeplake/core/format"
	"slices"
	"sort"
)

// Segment says that rows [From, From+Rows) of one axis are rows [To, To+Rows) of another one.
type Segment struct{ From, To, Rows int64 }

// Alignment maps rows of one axis to another one, in order of From. Rows that it does not name are
// missing from the other axis.
type Alignment []Segment

// Within returns the part of the alignment that begins in rows, which are normal.
func (m Alignment) Within(rows Set) Alignment {
	var out Alignment
	for i, j := 0, 0; i < len(m) && j < len(rows); {
		endM, endR := m[i].From+m[i].Rows, rows[j].Start+rows[j].Count
		if from, to := max(m[i].From, rows[j].Start), min(endM, endR); from < to {
			out = append(out, Segment{from, m[i].To + from - m[i].From, to - from})
		}
		if endM < endR {
			i++
		} else {
			j++
		}
	}
	return out
}

// Apply returns the positions of rows, which are normal, on the other axis.
func (m Alignment) Apply(rows Set) Set {
	in := m.Within(rows)
	out := make([]format.RowRange, len(in))
	for i, s := range in {
		out[i] = format.RowRange{Start: s.To, Count: s.Rows}
	}
	return Of(out)
}

// Find returns the position of one row on the other axis.
func (m Alignment) Find(row int64) (int64, bool) {
	i := sort.Search(len(m), func(i int) bool { return m[i].From+m[i].Rows > row })
	if i == len(m) || m[i].From > row {
		return 0, false
	}
	return m[i].To + row - m[i].From, true
}

// Inverse returns the alignment in the other direction.
func (m Alignment) Inverse() Alignment {
	out := make(Alignment, len(m))
	for i, s := range m {
		out[i] = Segment{s.To, s.From, s.Rows}
	}
	slices.SortFunc(out, func(a, b Segment) int { return cmp.Compare(a.From, b.From) })
	return out
}

// Set returns the rows that the alignment begins at.
func (m Alignment) Set() Set {
	out := make([]format.RowRange, len(m))
	for i, s := range m {
		out[i] = format.RowRange{Start: s.From, Count: s.Rows}
	}
	return Of(out)
}
