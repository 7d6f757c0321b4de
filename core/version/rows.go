package version

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"deeplake/core/format"
	"deeplake/core/internal/task"
)

// rowSet is a set of rows as ranges. Operations come from files and may name ranges of any length,
// so nothing here takes time or memory for each row. A normal one is rising, disjoint, not adjacent
// and without empty ranges.
type rowSet []format.RowRange

// normal sorts and joins ranges, which may overlap, into a new set.
func normal(ranges []format.RowRange) rowSet {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b format.RowRange) int { return cmp.Compare(a.Start, b.Start) })
	out := rowSet{}
	for _, r := range sorted {
		if n := len(out); n > 0 && out[n-1].Start+out[n-1].Count >= r.Start {
			out[n-1].Count = max(out[n-1].Count, r.Start+r.Count-out[n-1].Start)
		} else if r.Count > 0 {
			out = append(out, r)
		}
	}
	return out
}

func (a rowSet) or(b rowSet) rowSet { return normal(append(slices.Clone(a), b...)) }

// and is the intersection of two normal sets.
func (a rowSet) and(b rowSet) rowSet {
	out := rowSet{}
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

// minus is what of the normal set a is not in the normal set b.
func (a rowSet) minus(b rowSet) rowSet {
	out := rowSet{}
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

func (a rowSet) count() int64 {
	n := int64(0)
	for _, r := range a {
		n += r.Count
	}
	return n
}

// first lists at most n of the rows.
func (a rowSet) first(n int) []int64 {
	var out []int64
	for _, r := range a {
		for row := r.Start; row < r.Start+r.Count && len(out) < n; row++ {
			out = append(out, row)
		}
	}
	return out
}

// deletedRows are the deleted rows of the axis.
func (s *Snapshot) deletedRows() rowSet {
	out := rowSet{}
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
func (s *Snapshot) liveRows() rowSet {
	return normal([]format.RowRange{{Start: 0, Count: s.Record.Rows}}).minus(s.deletedRows())
}

// asCounted is a set of physical rows as the user counts them; deleted ones fall away.
func (s *Snapshot) asCounted(rows rowSet) RowSet {
	live := rows.minus(s.deletedRows())
	out := make([]format.RowRange, len(live))
	for i, r := range live {
		out[i] = format.RowRange{Start: s.Live.Logical(r.Start), Count: r.Count}
	}
	set := normal(out)
	return RowSet{Count: set.count(), Ranges: set}
}

// seg says that rows [from, from+rows) of one axis are the rows from to on of another one.
type seg struct{ from, to, rows int64 }

// alignment says where rows of one axis are on another one, in order of from. Rows that it does not
// name are not there.
type alignment []seg

// within is the part of the alignment that begins in rows, which are normal.
func (m alignment) within(rows rowSet) alignment {
	var out alignment
	for i, j := 0, 0; i < len(m) && j < len(rows); {
		endM, endR := m[i].from+m[i].rows, rows[j].Start+rows[j].Count
		if from, to := max(m[i].from, rows[j].Start), min(endM, endR); from < to {
			out = append(out, seg{from, m[i].to + from - m[i].from, to - from})
		}
		if endM < endR {
			i++
		} else {
			j++
		}
	}
	return out
}

// apply is where rows, which are normal, are on the other axis.
func (m alignment) apply(rows rowSet) rowSet {
	in := m.within(rows)
	out := make([]format.RowRange, len(in))
	for i, s := range in {
		out[i] = format.RowRange{Start: s.to, Count: s.rows}
	}
	return normal(out)
}

// inverse is the alignment in the other direction.
func (m alignment) inverse() alignment {
	out := make(alignment, len(m))
	for i, s := range m {
		out[i] = seg{s.to, s.from, s.rows}
	}
	slices.SortFunc(out, func(a, b seg) int { return cmp.Compare(a.from, b.from) })
	return out
}

// align finds the rows of a on the axis of b by their identities. Pages that both have are not
// read.
func align(ctx context.Context, a, b *Snapshot) (alignment, error) {
	as, bs, err := unshared(ctx, a.RowIDs(), b.RowIDs())
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
	var out alignment
	at := int64(0)
	same := func(to int64) { // rows up to to lie in pages that both have
		if to > at {
			out = append(out, seg{at, at, to - at})
		}
	}
	for _, e := range as {
		same(e.Row)
		at = e.Row + e.Rows
		list := byID[e.Session]
		for i := sort.Search(len(list), func(i int) bool { return list[i].First+list[i].Rows > e.First }); i < len(list) && list[i].First < e.First+e.Rows; i++ {
			from, to := max(e.First, list[i].First), min(e.First+e.Rows, list[i].First+list[i].Rows)
			out = append(out, seg{e.Row + from - e.First, list[i].Row + from - list[i].First, to - from})
		}
	}
	same(a.Record.Rows)
	return out, nil
}

// unshared are the entries of two trees that do not lie in pages of both, each in order.
func unshared(ctx context.Context, a, b Tree) (as, bs []format.Entry, err error) {
	sides := [2]*frontier{{tree: a}, {tree: b}}
	for _, f := range sides {
		if !f.tree.root.Page.IsZero() {
			f.pages = []format.Root{f.tree.root}
		}
	}
	for {
		sides[0].drop(sides[1])
		height := max(sides[0].height(), sides[1].height())
		if height == 0 {
			break
		}
		for _, f := range sides {
			if err := f.descend(ctx, height); err != nil {
				return nil, nil, err
			}
		}
	}
	if as, err = sides[0].entries(ctx); err != nil {
		return nil, nil, err
	}
	bs, err = sides[1].entries(ctx)
	return as, bs, err
}

// frontier is a level of a tree on the way down, in order of rows.
type frontier struct {
	tree  Tree
	pages []format.Root
}

func (f *frontier) height() int {
	height := 0
	for _, p := range f.pages {
		height = max(height, p.Height)
	}
	return height
}

// drop takes the pages that both have out of both.
func (f *frontier) drop(other *frontier) {
	mine := make(map[format.UUID]bool, len(f.pages))
	for _, p := range f.pages {
		mine[p.Page] = true
	}
	both := map[format.UUID]bool{}
	for _, p := range other.pages {
		if mine[p.Page] {
			both[p.Page] = true
		}
	}
	isBoth := func(p format.Root) bool { return both[p.Page] }
	f.pages = slices.DeleteFunc(f.pages, isBoth)
	other.pages = slices.DeleteFunc(other.pages, isBoth)
}

// read reads the pages of a height, several at once; the others are left zero.
func (f *frontier) read(ctx context.Context, height int) ([]page, error) {
	pages := make([]page, len(f.pages))
	g := task.New(ctx, pagesInFlight)
	for i, root := range f.pages {
		if root.Height == height {
			g.Go(func(ctx context.Context) (err error) {
				pages[i], err = f.tree.pages.load(ctx, f.tree.held, root)
				return err
			})
		}
	}
	return pages, g.Wait()
}

// descend puts the children of the pages of a height in their place.
func (f *frontier) descend(ctx context.Context, height int) error {
	pages, err := f.read(ctx, height)
	if err != nil {
		return err
	}
	var below []format.Root
	for i, root := range f.pages {
		if root.Height < height {
			below = append(below, root)
			continue
		}
		for _, c := range pages[i].inner.Children {
			below = append(below, format.Root{Page: c.Page, Height: height - 1})
		}
	}
	f.pages = below
	return nil
}

func (f *frontier) entries(ctx context.Context) ([]format.Entry, error) {
	pages, err := f.read(ctx, 0)
	if err != nil {
		return nil, err
	}
	var out []format.Entry
	for _, p := range pages {
		out = append(out, p.leaf.Entries...)
	}
	return out, nil
}

// warm reads the pages of trees that rows lie in, many at once, so that scans of them find them in
// memory.
func (s *Pages) warm(ctx context.Context, rows rowSet, trees ...Tree) error {
	edits := make([]Edit, len(rows))
	for i, r := range rows {
		edits[i] = Edit{From: r.Start, To: r.Start + r.Count}
	}
	work := make([]treeEdits, len(trees))
	for i, t := range trees {
		work[i] = treeEdits{t, edits}
	}
	_, err := s.gather(ctx, work)
	return err
}

// entriesIn are the entries of a tree in rows [from, from+n), cut to them.
func (t Tree) entriesIn(ctx context.Context, from, n int64) ([]format.Entry, error) {
	var out []format.Entry
	err := t.Scan(ctx, from, from+n, func(e format.Entry) bool {
		out = append(out, e)
		return true
	})
	return clipEntries(out, from, from+n), err
}

// filled are the rows, of a normal set, that have a value in a tree.
func (t Tree) filled(ctx context.Context, rows rowSet) (rowSet, error) {
	out := rowSet{}
	for _, r := range rows {
		entries, err := t.entriesIn(ctx, r.Start, r.Count)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			out = append(out, format.RowRange{Start: e.Row, Count: e.Rows})
		}
	}
	return normal(out), nil
}

// differing are the rows of a, as far as m leads from them to b, that lie elsewhere in tree b than
// in tree a. The result is counted as in a.
func differing(ctx context.Context, a, b Tree, m alignment) (rowSet, error) {
	out := rowSet{}
	for _, s := range m {
		as, err := a.entriesIn(ctx, s.from, s.rows)
		if err != nil {
			return nil, err
		}
		bs, err := b.entriesIn(ctx, s.to, s.rows)
		if err != nil {
			return nil, err
		}
		for i := range bs {
			bs[i].Row += s.from - s.to
		}
		out = append(out, unequal(as, bs, s.from, s.from+s.rows)...)
	}
	return normal(out), nil
}

// unequal are the rows of [from, to) that two lists of entries within say different things of.
func unequal(as, bs []format.Entry, from, to int64) []format.RowRange {
	var out []format.RowRange
	i, j := 0, 0
	for at := from; at < to; {
		x, nx := coverAt(as, &i, at, to)
		y, ny := coverAt(bs, &j, at, to)
		n := min(nx, ny)
		if (x == nil) != (y == nil) || x != nil && (x.Session != y.Session || x.Ordinal != y.Ordinal || x.First-x.Row != y.First-y.Row) {
			out = append(out, format.RowRange{Start: at, Count: n})
		}
		at += n
	}
	return out
}

// coverAt is the entry of a list that covers row at, nil in a hole, and for how many rows, at most
// to to, that is so.
func coverAt(list []format.Entry, i *int, at, to int64) (*format.Entry, int64) {
	for *i < len(list) && list[*i].Row+list[*i].Rows <= at {
		*i++
	}
	switch {
	case *i == len(list):
		return nil, to - at
	case list[*i].Row > at:
		return nil, list[*i].Row - at
	}
	return &list[*i], list[*i].Row + list[*i].Rows - at
}
