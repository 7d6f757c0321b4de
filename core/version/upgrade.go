package version

import (
	"context"
	"slices"
	"sync"

	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// upgrade writes the map pages of a commit of version 1 as pages of the newest version, from the
// bottom up. No more than a page of each height is in memory for each of the branches that it
// follows at once.
type upgrade struct {
	from *chunkmap.Store
	dst  storage.Provider

	mu    sync.Mutex
	sides map[format.UUID]*upgradedSide
}

// upgradedSide is a side page that is written once, however many leaves name it.
type upgradedSide struct {
	once sync.Once
	name format.UUID
	err  error
}

// pagesUpgraded is how many children of an inner page are converted at once.
const pagesUpgraded = 16

// upgraded is a snapshot whose trees lie in dst as pages of the newest version. Its other pages are
// to be written.
func upgraded(ctx context.Context, r *Repo, at *Snapshot, dst *Repo) (*Snapshot, error) {
	u := &upgrade{from: r.Pages, dst: dst.Store, sides: map[format.UUID]*upgradedSide{}}
	rec := *at.Record
	rec.Schema, rec.SchemaPage, rec.Deleted = at.Schema, nil, nil
	rec.Columns = make(map[format.UUID]format.Column, len(at.Record.Columns))
	for id, col := range at.Record.Columns {
		root, err := u.root(ctx, col.Root)
		if err != nil {
			return nil, err
		}
		col.Root = root
		rec.Columns[id] = col
	}
	var err error
	if rec.RowIDs, err = u.root(ctx, rec.RowIDs); err != nil {
		return nil, err
	}
	return &Snapshot{Record: &rec, Schema: at.Schema, Deleted: at.Deleted, Live: at.Live, pages: dst.Pages}, nil
}

func (u *upgrade) root(ctx context.Context, r *format.Root) (*format.Root, error) {
	if r == nil {
		return nil, nil
	}
	name, err := u.page(ctx, *r)
	return &format.Root{Page: name, Height: r.Height}, err
}

// page writes a page and those below it, and returns its name.
func (u *upgrade) page(ctx context.Context, at format.Root) (format.UUID, error) {
	p, err := u.from.Load(ctx, nil, at)
	if err != nil {
		return format.UUID{}, err
	}
	if p.Leaf != nil {
		return u.leaf(ctx, p.Leaf)
	}
	next := format.Inner{Height: p.Inner.Height, Children: slices.Clone(p.Inner.Children)}
	g := task.New(ctx, pagesUpgraded)
	for i := range next.Children {
		g.Go(func(ctx context.Context) (err error) {
			c := &next.Children[i]
			c.Page, err = u.page(ctx, format.Root{Page: c.Page, Height: at.Height - 1})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return format.UUID{}, err
	}
	frame, err := format.EncodeInner(next)
	return u.put(ctx, frame, format.NewUUID(), err)
}

func (u *upgrade) leaf(ctx context.Context, l *format.Leaf) (format.UUID, error) {
	next := format.Leaf{Entries: slices.Clone(l.Entries)}
	for i := range next.Entries {
		e := &next.Entries[i]
		if e.Side.IsZero() {
			continue
		}
		name, err := u.side(ctx, e.Side, l.Entries)
		if err != nil {
			return name, err
		}
		e.Side = name
	}
	frame, err := format.EncodeLeaf(next)
	return u.put(ctx, frame, format.NewUUID(), err)
}

// side writes a side page. One whose first chunk is not in entries gets a random salt, and cannot
// be made again.
func (u *upgrade) side(ctx context.Context, id format.UUID, entries []format.Entry) (format.UUID, error) {
	u.mu.Lock()
	s := u.sides[id]
	if s == nil {
		s = &upgradedSide{}
		u.sides[id] = s
	}
	u.mu.Unlock()
	s.once.Do(func() {
		salt := format.NewUUID()
		if k := slices.IndexFunc(entries, func(e format.Entry) bool { return e.Side == id && e.Slot == 0 }); k >= 0 {
			salt = format.SideSalt(entries[k].Session, entries[k].Ordinal)
		}
		var dirs [][]byte
		if dirs, s.err = u.from.Side(ctx, nil, id); s.err == nil {
			frame, err := format.EncodeSide(dirs)
			s.name, s.err = u.put(ctx, frame, salt, err)
		}
	})
	return s.name, s.err
}

func (u *upgrade) put(ctx context.Context, frame []byte, salt format.UUID, err error) (format.UUID, error) {
	if err != nil {
		return format.UUID{}, err
	}
	object := format.Salted(frame, salt)
	name := format.ContentName(object)
	return name, u.dst.Put(ctx, format.MapKey(name), object)
}
