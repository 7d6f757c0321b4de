package dataset

import (
	"context"
	"maps"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// Batch is some rows of a stream, a column for each tensor.
type Batch struct {
	Columns []tensor.Rows
	Rows    int64
}

// Appender appends the batches of a stream to a dataset.
type Appender struct{ d *Dataset }

// AppenderOf returns the appender of d.
func AppenderOf(d *Dataset) Appender { return Appender{d} }

// AppendAll appends the batches that next returns, until it returns nil: all of their rows, or none
// of them. It returns their number. next may use the dataset. Rows that others append meanwhile
// keep those of the batches before an error.
func (a Appender) AppendAll(ctx context.Context, next func(context.Context) (*Batch, error)) (int64, error) {
	var s *streaming
	total := int64(0)
	for {
		b, err := next(ctx)
		if err == nil && ctx.Err() != nil {
			err = errs.Wrap(errs.Canceled, "append", "", ctx.Err())
		}
		if err == nil && b == nil {
			return a.settled(s, total)
		}
		if err == nil {
			s, err = a.appendBatch(ctx, s, b)
		}
		if err != nil {
			return 0, a.undo(ctx, s, total, err)
		}
		total += b.Rows
	}
}

// streaming is the state of a writer before a stream, to which an error brings it back.
type streaming struct {
	w        *writer
	rows     int64 // before the stream
	now      int64 // after its last batch
	schema   *format.Schema
	waiting  map[format.UUID][]waiting
	labelled map[format.UUID]bool
	others   bool // other rows were written meanwhile
}

// appendBatch appends one batch of a stream, whose state it returns.
func (a Appender) appendBatch(ctx context.Context, s *streaming, b *Batch) (*streaming, error) {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return s, err
	}
	if s == nil {
		rows := w.txn.Rows()
		s = &streaming{w: w, rows: rows, now: rows, schema: w.txn.Schema().Clone(), waiting: maps.Clone(w.waiting), labelled: maps.Clone(w.labelled)}
	}
	s.others = s.others || s.w != w || w.txn.Rows() != s.now
	w.caller = ctx
	err = w.appendAhead(ctx, b.Columns, b.Rows)
	s.now = w.txn.Rows()
	if err == nil && len(b.Columns) > aheadColumns {
		err = w.settle()
	}
	return s, err
}

// aheadColumns is the most columns whose blocks are compressed beyond their batch.
const aheadColumns = 64

// settled waits for the blocks of a stream that are being compressed, and returns its rows.
func (a Appender) settled(s *streaming, rows int64) (int64, error) {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if s == nil || s.w != a.d.w {
		return rows, nil
	}
	return rows, s.w.settle()
}

// undo drops the rows of a stream that failed, and returns its error.
func (a Appender) undo(ctx context.Context, s *streaming, rows int64, err error) error {
	d := a.d
	if s == nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if rows == 0 && len(d.schema().Tensors) == len(s.schema.Tensors) {
		return err // of the first rows, which left nothing
	}
	err = errs.New(errs.KindOf(err), "after %d rows of the stream: %w", rows, err)
	if w, now := d.writer(); s.others || now != nil || w != s.w || w.txn.Rows() != s.now {
		return errs.New(errs.KindOf(err), "%w; its rows before are kept, as the dataset was changed meanwhile: discard() drops them", err)
	}
	if s.w.check() != nil {
		return err // the transaction can only be discarded
	}
	if back := s.w.back(ctx, s); back != nil {
		return s.w.fail(back)
	}
	return err
}

// back drops all rows since the state s. The chunks that hold some of them are completed, and keep
// them unused.
func (w *writer) back(ctx context.Context, s *streaming) error {
	w.caller = ctx
	for id, o := range w.adding {
		if kept := before(o.runs, s.rows); len(kept) > 0 {
			o.runs = kept
			if err := w.seal(w.adding, id, o, false); err != nil {
				return err
			}
			continue
		}
		o.builder.Abort()
		delete(w.adding, id)
	}
	for id, o := range w.fixing { // empty samples of new rows that waited for a dtype
		if len(before(o.runs, s.rows)) < len(o.runs) {
			if err := w.seal(w.fixing, id, o, true); err != nil {
				return err
			}
		}
	}
	schema := s.schema
	for i := range schema.Tensors {
		ts := &schema.Tensors[i]
		if now := w.txn.Schema().ByID(ts.ID); now != nil && len(s.waiting[ts.ID]) > 0 && len(w.waiting[ts.ID]) == 0 {
			*ts = *now // older rows without elements got its dtype
			delete(s.waiting, ts.ID)
		}
	}
	version.Cut(w.txn, s.rows, schema)
	w.waiting, w.labelled = s.waiting, s.labelled
	return w.resolveTypes()
}

// before returns the runs below a row, those that cross it cut there.
func before(runs []format.RowRange, row int64) []format.RowRange {
	var out []format.RowRange
	for _, r := range runs {
		if r.Start >= row {
			continue
		}
		r.Count = min(r.Count, row-r.Start)
		out = append(out, r)
	}
	return out
}

// Holds reports whether name is that of a tensor with samples of its own, or of a group of tensors.
// In a dataset without tensors any name may become either.
func (a Appender) Holds(name string) (isTensor, isGroup bool, err error) {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return false, false, err
	}
	return w.types[name] != nil, w.groups[name] != "" || len(w.types) == 0, nil
}

// Empty reports whether the dataset has no tensors, so that rows make them.
func (a Appender) Empty() bool {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	return len(a.d.schema().Tensors) == 0
}
