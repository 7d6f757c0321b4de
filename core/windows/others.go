package windows

import (
	"context"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/loader"
)

// Others lists the tensors of a source, besides those of the options, that have an entry for each
// frame in the first, the middle and the last row. It reads index pages and tables of videos.
func Others(ctx context.Context, src loader.Source, videos Videos, o Options) ([]string, error) {
	n := src.Len()
	named := func(name string) bool {
		return slices.ContainsFunc(o.Tensors, func(t Tensor) bool { return t.Name == name })
	}
	if n == 0 || len(o.Tensors) == 0 {
		return nil, nil
	}
	if err := o.prepare(ctx, src, videos); err != nil {
		return nil, err
	}
	rows := slices.Compact([]int64{0, n / 2, n - 1})
	frames, err := o.framesOf(ctx, src, videos, rows)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range src.Names() {
		if named(name) {
			continue
		}
		lengths, err := lengthsOf(ctx, src, videos[name], Tensor{Name: name, Single: true}, rows)
		if errs.Is(err, errs.Type) { // a text of the episode, or a number
			continue
		}
		if err != nil {
			return nil, err
		}
		isLonger := func(has, wanted int64) bool { return has >= wanted }
		if slices.Equal(lengths, frames) || videos[name] != nil && slices.EqualFunc(lengths, frames, isLonger) {
			out = append(out, name) // further frames of a video are not used
		}
	}
	return out, nil
}

// framesOf returns the frames of rows: the entries of the first array that is named, else the
// frames of the first video.
func (o *Options) framesOf(ctx context.Context, src loader.Source, videos Videos, rows []int64) ([]int64, error) {
	of := o.Tensors[0]
	for _, t := range o.Tensors {
		if videos[t.Name] == nil {
			of = t
			break
		}
	}
	return lengthsOf(ctx, src, videos[of.Name], of, rows)
}
