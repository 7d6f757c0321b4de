package chunk

import (
	"context"

	"deeplake/core/codec"
)

// Packed receives a sample of PackRun: packed by a codec.Packer, or its pixels. data is valid until
// it returns.
type Packed func(i int, data []byte, packed bool)

// PackRun packs refs[i] for a device, as codec.Packer does, and delivers each. Samples that cannot
// be packed into fewer bytes than their pixels have are delivered decoded. failed is called for
// each sample that could not be read.
func (w *Worker) PackRun(ctx context.Context, refs []*Ref, want codec.Channels, deliver Packed, failed func(i int, err error)) {
	p := packer{w: w, refs: refs, want: want, deliver: deliver}
	r := runs{w: w, want: want, failed: failed}
	r.joins = func(i int) bool { return runnable(refs[i]) }
	r.alone = func(i int) error {
		pixels := p.room(i)
		err := w.Decode(ctx, refs[i], pixels, want)
		if err == nil {
			deliver(i, pixels, false)
		}
		return err
	}
	r.decode = p.packAll
	r.over(ctx, refs)
}

// packer is one PackRun.
type packer struct {
	w       *Worker
	refs    []*Ref
	want    codec.Channels
	deliver Packed
}

// room returns memory of the worker for the pixels of sample i, at an address that is a multiple of
// 8 as the allocator makes it.
func (p *packer) room(i int) []byte {
	p.w.whole = grow(p.w.whole, max(p.refs[i].Size, 64))
	return p.w.whole[:p.refs[i].Size]
}

// packAll packs the samples at, whose files are data.
func (p *packer) packAll(dec codec.Decoder, at []int, data [][]byte) (int, error) {
	packs, _ := dec.(codec.Packer)
	for k, i := range at {
		to := p.room(i)
		n := 0
		if packs != nil {
			var err error
			if n, err = packs.Pack(to, data[k], p.want); err != nil {
				return k, err
			}
		}
		if n == 0 {
			if err := dec.Decode(to, data[k], p.want); err != nil {
				return k, err
			}
		}
		if n > 0 {
			to = to[:n]
		}
		p.deliver(i, to, n > 0)
	}
	return len(at), nil
}
