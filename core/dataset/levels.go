package dataset

import (
	"context"
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/area"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// maxLevels bounds the levels of a tensor: 2 to that power is longer than any picture.
const maxLevels = 16

// levelName returns the name of a level of a tensor. Rows are read by the name of the tensor, so
// that a level may follow it when it is renamed.
func levelName(name string, factor int64) string {
	return fmt.Sprintf("_%s_downsampled_%d", name, factor)
}

// newLevels makes the schemas of the levels of a new tensor. how is a factor and how many levels;
// nil: none.
func newLevels(of *format.TensorSchema, how []int64) ([]format.TensorSchema, error) {
	if how == nil {
		return nil, nil
	}
	if len(how) != 2 || how[0] < format.MinFactor || how[0] > format.MaxFactor || how[1] < 1 || how[1] > maxLevels {
		return nil, errs.New(errs.Invalid, "downsample is %v, want (factor, layers): a factor of %d to %d and 1 to %d layers", how, format.MinFactor, format.MaxFactor, maxLevels)
	}
	h, err := tensor.ParseHType(of.HType)
	if err != nil {
		return nil, err
	}
	if d := of.DType; !h.IsImage() || h.List() || d != tensor.Uint8.String() && d != tensor.Uint16.String() {
		return nil, errs.New(errs.Invalid, "downsample is for images of uint8 or uint16, the tensor has htype %s and dtype %q", h, d)
	}
	var out []format.TensorSchema
	above, factor := of.ID, int64(1)
	for range how[1] {
		if factor *= how[0]; factor > 1<<30 {
			return nil, errs.New(errs.Invalid, "downsample is %v: the last level would be smaller by %d; want fewer layers", how, factor)
		}
		l := *of
		l.ID, l.Name, l.Info = format.NewUUID(), levelName(of.Name, factor), map[string]any{}
		if len(l.Name) > format.MaxTensorNameLen {
			return nil, errs.New(errs.Invalid, "the name of its level %q has %d bytes, want at most %d", l.Name, len(l.Name), format.MaxTensorNameLen)
		}
		l.Shape = h.Shape()
		if of.Shape != nil {
			l.Shape[2] = of.Shape[2]
		}
		l.Reduces = &format.Reduction{Tensor: above, Factor: how[0]}
		above = l.ID
		out = append(out, l)
	}
	return out, nil
}

// levelsOf lists the levels of a tensor, the largest first: one of each size.
func levelsOf(s *format.Schema, of *format.TensorSchema) []read.Level {
	var out []read.Level
	above, factor := of.ID, int64(1)
	for range maxLevels {
		found := false
		for i := range s.Tensors {
			ts := &s.Tensors[i]
			if ts.Reduces == nil || ts.Reduces.Tensor != above {
				continue
			}
			above, factor, found = ts.ID, factor*ts.Reduces.Factor, true
			out = append(out, read.Level{Name: ts.Name, Factor: factor})
			break
		}
		if !found || factor > 1<<30 {
			break
		}
	}
	return out
}

// downsampleOf returns the factor and the number of levels of a tensor; nil: it has none.
func downsampleOf(s *format.Schema, of *format.TensorSchema) []int64 {
	levels := levelsOf(s, of)
	if len(levels) == 0 {
		return nil
	}
	return []int64{levels[0].Factor, int64(len(levels))}
}

// sameLevels refuses exist_ok for a tensor with other levels.
func sameLevels(s *format.Schema, old *format.TensorSchema, how []int64) error {
	if has := downsampleOf(s, old); how != nil && fmt.Sprint(has) != fmt.Sprint(how) {
		return errs.Op("create tensor", old.Name).New(errs.Exists, "it exists with downsample %v, not %v", has, how)
	}
	return nil
}

// level is a level of a tensor that is being written.
type level struct {
	ct    *columnType
	above int // the level that it is made of; -1: the tensor
}

// levelsBelow lists the levels of a tensor. Each stands behind the level that it is made of.
func (w *writer) levelsBelow(id format.UUID) []level {
	var out []level
	for _, ct := range w.levels[id] {
		out = append(out, level{ct, -1})
	}
	for i := 0; i < len(out); i++ {
		for _, ct := range w.levels[out[i].ct.schema.ID] {
			out = append(out, level{ct, i})
		}
	}
	return out
}

// isNoLevel refuses to change a level without its tensor.
func (w *writer) isNoLevel(verb, name string) error {
	if ct := w.types[name]; ct != nil && ct.schema.Reduces != nil {
		return errs.New(errs.Invalid, "%s tensor %q: it is a level of another one; %s that", verb, name, verb)
	}
	return nil
}

// renameLevels gives levels the names that follow from those of their tensors.
func (w *writer) renameLevels() error {
	schema := w.txn.Schema()
	names := map[string]string{}
	for i := range schema.Tensors {
		of := &schema.Tensors[i]
		if of.Reduces != nil {
			continue
		}
		for _, l := range levelsOf(schema, of) {
			if name := levelName(of.Name, l.Factor); name != l.Name {
				names[l.Name] = name
			}
		}
	}
	for old, name := range names {
		if err := w.txn.RenameTensor(old, name); err != nil {
			return err
		}
	}
	return nil
}

// withLevels adds the columns of levels to checked columns. All pictures are made smaller before
// anything is written, because a damaged file must be refused.
func (w *writer) withLevels(ctx context.Context, columns []*checked, rows int64) ([]*checked, error) {
	out := columns
	for _, c := range columns {
		levels := w.levelsBelow(c.ct.schema.ID)
		if len(levels) == 0 {
			continue
		}
		made := make([]*checked, len(levels))
		for i, l := range levels {
			made[i] = &checked{ct: l.ct, check: newChecker(l.ct, w.d.env.Codecs), samples: make([]tensor.Sample, rows)}
		}
		g := task.New(ctx, task.Cores())
		for i := range rows {
			g.Go(func(ctx context.Context) error {
				if ctx.Err() != nil {
					return errs.Cause(ctx, "downsample")
				}
				if err := w.reduce(c, i, levels, made); err != nil {
					return errs.New(errs.KindOf(err), "tensor %q, row %d: %w", c.ct.schema.Name, i, err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		out = append(out[:len(out):len(out)], made...)
	}
	return out, nil
}

// reduce makes sample i of all levels of a tensor.
func (w *writer) reduce(c *checked, i int64, levels []level, made []*checked) error {
	var base tensor.Sample
	if c.array != nil {
		base = tensor.Sample{Form: tensor.FormArray, DType: c.array.DType, Shape: c.array.Shape, Data: c.array.Data[i*c.itemLen:][:c.itemLen]}
	} else {
		base = c.samples[i]
	}
	switch base.Form {
	case tensor.FormHole:
		for _, m := range made {
			m.samples[i] = base
		}
		return nil
	case tensor.FormLink:
		return errs.New(errs.Unsupported, "a tensor with downsample stores no links; read the file and append its bytes")
	case tensor.FormEncoded:
		pix, err := decodeFile(w.d.env.Codecs, &base, c.ct.channels)
		if err != nil {
			return err
		}
		base.Form, base.Data = tensor.FormArray, pix
	}
	pixels := make([]tensor.Sample, len(levels))
	for k, l := range levels {
		from := &base
		if l.above >= 0 {
			from = &pixels[l.above]
		}
		pixels[k] = smaller(from, l.ct.schema.Reduces.Factor)
		s := pixels[k]
		if ct := l.ct; ct.sampleCodec != nil && !ct.tiles(int64(len(s.Data))) {
			file, err := ct.sampleCodec.Encode(nil, s.Data, s.DType, s.Shape, ct.options())
			if err != nil {
				return err
			}
			s.Form, s.Data = tensor.FormEncoded, file
		}
		made[k].samples[i] = s
	}
	return nil
}

// smaller returns a picture with each side divided by factor, rounded up. Each pixel is the average
// of its area.
func smaller(s *tensor.Sample, factor int64) tensor.Sample {
	out := *s
	out.Shape = s.Shape.Clone()
	out.Shape[0], out.Shape[1] = (s.Shape[0]+factor-1)/factor, (s.Shape[1]+factor-1)/factor
	channels, size := 1, s.DType.Size()
	for _, n := range s.Shape[2:] {
		channels *= int(n)
	}
	out.Data = make([]byte, int(out.Shape[0])*int(out.Shape[1])*channels*size)
	if len(out.Data) > 0 {
		area.Reduce(out.Data, s.Data, int(s.Shape[0]), int(s.Shape[1]), int(out.Shape[0]), int(out.Shape[1]), channels, size)
	}
	return out
}
