package chunkmap

import (
	"context"
	"sort"

	"deeplake/core/errs"
	"deeplake/core/format"
)

// Tree is one version of a chunk map (or of the row identities): a persistent tree of pages over
// the row axis. It is a value: Apply returns another one and changes nothing here.
type Tree struct {
	pages   *Store
	pending Pending
	root    format.Root
	tensor  format.UUID
}

// Tensor is the tensor whose chunks the tree maps; zero for the row identities.
func (t Tree) Tensor() format.UUID { return t.tensor }

// Root is where the tree begins; the zero Root is the empty tree.
func (t Tree) Root() format.Root { return t.root }

// NewTree returns the tree of a tensor that begins at root, nil for the empty tree. Its pages are
// pending or stored.
func NewTree(pages *Store, pending Pending, root *format.Root, tensor format.UUID) Tree {
	t := Tree{pages: pages, pending: pending, tensor: tensor}
	if root != nil {
		t.root = *root
	}
	return t
}

// Load returns a page of the tree.
func (t Tree) Load(ctx context.Context, at format.Root) (Page, error) {
	return t.pages.Load(ctx, t.pending, at)
}

// Side returns the encoded directories of a side page that an entry of the tree names. They are
// shared.
func (t Tree) Side(ctx context.Context, id format.UUID) ([][]byte, error) {
	return t.pages.Side(ctx, t.pending, id)
}

// Find returns the entry that covers row; ok is false in a hole.
func (t Tree) Find(ctx context.Context, row int64) (e format.Entry, ok bool, err error) {
	leaf, err := t.leaf(ctx, row)
	if err != nil || leaf == nil {
		return e, false, err
	}
	e, ok = leaf.find(row)
	return e, ok, nil
}

// leaf returns the leaf that covers row, nil in an empty tree.
func (t Tree) leaf(ctx context.Context, row int64) (*Leaf, error) {
	if t.root.Page.IsZero() {
		return nil, nil
	}
	at := t.root
	for {
		p, err := t.Load(ctx, at)
		if err != nil || p.Leaf != nil {
			return p.Leaf, err
		}
		at = format.Root{Page: p.Inner.Children[childOf(p.Inner.Children, row)].Page, Height: at.Height - 1}
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
	p, err := t.Load(ctx, at)
	if err != nil {
		return false, err
	}
	if p.Leaf != nil {
		l := p.Leaf
		i := sort.Search(len(l.Refs), func(i int) bool { return l.Rows[i+1] > from })
		for ; i < len(l.Refs) && l.Rows[i] < to; i++ {
			if l.Refs[i] != NoSample && !fn(l.entry(i)) {
				return false, nil
			}
		}
		return true, nil
	}
	children := p.Inner.Children
	for i := childOf(children, from); i < len(children) && (children[i].First < to || i == 0); i++ {
		if more, err := t.scan(ctx, format.Root{Page: children[i].Page, Height: at.Height - 1}, from, to, fn); !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// Apply returns the tree after edits, which are in order and disjoint. loaded are pages of the tree
// that are in memory already. The new pages go into made.
func (t Tree) Apply(ctx context.Context, edits []Edit, loaded map[format.UUID]Page, made Pending) (Tree, error) {
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
	next := Tree{pages: t.pages, pending: made, tensor: t.tensor}
	if len(children) == 1 {
		next.root = format.Root{Page: children[0].Page, Height: height}
	}
	return next, nil
}

// treeBuilder is the state of one Apply on its way down.
type treeBuilder struct {
	ctx    context.Context
	old    Tree
	loaded map[format.UUID]Page
	made   Pending
}

func (b *treeBuilder) load(at format.Root) (Page, error) {
	if p, ok := b.loaded[at.Page]; ok {
		return p, p.at(at)
	}
	return b.old.pages.Load(b.ctx, b.old.pending, at)
}

// rebuild returns the pages that replace the page at, of the same height.
func (b *treeBuilder) rebuild(at format.Root, edits []Edit) ([]format.Child, error) {
	if at.Page.IsZero() {
		r := newRun(len(edits))
		r.overlay(&Leaf{}, edits)
		return b.leaves(r, true)
	}
	p, err := b.load(at)
	if err != nil {
		return nil, err
	}
	if p.Leaf != nil {
		r := newRun(len(p.Leaf.Refs) + 2*len(edits))
		r.overlay(p.Leaf, edits)
		return b.leaves(r, edits[0].From >= p.Leaf.End())
	}
	var out []format.Child
	children := p.Inner.Children
	changed := len(children) // the first child that changes
	// Pieces of leaves that change, one behind the other: edits may leave few in each old leaf.
	loose := newRun(0)
	pack := func() error {
		packed, err := b.leaves(loose, false)
		out, loose = append(out, packed...), newRun(0)
		return err
	}
	for i, c := range children {
		from, to := childRows(children, i)
		mine := cut(edits, from, to)
		if len(mine) == 0 {
			if err := pack(); err != nil {
				return nil, err
			}
			out = append(out, c)
			continue
		}
		changed = min(changed, i)
		child := format.Root{Page: c.Page, Height: at.Height - 1}
		if child.Height == 0 && i+1 < len(children) {
			p, err := b.load(child)
			if err != nil {
				return nil, err
			}
			loose.overlay(p.Leaf, mine)
			if len(loose.refs) >= b.old.pages.MaxPieces {
				if err := pack(); err != nil {
					return nil, err
				}
			}
			continue
		}
		if err := pack(); err != nil {
			return nil, err
		}
		kids, err := b.rebuild(child, mine)
		if err != nil {
			return nil, err
		}
		out = append(out, kids...)
	}
	if err := pack(); err != nil {
		return nil, err
	}
	return b.inners(at.Height, out, changed == len(children)-1), nil
}

// childRows returns the rows that child i covers.
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

// leaves puts a run into leaf pages.
func (b *treeBuilder) leaves(r *run, fill bool) ([]format.Child, error) {
	leaves, err := r.leaves(b.old.pages, fill)
	out := make([]format.Child, len(leaves))
	for i, l := range leaves {
		out[i] = format.Child{First: l.First(), Page: b.made.add(Page{Leaf: l}), Entries: int64(l.Len())}
	}
	return out, err
}

func (b *treeBuilder) inners(height int, children []format.Child, fill bool) []format.Child {
	var out []format.Child
	for _, part := range split(len(children), b.old.pages.MaxEntries, fill) {
		cs := append([]format.Child(nil), children[part.from:part.to]...)
		id := b.made.add(Page{Inner: &format.Inner{Height: height, Children: cs}})
		n := int64(0)
		for _, c := range cs {
			n += c.Entries
		}
		out = append(out, format.Child{First: cs[0].First, Page: id, Entries: n})
	}
	return out
}

type span struct{ from, to int }

// split divides n lines into pages of at most most lines.
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
