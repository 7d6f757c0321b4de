package chunkmap

import (
	"context"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
)

// uploadsInFlight is the number of pages written at once. Pages are small, so latency counts, not
// bandwidth.
const uploadsInFlight = 16

// Sealed are pending pages in their stored form: encoded, under their final names.
type Sealed struct {
	names   map[format.UUID]format.UUID // by the uuid of the pending page
	values  Pending                     // under their names
	objects map[format.UUID][]byte
}

// Name returns the stored name of a page that may have been pending.
func (x *Sealed) Name(id format.UUID) format.UUID {
	if name, ok := x.names[id]; ok {
		return name
	}
	return id
}

// Root returns a root with the stored name of its page.
func (x *Sealed) Root(r *format.Root) *format.Root {
	if r == nil {
		return nil
	}
	if name, ok := x.names[r.Page]; ok {
		return &format.Root{Page: name, Height: r.Height}
	}
	return r
}

// Seal encodes and names pending pages. A page refers to the pages below it by name, and a name is
// a checksum, so Seal works from the leaves up. It replaces the references of the pages in place.
func (s *Store) Seal(ctx context.Context, h Pending) (*Sealed, error) {
	x := &Sealed{names: make(map[format.UUID]format.UUID, len(h)), values: make(Pending, len(h)), objects: make(map[format.UUID][]byte, len(h))}
	var levels [format.MaxHeight + 2][]format.UUID // side pages, leaves, inner pages by height
	for id, v := range h {
		switch v := v.(type) {
		case SidePage:
			levels[0] = append(levels[0], id)
		case Page:
			levels[1+v.height()] = append(levels[1+v.height()], id)
		case *StoredSide:
			x.names[id] = v.Name
		}
	}
	for _, level := range levels {
		if err := s.sealLevel(ctx, h, x, level); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// sealLevel seals pages that do not name each other.
func (s *Store) sealLevel(ctx context.Context, h Pending, x *Sealed, level []format.UUID) error {
	names, objects := make([]format.UUID, len(level)), make([][]byte, len(level))
	parts := slices.Collect(slices.Chunk(level, max(1, (len(level)+task.Cores()-1)/task.Cores())))
	g, at := task.New(ctx, 0), 0
	for _, part := range parts {
		from := at
		at += len(part)
		g.Go(func(ctx context.Context) error {
			for i, id := range part {
				if ctx.Err() != nil {
					return errs.Cause(ctx, "encode map pages")
				}
				x.rename(h[id])
				data, err := encodePage(h[id])
				if err != nil {
					return err
				}
				names[from+i], objects[from+i] = format.ContentName(data), data
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, id := range level {
		x.names[id], x.values[names[i]], x.objects[names[i]] = names[i], h[id], objects[i]
	}
	return nil
}

// rename replaces the references of a page by the names of the pages below it.
func (x *Sealed) rename(v any) {
	p, ok := v.(Page)
	switch {
	case !ok:
	case p.Leaf != nil:
		for i := range p.Leaf.Chunks {
			p.Leaf.Chunks[i].Side = x.Name(p.Leaf.Chunks[i].Side)
		}
	default:
		for i := range p.Inner.Children {
			p.Inner.Children[i].Page = x.Name(p.Inner.Children[i].Page)
		}
	}
}

// Upload stores sealed pages, and blobs under their keys, in parallel, and caches the pages. After
// an error some of them may be stored.
func (s *Store) Upload(ctx context.Context, x *Sealed, blobs map[string][]byte) error {
	g := task.New(ctx, uploadsInFlight)
	for key, data := range blobs {
		g.Go(func(ctx context.Context) error { return s.store.Put(ctx, key, data) })
	}
	for name, data := range x.objects {
		g.Go(func(ctx context.Context) error { return s.store.Put(ctx, format.MapKey(name), data) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for name, v := range x.values {
		switch v := v.(type) {
		case Page:
			s.cache.Put(name, v, v.bytes())
		case SidePage:
			s.sides.Put(name, v.Dirs, sideBytes(v.Dirs))
		}
	}
	return nil
}

func encodePage(v any) ([]byte, error) {
	switch v := v.(type) {
	case Page:
		if v.Leaf != nil {
			return v.Leaf.encode()
		}
		return format.EncodeInner(*v.Inner)
	case SidePage:
		data, err := format.EncodeSide(v.Dirs)
		if err == nil {
			format.SetSalt(data, v.Salt)
		}
		return data, err
	default:
		return nil, errs.New(errs.Internal, "encode a map page of type %T", v)
	}
}

// MarkStored replaces the side pages that were stored by their names.
func (h Pending) MarkStored(x *Sealed) {
	for id, v := range h {
		if _, ok := v.(SidePage); ok {
			h[id] = &StoredSide{x.names[id]}
		}
	}
}
