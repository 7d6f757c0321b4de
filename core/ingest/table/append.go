package table

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/urls"
	"deeplake/core/internal/task"
)

// item is a batch on its way, or the end of a file.
type item struct {
	file    *file
	batch   Batch         // without a column: the file is read
	from    int64         // its first row
	objects []*urls.Batch // that its URLs name
	err     error         // the file cannot be read further
	isRow   bool          // err is about row from alone, which is left out
}

// files appends the rows of files. It returns nil when ctx is done.
func (im *importer) files(ctx, write context.Context, files []*file) error {
	g := task.New(ctx, 0)
	defer func() { _ = g.Wait() }()
	defer g.Stop()
	items := make(chan item, im.ahead())
	g.Go(func(ctx context.Context) error {
		defer close(items)
		for _, f := range files {
			if !im.read(ctx, f, items) {
				return nil
			}
		}
		return nil
	})
	for more := true; more; {
		var err error
		if more, err = im.appendUntilDue(ctx, write, items); err != nil {
			return err
		}
		if more {
			if err := im.commit(write, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// read sends the batches of a file. It reports whether the next file may follow.
func (im *importer) read(ctx context.Context, f *file, to chan<- item) bool {
	send := func(i item) bool {
		select {
		case to <- i:
			return true
		case <-ctx.Done():
			return false
		}
	}
	from := f.start
	fail := func(err error) bool { return send(item{file: f, from: from, err: err}) }
	t, err := im.source.open(ctx, f)
	if err != nil {
		return fail(err)
	}
	names, err := im.picked(f, t.Columns())
	if err != nil {
		return fail(err)
	}
	o := ReadOptions{Columns: names, From: from, Ahead: !im.source.local, Places: im.o.Link}
	if im.source.format.Keys && im.o.Columns == nil {
		o.Columns = nil // later rows may have more
	}
	if im.o.LeaveOut {
		o.LeaveOut = func(row int64, err error) error {
			if !send(item{file: f, from: row, err: err, isRow: true}) {
				return errs.Wrap(errs.Canceled, "import", "", ctx.Err())
			}
			return nil
		}
	}
	rows, err := t.Read(ctx, o)
	if err != nil {
		return fail(im.source.wrong(f, err))
	}
	defer rows.Close()
	for {
		batch, err := rows.Next(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			return fail(errs.New(errs.KindOf(err), "%s, after row %d: %w", f.key, from, err))
		}
		if batch.Column == nil {
			return send(item{file: f, from: batch.To})
		}
		for _, part := range im.parts(batch, from) {
			objects, err := im.start(part.Column)
			if err != nil {
				return fail(im.source.wrong(f, err))
			}
			if !send(item{file: f, batch: part, from: from, objects: objects}) {
				return false
			}
			from = part.To
		}
	}
}

// appendUntilDue appends batches until the next commit is due, all of their rows or none; more is
// false if no batch is left.
func (im *importer) appendUntilDue(ctx, write context.Context, items <-chan item) (more bool, err error) {
	into := dataset.AppenderOf(im.d)
	done := false
	next := func(context.Context) (*dataset.Batch, error) {
		for {
			if len(im.ready) > 0 {
				b := im.ready[0]
				im.ready = im.ready[1:]
				return b, nil
			}
			im.release()
			if ctx.Err() != nil {
				done = true
				return nil, nil
			}
			if im.isDue() {
				return nil, nil
			}
			i, ok := <-items
			if !ok {
				done = true
				return nil, nil
			}
			if err := im.take(ctx, write, i); err != nil {
				return nil, err
			}
		}
	}
	if !im.o.LeaveOut {
		_, err := into.AppendAll(write, next)
		return !done, im.located(err)
	}
	for !done && (len(im.ready) > 0 || !im.isDue()) {
		if b, err := next(write); err != nil || b == nil {
			return !done, err
		} else if err := im.appendGood(write, b); err != nil {
			return !done, err
		}
	}
	return !done, nil
}

// located names the file of the last rows in an error that does not.
func (im *importer) located(err error) error {
	p := im.state.Partial
	if err == nil || p == nil || strings.Contains(err.Error(), p.Key+":") || strings.Contains(err.Error(), p.Key+",") {
		return err
	}
	return errs.New(errs.KindOf(err), "%s, up to row %d: %w", p.Key, p.Rows, err)
}

func (im *importer) isDue() bool {
	rows := cmp.Or(im.o.Checkpoint, defaultCheckpoint)
	return !im.o.Once && (im.pending >= rows || im.pendingBytes >= checkpointBytes)
}

// take turns an item into rows that are ready. A canceled import takes no more.
func (im *importer) take(ctx, write context.Context, i item) error {
	f := i.file
	if i.isRow {
		im.skip(f.key, i.err)
		return nil
	}
	if i.err != nil {
		if !bad(i.err) {
			return i.err
		}
		if err := im.leaveOut(f, i.err); err != nil {
			return err
		}
	}
	if i.err != nil && i.from == 0 {
		im.state.Partial = nil // none of its rows are taken: a later run tries again
		return nil
	}
	if i.batch.Column == nil {
		im.state.end(f, i.from)
		im.now.Files++
		im.tell(im.now)
		return nil
	}
	fetched, err := im.objects(ctx, i)
	if errs.Is(err, errs.Canceled) && ctx.Err() != nil {
		return nil
	}
	var columns []tensorColumn
	if err == nil {
		columns, err = im.columnsOf(f, i.batch.Column)
	}
	if err == nil && im.source.format.Open {
		err = im.widen(f, columns)
	}
	if err == nil {
		err = im.ensure(write, columns)
	}
	if err == nil {
		err = im.checkImages(columns)
	}
	if err == nil {
		err = im.ensureObjects(write, fetched)
	}
	if err != nil {
		return im.source.wrong(f, err)
	}
	n := i.batch.Len()
	rows := im.rows(columns, fetched, n)
	for k := range rows {
		if rows[k].Foreign != nil {
			rows[k].Foreign = placed{rows[k].Foreign, f.key, i.from, i.batch.Lines, im.linkTo(f), im}
		}
	}
	all := &dataset.Batch{Columns: rows, Rows: n}
	if left := im.ofObjects(all, fetched); left < n {
		n = left
	}
	im.count(f, i.batch, n)
	return nil
}

// count says that a batch of a file is taken, and added of its rows appended.
func (im *importer) count(f *file, b Batch, added int64) {
	im.state.at(f, b.To)
	share := b.Bytes
	if f.rows > 0 {
		share = int64(float64(f.size) / float64(f.rows) * float64(b.Len()))
	}
	im.pending += b.Len()
	im.pendingBytes += share
	im.report.Added += added
	im.report.Bytes += share
	im.now.Rows, im.now.Bytes = im.report.Resumed+im.report.Added, im.report.Bytes
	im.tell(im.now)
}

// appendGood appends the rows of a batch that the dataset takes, and reports the others.
func (im *importer) appendGood(ctx context.Context, b *dataset.Batch) error {
	into := dataset.AppenderOf(im.d)
	_, err := into.AppendAll(ctx, once(b))
	if err == nil || !bad(err) || errors.Is(err, errPacked) {
		return im.located(err)
	}
	if b.Rows == 1 {
		path, row := placeOf(b)
		im.skip(path, errs.New(errs.KindOf(err), "row %d: %w", row, err))
		im.report.Added--
		im.pending--
		return nil
	}
	half := b.Rows / 2
	for _, part := range [][2]int64{{0, half}, {half, b.Rows - half}} {
		if err := im.appendGood(ctx, sliced(b, part[0], part[1])); err != nil {
			return err
		}
	}
	return nil
}

// once returns a stream of one batch.
func once(b *dataset.Batch) func(context.Context) (*dataset.Batch, error) {
	return func(context.Context) (*dataset.Batch, error) {
		out := b
		b = nil
		return out, nil
	}
}

// sliced returns n rows of a batch from a row on.
func sliced(b *dataset.Batch, from, n int64) *dataset.Batch {
	out := &dataset.Batch{Columns: slices.Clone(b.Columns), Rows: n}
	for i := range out.Columns {
		c := &out.Columns[i]
		if c.Foreign == nil { // holes
			c.Samples = c.Samples[from : from+n]
			if c.RowItems != nil {
				c.RowItems = c.RowItems[from : from+n]
			}
			continue
		}
		c.Foreign = c.Foreign.(placed).slice(from, n)
	}
	return out
}
