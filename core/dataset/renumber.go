package dataset

import (
	"context"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
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
		labels[i], err = c.classNumber(name)
		if err != nil && labels[i] != version.NoClass {
			return err
		}
	}
	if a := col.Array; a != nil {
		rowBytes, err := a.Shape.Bytes(a.DType)
		if err != nil {
			return err
		}
		data, err := c.translate(labels, col.Names, a.DType, a.Data, int(rowBytes))
		col.Array = &tensor.Array{DType: tensor.Int64, Shape: a.Shape, Data: data}
		return err
	}
	samples := append([]tensor.Sample{}, col.Samples...)
	for i := range samples {
		s := &samples[i]
		if s.Form != tensor.FormArray {
			continue
		}
		data, err := c.translate(labels, col.Names, s.DType, s.Data, 0)
		if err != nil {
			return rowError(i, err)
		}
		s.DType, s.Data = tensor.Int64, data
	}
	col.Samples = samples
	return nil
}

// translate returns the labels of numbers of dtype d. rowBytes is as of convert. A name of the
// column that is no class is an error where a row has it.
func (c *checker) translate(labels []int64, names []string, d tensor.DType, data []byte, rowBytes int) ([]byte, error) {
	if !d.IsInteger() {
		return nil, errs.New(errs.Type, "the numbers of classes have dtype %s, want integers", d)
	}
	size := d.Size()
	out := make([]byte, 0, len(data)/size*8)
	for at := 0; at+size <= len(data); at += size {
		v, ok := int64(0), true
		if d == tensor.Int64 {
			v = int64(binary.LittleEndian.Uint64(data[at:]))
		} else {
			v, ok = readInt(d, data[at:])
		}
		if !ok || v < 0 || v >= int64(len(labels)) {
			err := errs.New(errs.Invalid, "class number %d is outside the %d names of the column; use None for a row without a label", v, len(labels))
			if rowBytes > 0 {
				err = c.atRow(at/rowBytes, err)
			}
			return nil, err
		}
		if labels[v] == version.NoClass {
			_, err := c.classNumber(names[v])
			if rowBytes > 0 {
				err = c.atRow(at/rowBytes, err)
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
	again, err := w.relabel(ctx, r)
	if err != nil {
		return 0, err
	}
	defer again.worker.Close()
	w.txn.SetClassNames(r.Tensor, r.Names)
	ct := again.ct
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

// Classes are the classes of a tensor, to be changed.
type Classes struct {
	d      *Dataset
	tensor string
}

// ClassesOf returns the classes of a tensor of d.
func ClassesOf(d *Dataset, tensor string) Classes { return Classes{d, tensor} }

// Rename gives a class another name. Labels keep their numbers.
func (c Classes) Rename(ctx context.Context, old, name string) error {
	return c.d.setClasses(ctx, "rename class of tensor", c.tensor, func(names []string) ([]string, []int64, error) {
		at, err := classAt(names, old)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case name == "" || !utf8.ValidString(name):
			return nil, nil, errs.New(errs.Invalid, "the new name is %q, want text", name)
		case name != old && slices.Contains(names, name):
			return nil, nil, errs.New(errs.Invalid, "another class is named %q; merge_classes() joins the two", name)
		}
		names[at] = name
		return names, nil, nil
	})
}

// Merge gives the labels of some classes the class into, and removes those classes. If into
// is no class yet, it takes the place of the first of them.
func (c Classes) Merge(ctx context.Context, classes []string, into string) error {
	return c.d.setClasses(ctx, "merge classes of tensor", c.tensor, func(names []string) ([]string, []int64, error) {
		first, gone := len(names), map[string]bool{}
		for _, class := range classes {
			at, err := classAt(names, class)
			if err != nil {
				return nil, nil, err
			}
			first = min(first, at)
			gone[class] = class != into
		}
		if len(classes) == 0 || into == "" || !utf8.ValidString(into) {
			return nil, nil, errs.New(errs.Invalid, "%d classes are to become %q, want one or more, and a name", len(classes), into)
		}
		if !slices.Contains(names, into) {
			delete(gone, names[first])
			names[first] = into
		}
		next := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return gone[name] })
		numbers := make([]int64, len(names))
		for i, name := range names {
			if gone[name] {
				name = into
			}
			numbers[i] = int64(slices.Index(next, name))
		}
		return next, numbers, nil
	})
}

// Add adds classes behind the others.
func (c Classes) Add(ctx context.Context, classes []string) error {
	return c.d.setClasses(ctx, "add classes to tensor", c.tensor, func(names []string) ([]string, []int64, error) {
		for _, class := range classes {
			if class == "" || !utf8.ValidString(class) {
				return nil, nil, errs.New(errs.Invalid, "the name of a class is %q, want text", class)
			}
		}
		return append(names, classes...), nil, nil
	})
}

// Remove removes a class that no label has. The classes behind it get smaller numbers.
func (c Classes) Remove(ctx context.Context, name string) error {
	return c.d.setClasses(ctx, "remove class of tensor", c.tensor, func(names []string) ([]string, []int64, error) {
		at, err := classAt(names, name)
		if err != nil {
			return nil, nil, err
		}
		numbers := make([]int64, len(names))
		for i := range numbers {
			if numbers[i] = int64(i); i > at {
				numbers[i]--
			}
		}
		numbers[at] = version.NoClass
		return slices.Delete(names, at, at+1), numbers, nil
	})
}

// classAt finds a class.
func classAt(names []string, name string) (int, error) {
	at := slices.Index(names, name)
	if at < 0 {
		return 0, errs.New(errs.NotFound, "there is no class %q; the classes are %q%s", name, names[:min(len(names), 20)], errs.Suggest(name, names))
	}
	return at, nil
}

// setClasses replaces the classes of a tensor by those that change makes of a copy, with the new
// number of each old one; nil: all stay. It writes the labels again whose numbers change.
func (d *Dataset) setClasses(ctx context.Context, op, tensor string, change func(names []string) ([]string, []int64, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return err
	}
	ct := w.types[tensor]
	if ct == nil || hidden(tensor) {
		return unknownTensor(w.txn.Schema(), tensor)
	}
	if len(ct.schema.ClassNames) == 0 {
		return errs.Op(op, tensor).New(errs.Invalid, "it has no class names")
	}
	before := ct.schema.ClassNames
	names, numbers, err := change(slices.Clone(before))
	if err == nil {
		err = checkClassNames(names, ct.htype)
	}
	if err != nil {
		return errs.Op(op, tensor).New(errs.KindOf(err), "%w", err)
	}
	if err := w.check(); err != nil {
		return err
	}
	if numbers == nil && len(names) >= len(before) && slices.Equal(names[:len(before)], before) {
		w.txn.SetClassNames(ct.schema.ID, names)
		return nil
	}
	if numbers == nil {
		w.txn.ChangeClasses(ct.schema.ID, names)
		return nil
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	r := version.Renumbering{Tensor: ct.schema.ID, Names: names, Numbers: numbers, Rows: []format.RowRange{{Count: w.txn.Rows()}}}
	if slices.Contains(numbers, version.NoClass) { // before anything is changed
		if err := w.unused(ctx, &r); err != nil {
			if errs.Is(err, errs.Conflict) {
				err = errs.New(errs.Invalid, "%w; merge_classes() gives such labels another class", err)
			}
			return errs.Op(op, tensor).New(errs.KindOf(err), "%w", err)
		}
	}
	if _, err = w.renumber(ctx, r); err == nil {
		w.txn.ChangeClasses(ct.schema.ID, names)
	}
	return err
}

// unused returns an error if a label has a class without a new number.
func (w *writer) unused(ctx context.Context, r *version.Renumbering) error {
	again, err := w.relabel(ctx, r)
	if err != nil {
		return err
	}
	defer again.worker.Close()
	for from := int64(0); from < w.txn.Rows(); from += renumberRows {
		if _, _, err := again.read(ctx, from, min(from+renumberRows, w.txn.Rows())); err != nil {
			return err
		}
	}
	return nil
}

// replace is update for physical rows of one tensor.
func (w *writer) replace(ctx context.Context, ct *columnType, rows []int64, samples tensor.Rows) error {
	c, err := w.checkColumn(ctx, ct, samples, int64(len(rows)))
	if err != nil {
		return err
	}
	return w.writeColumn(ctx, c, int64(len(rows)), func(i int64) int64 { return rows[i] }, true)
}

// relabel opens the labels of a tensor. The caller closes the worker.
func (w *writer) relabel(ctx context.Context, r *version.Renumbering) (*relabeling, error) {
	before, err := w.txn.Preview(ctx)
	if err != nil {
		return nil, err
	}
	physical := *before
	physical.Live = version.RowMap{}
	v, err := newView(w.d, &physical, true)
	if err != nil {
		return nil, err
	}
	v.n = before.Record.Rows // deleted rows too
	ct := w.byID[r.Tensor]
	col, err := v.Column(ct.schema.Name)
	if err != nil {
		return nil, err
	}
	return &relabeling{ct: ct, col: col, live: before.Live, names: before.Schema.ByID(r.Tensor).ClassNames, numbers: r.Numbers, worker: v.NewWorker()}, nil
}

// relabeling reads labels and gives them other numbers.
type relabeling struct {
	ct      *columnType
	col     *Column        // of physical rows
	live    version.RowMap // of the rows as the user counts them
	names   []string       // of the classes, by their old numbers
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
				return nil, out, errs.New(errs.KindOf(err), "row %d: %w", l.live.Logical(all[i]), err)
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
		if l.numbers[v] == version.NoClass {
			return false, errs.New(errs.Conflict, "a label of this row, which may be deleted, has class %q, which is gone", l.names[v])
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
