package video

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Clip fills ref for frames of a row, in any order and with repeats: the video, of which the frames
// are delivered as one array (frames, height, width, 3). It reads index pages and tables. A row
// without a video is errs.NotFound.
func (r *Reader) Clip(ctx context.Context, row int64, frames []int64, ref *chunk.Ref) error {
	s, err := r.find(ctx, row)
	if err != nil {
		return err
	}
	w, err := s.plan(frames)
	if err != nil {
		return r.fail(row, err)
	}
	height, width := s.table.Video.Size()
	*ref = s.ref
	ref.Shape = tensor.Shape{int64(len(frames)), int64(height), int64(width), 3}
	ref.Size = frameBytes(s.table.Video) * int64(len(frames))
	ref.Stored = 0
	part := &chunk.Partial{Of: w}
	for _, g := range w.groups {
		for _, window := range s.windows(g) {
			for _, run := range s.runs(window) {
				span, err := s.ref.Part(run.from, run.to-run.from)
				if err != nil {
					return r.fail(row, err)
				}
				part.Spans = append(part.Spans, span)
				ref.Stored += span.Bytes
			}
		}
	}
	ref.Partial = part
	return nil
}

// DecodeClip decodes the frames of a ref that Clip has filled into dst, len(dst) == ref.Size, on
// the caller's goroutine. After an error dst is undefined.
func (r *Reader) DecodeClip(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	var first error
	r.DecodeClips(ctx, []*chunk.Ref{ref}, [][]byte{dst}, w, func(_ int, err error) { first = err })
	return first
}

// DecodeClips decodes the frames of refs[i] into dst[i] as DecodeClip does. A group of packets that
// several of the clips need is decoded once. It calls failed for clips that could not be decoded.
func (r *Reader) DecodeClips(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	r.together(ctx, refs, w, failed, func(i int, of *stored) (sink, error) {
		if int64(len(dst[i])) != refs[i].Size {
			return sink{}, errs.New(errs.Internal, "decode a clip of %d bytes into %d bytes", refs[i].Size, len(dst[i]))
		}
		return sink{room: into(dst[i], frameBytes(of.table.Video))}, nil
	})
}

// DecodeFrames decodes the frames of refs that Clip has filled, as DecodeClips does, and delivers
// those of refs[i] one by one, in any order. pix, (height, width, 3) in rows of stride bytes, is
// valid until deliver returns. A frame may be delivered twice.
func (r *Reader) DecodeFrames(ctx context.Context, refs []*chunk.Ref, w *chunk.Worker, deliver func(i, frame int, pix []byte, stride int) error, failed func(i int, err error)) {
	r.together(ctx, refs, w, failed, func(i int, _ *stored) (sink, error) {
		return sink{deliver: func(frame int, pix []byte, stride int) error { return deliver(i, frame, pix, stride) }}, nil
	})
}

// DecodeROIs decodes refs that Clip has filled for single frames, as DecodeClips does, and delivers
// the regions rois[i] of refs[i].
func (r *Reader) DecodeROIs(ctx context.Context, refs []*chunk.Ref, rois []codec.ROI, w *chunk.Worker, failed func(i int, err error)) {
	r.DecodeFrames(ctx, refs, w, func(i, _ int, pix []byte, _ int) error { return chunk.Deliver(pix, refs[i], &rois[i]) }, failed)
}

// together decodes clips, those of a video in one pass over the groups that they need. to returns
// where the frames of refs[i] go.
func (r *Reader) together(ctx context.Context, refs []*chunk.Ref, w *chunk.Worker, failed func(i int, err error), to func(i int, of *stored) (sink, error)) {
	passes, order := map[*stored]*pass{}, make([]*pass, 0, len(refs))
	for i, ref := range refs {
		clip, ok := ref.Partial.Of.(*wanted)
		if !ok {
			failed(i, errs.New(errs.Internal, "decode the frames of a sample that is no clip"))
			continue
		}
		dst, err := to(i, clip.of)
		if err != nil {
			failed(i, err)
			continue
		}
		p := passes[clip.of]
		if p == nil {
			p = &pass{pool: &r.pool, by: w.Ahead}
			passes[clip.of], order = p, append(order, p)
		}
		p.clips = append(p.clips, member{i, clip, dst})
	}
	for _, p := range order {
		p.run(ctx, failed)
	}
}

// pass decodes clips of one video together.
type pass struct {
	pool  *decoders
	by    ahead
	clips []member
}

// member is a clip of a pass.
type member struct {
	number int // of the caller
	*wanted
	to sink
}

// run decodes the clips. If a group fails, it decodes the clips with frames in it again, each by
// itself: the damage may lie behind the frames of a clip.
func (p *pass) run(ctx context.Context, failed func(i int, err error)) {
	left := p.clips
	if len(p.clips) > 1 {
		left = p.joint(ctx)
	}
	for _, one := range left {
		d := &decoding{wanted: one.wanted, pool: p.pool, by: p.by, to: one.to}
		for _, g := range d.groups {
			if err := d.again(ctx, g, d.serial); err != nil {
				failed(one.number, err)
				break
			}
		}
	}
}

// joint decodes each group once for all clips, and returns the clips with frames in groups that
// failed.
func (p *pass) joint(ctx context.Context) (left []member) {
	var packets []int32
	var owner []int // of each packet
	starts := make([]int, len(p.clips))
	for k, one := range p.clips {
		starts[k] = len(packets)
		packets = append(packets, one.packets...)
		for range one.packets {
			owner = append(owner, k)
		}
	}
	all, err := p.clips[0].of.planPackets(packets)
	if err != nil {
		return p.clips
	}
	lost := make([]bool, len(p.clips))
	d := &decoding{wanted: all, pool: p.pool, by: p.by, to: p.sink(owner, starts)}
	for _, g := range d.groups {
		if d.again(ctx, g, d.serial) == nil {
			continue
		}
		for k, one := range p.clips {
			lost[k] = lost[k] || slices.ContainsFunc(one.packets, func(p int32) bool { return int(p) >= g.First && int(p) <= g.Last })
		}
	}
	for k, one := range p.clips {
		if lost[k] {
			left = append(left, one)
		}
	}
	return left
}

// sink hands frames to their clips. owner has the clip of each frame, starts the first frame of
// each clip.
func (p *pass) sink(owner, starts []int) sink {
	if p.clips[0].to.room != nil {
		return sink{room: func(at int) []byte { return p.clips[owner[at]].to.room(at - starts[owner[at]]) }}
	}
	return sink{deliver: func(at int, pix []byte, stride int) error {
		return p.clips[owner[at]].to.deliver(at-starts[owner[at]], pix, stride)
	}}
}
