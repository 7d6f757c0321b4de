package windows

import (
	"context"
	"math"

	"deeplake/core/chunk"
	"deeplake/core/clips"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/loader"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/video"
)

// Places are windows: of each the row of its episode, its frame, and the frames of the episode.
type Places struct {
	Rows, Frames, Lengths []int64
}

// Videos are the readers of the tensors of videos that windows have.
type Videos map[string]*video.Reader

// OpenVideos opens a reader for each tensor of videos among some. The caller closes it.
func OpenVideos(src loader.Source, names []string, open func(name string) (*video.Reader, error)) (Videos, error) {
	out := Videos{}
	for _, name := range names {
		col, err := src.Column(name)
		if err != nil {
			out.Close()
			return nil, errs.Wrap(errs.NotFound, "make windows of", name, err)
		}
		h, err := tensor.ParseHType(col.Access().HType)
		if err != nil || !h.IsVideo() {
			continue
		}
		r, err := open(name)
		if err != nil {
			out.Close()
			return nil, err
		}
		out[name] = r
	}
	return out, nil
}

// Names lists the tensors that the options name.
func (o *Options) Names() []string {
	out := make([]string, len(o.Tensors))
	for i, t := range o.Tensors {
		out[i] = t.Name
	}
	return out
}

// Close closes all readers.
func (v Videos) Close() {
	for _, r := range v {
		r.Close()
	}
}

// rowsAtOnce is the number of rows whose shapes are looked up together.
const rowsAtOnce = 1024

// Place returns the windows of all rows of a source. A row in which all tensors of windows are
// missing has none. It reads index pages and the tables of videos.
//
// Tensors of different lengths in a row, a video with fewer frames, and one whose frames are not
// shown at the times of FPS, are errs.Invalid.
func Place(ctx context.Context, src loader.Source, videos Videos, o Options) (*Places, error) {
	if err := o.check(src.Names()); err != nil {
		return nil, err
	}
	if err := o.prepare(ctx, src, videos); err != nil {
		return nil, err
	}
	out := &Places{}
	var rows []int64
	lengths := make([][]int64, len(o.Tensors)) // of the rows, by tensor; -1: the row has none
	for from := int64(0); from < src.Len(); from += rowsAtOnce {
		rows = rows[:0]
		for row := from; row < min(from+rowsAtOnce, src.Len()); row++ {
			rows = append(rows, row)
		}
		for k, t := range o.Tensors {
			var err error
			if lengths[k], err = lengthsOf(ctx, src, videos[t.Name], t, rows); err != nil {
				return nil, err
			}
		}
		for i, row := range rows {
			n, err := o.length(ctx, videos, row, func(tensor int) int64 { return lengths[tensor][i] })
			if err != nil {
				return nil, err
			}
			if err := out.add(row, n, o.Step); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// prepare reads the tables of the videos, and the index pages of all tensors of the source, side by
// side: on a store each takes requests that wait for each other. Errors of pages recur where the
// pages are needed.
func (o *Options) prepare(ctx context.Context, src loader.Source, videos Videos) error {
	g := task.New(ctx, preparedAtOnce)
	for _, r := range videos {
		g.Go(func(ctx context.Context) error { return clips.KeepTables(ctx, src, r) })
	}
	if src.Remote() && src.Len() > 0 {
		for _, name := range src.Names() {
			g.Go(func(ctx context.Context) error {
				col, err := src.Column(name)
				if err != nil {
					return err
				}
				if ahead := col.Access().Prefetch; ahead != nil {
					_, _ = ahead(ctx, [][2]int64{{0, min(src.Len(), rowsAtOnce)}})
				}
				return nil
			})
		}
	}
	return g.Wait()
}

// preparedAtOnce bounds the tensors that are prepared side by side.
const preparedAtOnce = 32

// add appends the windows of an episode with n frames.
func (p *Places) add(row, n, step int64) error {
	if more := (n + step - 1) / step; more > maxWindows-int64(len(p.Rows)) {
		return errs.Op("make windows", "").New(errs.Invalid, "row %d has %d windows, and a view at most %d; leave the row out, or take a larger step", row, more, maxWindows)
	}
	for frame := int64(0); frame < n; frame += step {
		p.Rows, p.Frames, p.Lengths = append(p.Rows, row), append(p.Frames, frame), append(p.Lengths, n)
	}
	return nil
}

// lengthsOf returns the number of entries of a tensor in rows; -1: a row has none.
func lengthsOf(ctx context.Context, src loader.Source, v *video.Reader, t Tensor, rows []int64) ([]int64, error) {
	name := t.Name
	out := make([]int64, len(rows))
	if v != nil {
		for i, row := range rows {
			info, err := v.Info(ctx, row)
			switch {
			case errs.Is(err, errs.NotFound):
				out[i] = -1
			case err != nil:
				return nil, err
			default:
				out[i] = int64(info.Frames)
			}
		}
		return out, nil
	}
	col, err := src.Column(name)
	if err != nil {
		return nil, err
	}
	if !col.DType().Fixed() && !(col.Sequence() && t.Single) {
		return nil, errs.Op("make windows of", name).New(errs.Type, "its samples are %s, and windows are of arrays, sequences of arrays, and videos; give a single time of a sequence, or leave it out, and the window has the value of its row", col.DType())
	}
	refs := make([]chunk.Ref, len(rows))
	if err := col.Resolve(ctx, rows, refs); err != nil {
		return nil, err
	}
	for i := range refs {
		if out[i], err = entriesOf(col, &refs[i]); err != nil {
			return nil, errs.New(errs.KindOf(err), "make windows of %q, row %d: %w", name, rows[i], err)
		}
	}
	return out, nil
}

// entriesOf returns the number of entries of a sample; -1: the row has none.
func entriesOf(col read.Column, ref *chunk.Ref) (int64, error) {
	switch {
	case ref.Hole():
		return -1, nil
	case col.Sequence():
		return ref.Items, nil
	case len(ref.Shape) == 0:
		return 0, errs.New(errs.Type, "the sample is a single number, want an array with an entry for each frame")
	}
	return ref.Shape[0], nil
}

// length returns the number of frames of a row: the entries of its arrays, which agree, or the
// frames of the video that has fewest.
func (o *Options) length(ctx context.Context, videos Videos, row int64, of func(tensor int) int64) (int64, error) {
	n, from, missing := int64(-1), "", ""
	for k, t := range o.Tensors {
		length := of(k)
		switch {
		case length < 0:
			missing = t.Name
		case videos[t.Name] != nil:
		case n >= 0 && n != length:
			return 0, errs.Op("make windows of", t.Name).New(errs.Invalid, "row %d has %d entries, and %d in %q; want one for each frame", row, length, n, from)
		default:
			n, from = length, t.Name
		}
	}
	arrays := n >= 0
	for k, t := range o.Tensors {
		if length := of(k); videos[t.Name] != nil && length >= 0 && !arrays && (n < 0 || length < n) {
			n, from = length, t.Name
		}
	}
	if n < 0 {
		return 0, nil // the row has none of the tensors
	}
	if missing != "" {
		return 0, errs.Op("make windows of", missing).New(errs.Invalid, "row %d has no sample, and %d entries in %q; leave the row out by a query", row, n, from)
	}
	for k, t := range o.Tensors {
		if v := videos[t.Name]; v != nil {
			if length := of(k); length < n {
				return 0, errs.Op("make windows of", t.Name).New(errs.Invalid, "the video of row %d has %d frames, and %q has %d entries", row, length, from, n)
			}
			if err := o.checkTimes(ctx, v, t.Name, row, of(k), n); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// checkTimes refuses a video of which one of the first n frames is not shown at its time.
func (o *Options) checkTimes(ctx context.Context, v *video.Reader, name string, row, all, n int64) error {
	times := make([]float64, all)
	if err := v.Times(ctx, row, times); err != nil {
		return err
	}
	for i, t := range times[:n] {
		if off := math.Abs(t - times[0] - float64(i)/o.FPS); off > o.Tolerance+clock {
			return errs.Op("make windows of", name).New(errs.Invalid, "frame %d of the video of row %d is shown %.6f s from its time at %v frames a second; give its own fps, or a larger tolerance than %v s",
				i, row, off, o.FPS, o.Tolerance)
		}
	}
	return nil
}

// clock makes up for the rounding of floating-point numbers.
const clock = 1e-9
