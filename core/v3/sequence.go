package v3

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// assembling collects items of several objects into one chunk.
type assembling struct {
	*Store
	ref    *ref
	worker *chunk.Worker
	arrays bool // files are decoded
	id     []byte
	codec  codec.ID
	out    collected
}

// assemble makes a chunk of items of several objects, or of a part of one. Files stay files, unless
// an item lies in tiles or the objects have files and arrays: then all are decoded.
func (s *Store) assemble(ctx context.Context, r *ref) (*chunk.Chunk, error) {
	a := &assembling{Store: s, ref: r, worker: chunk.NewWorker(s.codecs)}
	defer a.worker.Close()
	for i := range r.pieces {
		a.arrays = a.arrays || r.pieces[i].tiled()
	}
	err := a.pieces(ctx)
	if errors.Is(err, errMixed) {
		*a = assembling{Store: s, ref: r, worker: a.worker, arrays: true}
		err = a.pieces(ctx)
	}
	if err != nil {
		return nil, err
	}
	return a.chunk()
}

// errMixed says that the objects of a chunk have files and arrays.
var errMixed = errs.New(errs.Internal, "a sequence has files and arrays")

// pieces collects the items of all objects.
func (a *assembling) pieces(ctx context.Context) error {
	for i := range a.ref.pieces {
		p := &a.ref.pieces[i]
		if p.tiled() {
			if err := a.tiles(ctx, p); err != nil {
				return err
			}
			continue
		}
		ch, err := a.open(ctx, &ref{tensor: a.ref.tensor, pieces: []piece{{key: p.key, items: p.items, n: p.items}}}, p)
		if err != nil {
			return err
		}
		id := ch.Index.SampleCodec()
		if i > 0 && id != a.codec {
			return errMixed
		}
		a.codec = id
		for item := p.from; item < p.from+p.n; item++ {
			data, err := a.item(ctx, ch, item)
			if err == nil {
				err = a.out.add(data, ch.Index.Shape(item))
			}
			if err != nil {
				return errs.Wrap(errs.KindOf(err), "read chunk", p.key, err)
			}
		}
	}
	return nil
}

// open opens one object.
func (a *assembling) open(ctx context.Context, r *ref, p *piece) (*chunk.Chunk, error) {
	key := r.pieces[0].key
	o, err := openObject(ctx, a.below, key)
	if err != nil {
		return nil, err
	}
	whole := &opening{Store: a.Store, object: o, ref: r, kind: &a.ref.tensor.kind, mutable: p.mutable, arrays: a.arrays}
	ch, err := whole.open(ctx)
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read chunk", key, err)
	}
	a.id = append(a.id, ch.ID[:]...)
	return ch, nil
}

// item returns an item as it is stored.
func (a *assembling) item(ctx context.Context, ch *chunk.Chunk, item int64) ([]byte, error) {
	if err := ch.Undecoded(item, 1); err != nil {
		return nil, err
	}
	of := chunk.Ref{Chunk: ch, Item: item, Items: 1, Shape: ch.Index.Shape(item), Stored: ch.Index.ItemBytes(item)}
	if of.Stored > maxConverted {
		return nil, errs.New(errs.Unsupported, "item %d has %d bytes, want at most %d", item, of.Stored, int64(maxConverted))
	}
	data := make([]byte, of.Stored)
	return data, a.worker.Stored(ctx, &of, data)
}

// tiles collects an item that lies in tiles, as an array.
func (a *assembling) tiles(ctx context.Context, p *piece) error {
	k := &a.ref.tensor.kind
	sample := k.threeAxes(p.tiling.sample)
	size, err := sample.Bytes(k.dtype)
	if err != nil || size > maxConverted-int64(len(a.out.data)) {
		return errs.Op("read chunk", p.key).New(errs.Unsupported, "a sequence has an item of shape %s; its items have more than %d bytes together", sample, int64(maxConverted))
	}
	of := chunk.Ref{Items: 1, Shape: sample, Size: size, Stored: size}
	for _, r := range p.grid(a.ref.tensor) {
		ch, err := a.open(ctx, r, p)
		if err != nil {
			return err
		}
		if err := ch.Undecoded(0, 1); err != nil {
			return err
		}
		of.Tiles = append(of.Tiles, ch)
	}
	of.Chunk = of.Tiles[0]
	data := make([]byte, size)
	if err := a.worker.Stored(ctx, &of, data); err != nil {
		return err
	}
	return a.out.add(data, sample)
}

// chunk makes the chunk of the collected items.
func (a *assembling) chunk() (*chunk.Chunk, error) {
	k := &a.ref.tensor.kind
	dir := format.Directory{DType: k.dtype, FixedSize: -1, RowItems: a.ref.rowItems(), SampleCodec: a.codec}
	if k.nested() {
		dir.RowItems = nil
	}
	c := &opening{Store: a.Store, ref: a.ref, kind: k, dir: dir}
	name := a.ref.tensor.key
	if n := len(a.ref.pieces); n > 0 {
		name = a.ref.pieces[n-1].key
	}
	c.object = &object{key: name, head: a.id, header: &header{bytes: int64(len(a.id))}}
	return c.built(&a.out)
}

// nest makes a chunk of sequences of polygons: each is a JSON list of lists of polygons, which are
// lists of points.
func (s *Store) nest(ctx context.Context, r *ref) (*chunk.Chunk, error) {
	a := &assembling{Store: s, ref: r}
	k := r.tensor.kind
	var texts [][]byte // of items
	total := 0
	for i := range r.pieces {
		p := &r.pieces[i]
		o, err := openObject(ctx, s.below, p.key)
		if err != nil {
			return nil, err
		}
		c := &opening{Store: s, object: o, ref: r, kind: &k, mutable: p.mutable}
		a.id = append(a.id, c.identity()...)
		if c.items, err = o.segments(p.items, &k); err != nil {
			return nil, errs.Wrap(errs.Corrupt, "read chunk", p.key, err)
		}
		samples, values, err := c.values(ctx)
		if err != nil {
			return nil, errs.Wrap(errs.Corrupt, "read chunk", p.key, err)
		}
		for item := p.from; item < p.from+p.n; item++ {
			text, err := polygonText(values[item], samples[item].shape, k.points)
			if total += len(text); err == nil && total > maxConverted {
				err = errs.New(errs.Unsupported, "its polygons have more than %d bytes as JSON; export the tensor by Deep Lake 3", int64(maxConverted))
			}
			if err != nil {
				return nil, errs.Op("read chunk", p.key).New(errs.KindOf(err), "item %d: %w", item, err)
			}
			texts = append(texts, text)
		}
	}
	for _, n := range r.rowItems() {
		row := []byte{'['}
		for i := range n {
			if i > 0 {
				row = append(row, ',')
			}
			row = append(row, texts[i]...)
		}
		texts = texts[n:]
		if err := a.out.add(append(row, ']'), nil); err != nil {
			return nil, err
		}
	}
	return a.chunk()
}

// polygonText returns the polygons of a sample as JSON.
func polygonText(data []byte, shape tensor.Shape, d tensor.DType) ([]byte, error) {
	var polygons collected
	if _, err := addPolygons(&polygons, data, shape, d); err != nil {
		return nil, err
	}
	out := []byte{'['}
	size := int64(d.Size())
	for i, p := range polygons.items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '[')
		for point := range p.shape[0] {
			if point > 0 {
				out = append(out, ',')
			}
			out = append(out, '[')
			for axis := range p.shape[1] {
				if axis > 0 {
					out = append(out, ',')
				}
				at := p.start + (point*p.shape[1]+axis)*size
				out = appendNumber(out, polygons.data[at:at+size], d)
			}
			out = append(out, ']')
		}
		out = append(out, ']')
	}
	return append(out, ']'), nil
}

// appendNumber appends a number as JSON, with all its digits. NaN and infinite ones are null.
func appendNumber(out, data []byte, d tensor.DType) []byte {
	var word [8]byte
	copy(word[:], data)
	bits := binary.LittleEndian.Uint64(word[:])
	var real float64
	switch d {
	case tensor.Float64:
		real = math.Float64frombits(bits)
	case tensor.Float32:
		real = float64(math.Float32frombits(uint32(bits)))
	case tensor.Float16:
		real = float64(tensor.Half(uint16(bits)))
	case tensor.Bool, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return strconv.AppendUint(out, bits, 10)
	default: // the sign is in the highest bit
		free := 64 - 8*len(data)
		return strconv.AppendInt(out, int64(bits<<free)>>free, 10)
	}
	if math.IsNaN(real) || math.IsInf(real, 0) {
		return append(out, "null"...)
	}
	return strconv.AppendFloat(out, real, 'g', -1, 64)
}
