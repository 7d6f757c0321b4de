package dataset

import (
	"context"
	"encoding/binary"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// renumber replaces the labels of a column that numbers classes by names of its own by those of the
// tensor. The first such column fixes the numbers of a tensor without classes. Later ones add the
// names that the tensor does not have, in their order, used or not.
func (c *checker) renumber(col *tensor.Rows) error {
	if col.Names == nil {
		return nil
	}
	if c.ct.htype.Base != "class_label" {
		return errs.New(errs.Type, "the column has names of classes, which htype %s does not have", c.ct.htype)
	}
	labels := make([]int64, len(col.Names))
	for i, name := range col.Names {
		var err error
		if labels[i], err = c.classNumber(name); err != nil {
			return err
		}
	}
	if a := col.Array; a != nil {
		rowBytes, err := a.Shape.Bytes(a.DType)
		if err != nil {
			return err
		}
		data, err := translate(labels, a.DType, a.Data, int(rowBytes))
		col.Array = &tensor.Array{DType: tensor.Int64, Shape: a.Shape, Data: data}
		return err
	}
	samples := append([]tensor.Sample{}, col.Samples...)
	for i := range samples {
		s := &samples[i]
		if s.Form != tensor.FormArray {
			continue
		}
		data, err := translate(labels, s.DType, s.Data, 0)
		if err != nil {
			return rowError(i, err)
		}
		s.DType, s.Data = tensor.Int64, data
	}
	col.Samples = samples
	return nil
}

// translate returns the labels of numbers of dtype d. rowBytes is as of convert.
func translate(labels []int64, d tensor.DType, data []byte, rowBytes int) ([]byte, error) {
	if !d.IsInteger() {
		return nil, errs.New(errs.Type, "the numbers of classes have dtype %s, want integers", d)
	}
	size := d.Size()
	out := make([]byte, 0, len(data)/size*8)
	for at := 0; at+size <= len(data); at += size {
		v, ok := readInt(d, data[at:])
		if !ok || v < 0 || v >= int64(len(labels)) {
			err := errs.New(errs.Invalid, "class number %d is outside the %d names of the column; use None for a row without a label", v, len(labels))
			if rowBytes > 0 {
				err = rowError(at/rowBytes, err)
			}
			return nil, err
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(labels[v]))
	}
	return out, nil
}

// renumberRows is the number of rows whose labels are looked at together.
const renumberRows = 1024

// renumber gives labels of the transaction the numbers of r, and returns the number of rows that it
// writes again. After an error the transaction can only be discarded.
func (w *writer) renumber(ctx context.Context, r version.Renumbering) (int64, error) {
	n, err := w.renumberAll(ctx, &r)
	if err != nil {
		return n, w.fail(errs.Wrap(errs.Storage, "renumber the classes of tensor", w.txn.Schema().ByID(r.Tensor).Name, err))
	}
	return n, nil
}

func (w *writer) renumberAll(ctx context.Context, r *version.Renumbering) (int64, error) {
	before, err := w.txn.Preview(ctx)
	if err != nil {
		return 0, err
	}
	w.txn.Schema().ByID(r.Tensor).ClassNames = r.Names
	physical := *before
	physical.Live = version.RowMap{}
	v, err := newView(w.d, &physical, true)
	if err != nil {
		return 0, err
	}
	ct := w.byID[r.Tensor]
	col, err := v.Column(ct.schema.Name)
	if err != nil {
		return 0, err
	}
	again := &relabeling{ct: ct, col: col, numbers: r.Numbers, worker: v.NewWorker()}
	defer again.worker.Close()
	total := int64(0)
	for _, run := range r.Rows {
		for from := run.Start; from < run.Start+run.Count; from += renumberRows {
			rows, samples, err := again.read(ctx, from, min(from+renumberRows, run.Start+run.Count))
			if err != nil {
				return total, err
			}
			if len(rows) == 0 {
				continue
			}
			if err := w.replace(ctx, ct, rows, samples); err != nil {
				return total, err
			}
			total += int64(len(rows))
		}
	}
	return total, w.flush(ctx)
}

// replace is update for physical rows of one tensor.
func (w *writer) replace(ctx context.Context, ct *columnType, rows []int64, samples tensor.Rows) error {
	c, err := w.checkColumn(ctx, ct, samples, int64(len(rows)))
	if err != nil {
		return err
	}
	return w.writeColumn(ctx, c, int64(len(rows)), func(i int64) int64 { return rows[i] }, true)
}

// relabeling reads labels and gives them other numbers.
type relabeling struct {
	ct      *columnType
	col     *Column // of physical rows
	numbers []int64
	worker  *chunk.Worker
}

// read returns those of rows [from, to) that have a label with another number, with new samples.
func (l *relabeling) read(ctx context.Context, from, to int64) ([]int64, tensor.Rows, error) {
	out := tensor.Rows{Tensor: l.ct.schema.Name}
	all, refs := make([]int64, to-from), make([]chunk.Ref, to-from)
	for i := range all {
		all[i] = from + int64(i)
	}
	if err := l.col.Resolve(ctx, all, refs); err != nil {
		return nil, out, err
	}
	var rows []int64
	for i := range refs {
		ref := &refs[i]
		if ref.Hole() {
			continue
		}
		items := []chunk.Ref{*ref}
		if l.ct.list {
			items = make([]chunk.Ref, ref.Items)
			if err := l.col.Items(ctx, ref, items); err != nil {
				return nil, out, err
			}
		}
		changed, samples := false, make([]tensor.Sample, len(items))
		for k := range items {
			moved, err := l.sample(ctx, &items[k], &samples[k])
			if err != nil {
				return nil, out, errs.New(errs.KindOf(err), "row %d: %w", all[i], err)
			}
			changed = changed || moved
		}
		if !changed {
			continue
		}
		rows, out.Samples = append(rows, all[i]), append(out.Samples, samples...)
		if l.ct.list {
			out.RowItems = append(out.RowItems, int64(len(items)))
		}
	}
	return rows, out, nil
}

// sample reads labels, and gives those with another number that number.
func (l *relabeling) sample(ctx context.Context, ref *chunk.Ref, s *tensor.Sample) (changed bool, err error) {
	data := make([]byte, ref.Size)
	if err := l.col.Decode(ctx, ref, data, l.worker); err != nil {
		return false, err
	}
	d := l.ct.dtype
	*s = tensor.Sample{Form: tensor.FormArray, DType: d, Shape: ref.Shape, Data: data}
	size := d.Size()
	for at := 0; at+size <= len(data); at += size {
		v, ok := readInt(d, data[at:])
		if !ok || v < 0 || v >= int64(len(l.numbers)) || l.numbers[v] == v {
			continue
		}
		number, fits := appendInt(data[at:at:at+size], d, l.numbers[v])
		if !fits || len(number) != size {
			return false, errs.New(errs.Type, "class number %d does not fit dtype %s; give both sides the same class names before the merge", l.numbers[v], d)
		}
		changed = true
	}
	return changed, nil
}

// renumber is Repo.OnRenumber: it works on a transaction that is never committed.
func (d *Dataset) renumber(ctx context.Context, s *version.Snapshot, r version.Renumbering) (*version.Txn, int64, error) {
	w, err := newWriterOn(d, s)
	if err != nil {
		return nil, 0, err
	}
	n, err := w.renumber(ctx, r)
	if err != nil {
		w.abort()
		return nil, 0, err
	}
	return w.txn, n, nil
}
