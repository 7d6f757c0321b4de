package chunk

import (
	"context"

	"deeplake/core/codec"
)

// Form is how a sample is delivered for a device.
type Form uint8

// The forms of PackRun.
const (
	AsPixels Form = iota // decoded
	AsPacked             // by a codec.Packer
	AsFile               // as stored
)

// Packed receives a sample of PackRun. data is valid until it returns.
type Packed func(i int, data []byte, form Form)

// PackRun delivers refs[i] for a device, in a form of its decoder's codec.Packer: forms[i] where
// that is possible, else AsPacked, else AsPixels. Samples that do not take fewer bytes packed than
// their pixels are delivered as pixels. Where rois are given, rows are packed down to the end of
// region rois[i] only, and only that region is decoded, as DecodeROIs does. failed is called for
// each sample that could not be read.
func (w *Worker) PackRun(ctx context.Context, refs []*Ref, forms []Form, rois []codec.ROI, want codec.Channels, deliver Packed, failed func(i int, err error)) {
	p := packer{w: w, refs: refs, forms: forms, rois: rois, want: want, deliver: deliver}
	p.form, _ = want.Split()
	r := runs{w: w, want: want, failed: failed}
	r.joins = func(i int) bool { return runnable(refs[i]) }
	r.alone = func(i int) error { return p.decodeAlone(ctx, i) }
	r.decode, r.turned = p.packAll, p.decodeTurned
	r.over(ctx, refs)
}

// packer is one PackRun.
type packer struct {
	w       *Worker
	refs    []*Ref
	forms   []Form
	rois    []codec.ROI
	want    codec.Channels
	form    codec.Channels // want of decoders
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
		p.deliver(i, pixels, AsPixels)
	}
	return err
}

// packAll delivers the samples at, whose files are data.
func (p *packer) packAll(dec codec.Decoder, at []int, data [][]byte) (int, error) {
	packs, _ := dec.(codec.Packer)
	for k, i := range at {
		done, err := false, error(nil)
		if packs != nil && p.forms[i] != AsPixels {
			done, err = p.pack(packs, i, data[k])
		}
		if !done && err == nil {
			err = p.decode(dec, i, data[k])
		}
		if err != nil {
			return k, err
		}
	}
	return len(at), nil
}

// pack delivers a file in a form for a device. It reports whether there is one.
func (p *packer) pack(packs codec.Packer, i int, data []byte) (bool, error) {
	if p.forms[i] == AsFile && packs.DeviceDecodes(data, p.form) {
		p.deliver(i, data, AsFile)
		return true, nil
	}
	rows := 0
	if p.rois != nil {
		rows = p.rois[i].Y + p.rois[i].Height
	}
	to := p.room(i)
	n, err := packs.Pack(to, data, p.form, rows)
	if n > 0 {
		p.deliver(i, to[:n], AsPacked)
	}
	return n > 0, err
}

// decode delivers the pixels of a file, or those of its region.
func (p *packer) decode(dec codec.Decoder, i int, data []byte) error {
	if p.rois != nil {
		return p.decodeROI(dec, i, data)
	}
	pixels := p.room(i)
	err := dec.Decode(pixels, data, p.form)
	if err == nil {
		p.deliver(i, pixels, AsPixels)
	}
	return err
}

// decodeTurned delivers the pixels of a turned image: no device turns one.
func (p *packer) decodeTurned(dec codec.Decoder, i int, data []byte, o codec.Orientation) error {
	if p.rois != nil {
		return p.w.decodeTurnedROI(dec, o, p.refs[i], &p.rois[i], data, p.want)
	}
	pixels := p.room(i)
	err := p.w.decodeTurned(dec, o, p.refs[i].Chunk, p.refs[i].Item, pixels, data, p.want)
	if err == nil {
		p.deliver(i, pixels, AsPixels)
	}
	return err
}

// decodeROI decodes the region of a file.
func (p *packer) decodeROI(dec codec.Decoder, i int, data []byte) error {
	if regions, ok := dec.(codec.ROIDecoder); ok {
		_, err := regions.DecodeROIs([][]byte{data}, p.rois[i:i+1], p.form)
		return err
	}
	pixels := p.room(i)
	if err := dec.Decode(pixels, data, p.form); err != nil {
		return err
	}
	return Deliver(pixels, p.refs[i], &p.rois[i])
}
