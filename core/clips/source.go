package clips

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/video"
)

// Source is the rows of clips. Its videos are arrays (frames, height, width, 3), or pictures
// (height, width, 3) of single frames. All methods may be called in parallel.
type Source struct {
	loader.Source // the row of the video of each clip

	videos *video.Reader // of rows that are each in it once
	o      Options
	rows   []int64 // of videos, for each clip
	starts []int64 // the first position of each clip
	bytes  atomic.Int64
}

// Over makes a source of clips, as Place returned them. videos reads the rows that were placed. all
// has the row of each clip: row i is rows[i] of videos. The caller closes videos behind the source.
func Over(all loader.Source, videos *video.Reader, o Options, rows, starts []int64) (*Source, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(rows) != len(starts) || int64(len(rows)) != all.Len() {
		return nil, errs.Op("make clips of", o.Tensor).New(errs.Invalid, "%d rows and %d positions for %d clips", len(rows), len(starts), all.Len())
	}
	if !slices.Contains(all.Names(), o.Tensor) {
		return nil, errs.Op("make clips of", o.Tensor).New(errs.NotFound, "there is no tensor of this name")
	}
	return &Source{Source: all, videos: videos, o: o, rows: rows, starts: starts}, nil
}

// Column returns the clips, or another tensor of their rows.
func (s *Source) Column(name string) (read.Column, error) {
	col, err := s.Source.Column(name)
	if err != nil || name != s.o.Tensor {
		return col, err
	}
	return &column{Column: col, of: s}, nil
}

// sampled is the number of clips that StoredBytes looks at.
const sampled = 64

// StoredBytes estimates the bytes that all clips take, from some of them, and those of the other
// tensors.
func (s *Source) StoredBytes(ctx context.Context) (int64, error) {
	if n := s.bytes.Load(); n > 0 {
		return n, nil
	}
	total := int64(0)
	for _, name := range s.Names() {
		if name == s.o.Tensor {
			continue
		}
		col, err := s.Source.Column(name)
		if err != nil {
			return 0, err
		}
		total += col.Access().StoredBytes
	}
	n, sum := s.Len(), int64(0)
	some := min(n, sampled)
	for i := range some {
		var ref chunk.Ref
		if err := s.clip(ctx, i*n/some, epoch{}, &ref); err != nil {
			return 0, err
		}
		sum += ref.Stored
	}
	if some > 0 {
		total += int64(float64(sum) / float64(some) * float64(n))
	}
	s.bytes.Store(max(total, 1))
	return max(total, 1), nil
}

// Identity names the clips beside the rows.
func (s *Source) Identity() (dataset, commit, selection string, err error) {
	if dataset, commit, selection, err = s.Source.Identity(); err != nil {
		return "", "", "", err
	}
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(s.o)
	_ = binary.Write(h, binary.LittleEndian, s.rows)
	_ = binary.Write(h, binary.LittleEndian, s.starts)
	return dataset, commit, fmt.Sprintf("%s clips %s", selection, hex.EncodeToString(h.Sum(nil)[:16])), nil
}

// clip fills ref for clip i, as an epoch shows it.
func (s *Source) clip(ctx context.Context, i int64, in epoch, ref *chunk.Ref) error {
	if i < 0 || i >= int64(len(s.rows)) {
		return errs.New(errs.Range, "clip %d is out of range, there are %d", i, len(s.rows))
	}
	info, err := s.videos.Info(ctx, s.rows[i])
	if err != nil {
		return err
	}
	start := s.starts[i]
	if s.o.Windows == Random && in.number != 0 {
		start = s.o.draw(in, i, s.o.positions(info))
	}
	frames, err := s.frames(ctx, info, s.rows[i], start)
	if err != nil {
		return err
	}
	if err := s.videos.Clip(ctx, s.rows[i], frames, ref); err != nil {
		return err
	}
	ref.Partial.Draw = Draw(start)
	if s.o.Frames {
		ref.Shape = ref.Shape[1:]
	}
	return nil
}

// time returns when a position is shown. Files with a clock of milliseconds round times to it, so
// that frames begin up to half a tick late.
func (o *Options) time(v video.Info, position int64) float64 {
	const fine = 1000 // ticks a second from which half of one is no part of a frame that counts
	t := v.Begin + float64(position)/o.FPS
	if late := t + 0.5/float64(v.Ticks); v.Ticks >= fine && late < v.Duration {
		return late
	}
	return t
}

// drawStep spreads the positions of a video over the numbers of rows, so that its clips have draws
// of their own: the golden ratio of 2^63.
const drawStep = 0x4f1bbcdcbfa53e0b

// Draw returns the number by which the random draws of a part of a sample differ from those of
// others: that of the part that begins at a frame.
func Draw(frame int64) int64 { return (frame + 1) * drawStep }

// frames returns the frames of the clip that begins at a position of a video.
func (s *Source) frames(ctx context.Context, info video.Info, row, start int64) ([]int64, error) {
	n := s.o.positions(info)
	if start < 0 || start >= n {
		return nil, errs.New(errs.Range, "a clip begins at position %d, the video has %d", start, n)
	}
	out := make([]int64, s.o.Length)
	times := make([]float64, 0, s.o.Length)
	for k := range out {
		out[k] = min(start+int64(k)*s.o.Stride, n-1)
		if s.o.FPS > 0 {
			times = append(times, s.o.time(info, out[k]))
		}
	}
	if s.o.FPS > 0 {
		return out, s.videos.At(ctx, row, times, out)
	}
	return out, nil
}

// column is the clips as a column.
type column struct {
	read.Column
	of *Source
	in epoch
}

// epoch is a pass over the clips. The first one has the clips as they were placed. Each
// later one draws random clips again.
type epoch struct {
	seed   uint64
	number int64
}

// DType is uint8.
func (c *column) DType() tensor.DType { return tensor.Uint8 }

// Encoded is true: frames cost far more to decode than to copy.
func (c *column) Encoded() bool { return true }

// Access returns the abilities of clips. Abilities of the files do not apply.
func (c *column) Access() read.Access {
	a := c.Column.Access()
	out := read.Access{Origin: a.Origin, Info: a.Info, HType: "generic", Clips: true, Prefetch: c.prefetch}
	out.DecodeRun = c.of.videos.DecodeClips
	if c.of.o.Frames {
		out.HType, out.DecodeROIs = "image.rgb", c.of.videos.DecodeROIs
	} else {
		out.DecodeFrames = c.of.videos.DecodeFrames
	}
	if c.of.o.Windows == Random {
		out.Epoch = func(seed uint64, number int64) read.Column {
			return &column{Column: c.Column, of: c.of, in: epoch{seed, number}}
		}
	}
	if n := c.of.bytes.Load(); n > 0 {
		out.StoredBytes = n
	} else {
		out.StoredBytes = a.StoredBytes
	}
	return out
}

// Resolve plans the clips of rows.
func (c *column) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	for i, row := range rows {
		if err := c.of.clip(ctx, row, c.in, &refs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Decode decodes the frames of a clip.
func (c *column) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.of.videos.DecodeClip(ctx, ref, dst, w)
}

// Stored is refused: a clip is not stored as such.
func (c *column) Stored(context.Context, *chunk.Ref, []byte, *chunk.Worker) error {
	return errs.New(errs.Unsupported, "a clip has no stored form; read the bytes of its video from the dataset")
}

// prefetch returns the bytes of the clips of runs of rows.
func (c *column) prefetch(ctx context.Context, runs [][2]int64) ([]chunk.Span, error) {
	var out []chunk.Span
	var first error
	for _, run := range runs {
		for row := run[0]; row < run[1]; row++ {
			if ctx.Err() != nil {
				return out, errs.Cause(ctx, "find clips")
			}
			var ref chunk.Ref
			if err := c.of.clip(ctx, row, c.in, &ref); err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			out = ref.Spans(out)
		}
	}
	return out, first
}
