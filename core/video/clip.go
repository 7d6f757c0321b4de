package video

import (
	"context"

	"deeplake/core/chunk"
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

// DecodeFrames decodes the frames of a ref that Clip has filled as DecodeClip does, and delivers
// them one by one, in any order. pix, (height, width, 3) in rows of stride bytes, is valid until
// deliver returns.
func (r *Reader) DecodeFrames(ctx context.Context, ref *chunk.Ref, w *chunk.Worker, deliver func(frame int, pix []byte, stride int) error) error {
	clip, ok := ref.Partial.Of.(*wanted)
	if !ok {
		return errs.New(errs.Internal, "decode the frames of a sample that is no clip")
	}
	d := &decoding{wanted: clip, pool: &r.pool, by: w.Ahead, deliver: deliver}
	return d.inTurn(ctx)
}

// DecodeClip decodes the frames of a ref that Clip has filled into dst, len(dst) == ref.Size, on
// the caller's goroutine. After an error dst is undefined.
func (r *Reader) DecodeClip(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	clip, ok := ref.Partial.Of.(*wanted)
	if !ok || int64(len(dst)) != ref.Size {
		return errs.New(errs.Internal, "decode a clip of %d bytes into %d bytes", ref.Size, len(dst))
	}
	d := &decoding{wanted: clip, pool: &r.pool, by: w.Ahead, dst: dst}
	return d.inTurn(ctx)
}
