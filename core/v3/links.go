package v3

import (
	"context"
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
	p, k := r.pieces[0], &r.tensor.kind
	o, err := openObject(ctx, s.below, p.key)
	if err != nil {
		return nil, err
	}
	text := kind{base: "link", dtype: tensor.String, axes: 1}
	c := &opening{Store: s, object: o, ref: r, kind: &text, mutable: p.mutable}
	if c.items, err = o.segments(p.items, &text); err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read chunk", p.key, err)
	}
	_, paths, err := c.values(ctx)
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read chunk", p.key, err)
	}
	paths = paths[p.from : p.from+p.n]
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
	d := &format.Directory{DType: k.dtype, SampleCodec: k.codec(), FixedSize: -1, Items: p.n, Links: &format.Links{}, Foreign: &format.Foreign{}}
	for i := range found {
		f := &found[i]
		d.Shapes = append(d.Shapes, format.ShapeRun{Count: 1, Shape: f.shape})
		d.Links.Objects = append(d.Links.Objects, f.object)
		d.Links.Ranges = append(d.Links.Ranges, format.LinkRange{Object: int64(i), Length: f.length})
	}
	return chunk.OpenForeign(s.below, s.origin, p.key, append(c.identity(), r.name()...), d)
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
