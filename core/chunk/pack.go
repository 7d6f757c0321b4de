package chunk

import (
	"context"

	"deeplake/core/codec"
)

// Packed receives a sample of PackRun: packed by a codec.Packer, or its pixels. data is valid until
// it returns.
type Packed func(i int, data []byte, packed bool)

// PackRun packs refs[i] for a device, as codec.Packer does, and delivers each. Samples that cannot
// be packed into fewer bytes than their pixels have are decoded. Where rois are given, rows are
// packed down to the end of region rois[i] only, and only that region is decoded, as DecodeROIs
// does. whole[i] says that a sample is decoded in any case. failed is called for each sample that
// could not be read.
func (w *Worker) PackRun(ctx context.Context, refs []*Ref, whole []bool, rois []codec.ROI, want codec.Channels, deliver Packed, failed func(i int, err error)) {
	p := packer{w: w, refs: refs, whole: whole, rois: rois, want: want, deliver: deliver}
	r := runs{w: w, want: want, failed: failed}
	r.joins = func(i int) bool { return runnable(refs[i]) }
	r.alone = func(i int) error { return p.decodeAlone(ctx, i) }
	r.decode = p.packAll
	r.over(ctx, refs)
}

// packer is one PackRun.
type packer struct {
	w       *Worker
	refs    []*Ref
	whole   []bool
	rois    []codec.ROI
	want    codec.Channels
	deliver Packed
}

// room returns memory of the worker for the pixels of sample i, at an address that is a multiple of
// 8 as the allocator makes it.
func (p *packer) room(i int) []byte {
	p.w.whole = grow(p.w.whole, max(p.refs[i].Size, 64))
	return p.w.whole[:p.refs[i].Size]
}

// decodeAlone decodes a sample that lies in no file by itself.
func (p *packer) decodeAlone(ctx context.Context, i int) error {
	if p.rois != nil {
		return p.w.decodeROI(ctx, p.refs[i], &p.rois[i], p.want)
	}
	pixels := p.room(i)
	err := p.w.Decode(ctx, p.refs[i], pixels, p.want)
	if err == nil {
		p.deliver(i, pixels, false)
	}
	return err
}

// packAll packs the samples at, whose files are data.
func (p *packer) packAll(dec codec.Decoder, at []int, data [][]byte) (int, error) {
	packs, _ := dec.(codec.Packer)
	for k, i := range at {
		to := p.room(i)
		n, rows := 0, 0
		var err error
		if p.rois != nil {
			rows = p.rois[i].Y + p.rois[i].Height
		}
		if packs != nil && !p.whole[i] {
			if n, err = packs.Pack(to, data[k], p.want, rows); err != nil {
				return k, err
			}
		}
		switch {
		case n > 0:
			p.deliver(i, to[:n], true)
		case p.rois != nil:
			err = p.decodeROI(dec, i, data[k])
		default:
			if err = dec.Decode(to, data[k], p.want); err == nil {
				p.deliver(i, to, false)
			}
		}
		if err != nil {
			return k, err
		}
	}
	return len(at), nil
}

// decodeROI decodes the region of a file.
func (p *packer) decodeROI(dec codec.Decoder, i int, data []byte) error {
	if regions, ok := dec.(codec.ROIDecoder); ok {
		_, err := regions.DecodeROIs([][]byte{data}, p.rois[i:i+1], p.want)
		return err
	}
	pixels := p.room(i)
	if err := dec.Decode(pixels, data, p.want); err != nil {
		return err
	}
	return Deliver(pixels, p.refs[i], &p.rois[i])
}
