package dataset

import (
	"context"
	"fmt"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/area"
	"deeplake/core/internal/task"
	"deeplake/core/media"
	"deeplake/core/read"
	"deeplake/core/storage"
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

// derived is a tensor that is written with the one that it is made of.
type derived struct {
	ct    *columnType
	above int // the derived tensor that it is made of; -1: the tensor
}

// madeFrom lists the tensors that are made of a tensor. Each stands behind the one that it is made
// of.
func (w *writer) madeFrom(id format.UUID) []derived {
	var out []derived
	for _, ct := range w.made[id] {
		out = append(out, derived{ct, -1})
	}
	for i := 0; i < len(out); i++ {
		for _, ct := range w.made[out[i].ct.schema.ID] {
			out = append(out, derived{ct, i})
		}
	}
	return out
}

// isNotMade refuses to change a tensor without the one that it is made of.
func (w *writer) isNotMade(verb, name string) error {
	if ct := w.types[name]; ct != nil && !ct.schema.MadeOf().IsZero() {
		return errs.New(errs.Invalid, "%s tensor %q: it is made of another one; %s that", verb, name, verb)
	}
	return nil
}

// renameMade gives the tensors that are made of others the names that follow from those.
func (w *writer) renameMade() error {
	schema := w.txn.Schema()
	names := map[string]string{}
	for i := range schema.Tensors {
		of := &schema.Tensors[i]
		if !of.MadeOf().IsZero() {
			continue
		}
		if tables := tablesOf(schema, of); tables != "" && tables != tablesName(of.Name) {
			names[tables] = tablesName(of.Name)
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
		levels := w.madeFrom(c.ct.schema.ID)
		if len(levels) == 0 || levels[0].ct.schema.Reduces == nil {
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
func (w *writer) reduce(c *checked, i int64, levels []derived, made []*checked) error {
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

// tablesName returns the name of the tensor with the tables of a tensor of videos.
func tablesName(name string) string { return "_" + name + "_frames" }

// newTables makes the schema of the tensor with the tables of a new tensor of videos; nil: the
// tensor has none.
func newTables(of *format.TensorSchema) ([]format.TensorSchema, error) {
	if h, err := tensor.ParseHType(of.HType); err != nil || !h.IsVideo() {
		return nil, err
	}
	t := *of
	t.ID, t.Name, t.HType, t.DType = format.NewUUID(), tablesName(of.Name), "generic", tensor.Bytes.String()
	t.Compression, t.ChunkBytes, t.Info, t.FramesOf = "zstd", format.DefaultChunk, map[string]any{}, of.ID
	if len(t.Name) > format.MaxTensorNameLen {
		return nil, errs.New(errs.Invalid, "the name of its tables %q has %d bytes, want at most %d", t.Name, len(t.Name), format.MaxTensorNameLen)
	}
	return []format.TensorSchema{t}, nil
}

// newMade makes the schemas of the tensors that are made of a new one: levels, of which downsample
// is the factor and the number, and tables.
func newMade(of *format.TensorSchema, downsample []int64) ([]format.TensorSchema, error) {
	levels, err := newLevels(of, downsample)
	if err != nil {
		return nil, err
	}
	tables, err := newTables(of)
	return append(levels, tables...), err
}

// withMade adds the columns of the tensors that are made of those of checked columns.
func (w *writer) withMade(ctx context.Context, columns []*checked, rows int64) ([]*checked, error) {
	columns, err := w.withLevels(ctx, columns, rows)
	if err != nil {
		return nil, err
	}
	return w.withTables(ctx, columns, rows)
}

// tablesOf returns the name of the tensor with the tables of a tensor of videos; "": it has none.
func tablesOf(s *format.Schema, of *format.TensorSchema) string {
	for i := range s.Tensors {
		if s.Tensors[i].FramesOf == of.ID {
			return s.Tensors[i].Name
		}
	}
	return ""
}

// withTables adds the columns of tables to checked columns. All files are looked at before anything
// is written, because a file that is no video must be refused.
func (w *writer) withTables(ctx context.Context, columns []*checked, rows int64) ([]*checked, error) {
	out := columns
	for _, c := range columns {
		for _, ct := range w.made[c.ct.schema.ID] {
			if ct.schema.FramesOf.IsZero() {
				continue
			}
			made := &checked{ct: ct, check: newChecker(ct, w.d.env.Codecs), samples: make([]tensor.Sample, rows)}
			g := task.New(ctx, atOnce(c.samples))
			for i := range rows {
				g.Go(func(ctx context.Context) (err error) {
					if made.samples[i], err = w.table(ctx, &c.samples[i]); err != nil {
						return errs.New(errs.KindOf(err), "tensor %q, row %d: %w", c.ct.schema.Name, i, err)
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				return nil, err
			}
			out = append(out[:len(out):len(out)], made)
		}
	}
	return out, nil
}

// atOnce returns how many files are looked at together. Linked ones take requests to a store.
func atOnce(samples []tensor.Sample) int {
	if slices.ContainsFunc(samples, func(s tensor.Sample) bool { return s.Form == tensor.FormLink }) {
		return looksInFlight
	}
	return task.Cores()
}

// table makes the sample of the tables of a video.
func (w *writer) table(ctx context.Context, s *tensor.Sample) (tensor.Sample, error) {
	if s.Form == tensor.FormHole {
		return *s, nil
	}
	var none tensor.Sample
	var file media.Reader = media.Bytes(s.Data)
	size := int64(len(s.Data))
	if l := s.Link; s.Form == tensor.FormLink {
		size, file = int64(len(l.Head))+l.Length, &linkedFile{w.d.links, format.Link{URL: l.URL, Tag: l.Tag, Size: l.Size, Offset: l.Offset, Head: l.Head}}
	}
	v, isKnown := s.Tables.(*media.Video)
	if !isKnown {
		var err error
		if v, err = w.d.env.Containers.Index(ctx, file, size); err != nil {
			return none, err
		}
	}
	t := &format.VideoTable{Video: v, Bytes: size}
	if s.Form != tensor.FormLink {
		t = format.NewVideoTable(v, s.Data)
	}
	data, err := format.EncodeVideo(t)
	return tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: data}, err
}

// linkedFile is the file of a link.
type linkedFile struct {
	links *linkSources
	link  format.Link
}

// ReadAt reads bytes of the file, if it is the one that was linked.
func (f *linkedFile) ReadAt(ctx context.Context, dst []byte, off int64) error {
	l := f.link
	if head := int64(len(l.Head)); off < head {
		dst = dst[copy(dst, l.Head[off:]):]
		off = head
	}
	l.Offset, l.Length = l.Offset+off-int64(len(l.Head)), int64(len(dst))
	if len(dst) == 0 {
		return nil
	}
	return f.links.ReadLink(ctx, l, dst)
}

// settleVideos completes links to files of video that the user has named, from a look at each.
func (p *linkSources) settleVideos(ctx context.Context, samples []tensor.Sample, rowOf func(int) int) ([]tensor.Sample, error) {
	out := slices.Clone(samples)
	g := task.New(ctx, looksInFlight)
	for i := range out {
		s := &out[i]
		if s.Form != tensor.FormLink || s.Link == nil || s.Tables != nil {
			continue
		}
		g.Go(func(ctx context.Context) error {
			l := *s.Link
			err := p.name(l.URL)
			if err == nil {
				err = p.measure(ctx, &l)
			}
			if err == nil && l.Part != nil {
				s.Tables, err = p.cut(ctx, &l)
			}
			if err != nil {
				return errs.New(errs.KindOf(err), "row %d: %w", rowOf(i), err)
			}
			s.Link, s.DType, s.Data = &l, tensor.Bytes, nil
			return nil
		})
	}
	return out, g.Wait()
}

// cut makes a link to a part of a file, by time, and returns the tables of that.
func (p *linkSources) cut(ctx context.Context, l *tensor.Link) (tables any, err error) {
	if p.env.Parts == nil {
		return nil, errs.New(errs.Unsupported, "this program cuts no videos")
	}
	at := format.Link{URL: l.URL, Tag: l.Tag, Size: l.Size, Offset: l.Offset, Length: l.Length}
	name := fmt.Sprintf("%q %d %d %d %s", l.Tag, l.Size, l.Offset, l.Length, l.URL)
	part, err := p.env.Parts.Part(ctx, name, &linkedFile{p, at}, l.Length, l.Part.Begin, l.Part.End)
	if err != nil {
		to := "the end"
		if l.Part.End > 0 {
			to = fmt.Sprint(l.Part.End, " s")
		}
		return nil, errs.Op("link", storage.RedactURL(l.URL)).New(errs.KindOf(err), "the part from %v s to %s: %w", l.Part.Begin, to, err)
	}
	l.Offset, l.Length, l.Head, l.Part = l.Offset+part.Offset, part.Bytes, part.Head, nil
	return part.Tables, nil
}

// measure completes a link with the size and the tag of its object.
func (p *linkSources) measure(ctx context.Context, l *tensor.Link) error {
	s, key, err := p.source(ctx, l.URL)
	if err == nil {
		_, err = head(ctx, s, key, l, media.HeadBytes)
	}
	return errs.Wrap(errs.Storage, "link", storage.RedactURL(l.URL), err)
}
