package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// DecodeRun decodes refs[i] into dst[i] like Decode, all of them at less cost than one by one: it
// reads and checks the stored bytes of all first, then gives them to the decoder together. failed
// is called for each sample that could not be read; its dst is undefined, the others are decoded.
func (w *Worker) DecodeRun(ctx context.Context, refs []*Ref, dst [][]byte, want codec.Channels, failed func(i int, err error)) {
	r := runs{w: w, want: want, failed: failed}
	form, _ := want.Split()
	r.joins = func(i int) bool { return runnable(refs[i]) && int64(len(dst[i])) == refs[i].Size }
	r.turned = func(dec codec.Decoder, i int, data []byte, o codec.Orientation) error {
		return w.decodeTurned(dec, o, refs[i].Chunk, refs[i].Item, dst[i], data, want)
	}
	r.alone = func(i int) error { return w.Decode(ctx, refs[i], dst[i], want) }
	r.decode = func(dec codec.Decoder, at []int, data [][]byte) (int, error) {
		to := make([][]byte, len(at))
		for k, i := range at {
			to[k] = dst[i]
		}
		if many, ok := dec.(codec.RunDecoder); ok {
			return many.DecodeRun(to, data, form)
		}
		for k := range data {
			if err := dec.Decode(to[k], data[k], form); err != nil {
				return k, err
			}
		}
		return len(data), nil
	}
	r.over(ctx, refs)
}

// runnable reports whether a sample is one file.
func runnable(r *Ref) bool {
	return r.Chunk != nil && r.Tiles == nil && r.Items == 1 && r.Chunk.Index.SampleCodec() != codec.None
}

// fetch gives the checked file of a sample: where it lies in memory, or else read into w.run, which
// has room for it.
func (w *Worker) fetch(ctx context.Context, r *Ref) ([]byte, error) {
	from := len(w.run)
	data := w.run[from : from+int(r.Stored) : from+int(r.Stored)]
	if w.readAhead != nil && !r.Chunk.Index.Linked() {
		block, _ := r.Chunk.Index.BlockOf(r.Item)
		all, err := w.load(ctx, r.Chunk, block)
		if err != nil {
			return nil, err
		}
		off, n := r.Chunk.Index.ItemInBlock(r.Item)
		if w.borrowed {
			return all[off : off+n : off+n], nil
		}
		copy(data, all[off:off+n])
	} else if err := w.items(ctx, r.Chunk, r.Item, 1, data); err != nil {
		return nil, err
	}
	w.run = w.run[:from+int(r.Stored)]
	return data, nil
}

// runs reads samples and gives those that follow each other in one codec to its decoder together.
type runs struct {
	w      *Worker
	want   codec.Channels
	joins  func(i int) bool  // whether sample i is one for the decoder; such are runnable
	alone  func(i int) error // for items outside of a run
	failed func(i int, err error)
	// decode does the samples at, whose files are data, and says how many it has done: all, or
	// those before the one that the error is about.
	decode func(dec codec.Decoder, at []int, data [][]byte) (done int, err error)
	// turned does sample i, whose image is turned.
	turned func(dec codec.Decoder, i int, data []byte, o codec.Orientation) error

	id   codec.ID
	refs []*Ref
	at   []int // of the run under way
	data [][]byte
}

func (r *runs) over(ctx context.Context, refs []*Ref) {
	r.refs = refs
	room := int64(0)
	for _, ref := range refs {
		if runnable(ref) {
			room += ref.Stored
		}
	}
	r.w.run = grow(r.w.run, room)[:0]
	for i, ref := range refs {
		if !r.joins(i) {
			if err := r.alone(i); err != nil {
				r.failed(i, err)
			}
			continue
		}
		data, err := r.w.fetch(ctx, ref)
		if err == nil {
			err = r.w.admit(ref.Chunk, ref.Item, data, r.want)
		}
		if err != nil {
			r.failed(i, err)
			continue
		}
		if o := r.w.orientation(ref.Chunk, ref, data, r.want); o.Turned() {
			if err := r.turn(i, data, o); err != nil {
				r.failed(i, err)
			}
			continue
		}
		if id := ref.Chunk.Index.SampleCodec(); id != r.id {
			r.end()
			r.id = id
		}
		r.at, r.data = append(r.at, i), append(r.data, data)
	}
	r.end()
}

// end decodes the run under way. After a sample that cannot be decoded it goes on with the next.
func (r *runs) end() {
	if len(r.at) == 0 {
		return
	}
	dec, broken := r.w.decoder(r.id)
	for k := 0; k < len(r.at); k++ {
		err := broken
		if err == nil {
			var done int
			done, err = r.decode(dec, r.at[k:], r.data[k:])
			if k += done; err == nil && k < len(r.at) {
				err = errs.New(errs.Internal, "decoder stopped after %d of %d samples", k, len(r.at))
			}
		}
		if err != nil && k < len(r.at) {
			err = r.w.accept(dec, r.refs[r.at[k]], err, func() error {
				_, err := r.decode(dec, r.at[k:k+1], r.data[k:k+1])
				return err
			})
		}
		if err != nil && k < len(r.at) {
			r.failed(r.at[k], err)
		}
	}
	r.at, r.data = r.at[:0], r.data[:0]
}

// turn decodes one turned image by itself.
func (r *runs) turn(i int, data []byte, o codec.Orientation) error {
	dec, err := r.w.decoder(r.refs[i].Chunk.Index.SampleCodec())
	if err != nil {
		return err
	}
	decode := func() error { return r.turned(dec, i, data, o) }
	if err = decode(); err != nil {
		err = r.w.accept(dec, r.refs[i], err, decode)
	}
	return err
}
