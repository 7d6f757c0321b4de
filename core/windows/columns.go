package windows

import (
	"context"
	"encoding/binary"

	"deeplake/core/chunk"
	"deeplake/core/clips"
	"deeplake/core/errs"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/video"
)

// videoColumn is the frames of a video at the times of windows.
type videoColumn struct {
	read.Column
	*about
	of     *Source
	videos *video.Reader
}

// Name returns the name of the tensor.
func (c *videoColumn) Name() string { return c.Column.Name() }

// DType is uint8.
func (c *videoColumn) DType() tensor.DType { return tensor.Uint8 }

// Encoded is true: frames cost far more to decode than to copy.
func (c *videoColumn) Encoded() bool { return true }

// Access returns the abilities of windows. Abilities of the files do not apply.
func (c *videoColumn) Access() read.Access {
	a := c.Column.Access()
	out := read.Access{Origin: a.Origin, Info: a.Info, HType: "generic", Clips: true, Prefetch: c.prefetch, StoredBytes: a.StoredBytes}
	out.DecodeRun = c.videos.DecodeClips
	if c.Single {
		out.HType, out.DecodeROIs = "image.rgb", c.videos.DecodeROIs
	} else {
		out.DecodeFrames = c.videos.DecodeFrames
	}
	return out
}

// Resolve plans the frames of windows.
func (c *videoColumn) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	if err := c.of.check(rows); err != nil {
		return err
	}
	frames := make([]int64, len(c.away))
	for i, row := range rows {
		c.of.entries(row, c.away, frames, nil)
		ref := &refs[i]
		if err := c.videos.Clip(ctx, c.of.places.Rows[row], frames, ref); err != nil {
			return err
		}
		ref.Partial.Draw = clips.Draw(c.of.places.Frames[row])
		if c.Single {
			ref.Shape = ref.Shape[1:]
		}
	}
	return nil
}

// Decode decodes the frames of a window.
func (c *videoColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.videos.DecodeClip(ctx, ref, dst, w)
}

// Stored is refused: a window is not stored as such.
func (c *videoColumn) Stored(context.Context, *chunk.Ref, []byte, *chunk.Worker) error {
	return notStored()
}

func notStored() error {
	return errs.New(errs.Unsupported, "a window has no stored form; read the sample of its row from the dataset")
}

// prefetch returns the bytes of the frames of runs of windows.
func (c *videoColumn) prefetch(ctx context.Context, runs [][2]int64) ([]chunk.Span, error) {
	var out []chunk.Span
	var first error
	var refs [1]chunk.Ref
	for _, run := range runs {
		for row := run[0]; row < run[1]; row++ {
			if ctx.Err() != nil {
				return out, errs.Cause(ctx, "find frames")
			}
			if err := c.Resolve(ctx, []int64{row}, refs[:]); err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			out = refs[0].Spans(out)
		}
	}
	return out, first
}

// computed is a column of values that are stored nowhere.
type computed struct {
	read.Column // of the same rows
	of          *Source
	name        string
}

// Name returns the name of the tensor.
func (c *computed) Name() string { return c.name }

// Sequence is false.
func (c *computed) Sequence() bool { return false }

// Encoded is false.
func (c *computed) Encoded() bool { return false }

// Access returns no abilities: nothing is read.
func (c *computed) Access() read.Access { return read.Access{HType: "generic", Clips: true} }

// Decode copies the value that Resolve computed.
func (c *computed) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Decode(ctx, ref, dst, 0)
}

// Stored returns the same.
func (c *computed) Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return w.Stored(ctx, ref, dst)
}

// resolve fills refs with values, each of a shape. Errors name rows of the dataset.
func (c *computed) resolve(ctx context.Context, rows []int64, refs []chunk.Ref, shape tensor.Shape, value func(row int64) []byte) error {
	if err := c.of.check(rows); err != nil {
		return err
	}
	if err := c.Column.Resolve(ctx, rows, refs); err != nil {
		return err
	}
	for i, row := range rows {
		v := value(row)
		refs[i] = chunk.Ref{Row: refs[i].Row, Items: 1, Shape: shape, Size: int64(len(v)), Stored: int64(len(v)), Computed: v}
	}
	return nil
}

// padColumn says which entries of a tensor are padding: bools of shape (entries,).
type padColumn struct {
	computed
	*about
}

// Name returns the name of the tensor of padding.
func (c *padColumn) Name() string { return c.name }

// DType is bool.
func (c *padColumn) DType() tensor.DType { return tensor.Bool }

// Resolve computes the padding of windows.
func (c *padColumn) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	entries := make([]int64, len(c.away))
	return c.resolve(ctx, rows, refs, tensor.Shape{int64(len(c.away))}, func(row int64) []byte {
		pads := make([]byte, len(c.away))
		c.of.entries(row, c.away, entries, func(k int) { pads[k] = 1 })
		return pads
	})
}

// FrameIndex is the tensor of the frames of windows in their episodes, unless the dataset has one
// of this name.
const FrameIndex = "frame_index"

// frameColumn is the frames of windows in their episodes: int64 numbers.
type frameColumn struct{ computed }

// DType is int64.
func (c *frameColumn) DType() tensor.DType { return tensor.Int64 }

// Resolve looks up the frames.
func (c *frameColumn) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	return c.resolve(ctx, rows, refs, tensor.Shape{}, func(row int64) []byte {
		return binary.NativeEndian.AppendUint64(nil, uint64(c.of.places.Frames[row]))
	})
}
