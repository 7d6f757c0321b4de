package version

import (
	"context"
	"sort"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/invariant"
)

// Tree is one version of a chunk map (or of the row identities): a persistent tree of pages over
// the row axis. It is a value; apply makes another one and leaves this one as it is.
type Tree struct {
	pages  *Pages
	held   held
	root   format.Root
	tensor format.UUID
}

// Tensor is the tensor whose chunks the tree maps; zero for the row identities.
func (t Tree) Tensor() format.UUID { return t.tensor }

// Root is where the tree begins; the zero Root is the empty tree.
func (t Tree) Root() format.Root { return t.root }

// Side returns the encoded directories of a side page that an entry of the tree names. They are
// shared.
func (t Tree) Side(ctx context.Context, id format.UUID) ([][]byte, error) {
	return t.pages.side(ctx, t.held, id)
}

// Find returns the entry that covers row; ok is false in a hole.
func (t Tree) Find(ctx context.Context, row int64) (e format.Entry, ok bool, err error) {
	if t.root.Page.IsZero() {
		return e, false, nil
	}
	at := t.root
	for {
		p, err := t.pages.load(ctx, t.held, at)
		if err != nil {
			return e, false, err
		}
		if p.leaf != nil {
			entries := p.leaf.Entries
			i := sort.Search(len(entries), func(i int) bool { return entries[i].Row > row }) - 1
			if i < 0 || row >= entries[i].Row+entries[i].Rows {
				return e, false, nil
			}
			return entries[i], true, nil
		}
		at = format.Root{Page: p.inner.Children[childOf(p.inner.Children, row)].Page, Height: at.Height - 1}
	}
}

// childOf is the index of the child that covers row.
func childOf(children []format.Child, row int64) int {
	return max(0, sort.Search(len(children), func(i int) bool { return children[i].First > row })-1)
}

// Scan calls fn for every entry that touches rows [from, to), in order of rows, until fn returns
// false.
func (t Tree) Scan(ctx context.Context, from, to int64, fn func(format.Entry) bool) error {
	if t.root.Page.IsZero() || from >= to {
		return nil
	}
	_, err := t.scan(ctx, t.root, from, to, fn)
	return err
}

func (t Tree) scan(ctx context.Context, at format.Root, from, to int64, fn func(format.Entry) bool) (bool, error) {
	p, err := t.pages.load(ctx, t.held, at)
	if err != nil {
		return false, err
	}
	if p.leaf != nil {
		entries := p.leaf.Entries
		i := sort.Search(len(entries), func(i int) bool { return entries[i].Row+entries[i].Rows > from })
		for ; i < len(entries) && entries[i].Row < to; i++ {
			if !fn(entries[i]) {
				return false, nil
			}
		}
		return true, nil
	}
	children := p.inner.Children
	for i := childOf(children, from); i < len(children) && (children[i].First < to || i == 0); i++ {
		if more, err := t.scan(ctx, format.Root{Page: children[i].Page, Height: at.Height - 1}, from, to, fn); !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// Edit replaces what the tree says of rows [From, To) by Entries, which lie within that range in
// order. Without entries the range becomes a hole.
type Edit struct {
	From, To int64
	Entries  []format.Entry
}

// apply makes the tree with edits, which are in order and disjoint. loaded are pages of the tree
// that are read already. The new pages are put into made.
func (t Tree) apply(ctx context.Context, edits []Edit, loaded map[format.UUID]page, made held) (Tree, error) {
	if len(edits) == 0 {
		return t, nil
	}
	b := &treeBuilder{ctx: ctx, old: t, loaded: loaded, made: made}
	children, err := b.rebuild(t.root, edits)
	if err != nil {
		return t, err
	}
	height := t.root.Height
	for len(children) > 1 {
		height++
		if height > format.MaxHeight {
			return t, errs.New(errs.Internal, "chunk map is higher than %d pages", format.MaxHeight)
		}
		children = b.inners(height, children, true)
	}
	next := Tree{pages: t.pages, held: made, tensor: t.tensor}
	if len(children) == 1 {
		next.root = format.Root{Page: children[0].Page, Height: height}
	}
	return next, nil
}

// treeBuilder carries what one apply needs on its way down.
type treeBuilder struct {
	ctx    context.Context
	old    Tree
	loaded map[format.UUID]page
	made   held
}

func (b *treeBuilder) load(at format.Root) (page, error) {
	if p, ok := b.loaded[at.Page]; ok {
		return p, p.at(at)
	}
	return b.old.pages.load(b.ctx, b.old.held, at)
}

// rebuild returns the pages, of the height of at, that replace the page at.
func (b *treeBuilder) rebuild(at format.Root, edits []Edit) ([]format.Child, error) {
	if at.Page.IsZero() {
		return b.leaves(merge(nil, edits), true), nil
	}
	p, err := b.load(at)
	if err != nil {
		return nil, err
	}
	if p.leaf != nil {
		old := p.leaf.Entries
		atEnd := len(old) > 0 && edits[0].From >= old[len(old)-1].Row+old[len(old)-1].Rows
		return b.leaves(merge(old, edits), atEnd), nil
	}
	var out []format.Child
	children := p.inner.Children
	changed := len(children) // the first child that changes
	for i, c := range children {
		from, to := childRows(children, i)
		mine := cut(edits, from, to)
		if len(mine) == 0 {
			out = append(out, c)
			continue
		}
		changed = min(changed, i)
		kids, err := b.rebuild(format.Root{Page: c.Page, Height: at.Height - 1}, mine)
		if err != nil {
			return nil, err
		}
		out = append(out, kids...)
	}
	return b.inners(at.Height, out, changed == len(children)-1), nil
}

// childRows are the rows that child i covers.
func childRows(children []format.Child, i int) (from, to int64) {
	from, to = children[i].First, int64(format.MaxRows)
	if i == 0 {
		from = 0
	}
	if i+1 < len(children) {
		to = children[i+1].First
	}
	return from, to
}

// cut returns the parts of edits within rows [from, to). The entries of an edit go to the part in
// which it begins, even where they reach beyond to: the next page then begins behind them.
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

// merge applies edits to the entries of one leaf.
func merge(old []format.Entry, edits []Edit) []format.Entry {
	out := make([]format.Entry, 0, len(old)+len(edits)+1)
	i := 0
	var rest *format.Entry // what an edit has left of the entry before old[i]
	next := func() (format.Entry, bool) {
		if rest != nil {
			return *rest, true
		}
		if i < len(old) {
			return old[i], true
		}
		return format.Entry{}, false
	}
	skip := func() {
		if rest != nil {
			rest = nil
		} else {
			i++
		}
	}
	for _, ed := range edits {
		for {
			e, ok := next()
			if !ok || e.Row >= ed.To {
				break
			}
			skip()
			end := e.Row + e.Rows
			if e.Row < ed.From {
				left := e
				left.Rows = min(end, ed.From) - e.Row
				out = append(out, left)
			}
			if end > ed.To {
				right := e
				right.Row = ed.To
				right.Rows = end - ed.To
				right.First += ed.To - e.Row
				rest = &right
				break
			}
		}
		out = append(out, ed.Entries...)
	}
	for {
		e, ok := next()
		if !ok {
			return out
		}
		skip()
		out = append(out, e)
	}
}

// leaves holds entries in as many leaf pages as they need. At the end of the axis the pages are
// filled, so that appending leaves full pages behind; elsewhere they are of equal size, so that
// each can grow.
func (b *treeBuilder) leaves(entries []format.Entry, fill bool) []format.Child {
	var out []format.Child
	if invariant.Enabled {
		for i := 1; i < len(entries); i++ {
			invariant.Check(entries[i-1].Row+entries[i-1].Rows <= entries[i].Row, "entries of a chunk map are in order and disjoint")
		}
	}
	for _, part := range split(len(entries), b.old.pages.lines, fill) {
		es := append([]format.Entry(nil), entries[part.from:part.to]...)
		id := b.made.hold(page{leaf: &format.Leaf{Entries: es}})
		out = append(out, format.Child{First: es[0].Row, Page: id, Entries: int64(len(es))})
	}
	return out
}

func (b *treeBuilder) inners(height int, children []format.Child, fill bool) []format.Child {
	var out []format.Child
	for _, part := range split(len(children), b.old.pages.lines, fill) {
		cs := append([]format.Child(nil), children[part.from:part.to]...)
		id := b.made.hold(page{inner: &format.Inner{Height: height, Children: cs}})
		n := int64(0)
		for _, c := range cs {
			n += c.Entries
		}
		out = append(out, format.Child{First: cs[0].First, Page: id, Entries: n})
	}
	return out
}

type span struct{ from, to int }

// split cuts n lines into pages of at most most lines.
func split(n, most int, fill bool) []span {
	if n == 0 {
		return nil
	}
	count := (n + most - 1) / most
	size := (n + count - 1) / count
	if fill {
		size = most
	}
	var out []span
	for from := 0; from < n; from += size {
		out = append(out, span{from, min(n, from+size)})
	}
	return out
}
