package scan

import (
	"context"
	"errors"
	"slices"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// Copy sets the target of a copied result, and its options.
type Copy struct {
	URI       string
	Storage   storage.Options
	Overwrite bool
	Message   string // of the commit; "": "materialize"
	Threads   int    // 0: as many as there are cores
}

const (
	copyBytes = 8 << 20 // of a batch, about
	copyRows  = 1 << 14
)

// Materialize creates a dataset of the result's rows, in their order. Columns become tensors of the
// same htype, dtype, compression, class names and info. Stored files (JPEG, PNG, WebP) are copied
// unchanged. Computed columns are computed; pictures among them, such as crops, become PNG files,
// which change no pixel. A column with a picture of no pixels stays uncompressed.
//
// Fails with errs.Exists if the dataset exists, unless overwriting is requested or the dataset is
// empty: without tensors and commits, as a killed copy leaves it. A dataset that is overwritten
// stays until the copy is committed. After an error, only a dataset that existed before remains.
func (a *Result) Materialize(ctx context.Context, env *dataset.Env, o Copy) error {
	if len(a.table.fields) == 0 {
		return errs.Op("materialize", o.URI).New(errs.Invalid, "there are no columns")
	}
	if err := a.notInto(ctx, env, &o); err != nil {
		return err
	}
	d, fresh, err := o.begin(ctx, env)
	if err != nil {
		return err
	}
	m := &copier{a: a, o: &o, d: d, threads: o.Threads}
	if m.threads < 1 {
		m.threads = task.Cores()
	}
	if err = m.run(ctx); err == nil && !fresh {
		err = o.still(ctx, env)
	}
	if err == nil {
		return d.Close()
	}
	if fresh {
		if gone := o.undo(context.WithoutCancel(ctx), env, d); gone != nil {
			return errs.Op("materialize", o.URI).New(errs.KindOf(err), "%w; what was written could not be removed: %w", err, gone)
		}
	}
	_ = d.Close()
	return errs.Op("materialize", o.URI).New(errs.KindOf(err), "%w", err)
}

// begin makes the dataset, or opens an existing empty one.
func (o *Copy) begin(ctx context.Context, env *dataset.Env) (d *dataset.Dataset, fresh bool, err error) {
	d, err = dataset.Create(ctx, env, o.URI, dataset.CreateOptions{Overwrite: o.Overwrite, AtCommit: true, Storage: o.Storage})
	if err == nil || o.Overwrite || !errs.Is(err, errs.Exists) {
		return d, true, err
	}
	d, failed := dataset.Open(ctx, env, o.URI, dataset.OpenOptions{Storage: o.Storage})
	if failed != nil {
		return nil, false, failed
	}
	if about, failed := d.Describe(); failed != nil || len(about.Tensors) > 0 || about.Head.Version > 0 {
		_ = d.Close()
		return nil, false, err
	}
	return d, false, nil
}

// still fails if the dataset was removed meanwhile by another copy, which made it and failed.
func (o *Copy) still(ctx context.Context, env *dataset.Env) error {
	found, err := dataset.Exists(ctx, env, o.URI, o.Storage)
	if err == nil && !found {
		err = errs.New(errs.Conflict, "another copy to the same place has failed and removed it meanwhile; try again")
	}
	return err
}

// undo closes and removes the dataset that begin made, unless a commit came meanwhile. One that is
// overwritten stays.
func (o *Copy) undo(ctx context.Context, env *dataset.Env, made *dataset.Dataset) error {
	waits, err := made.Withdraw(ctx)
	if waits || err != nil {
		return err
	}
	_ = made.Close()
	d, err := dataset.Open(ctx, env, o.URI, dataset.OpenOptions{Storage: o.Storage})
	if err != nil {
		return err
	}
	about, err := d.Describe()
	_ = d.Close()
	if err != nil || about.Head.Version > 0 {
		return err
	}
	return dataset.Delete(ctx, env, o.URI, o.Storage)
}

// notInto refuses to overwrite a dataset that the result reads, or that its query reads when it
// runs again.
func (a *Result) notInto(ctx context.Context, env *dataset.Env, o *Copy) error {
	if !o.Overwrite {
		return nil
	}
	store, err := env.Stores.Open(ctx, o.URI, o.Storage)
	if err != nil {
		return nil // there is nothing, or Create returns the error
	}
	defer func() { _ = store.Close() }()
	place := storage.Location(store)
	for _, v := range a.reads {
		if v.Location() == place {
			return errs.Op("materialize", o.URI).New(errs.Invalid, "the rows are computed from what is there (%q); take another place", v.URI())
		}
	}
	return nil
}

// copier copies a result.
type copier struct {
	a       *Result
	o       *Copy
	d       *dataset.Dataset
	threads int
	tensors []tensorOf
	pngs    []bool // of tensors: computed pictures become PNG files
	plain   []int  // columns of which some picture has no pixels
}

// emptyPicture is the error of a computed picture without pixels, which no file holds.
type emptyPicture struct{ column int }

func (e *emptyPicture) Error() string { return "a picture has no pixels" }

func (m *copier) run(ctx context.Context) error {
	err := m.rows(ctx)
	for empty := (*emptyPicture)(nil); errors.As(err, &empty); err = m.rows(ctx) {
		// Begin again, with the column uncompressed: few queries cut pictures down to nothing.
		m.plain = append(m.plain, empty.column)
		if err := m.d.Discard(ctx); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // a store need not notice
		return errs.Cause(ctx, "copy rows")
	}
	message := m.o.Message
	if message == "" {
		message = "materialize"
	}
	_, err = m.d.Commit(ctx, message)
	return err
}

// rows makes the tensors and appends all rows.
func (m *copier) rows(ctx context.Context) error {
	if err := m.schema(ctx); err != nil {
		return err
	}
	// Two copies to one place would otherwise be laid one behind the other; of two that set the
	// info one is refused.
	info := m.a.base.Describe().Info
	if info == nil {
		info = map[string]any{}
	}
	if err := m.d.SetInfo(ctx, info); err != nil {
		return err
	}
	step, err := m.step(ctx)
	if err != nil {
		return err
	}
	// The batches of the next round are read while this round's are appended.
	n := m.a.table.rows
	round := step * int64(m.threads)
	next, err := m.read(ctx, 0, min(round, n), step)
	for from := int64(0); from < n && err == nil; from += round {
		now, to := next, min(n, from+round)
		g := task.New(ctx, 0)
		g.Go(func(ctx context.Context) (err error) {
			next, err = m.read(ctx, to, min(to+round, n), step)
			return err
		})
		for i, rows := range now {
			at := from + int64(i)*step
			if err = m.d.Append(ctx, rows, min(step, to-at)); err != nil {
				break
			}
		}
		if err != nil {
			g.Stop()
		}
		if failed := g.Wait(); err == nil {
			err = failed
		}
	}
	return err
}

// schema makes the tensors.
func (m *copier) schema(ctx context.Context) error {
	m.tensors, m.pngs = nil, nil
	for i, f := range m.a.table.fields {
		typ, err := m.a.table.Resolve(ctx, i)
		if err != nil {
			return err
		}
		spec := specOf(f.name, &typ)
		if f.column != nil {
			spec = f.column.Spec()
			spec.Name = f.name
		}
		file := (f.column == nil || f.inMemory) && picture(&spec) && fitsPNG(&typ) && !slices.Contains(m.plain, i)
		if file {
			spec.Compression = asPNG
		}
		m.pngs = append(m.pngs, file)
		if err := m.d.CreateTensor(ctx, spec); err != nil {
			return errs.New(errs.KindOf(err), "column %q: %w; give it another name with AS", f.name, err)
		}
		m.tensors = append(m.tensors, tensorOf{name: f.name, typ: typ})
	}
	if m.a.table.source == nil {
		return nil
	}
	return m.d.CreateTensor(ctx, dataset.OriginSpec())
}

// fitsPNG reports whether all pictures of a type can be PNG files.
func fitsPNG(t *array.Type) bool {
	axes := t.Axes()
	return t.DType != tensor.Float32 && len(axes) == 3 && axes[2] >= 1 && axes[2] <= 4
}

// step is the number of rows that go into a batch.
func (m *copier) step(ctx context.Context) (int64, error) {
	n := m.a.table.rows
	stored, err := m.a.StoredBytes(ctx)
	if err != nil || n == 0 {
		return 1, err
	}
	step := min(max(copyBytes*n/max(stored, 1), 1), copyRows)
	for _, f := range m.a.table.fields {
		if f.compute != nil {
			step = min(step, lazyRows)
		}
	}
	return step, nil
}

// read reads rows [from, to) in batches of step rows.
func (m *copier) read(ctx context.Context, from, to, step int64) ([][]tensor.Rows, error) {
	if from >= to {
		return nil, nil
	}
	out := make([][]tensor.Rows, (to-from+step-1)/step)
	g := task.New(ctx, 0)
	for i := range out {
		g.Go(func(ctx context.Context) (err error) {
			at := from + int64(i)*step
			out[i], err = m.batch(ctx, at, min(step, to-at))
			return err
		})
	}
	return out, g.Wait()
}

// batch reads n rows of all columns.
func (m *copier) batch(ctx context.Context, from, n int64) ([]tensor.Rows, error) {
	r := &reader{table: m.a.table}
	defer r.Close()
	out := make([]tensor.Rows, len(m.tensors))
	for i := range out {
		f := m.a.table.fields[i]
		var err error
		if f.column != nil && (f.column.Encoded() || asStored(f.column.DType()) || f.otherUnit()) {
			out[i], err = m.files(ctx, f, from, n)
		} else if c, failed := r.Read(ctx, i, query.Rows{From: from, N: n}, query.Values, nil); failed != nil {
			err = failed
		} else {
			out[i], err = m.tensors[i].rows(c)
			if m.pngs[i] && hasEmpty(&out[i]) {
				return nil, &emptyPicture{i}
			}
		}
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "column %q: %w", f.name, err)
		}
	}
	if m.a.table.source == nil {
		return out, nil
	}
	files, err := m.origins(ctx, from, n)
	return append(out, files), err
}

// origins reads the files from which rows were imported.
func (m *copier) origins(ctx context.Context, from, n int64) (tensor.Rows, error) {
	out := tensor.Rows{Tensor: origin.Tensor, Samples: make([]tensor.Sample, n)}
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = from + int64(i)
	}
	found, err := dataset.Origins(ctx, m.a.origin, rows)
	if err != nil {
		return out, err
	}
	for i, o := range found {
		if out.Samples[i] = (tensor.Sample{Form: tensor.FormHole}); o != nil {
			out.Samples[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: o.Encode()}
		}
	}
	return out, nil
}

// hasEmpty reports whether some array has no elements.
func hasEmpty(rows *tensor.Rows) bool {
	if a := rows.Array; a != nil {
		return slices.Contains(a.Shape, 0)
	}
	return slices.ContainsFunc(rows.Samples, func(s tensor.Sample) bool {
		return s.Form == tensor.FormArray && slices.Contains(s.Shape, 0)
	})
}

// asStored reports whether columns cannot hold values of a dtype unchanged.
func asStored(d tensor.DType) bool {
	switch d {
	case tensor.Float16, tensor.BFloat16, tensor.Complex64, tensor.Complex128:
		return true
	}
	return false
}

// files reads samples in stored form.
func (m *copier) files(ctx context.Context, f *field, from, n int64) (tensor.Rows, error) {
	out := tensor.Rows{Tensor: f.name}
	rows, refs := make([]int64, n), make([]chunk.Ref, n)
	for i := range rows {
		rows[i] = from + int64(i)
	}
	if err := f.column.Resolve(ctx, rows, refs); err != nil {
		return out, err
	}
	if f.column.Sequence() {
		items := make([]chunk.Ref, 0, n)
		out.RowItems = make([]int64, n)
		for i := range refs {
			if refs[i].Hole() {
				items, out.RowItems[i] = append(items, refs[i]), 1 // a row without a list
				continue
			}
			own := make([]chunk.Ref, refs[i].Items)
			if err := f.column.Items(ctx, &refs[i], own); err != nil {
				return out, err
			}
			items, out.RowItems[i] = append(items, own...), refs[i].Items
		}
		refs = items
	}
	w := f.view.NewWorker()
	defer w.Close()
	if f.remote() {
		var spans []chunk.Span
		for i := range refs {
			spans = refs[i].Spans(spans)
		}
		defer prefetch(ctx, w, spans)()
	}
	out.Samples = make([]tensor.Sample, len(refs))
	for i := range refs {
		var err error
		if out.Samples[i], err = sampleAt(ctx, f.column, &refs[i], w); err != nil {
			return out, errs.New(errs.KindOf(err), "row %d: %w", refs[i].Row, err)
		}
	}
	return out, nil
}

// sampleAt reads one sample: its file, or where it is stored in tiles or is no file, the array.
func sampleAt(ctx context.Context, c *dataset.Column, ref *chunk.Ref, w *chunk.Worker) (tensor.Sample, error) {
	switch {
	case ref.Hole():
		return tensor.Sample{Form: tensor.FormHole}, nil
	case c.Encoded() && ref.Tiles == nil && c.KeepsFile(ref):
		s := tensor.Sample{Form: tensor.FormEncoded, Data: make([]byte, ref.Stored)}
		return s, c.Stored(ctx, ref, s.Data, w)
	}
	s := tensor.Sample{Form: tensor.FormArray, DType: ref.Chunk.Index.DType(), Shape: ref.Shape, Data: make([]byte, ref.Size)}
	return s, c.Decode(ctx, ref, s.Data, w)
}
