package chunkmap

import (
	"context"
	"errors"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/lru"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// pageCacheBytes bounds the decoded map pages that stay in memory: about a million entries. If the
// map of an epoch does not fit, almost every row of a shuffled one reads a page (0.1 ms). Most maps
// are far smaller; updates of scattered rows make large ones.
const pageCacheBytes = 256 << 20

// Page is a decoded leaf or inner page.
type Page struct {
	Leaf  *Leaf
	Inner *format.Inner
}

// bytes estimates the memory of a decoded page.
func (p Page) bytes() int64 {
	if p.Leaf != nil {
		return p.Leaf.bytes()
	}
	return int64(len(p.Inner.Children))*40 + 64
}

// at checks the height of the page against that of its reference, so that pages which name each
// other in a circle are refused.
func (p Page) at(root format.Root) error {
	if height := p.height(); height != root.Height {
		return errs.Op("read map page", format.MapKey(root.Page)).New(errs.Corrupt, "height %d, want %d", height, root.Height)
	}
	return nil
}

// height returns the height above the leaves, 0 for a leaf.
func (p Page) height() int {
	if p.Inner != nil {
		return p.Inner.Height
	}
	return 0
}

// Store reads and writes the map pages of one dataset through a cache. All methods may be called in
// parallel.
type Store struct {
	store      storage.Provider
	MaxEntries int // the most lines of a page: format.MaxPageEntries, or less in a test
	MaxPieces  int // the most places of a leaf: format.MaxPieces, or less in a test
	cache      *lru.Cache[format.UUID, Page]
	sides      *lru.Cache[format.UUID, [][]byte]
}

// Pending holds the pages of a transaction that is not committed yet, by temporary uuids. A tree
// finds them like stored pages, so it reads alike before and after its commit. One goroutine fills
// it; nothing changes it afterwards. Seal replaces the uuids by the names of stored pages.
type Pending map[format.UUID]any // page, sidePage or *storedSide

// SidePage is a side page that is not stored yet: encoded directories of chunks.
type SidePage struct {
	Dirs [][]byte
	Salt format.UUID // see format.SideSalt
}

// StoredSide is the name of a side page that was stored before the leaf that refers to it.
type StoredSide struct{ Name format.UUID }

// add keeps a new page under a fresh uuid.
func (h Pending) add(v Page) format.UUID {
	id := format.NewUUID()
	h[id] = v
	return id
}

// NewStore returns a reader and writer of the pages of a dataset.
func NewStore(store storage.Provider) *Store {
	return &Store{
		store:      store,
		MaxEntries: format.MaxPageEntries,
		MaxPieces:  format.MaxPieces,
		cache:      lru.New[format.UUID, Page](pageCacheBytes),
		sides:      lru.New[format.UUID, [][]byte](pageCacheBytes),
	}
}

// Load returns a page, pending or stored.
func (s *Store) Load(ctx context.Context, h Pending, root format.Root) (Page, error) {
	if p, ok := s.cache.Get(root.Page); ok {
		return p, p.at(root)
	}
	if p, ok := h[root.Page].(Page); ok {
		return p, nil
	}
	p, err := s.cache.Load(ctx, root.Page, func() (Page, int64, error) {
		p, err := s.fetch(ctx, root)
		if err != nil {
			return p, 0, err
		}
		return p, p.bytes(), nil
	})
	if err != nil {
		return Page{}, err
	}
	return p, p.at(root)
}

// fetch reads a page from the storage.
func (s *Store) fetch(ctx context.Context, root format.Root) (Page, error) {
	p, err := FetchPage(ctx, s, "read map page", root.Page, func(data []byte) (Page, error) {
		if root.Height == 0 {
			leaf, err := decodeLeaf(data)
			return Page{Leaf: leaf}, err
		}
		inner, err := format.DecodeInner(data)
		return Page{Inner: &inner}, err
	})
	if err != nil {
		return Page{}, err
	}
	return p, p.at(root)
}

// TreeEdits are the edits of one tree.
type TreeEdits struct {
	Tree  Tree
	Edits []Edit
}

// InFlight is the number of pages read at once.
const InFlight = 32

// Gather reads the pages that edits of several trees touch. It descends all trees level by level,
// so that the pages of a level are read in parallel.
func (s *Store) Gather(ctx context.Context, work []TreeEdits) (map[format.UUID]Page, error) {
	type need struct {
		held  Pending
		root  format.Root
		edits []Edit
		page  Page
	}
	loaded := map[format.UUID]Page{}
	var level []*need
	for _, w := range work {
		if len(w.Edits) > 0 && !w.Tree.root.Page.IsZero() {
			level = append(level, &need{held: w.Tree.pending, root: w.Tree.root, edits: w.Edits})
		}
	}
	for len(level) > 0 {
		g := task.New(ctx, InFlight)
		for _, n := range level {
			g.Go(func(ctx context.Context) (err error) {
				n.page, err = s.Load(ctx, n.held, n.root)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		var below []*need
		for _, n := range level {
			loaded[n.root.Page] = n.page
			if n.page.Inner == nil {
				continue
			}
			for i, c := range n.page.Inner.Children {
				from, to := childRows(n.page.Inner.Children, i)
				if mine := cut(n.edits, from, to); len(mine) > 0 {
					below = append(below, &need{held: n.held, root: format.Root{Page: c.Page, Height: n.root.Height - 1}, edits: mine})
				}
			}
		}
		level = below
	}
	return loaded, nil
}

// Side returns the encoded directories of a side page. They are shared and must not be changed.
func (s *Store) Side(ctx context.Context, h Pending, id format.UUID) ([][]byte, error) {
	switch v := h[id].(type) {
	case SidePage:
		return v.Dirs, nil
	case *StoredSide:
		id = v.Name
	}
	if dirs, ok := s.sides.Get(id); ok {
		return dirs, nil
	}
	return s.sides.Load(ctx, id, func() ([][]byte, int64, error) {
		dirs, err := FetchPage(ctx, s, "read side page", id, format.DecodeSide)
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

// Missing turns the absence of an object that a record names into errs.Corrupt: the dataset is
// damaged.
func Missing(err error, op, key string) error {
	if errs.Is(err, errs.NotFound) {
		return errs.Op(op, key).New(errs.Corrupt, "the object is missing from the dataset: %w", err)
	}
	return errs.Wrap(errs.Storage, op, key, err)
}

// Absent reports whether any error in the chain says that an object does not exist.
func Absent(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if errs.Is(err, errs.NotFound) {
			return true
		}
	}
	return false
}
