package v3

import (
	"context"
	"fmt"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

const (
	// linksInChunk is the number of links that are looked at together: a chunk of Deep Lake 3 may
	// have a hundred thousand.
	linksInChunk = 128
	// looksInFlight is the number of files that are looked at once.
	looksInFlight = 32
)

// linked reports whether samples are links to images, which are read where they lie.
func (k *kind) linked() bool { return k.base == "link" && k.image }

// address makes a URL of a path as Deep Lake 3 stores it.
func address(path string) string {
	switch {
	case strings.HasPrefix(path, "gcs://"):
		return "gs://" + strings.TrimPrefix(path, "gcs://")
	case strings.HasPrefix(path, "/"):
		return "file://" + path
	}
	return path
}

// openLinks makes a chunk of links. It looks at each file for its shape. Links that lead to no
// image, or to none that may be read, are errors when their rows are read.
func (s *Store) openLinks(ctx context.Context, r *ref, links chunk.LinkFinder) (*chunk.Chunk, error) {
	k := &r.tensor.kind
	paths, id, err := s.paths(ctx, r)
	if err != nil {
		return nil, err
	}
	found := make([]linkedImage, len(paths))
	g := task.New(ctx, looksInFlight)
	for i, path := range paths {
		g.Go(func(ctx context.Context) error {
			found[i] = k.look(ctx, links, string(path))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errs.Cause(ctx, "look at links")
	}
	d := &format.Directory{DType: k.dtype, SampleCodec: k.codec(), FixedSize: -1, Items: int64(len(paths)), Links: &format.Links{}, Foreign: &format.Foreign{}, RowItems: r.rowItems(), Tile: r.tile}
	for i := range found {
		f := &found[i]
		if r.tile != nil { // a file of another shape is an error when it is read
			f.shape = tileShape(r.tile)
		}
		d.Shapes = append(d.Shapes, format.ShapeRun{Count: 1, Shape: f.shape})
		d.Links.Objects = append(d.Links.Objects, f.object)
		d.Links.Ranges = append(d.Links.Ranges, format.LinkRange{Object: int64(i), Length: f.length})
	}
	key := r.tensor.key
	if len(r.pieces) > 0 {
		key = r.pieces[0].key
	}
	return chunk.OpenForeign(s.below, s.origin, key, append(id, r.name()...), d)
}

// paths returns the addresses of the items of a chunk of links, and what identifies them.
func (s *Store) paths(ctx context.Context, r *ref) (out [][]byte, id []byte, err error) {
	text := kind{base: "link", dtype: tensor.String, axes: 1}
	for i := range r.pieces {
		p := &r.pieces[i]
		o, err := openObject(ctx, s.below, p.key)
		if err != nil {
			return nil, nil, err
		}
		c := &opening{Store: s, object: o, ref: r, kind: &text, mutable: p.mutable}
		id = append(id, c.identity()...)
		if c.items, err = o.segments(p.items, &text); err != nil {
			return nil, nil, errs.Wrap(errs.Corrupt, "read chunk", p.key, err)
		}
		_, paths, err := c.values(ctx)
		if err == nil && r.tile != nil {
			var one []byte
			if one, err = linkOf(paths[0], &p.tiling, r.tile.Index); err == nil {
				return [][]byte{one}, fmt.Append(id, "tile ", r.tile.Index), nil
			}
		}
		if err != nil {
			return nil, nil, errs.Wrap(errs.Corrupt, "read chunk", p.key, err)
		}
		out = append(out, paths[p.from:p.from+p.n]...)
	}
	return out, id, nil
}

// linkOf returns link n of a grid.
func linkOf(data []byte, t *tiling, n int64) ([]byte, error) {
	shape, links, err := decodeGrid(data)
	if err != nil {
		return nil, err
	}
	if len(shape) != len(t.sample) || int64(len(links)) != t.count() {
		return nil, errs.New(errs.Corrupt, "it has a grid of shape %s of links, want tiles of shape %s in a sample of shape %s", shape, t.tile, t.sample)
	}
	for i, size := range shape {
		if size != (t.sample[i]+t.tile[i]-1)/t.tile[i] {
			return nil, errs.New(errs.Corrupt, "it has a grid of shape %s of links, want tiles of shape %s in a sample of shape %s", shape, t.tile, t.sample)
		}
	}
	return links[n], nil
}

// linkedImage is a link as a directory has it.
type linkedImage struct {
	object format.LinkObject
	length int64
	shape  tensor.Shape
}

// look looks at the file of a link. An empty path is no sample.
func (k *kind) look(ctx context.Context, links chunk.LinkFinder, path string) linkedImage {
	out := linkedImage{object: format.LinkObject{URL: address(path), Size: -1}, length: 1, shape: tensor.Shape{1, 1, 3}}
	switch {
	case path == "":
		out.object.URL, out.shape = "none://none", tensor.Shape{0, 0, 0}
		return out
	case !strings.Contains(out.object.URL, "://") || len(out.object.URL) > format.MaxURLBytes || links == nil:
		out.object.URL = "relative-path://" + strings.ToValidUTF8(clip(path), "?")
		return out
	}
	l, h, id, err := links.FindLink(ctx, out.object.URL, k.channels())
	if err != nil || id != k.codec() || h.DType != k.dtype {
		return out
	}
	return linkedImage{object: format.LinkObject{URL: l.URL, Tag: l.Tag, Size: l.Size}, length: l.Length, shape: h.Shape}
}

// codecOf is the codec of a name of Deep Lake 3; None: it has no such files.
func codecOf(name string) codec.ID {
	return map[string]codec.ID{"jpeg": codec.JPEG, "png": codec.PNG, "webp": codec.WebP}[name]
}
