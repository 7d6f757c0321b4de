package version

import (
	"context"
	"errors"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/lru"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// pageCacheBytes bounds the decoded map pages that stay in memory.
const pageCacheBytes = 32 << 20

// page is a decoded leaf or inner page.
type page struct {
	leaf  *format.Leaf
	inner *format.Inner
}

// bytes estimates the memory of a decoded page.
func (p page) bytes() int64 {
	if p.leaf != nil {
		return int64(len(p.leaf.Entries))*224 + 64
	}
	return int64(len(p.inner.Children))*40 + 64
}

// at checks that the page is of the height that its parent says, so that pages that name each other
// end somewhere.
func (p page) at(root format.Root) error {
	if height := p.height(); height != root.Height {
		return errs.New(errs.Corrupt, "read map page %q: height %d, want %d", format.MapKey(root.Page), height, root.Height)
	}
	return nil
}

// height is 0 for a leaf.
func (p page) height() int {
	if p.inner != nil {
		return p.inner.Height
	}
	return 0
}

// Pages reads and writes the map pages of one store, through a cache. All methods may be called in
// parallel.
type Pages struct {
	store   storage.Provider
	version int // of the format: it says how objects are named
	lines   int // the most lines of a page: format.MaxPageEntries, or less in a test
	cache   *lru.Cache[format.UUID, page]
	sides   *lru.Cache[format.UUID, [][]byte]
}

// held are the pages of a transaction that is not committed yet. They are found under their uuids
// like stored ones, so that a tree reads alike before and after its commit, and are forgotten with
// the snapshot that refers to them. It is filled by one goroutine and not changed after that. The
// uuids are the transaction's own: seal gives pages the names by which they are stored.
type held map[format.UUID]any // page, sidePage or *storedSide

// sidePage is a side page that is not stored yet.
type sidePage struct {
	dirs [][]byte
	salt format.UUID // see format.SideSalt
}

// storedSide is a side page that is stored before the leaf that refers to it is.
type storedSide struct{ name format.UUID }

// hold keeps a new page under a fresh uuid.
func (h held) hold(v page) format.UUID {
	id := format.NewUUID()
	h[id] = v
	return id
}

// NewPages makes a reader and writer of the pages in store, a dataset of this format version.
func NewPages(store storage.Provider, version int) *Pages {
	return &Pages{
		store: store, version: version,
		lines: format.MaxPageEntries,
		cache: lru.New[format.UUID, page](pageCacheBytes),
		sides: lru.New[format.UUID, [][]byte](pageCacheBytes),
	}
}

func (s *Pages) load(ctx context.Context, h held, root format.Root) (page, error) {
	if p, ok := s.cache.Get(root.Page); ok {
		return p, p.at(root)
	}
	if p, ok := h[root.Page].(page); ok {
		return p, nil
	}
	p, err := s.cache.Load(ctx, root.Page, func() (page, int64, error) {
		p, err := s.fetch(ctx, root)
		if err != nil {
			return p, 0, err
		}
		return p, p.bytes(), nil
	})
	if err != nil {
		return page{}, err
	}
	return p, p.at(root)
}

// fetch reads a page from the store.
func (s *Pages) fetch(ctx context.Context, root format.Root) (page, error) {
	p, err := fetchedPage(ctx, s, "read map page", root.Page, func(data []byte) (page, error) {
		if root.Height == 0 {
			leaf, err := format.DecodeLeaf(data)
			return page{leaf: &leaf}, err
		}
		inner, err := format.DecodeInner(data)
		return page{inner: &inner}, err
	})
	if err != nil {
		return page{}, err
	}
	return p, p.at(root)
}

// treeEdits is what is to be done to one tree.
type treeEdits struct {
	tree  Tree
	edits []Edit
}

// pagesInFlight is the number of pages read at once.
const pagesInFlight = 32

// gather reads the pages that edits of several trees touch, a level of all trees at a time.
func (s *Pages) gather(ctx context.Context, work []treeEdits) (map[format.UUID]page, error) {
	type need struct {
		held  held
		root  format.Root
		edits []Edit
		page  page
	}
	loaded := map[format.UUID]page{}
	var level []*need
	for _, w := range work {
		if len(w.edits) > 0 && !w.tree.root.Page.IsZero() {
			level = append(level, &need{held: w.tree.held, root: w.tree.root, edits: w.edits})
		}
	}
	for len(level) > 0 {
		g := task.New(ctx, pagesInFlight)
		for _, n := range level {
			g.Go(func(ctx context.Context) (err error) {
				n.page, err = s.load(ctx, n.held, n.root)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		var below []*need
		for _, n := range level {
			loaded[n.root.Page] = n.page
			if n.page.inner == nil {
				continue
			}
			for i, c := range n.page.inner.Children {
				from, to := childRows(n.page.inner.Children, i)
				if mine := cut(n.edits, from, to); len(mine) > 0 {
					below = append(below, &need{held: n.held, root: format.Root{Page: c.Page, Height: n.root.Height - 1}, edits: mine})
				}
			}
		}
		level = below
	}
	return loaded, nil
}

// side returns the directories of a side page, undecoded and shared: they must not be changed.
func (s *Pages) side(ctx context.Context, h held, id format.UUID) ([][]byte, error) {
	switch v := h[id].(type) {
	case sidePage:
		return v.dirs, nil
	case *storedSide:
		id = v.name
	}
	if dirs, ok := s.sides.Get(id); ok {
		return dirs, nil
	}
	return s.sides.Load(ctx, id, func() ([][]byte, int64, error) {
		dirs, err := fetchedPage(ctx, s, "read side page", id, format.DecodeSide)
		if err != nil {
			return nil, 0, err
		}
		return dirs, sideBytes(dirs), nil
	})
}

func sideBytes(dirs [][]byte) int64 {
	n := int64(64)
	for _, d := range dirs {
		n += int64(len(d)) + 24
	}
	return n
}

// missing turns the absence of an object that a record names into damage: the dataset is not whole.
func missing(err error, op, key string) error {
	if errs.Is(err, errs.NotFound) {
		return errs.New(errs.Corrupt, "%s %q: the object is missing from the dataset: %w", op, key, err)
	}
	return errs.Wrap(errs.Storage, op, key, err)
}

// absent reports whether an error is about an object that is not there.
func absent(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if errs.Is(err, errs.NotFound) {
			return true
		}
	}
	return false
}
