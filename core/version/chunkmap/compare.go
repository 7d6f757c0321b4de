package chunkmap

import (
	"context"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/version/rowset"
	"slices"
)

// Unshared returns the entries of two trees outside of the pages that both have, in order of rows.
func Unshared(ctx context.Context, a, b Tree) (as, bs []format.Entry, err error) {
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

// frontier is one level of a tree on the way down, in order of rows.
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

// drop removes the shared pages from both frontiers.
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

// read reads the pages of a height in parallel, and leaves the others zero.
func (f *frontier) read(ctx context.Context, height int) ([]Page, error) {
	pages := make([]Page, len(f.pages))
	g := task.New(ctx, InFlight)
	for i, root := range f.pages {
		if root.Height == height {
			g.Go(func(ctx context.Context) (err error) {
				pages[i], err = f.tree.Load(ctx, root)
				return err
			})
		}
	}
	return pages, g.Wait()
}

// descend replaces the pages of a height by their children.
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
		for _, c := range pages[i].Inner.Children {
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
		out = append(out, p.Leaf.Entries()...)
	}
	return out, nil
}

// Prefetch reads the pages of trees that cover rows, in parallel. Later scans find them in memory.
func (s *Store) Prefetch(ctx context.Context, rows rowset.Set, trees ...Tree) error {
	edits := make([]Edit, len(rows))
	for i, r := range rows {
		edits[i] = Edit{From: r.Start, To: r.Start + r.Count}
	}
	work := make([]TreeEdits, len(trees))
	for i, t := range trees {
		work[i] = TreeEdits{Tree: t, Edits: edits}
	}
	_, err := s.Gather(ctx, work)
	return err
}

// EntriesIn returns the entries of rows [from, from+n), cut to this range.
func (t Tree) EntriesIn(ctx context.Context, from, n int64) ([]format.Entry, error) {
	var out []format.Entry
	err := t.Scan(ctx, from, from+n, func(e format.Entry) bool {
		out = append(out, e)
		return true
	})
	return clipEntries(out, from, from+n), err
}

// Filled returns the rows of a normal set that have a value in the tree.
func (t Tree) Filled(ctx context.Context, rows rowset.Set) (rowset.Set, error) {
	out := rowset.Set{}
	for _, r := range rows {
		entries, err := t.EntriesIn(ctx, r.Start, r.Count)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			out = append(out, format.RowRange{Start: e.Row, Count: e.Rows})
		}
	}
	return rowset.Of(out), nil
}

// DifferingRows returns the rows of a, among those that m maps to b, whose chunk or item differs in
// b. The result counts rows as a does.
func DifferingRows(ctx context.Context, a, b Tree, m rowset.Alignment) (rowset.Set, error) {
	out := rowset.Set{}
	for _, s := range m {
		as, err := a.EntriesIn(ctx, s.From, s.Rows)
		if err != nil {
			return nil, err
		}
		bs, err := b.EntriesIn(ctx, s.To, s.Rows)
		if err != nil {
			return nil, err
		}
		for i := range bs {
			bs[i].Row += s.From - s.To
		}
		out = append(out, unequal(as, bs, s.From, s.From+s.Rows)...)
	}
	return rowset.Of(out), nil
}

// unequal returns the rows of [from, to) for which two lists of entries differ.
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

// coverAt returns the entry of a list that covers row at, nil in a hole, and the number of rows
// below to for which this holds.
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
