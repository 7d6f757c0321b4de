package v3

import (
	"context"
	"encoding/binary"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// OpenChunk implements chunk.Opener.
func (s *Store) OpenChunk(ctx context.Context, session format.UUID, ordinal int64, links chunk.LinkFinder) (*chunk.Chunk, error) {
	s.mu.Lock()
	refs := s.table.refs[session]
	s.mu.Unlock()
	if ordinal < 0 || ordinal >= int64(len(refs)) {
		return nil, errs.Op("read chunk", format.DataKey(session, ordinal)).New(errs.NotFound, "a dataset of Deep Lake 3 has no such chunk")
	}
	return s.openRef(ctx, refs[ordinal], links)
}

// openRef makes a readable chunk.
func (s *Store) openRef(ctx context.Context, r *ref, links chunk.LinkFinder) (*chunk.Chunk, error) {
	if r.refused != "" {
		return nil, errs.Op("read tensor", r.tensor.name).New(errs.Unsupported, "%s, which cannot be read here; export the tensor by Deep Lake 3", r.refused)
	}
	switch {
	case r.tensor.kind.linked():
		return s.openLinks(ctx, r, links)
	case r.tensor.kind.nested():
		return s.nest(ctx, r)
	case len(r.pieces) != 1 || r.pieces[0].n != r.pieces[0].items || r.pieces[0].tiled():
		return s.assemble(ctx, r)
	}
	p := r.pieces[0]
	o, err := openObject(ctx, s.below, p.key)
	if err != nil {
		return nil, err
	}
	c := &opening{Store: s, object: o, ref: r, kind: &r.tensor.kind, mutable: p.mutable}
	out, err := c.open(ctx)
	return out, errs.Wrap(errs.Corrupt, "read chunk", p.key, err)
}

// opening is a chunk that is being opened.
type opening struct {
	*Store
	object  *object
	ref     *ref
	kind    *kind
	mutable bool
	arrays  bool // files are wanted decoded
	single  bool // each item has a block of its own

	items []segment
	dir   format.Directory
}

// open finds how the samples lie, and converts them where this format has no such layout.
func (c *opening) open(ctx context.Context) (*chunk.Chunk, error) {
	k := c.kind
	c.dir = format.Directory{DType: k.dtype, FixedSize: -1, Tile: c.ref.tile}
	if c.ref.tile != nil {
		return c.tile(ctx)
	}
	var err error
	if c.items, err = c.object.segments(c.ref.pieces[0].items, k); err != nil {
		return nil, err
	}
	c.dir.Items, c.dir.RowItems = c.ref.pieces[0].items, c.ref.rowItems()
	if k.dtype.Fixed() {
		c.dir.Shapes = shapesOf(c.items)
	}
	switch {
	case k.htype.Base == "polygon" && !k.opaque:
		return c.polygons(ctx)
	case k.dtype == tensor.JSON:
		return c.documents(ctx)
	case rasters[k.chunk]:
		return c.canvas(ctx)
	case rasters[k.sample]:
		return c.files(ctx)
	case k.chunk == "lz4":
		return c.packed(ctx)
	case k.sample == "lz4":
		return c.packedEach(ctx)
	}
	return c.plain()
}

// plain reads samples where they lie.
func (c *opening) plain() (*chunk.Chunk, error) {
	if err := inOrder(c.items, c.object.payload()); err != nil {
		return nil, err
	}
	if err := c.sizes(c.object.payload()); err != nil {
		return nil, err
	}
	c.blocks()
	return c.there(0)
}

// sizes sets the sizes of items in total bytes.
func (c *opening) sizes(total int64) error {
	if c.dir.DType.Fixed() && c.dir.SampleCodec == codec.None {
		return checkArrays(c.items, c.dir.DType)
	}
	if even(c.items) {
		if c.dir.FixedSize = 0; len(c.items) > 0 {
			c.dir.FixedSize = c.items[0].size
		}
		return nil
	}
	each, err := spread(c.items, total)
	if err != nil {
		return err
	}
	c.dir.Sizes = make([]int64, len(each))
	for i := range each {
		c.dir.Sizes[i] = each[i].size
	}
	return nil
}

// even reports whether all items have one size.
func even(items []segment) bool {
	for i := range items {
		if items[i].size != items[0].size {
			return false
		}
	}
	return true
}

// blocks divides uncompressed items into blocks: single ones if they are large or files.
func (c *opening) blocks() {
	d := &c.dir
	if d.Items == 0 {
		d.PerBlock = 1
		return
	}
	if d.SampleCodec != codec.None || c.single {
		d.PerBlock = 1
		return
	}
	if even(c.items) {
		size := max(1, c.items[0].size)
		if d.PerBlock = 1; size < format.BlockSingle {
			d.PerBlock = min(d.Items, format.BlockSmall/size)
		}
		return
	}
	inBlock, bytes := int64(0), int64(0)
	end := func() {
		if inBlock > 0 {
			d.BlockItems = append(d.BlockItems, inBlock)
		}
		inBlock, bytes = 0, 0
	}
	for _, s := range c.items {
		for range s.n {
			if s.size >= format.BlockSingle || bytes+s.size > format.BlockSmall {
				end()
			}
			inBlock, bytes = inBlock+1, bytes+s.size
			if s.size >= format.BlockSingle {
				end()
			}
		}
	}
	end()
}

// identity is the header of the object, and what tells versions of its content apart.
func (c *opening) identity() []byte {
	tag := c.object.tag
	if version, ok := c.loader.tree.version(c.object.key); ok {
		tag = version // a page of a cache has no tag
	}
	id := append([]byte(tag+"\x00"), c.object.head[:c.object.header.bytes]...)
	if c.mutable && tag == "" {
		id = append(id, c.nonce...)
	}
	return id
}

// there makes a chunk whose blocks are read from the object, lead bytes in front of each.
func (c *opening) there(lead int64) (*chunk.Chunk, error) {
	c.dir.Foreign = &format.Foreign{Base: c.object.header.bytes, Lead: lead}
	if o := c.object; int64(len(o.head)) == o.size && storage.Remote(c.below) {
		// The request for the header has brought all of it.
		return chunk.KeepForeign(c.below, c.origin, o.key, c.identity(), &c.dir, o.head)
	}
	ch, err := chunk.OpenForeign(c.below, c.origin, c.object.key, c.identity(), &c.dir)
	if err == nil && c.mutable {
		return ch.Unmapped(), nil
	}
	return ch, err
}

// here makes a chunk of converted samples in memory.
func (c *opening) here(data []byte) (*chunk.Chunk, error) {
	c.dir.Foreign = &format.Foreign{}
	return chunk.KeepForeign(c.below, c.origin, c.object.key, c.identity(), &c.dir, data)
}

// packed reads samples that are compressed together by LZ4.
func (c *opening) packed(ctx context.Context) (*chunk.Chunk, error) {
	raw := int64(0)
	for _, s := range c.items {
		raw += s.n * s.size
	}
	if err := inOrder(c.items, raw); err != nil {
		return nil, err
	}
	stored := c.object.payload() - lz4Lead
	front, err := c.object.bytes(ctx, 0, min(c.object.payload(), lz4Lead))
	switch {
	case err != nil:
		return nil, err
	case isFrame(front) || raw == 0 || stored >= raw || raw > format.MaxBlockRaw:
		data, err := c.unpacked(ctx)
		if err != nil {
			return nil, err
		}
		return c.converted(data)
	case stored < 1 || int64(binary.LittleEndian.Uint32(front)) != raw:
		return nil, errs.New(errs.Corrupt, "its %d compressed bytes do not hold the %d bytes of its items", stored, raw)
	}
	if err := checkRatio(stored, raw); err != nil {
		return nil, err
	}
	if err := c.sizes(raw); err != nil {
		return nil, err
	}
	c.dir.BlockCodec, c.dir.PerBlock, c.dir.BlockBytes = codec.LZ4, c.dir.Items, []int64{stored}
	return c.there(lz4Lead)
}

// converted makes a chunk of uncompressed items, one after the other.
func (c *opening) converted(data []byte) (*chunk.Chunk, error) {
	if err := inOrder(c.items, int64(len(data))); err != nil {
		return nil, err
	}
	if err := c.sizes(int64(len(data))); err != nil {
		return nil, err
	}
	c.blocks()
	return c.here(data)
}

// packedEach reads samples that are compressed one by one by LZ4.
func (c *opening) packedEach(ctx context.Context) (*chunk.Chunk, error) {
	total := c.object.payload()
	if err := inOrder(c.items, total); err != nil {
		return nil, err
	}
	each, err := spread(c.items, total)
	if err != nil {
		return nil, err
	}
	d := &c.dir
	d.BlockCodec, d.PerBlock = codec.LZ4, 1
	if d.Items == 0 {
		d.BlockBytes = []int64{}
		return c.there(0)
	}
	inPlace := d.DType.Fixed()
	for _, s := range each {
		if !inPlace {
			break
		}
		raw, err := s.shape.Bytes(d.DType)
		if err != nil {
			return nil, err
		}
		stored := s.size - lz4Lead
		if inPlace = stored > 0 && stored < raw && raw <= format.MaxBlockRaw; inPlace {
			if err := checkRatio(stored, raw); err != nil {
				return nil, err
			}
			d.BlockBytes = append(d.BlockBytes, stored)
		}
	}
	if inPlace {
		return c.there(lz4Lead)
	}
	return c.repack(ctx, each)
}

// repack keeps samples compressed in memory, without the sizes in front of them. Those that LZ4
// made no smaller are kept as they were.
func (c *opening) repack(ctx context.Context, each []segment) (*chunk.Chunk, error) {
	all, err := c.object.all(ctx)
	if err != nil {
		return nil, err
	}
	d := &c.dir
	d.BlockBytes = make([]int64, len(each))
	if !d.DType.Fixed() {
		d.Sizes = make([]int64, len(each))
	}
	var out []byte
	for i, s := range each {
		data := all[s.start : s.start+s.size]
		raw, err := rawSize(data)
		if err != nil {
			return nil, err
		}
		if d.DType.Fixed() {
			if want, err := s.shape.Bytes(d.DType); err != nil || want != raw {
				return nil, errs.New(errs.Corrupt, "item %d of shape %s has %d bytes, want %d", i, s.shape, raw, want)
			}
		} else {
			d.Sizes[i] = raw
		}
		if block := data[min(int64(len(data)), lz4Lead):]; !isFrame(data) && int64(len(block)) < raw {
			out = append(out, block...)
			d.BlockBytes[i] = int64(len(block))
			continue
		}
		plain, err := unpackLZ4(data, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, plain...)
		d.BlockBytes[i] = raw
	}
	return c.here(out)
}

// tileShape is the shape of a tile, which is smaller at the far edges.
func tileShape(t *format.TileRef) tensor.Shape {
	shape := make(tensor.Shape, len(t.Sample))
	rest := t.Index
	for i := len(shape) - 1; i >= 0; i-- {
		grid := (t.Sample[i] + t.Tile[i] - 1) / t.Tile[i]
		shape[i] = min(t.Tile[i], t.Sample[i]-rest%grid*t.Tile[i])
		rest /= grid
	}
	return shape
}

// tile reads the one item of a tile, which has no place of its own.
func (c *opening) tile(ctx context.Context) (*chunk.Chunk, error) {
	h, want := c.object.header, tileShape(c.ref.tile)
	if len(h.shapes) > 0 && !c.kind.threeAxes(h.shapes[0].shape).Equal(want) {
		return nil, errs.New(errs.Corrupt, "the tile has shape %s, want %s", h.shapes[0].shape, want)
	}
	n := c.object.payload()
	c.dir.Items, c.dir.Shapes = 1, []format.ShapeRun{{Count: 1, Shape: want}}
	c.items = []segment{{n: 1, shape: want, size: n}}
	if n == 0 { // it was declared and not written
		raw, err := want.Bytes(c.kind.dtype)
		if err != nil || raw > maxObject {
			return nil, errs.New(errs.Corrupt, "the tile has shape %s", want)
		}
		c.items[0].size = raw
		return c.converted(make([]byte, raw))
	}
	switch k := c.kind; {
	case rasters[k.sample] || rasters[k.chunk]:
		return c.files(ctx)
	case k.sample == "lz4" || k.chunk == "lz4":
		return c.packedEach(ctx)
	}
	return c.plain()
}
