package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// Identity names the rows of v, in the same words on every machine. It returns the identity of the
// dataset, which a copy with its history keeps. Then it returns the commit, empty if v shows
// uncommitted changes, and the selection. Views of the same rows in the same order have the same
// selection, however they were made.
func (v *View) Identity() (dataset, commit, selection string, err error) {
	repo, _, err := v.d.repository()
	if err != nil {
		return "", "", "", err
	}
	if !v.dirty {
		commit = v.snap.Record.UUID.String()
	}
	return repo.TSF.UUID.String(), commit, v.selection(), nil
}

// rowsOf returns the present numbers of the rows of v, a view of any version of the dataset, with
// version.Deleted for rows that were deleted since. Rows of another dataset, or that its present
// version lacks, are refused: they are never taken for others by their numbers.
func (w *writer) rowsOf(ctx context.Context, v *View) ([]int64, error) {
	of := w.txn.Base().Record.Dataset
	if v.snap.Record.Dataset != of {
		return nil, errs.New(errs.Invalid, "the view is of dataset %q, which is another one; want a view of this dataset", v.URI())
	}
	rows := make([]int64, v.n)
	v.Rows(rows)
	if i := slices.Index(rows, -1); i >= 0 {
		return nil, errs.New(errs.Invalid, "row %d of the view is no row of the dataset: an outer join found none; leave it out", i)
	}
	out, err := w.txn.Locate(ctx, v.snap, rows)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(out, version.Absent); i >= 0 {
		return nil, errs.New(errs.Invalid, "row %d of the view, row %d of its version, is not in the present version: it was discarded, or lies on another branch; make the view again", i, rows[i])
	}
	return out, nil
}

// RowsOf is the rows of a view as rows to change, wherever they lie now. The view may be of any
// version of the dataset, and of uncommitted rows.
type RowsOf struct {
	d *Dataset
	v *View
}

// RowsOf returns the rows of v for changes of d.
func (d *Dataset) RowsOf(v *View) RowsOf { return RowsOf{d, v} }

// Update is Dataset.Update for these rows. A row that was deleted since is refused.
func (r RowsOf) Update(ctx context.Context, cols []tensor.Rows) error {
	d, v := r.d, r.v
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.transaction()
	if err != nil {
		return err
	}
	w.caller = ctx
	rows, err := w.rowsOf(ctx, v)
	if err != nil {
		return errs.Wrap(errs.Invalid, "update the rows of a view", "", err)
	}
	if i := slices.Index(rows, version.Deleted); i >= 0 {
		return errs.Op("update the rows of a view", "").New(errs.Range, "row %d of the view, row %d of its version, was deleted since; make the view again", i, v.live(int64(i)))
	}
	d.log.update(w.touched(cols), rows)
	return w.update(ctx, rows, cols)
}

// Delete is Dataset.DeleteRows for these rows. Those that were deleted since stay deleted.
func (r RowsOf) Delete(ctx context.Context) error {
	d, v := r.d, r.v
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return err
	}
	rows, err := w.rowsOf(ctx, v)
	if err != nil {
		return errs.Wrap(errs.Invalid, "delete the rows of a view", "", err)
	}
	rows = slices.DeleteFunc(rows, func(row int64) bool { return row == version.Deleted })
	physical, err := w.physical(rows)
	if err != nil {
		return err
	}
	w.txn.Delete(physical)
	return nil
}

// selection names the rows: a regular selection by its numbers, any other by a digest.
func (v *View) selection() string {
	start, step, regular := v.start, v.step, true
	if v.list != nil {
		start, step, regular = progression(v.list)
	}
	if v.n < 2 {
		step = 1
	}
	if v.n == 0 {
		start = 0
	}
	if regular {
		return fmt.Sprintf("%d+%d*%d", start, step, v.n)
	}
	sum := sha256.New()
	block := make([]byte, 0, 8<<10)
	for i, row := range v.list {
		block = binary.LittleEndian.AppendUint64(block, uint64(row))
		if len(block) == cap(block) || i == len(v.list)-1 {
			_, _ = sum.Write(block) // a hash never fails
			block = block[:0]
		}
	}
	return fmt.Sprintf("%s*%d", hex.EncodeToString(sum.Sum(nil)[:16]), v.n)
}

// progression reports whether rows are start, start+step, ...
func progression(rows []int64) (start, step int64, ok bool) {
	if len(rows) == 0 {
		return 0, 1, true
	}
	if len(rows) == 1 {
		return rows[0], 1, true
	}
	start, step = rows[0], rows[1]-rows[0]
	for i, row := range rows {
		if row != start+int64(i)*step {
			return 0, 0, false
		}
	}
	return start, step, true
}

// OriginSpec makes the hidden tensor with the file of each row.
func OriginSpec() TensorSpec {
	return TensorSpec{Name: origin.Tensor, DType: "bytes", Compression: "zstd", Hidden: true}
}

// Origins returns the files from which rows of v were imported, nil for a row that was not. A view
// of a dataset without imported rows has none.
func Origins(ctx context.Context, v *View, rows []int64) ([]*origin.Origin, error) {
	out := make([]*origin.Origin, len(rows))
	c, err := v.Column(origin.Tensor)
	if errs.Is(err, errs.NotFound) {
		return out, nil
	}
	for _, row := range rows {
		if err == nil && (row < 0 || row >= v.n) {
			err = outOfRange(row, v.n)
		}
	}
	refs := make([]chunk.Ref, len(rows))
	if err == nil {
		err = c.Resolve(ctx, rows, refs)
	}
	if err != nil {
		return nil, errs.Wrap(errs.Internal, "read tensor", origin.Tensor, err)
	}
	w := v.NewWorker()
	defer w.Close()
	var p []byte
	for i := range refs {
		r := &refs[i]
		if r.Hole() {
			continue
		}
		if p = slices.Grow(p[:0], int(r.Stored))[:r.Stored]; err == nil {
			err = c.Stored(ctx, r, p, w)
		}
		if err == nil {
			var o origin.Origin
			o, err = origin.Decode(p)
			out[i] = &o
		}
		if err != nil {
			return nil, errs.Op("read tensor", origin.Tensor).New(errs.KindOf(err), "row %d: %w", r.Row, err)
		}
	}
	return out, nil
}

// originOf names the file of a row of the dataset, "" if there is none or it cannot be read.
func (v *View) originOf(ctx context.Context, row int64) string {
	all := v.derive()
	all.n = v.snap.Rows()
	found, err := Origins(ctx, all, []int64{row})
	if err != nil || found[0] == nil {
		return ""
	}
	return found[0].String()
}
