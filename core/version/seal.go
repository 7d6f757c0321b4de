package version

import (
	"context"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
)

// uploadsInFlight is the number of pages written at once: small objects, so their latency counts
// and not their bytes.
const uploadsInFlight = 16

// sealed are held pages as they are stored: their names, and their objects under these names.
type sealed struct {
	names   map[format.UUID]format.UUID // by the uuid under which a page was held
	values  held                        // under their names
	objects map[format.UUID][]byte
}

// page is the name of a page that may have been held.
func (x *sealed) page(id format.UUID) format.UUID {
	if name, ok := x.names[id]; ok {
		return name
	}
	return id
}

// root is a root whose page may have been held.
func (x *sealed) root(r *format.Root) *format.Root {
	if r == nil {
		return nil
	}
	if name, ok := x.names[r.Page]; ok {
		return &format.Root{Page: name, Height: r.Height}
	}
	return r
}

// seal encodes held pages and names them. A page refers to the pages below it by name, and
// from version 2 on a name is a checksum. So seal works from the bottom up. It replaces the
// references of the pages in place.
func (s *Pages) seal(ctx context.Context, h held) (*sealed, error) {
	x := &sealed{names: make(map[format.UUID]format.UUID, len(h)), values: make(held, len(h)), objects: make(map[format.UUID][]byte, len(h))}
	var levels [format.MaxHeight + 2][]format.UUID // side pages, leaves, inner pages by height
	for id, v := range h {
		switch v := v.(type) {
		case sidePage:
			levels[0] = append(levels[0], id)
		case page:
			levels[1+v.height()] = append(levels[1+v.height()], id)
		case *storedSide:
			x.names[id] = v.name
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
func (s *Pages) sealLevel(ctx context.Context, h held, x *sealed, level []format.UUID) error {
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
				names[from+i], objects[from+i] = s.name(id, h[id], data)
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

// name gives an encoded page its name. In version 1 that is the uuid it was held under.
func (s *Pages) name(id format.UUID, v any, data []byte) (format.UUID, []byte) {
	if s.version == format.FirstVersion {
		return id, data
	}
	if side, ok := v.(sidePage); ok {
		data = format.Salted(data, side.salt)
		return format.ContentName(data), data
	}
	return format.SealObject(s.version, data)
}

// rename makes a page refer to the pages below it by their names.
func (x *sealed) rename(v any) {
	p, ok := v.(page)
	switch {
	case !ok:
	case p.leaf != nil:
		for i := range p.leaf.Entries {
			p.leaf.Entries[i].Side = x.page(p.leaf.Entries[i].Side)
		}
	default:
		for i := range p.inner.Children {
			p.inner.Children[i].Page = x.page(p.inner.Children[i].Page)
		}
	}
}

// upload stores sealed pages, and blobs under their keys, at once; it keeps the pages in the cache.
// After an error some of them may be stored.
func (s *Pages) upload(ctx context.Context, x *sealed, blobs map[string][]byte) error {
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
		case page:
			s.cache.Put(name, v, v.bytes())
		case sidePage:
			s.sides.Put(name, v.dirs, sideBytes(v.dirs))
		}
	}
	return nil
}

func encodePage(v any) ([]byte, error) {
	switch v := v.(type) {
	case page:
		if v.leaf != nil {
			return format.EncodeLeaf(*v.leaf)
		}
		return format.EncodeInner(*v.inner)
	case sidePage:
		return format.EncodeSide(v.dirs)
	default:
		return nil, errs.New(errs.Internal, "encode a map page of type %T", v)
	}
}

// spilled takes the names of the side pages that were stored, for transactions that hold them.
func (h held) spilled(x *sealed) {
	for id, v := range h {
		if _, ok := v.(sidePage); ok {
			h[id] = &storedSide{x.names[id]}
		}
	}
}
