package dataset

import (
	"context"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// encodeWindow and encodeBytes bound the samples that are encoded at once: enough for every core,
// few enough for memory.
const (
	encodeWindow = 64
	encodeBytes  = 64 << 20
)

// foreignBytes bounds the decoded pictures in memory between the check of an append and its
// writing.
const foreignBytes = 64 << 20

// decodeForeign decodes the files that are not in the tensor's codec. It runs before anything is
// written, because a damaged file must be refused. Pictures beyond foreignBytes are dropped after
// this check and decoded again when they are written.
func (c *checked) decodeForeign(ctx context.Context, reg *codec.Registry, rowOf func(int) int) error {
	g := task.New(ctx, task.Cores())
	var kept atomic.Int64
	for i := range c.samples {
		s := &c.samples[i]
		if s.Form != tensor.FormEncoded || c.ct.verbatim(s, c.check.dtype) {
			continue
		}
		g.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return errs.Wrap(errs.Canceled, "decode", "", err)
			}
			pix, err := decodeFile(reg, s, c.ct.channels)
			if err == nil {
				pix, err = c.check.convert(s.DType, pix, 0)
			}
			if err == nil {
				err = c.check.storable(s.Shape, int64(len(pix)))
			}
			if err != nil {
				return errs.New(errs.KindOf(err), "row %d: %w", rowOf(i), err)
			}
			if kept.Add(int64(len(pix))) <= foreignBytes {
				s.Form, s.DType, s.Data = tensor.FormArray, c.check.dtype, pix
			}
			return nil
		})
	}
	return g.Wait()
}

// verbatim reports whether a file is stored unchanged in a tensor of dtype d.
func (ct *columnType) verbatim(s *tensor.Sample, d tensor.DType) bool {
	return s.Form == tensor.FormEncoded && s.DType == d && ct.sampleCodec != nil && (ct.files == format.FilesOwn || ct.sampleCodec.Describe().Sniff(s.Data))
}

// codecOf returns the codec of an item that differs from that of the tensor; None: it does not.
func (ct *columnType) codecOf(id codec.ID) codec.ID {
	if id == ct.sampleCodec.Describe().ID {
		return codec.None
	}
	return id
}

func decodeFile(reg *codec.Registry, s *tensor.Sample, want codec.Channels) ([]byte, error) {
	id, _ := reg.Sniff(s.Data)
	sc, err := reg.Sample(id)
	if err != nil {
		return nil, err
	}
	n, err := s.Shape.Bytes(s.DType)
	if err != nil {
		return nil, err
	}
	dec := sc.NewDecoder()
	defer dec.Close()
	pix := make([]byte, n)
	form, upright := want.Split()
	if upright {
		if o, _ := sc.Describe().Orientation(s.Data); o.Turned() {
			return pix, o.Decode(dec, pix, s.Data, s.Shape, form, make([]byte, n))
		}
	}
	return pix, dec.Decode(pix, s.Data, form)
}

// encoded is a sample as it will be stored.
type encoded struct {
	chunk.Item
	tiled bool // Data is the array, too large to be stored in one piece
}

// eachEncoded calls fn for every sample in order, as it will be stored: through the tensor's sample
// codec if it has one, several at once.
func (w *writer) eachEncoded(ctx context.Context, c *checked, fn func(i int64, it encoded) error) error {
	for from := 0; from < len(c.samples); {
		part := window(c.samples[from:])
		items, err := w.encode(ctx, c.ct, part)
		if err != nil {
			return err
		}
		for i := range part {
			if err := fn(int64(from+i), items[i]); err != nil {
				return err
			}
		}
		from += len(part)
	}
	return nil
}

// window returns the samples at the front that are encoded at once, as many as memory allows.
func window(samples []tensor.Sample) []tensor.Sample {
	size := 0
	for i, s := range samples {
		if size += len(s.Data); i == encodeWindow || i > 0 && size > encodeBytes {
			return samples[:i]
		}
	}
	return samples
}

// encode converts samples to their stored form. Files in the tensor's codec are stored unchanged,
// at any size.
func (w *writer) encode(ctx context.Context, ct *columnType, samples []tensor.Sample) ([]encoded, error) {
	items := make([]encoded, len(samples))
	g := task.New(ctx, task.Cores())
	for i := range samples {
		s := &samples[i]
		items[i].Item = chunk.Item{Data: s.Data, Shape: s.Shape}
		if s.Form == tensor.FormLink {
			items[i].Item = linked(s)
			continue
		}
		if ct.verbatim(s, ct.dtype) {
			id, _ := w.d.env.Codecs.Sniff(s.Data)
			items[i].Codec = ct.codecOf(id)
			continue
		}
		if s.Form != tensor.FormArray && s.Form != tensor.FormEncoded {
			continue
		}
		if ct.sampleCodec == nil && s.Form == tensor.FormArray {
			items[i].tiled = ct.tiles(int64(len(s.Data)))
			continue
		}
		g.Go(func(context.Context) (err error) {
			items[i], err = w.encodeSample(ct, s)
			return err
		})
	}
	return items, g.Wait()
}

// encodeSample brings an array, or a file of another codec, into the tensor's codec, unless it has
// to be tiled.
func (w *writer) encodeSample(ct *columnType, s *tensor.Sample) (encoded, error) {
	it := encoded{Item: chunk.Item{Data: s.Data, Shape: s.Shape}}
	of, err := ct.ofArrays(w.d.env.Codecs)
	if err != nil {
		return it, err
	}
	if s.Form == tensor.FormEncoded {
		pix, err := decodeFile(w.d.env.Codecs, s, ct.channels)
		if err != nil {
			return it, err
		}
		it.Data, _ = tensor.Convert(ct.dtype, s.DType, pix) // decodeForeign has seen it fit
	}
	it.tiled = ct.tiles(int64(len(it.Data)))
	if ct.sampleCodec == nil || it.tiled && int64(len(it.Data)) > rawTileBytes(ct) {
		return it, nil
	}
	options := ct.options()
	if of != ct {
		options = codec.Options{}
	}
	file, err := of.sampleCodec.Encode(nil, it.Data, ct.dtype, s.Shape, options)
	if err != nil {
		return it, err
	}
	if !it.tiled || int64(len(file)) <= ct.spec().Max() {
		it.Data, it.tiled, it.Codec = file, false, ct.codecOf(of.sampleCodec.Describe().ID)
	}
	return it, nil
}

// tiles reports whether an array of so many bytes is over the bound of a sample in one piece. Items
// of sequences are stored in one piece at any size, as a row lies in one chunk.
func (ct *columnType) tiles(n int64) bool { return n > ct.spec().Max() && !ct.list }

// rawTileBytes returns the size from which an array is tiled before it is encoded: its file might
// be over the bound of a chunk, and every tile must be decodable by itself in bounded memory.
func rawTileBytes(ct *columnType) int64 { return 8 * ct.spec().Max() }
