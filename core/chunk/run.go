package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// DecodeRun decodes refs[i] into dst[i] like Decode, all of them at less cost than one by one: it reads and checks the
// stored bytes of all first, then gives them to the decoder together. failed is called for each sample that could not be
// read; its dst is undefined, the others are decoded.
func (w *Worker) DecodeRun(ctx context.Context, refs []*Ref, dst [][]byte, want codec.Channels, failed func(i int, err error)) {
	run := run{w: w, want: want, dst: dst, failed: failed}
	room := int64(0)
	for _, r := range refs {
		if runnable(r) {
			room += r.Stored
		}
	}
	w.run = grow(w.run, room)[:0]
	for i, r := range refs {
		if !runnable(r) || int64(len(dst[i])) != r.Size {
			if err := w.Decode(ctx, r, dst[i], want); err != nil {
				failed(i, err)
			}
			continue
		}
		data, err := w.fetch(ctx, r)
		if err != nil {
			failed(i, err)
			continue
		}
		if id := r.Chunk.Index.SampleCodec(); id != run.id {
			run.decode()
			run.id = id
		}
		run.data, run.at = append(run.data, data), append(run.at, i)
	}
	run.decode()
}

// runnable reports whether a sample is one file.
func runnable(r *Ref) bool {
	return !r.Hole() && r.Tiles == nil && r.Items == 1 && r.Chunk.Index.SampleCodec() != codec.None
}

// fetch gives the checked file of a sample: where it lies in memory, or else read into w.run, which has room for it.
func (w *Worker) fetch(ctx context.Context, r *Ref) ([]byte, error) {
	from := len(w.run)
	data := w.run[from : from+int(r.Stored) : from+int(r.Stored)]
	if w.held != nil && !r.Chunk.Index.Linked() {
		block, _ := r.Chunk.Index.BlockOf(r.Item)
		all, err := w.load(ctx, r.Chunk, block)
		if err != nil {
			return nil, err
		}
		off, n := r.Chunk.Index.ItemInBlock(r.Item)
		if w.lent {
			return all[off : off+n : off+n], nil
		}
		copy(data, all[off:off+n])
	} else if err := w.items(ctx, r.Chunk, r.Item, 1, data); err != nil {
		return nil, err
	}
	w.run = w.run[:from+int(r.Stored)]
	return data, nil
}

// run is the samples of one codec that are decoded together.
type run struct {
	w      *Worker
	id     codec.ID
	want   codec.Channels
	dst    [][]byte // of all refs
	data   [][]byte
	at     []int // index of each sample among the refs
	failed func(i int, err error)
}

func (r *run) decode() {
	if len(r.data) == 0 {
		return
	}
	dec, err := r.w.decoder(r.id)
	many, ok := dec.(codec.RunDecoder)
	dst := make([][]byte, len(r.at))
	for k, i := range r.at {
		dst[k] = r.dst[i]
	}
	for k := 0; k < len(r.data); k++ {
		one := err
		if one == nil && ok {
			var done int
			done, one = many.DecodeRun(dst[k:], r.data[k:], r.want)
			if k += done; one == nil && k < len(r.data) {
				one = errs.New(errs.Internal, "decoder stopped after %d of %d samples", k, len(r.data))
			}
		} else if one == nil {
			one = dec.Decode(dst[k], r.data[k], r.want)
		}
		if one != nil && k < len(r.data) {
			r.failed(r.at[k], one)
		}
	}
	r.data, r.at = r.data[:0], r.at[:0]
}
