package export

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/video"
)

// kind distinguishes the samples of tensors.
type kind uint8

const (
	isNumbers kind = iota
	isImage        // files, or arrays that become PNG files
	isText
	isJSON
	isBytes
	isVideo // files
	isLabel // numbers of classes
)

// column is a tensor that is written.
type column struct {
	read.Column
	of    *dataset.TensorDescription
	htype tensor.HType
	kind  kind
	list  bool // a row is a list of samples
	dtype tensor.DType
	// only the shapes of samples are wanted
	headsOnly bool
	// files become arrays of pixels
	decoded bool
	// of videos that the layout writes piece by piece; nil: batches have them
	videos *video.Reader
}

// scalar reports whether samples are single numbers.
func (c *column) scalar() bool {
	isPoint := func(s tensor.Shape) bool { return s != nil && len(s) == 0 }
	return !c.list && (isPoint(c.of.Shape) || isPoint(c.of.MinShape) && isPoint(c.of.MaxShape))
}

// newColumn describes a tensor of the view.
func (e *exporter) newColumn(d *dataset.TensorDescription) (*column, error) {
	from, err := e.view.Column(d.Name)
	if err != nil {
		return nil, err
	}
	c := &column{Column: from, of: d, list: from.Sequence(), dtype: from.DType()}
	if c.htype, err = tensor.ParseHType(d.HType); err != nil {
		return nil, err
	}
	switch {
	case from.Encoded() || c.htype.IsImage() && e.fitsPNG(c.dtype):
		c.kind = isImage
	case c.dtype == tensor.String:
		c.kind = isText
	case c.dtype == tensor.JSON:
		c.kind = isJSON
	case c.htype.IsVideo():
		c.kind = isVideo
	case c.dtype == tensor.Bytes:
		c.kind = isBytes
	case c.htype.Base == "class_label" && c.dtype.IsInteger():
		c.kind = isLabel
	}
	return c, nil
}

// value is the sample of a row, or its list of samples.
type value struct {
	tensor.Sample
	items     []tensor.Sample // of a list
	extension string          // of the file of a picture
	hole      bool
	apart     int64 // bytes of a video that is not read with the batch; 0: it is in Data
}

// batch is some rows of a part.
type batch struct {
	rows    []int64   // of the view
	from    int64     // the first one, counted in the split
	columns [][]value // by column and row
}

// Bounds of a batch: bytes as they are decoded, and rows.
const (
	batchBytes = 16 << 20
	batchRows  = 2048
	jobRows    = 32 // that a worker reads at once
)

// batches calls fn with the rows of a part in order. The next batch is read while fn has one. Rows
// count as progress while the files of the part are written.
func (e *exporter) batches(ctx context.Context, p *part, columns []*column, fn func(b *batch) error) error {
	next, err := e.batch(ctx, p, 0, columns)
	for at := int64(0); err == nil && next != nil; {
		now := next
		at += int64(len(now.rows))
		g := task.New(ctx, 0)
		g.Go(func(ctx context.Context) (err error) {
			next, err = e.batch(ctx, p, at, columns)
			return err
		})
		if err = fn(now); err != nil {
			g.Stop()
		}
		if failed := g.Wait(); err == nil {
			err = failed
		}
		if err == nil && p.written != nil {
			e.wrote(int64(len(now.rows)))
		}
	}
	return err
}

// batch reads the rows behind at of a part, nil if there are none.
func (e *exporter) batch(ctx context.Context, p *part, at int64, columns []*column) (*batch, error) {
	n := min(p.n-at, batchRows)
	if n <= 0 {
		return nil, nil
	}
	b := &batch{rows: p.rowsOf(at, n), from: p.from + at}
	refs := make([][]chunk.Ref, len(columns))
	for i, c := range columns {
		refs[i] = make([]chunk.Ref, n)
		if err := c.Resolve(ctx, b.rows, refs[i]); err != nil {
			return nil, errs.Wrap(errs.Internal, "read tensor", c.Name(), err)
		}
	}
	fits, total := int64(0), int64(0)
	for fits < n {
		for i := range refs {
			if r := &refs[i][fits]; columns[i].headsOnly || columns[i].isApart(r) {
				continue
			} else if columns[i].isFile(r) {
				total += r.Stored
			} else {
				total += r.Size
			}
		}
		if fits++; total > batchBytes {
			break
		}
	}
	b.rows = b.rows[:fits]
	r := &reading{e: e}
	for i, c := range columns {
		values, err := r.plan(ctx, c, refs[i][:fits])
		if err != nil {
			return nil, err
		}
		b.columns = append(b.columns, values)
	}
	return b, r.run(ctx)
}

// reading reads samples of several columns at once.
type reading struct {
	e     *exporter
	tasks []sampleTask
}

// sampleTask is samples of a column, and their places.
type sampleTask struct {
	column *column
	refs   []chunk.Ref
	to     []*tensor.Sample
}

// plan makes the values of a column, whose samples run fills.
func (r *reading) plan(ctx context.Context, c *column, refs []chunk.Ref) ([]value, error) {
	values := make([]value, len(refs))
	var all []chunk.Ref
	var to []*tensor.Sample
	for i := range refs {
		switch ref := &refs[i]; {
		case ref.Hole():
			values[i].hole = true
		case c.list:
			items := make([]chunk.Ref, ref.Items)
			if err := c.Items(ctx, ref, items); err != nil {
				return nil, errs.Wrap(errs.Internal, "read tensor", c.Name(), err)
			}
			values[i].items = make([]tensor.Sample, len(items))
			for k := range items {
				all, to = append(all, items[k]), append(to, &values[i].items[k])
			}
		default:
			if c.kind == isImage {
				values[i].extension = r.e.extensionOf(ref)
			}
			if c.headsOnly {
				values[i].Shape = ref.Shape
				continue
			}
			if c.isApart(ref) {
				values[i].apart = ref.Stored
				continue
			}
			all, to = append(all, *ref), append(to, &values[i].Sample)
		}
	}
	for len(all) > 0 {
		n := min(len(all), jobRows)
		r.tasks = append(r.tasks, sampleTask{c, all[:n], to[:n]})
		all, to = all[n:], to[n:]
	}
	return values, nil
}

func (r *reading) run(ctx context.Context) error {
	j := read.Jobs{Count: len(r.tasks), Threads: task.Cores(), Run: func(ctx context.Context, k int, w *chunk.Worker) error {
		return r.tasks[k].run(ctx, w)
	}}
	if r.e.view.Remote() {
		j.Threads = max(j.Threads, 8)
		j.Spans = func(k int, out []chunk.Span) []chunk.Span {
			for i := range r.tasks[k].refs {
				out = r.tasks[k].refs[i].Spans(out)
			}
			return out
		}
	}
	err := j.Do(ctx, &r.e.workers)
	if err == nil && ctx.Err() != nil {
		err = errs.Cause(ctx, "read tensors")
	}
	return err
}

// isFile reports whether a sample is stored as a file.
func isFile(ref *chunk.Ref) bool {
	return ref.Tiles == nil && ref.Chunk != nil && ref.Chunk.Index.SampleCodec() != codec.None
}

// isFile reports whether a sample is read as the file that is stored.
func (c *column) isFile(ref *chunk.Ref) bool { return !c.decoded && isFile(ref) }

// run reads samples: files as they are stored, others as arrays.
func (t *sampleTask) run(ctx context.Context, w *chunk.Worker) error {
	sizes, total := make([]int64, len(t.refs)), int64(0)
	for i := range t.refs {
		if sizes[i] = t.refs[i].Size; t.column.isFile(&t.refs[i]) {
			sizes[i] = t.refs[i].Stored
		}
		total += sizes[i]
	}
	memory := make([]byte, total)
	for i := range t.refs {
		ref, s := &t.refs[i], t.to[i]
		s.Data, memory = memory[:sizes[i]:sizes[i]], memory[sizes[i]:]
		var err error
		switch {
		case ref.Hole():
			continue // of an item: plan keeps the holes of rows
		case t.column.isFile(ref):
			s.Form, s.DType, s.Shape = tensor.FormEncoded, t.column.dtype, ref.Shape
			err = t.column.Stored(ctx, ref, s.Data, w)
		default:
			if s.Form, s.DType, s.Shape = tensor.FormArray, t.column.dtype, ref.Shape; !s.DType.Fixed() {
				s.Form = tensor.FormText
			}
			err = t.column.Decode(ctx, ref, s.Data, w)
		}
		if err != nil {
			access := t.column.Access()
			return access.NameFile(ctx, errs.InRow(errs.KindOf(err), ref.Row, "read row %d of tensor %q: %w", ref.Row, t.column.Name(), err))
		}
	}
	return nil
}
