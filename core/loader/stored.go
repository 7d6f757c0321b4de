package loader

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
)

// StoredReader copies stored samples of one tensor, for callers that read a few rows at a time
// without a batch. It keeps scratch memory between calls, so that a call allocates nothing. All
// methods may be called in parallel.
type StoredReader struct {
	col     read.Column
	source  Source
	remote  bool // source.Remote()
	scratch read.Pool[*scratch]
	workers read.Pool[*chunk.Worker] // of parallel copies
}

// scratch is the memory of one call. It remembers the rows resolved last, because sizes are asked
// before bytes.
type scratch struct {
	worker *chunk.Worker
	rows   []int64
	refs   []chunk.Ref
	found  bool // refs are valid
}

// Close frees the decoders.
func (s *scratch) Close() { s.worker.Close() }

const (
	cachedRows = 1 << 16 // rows that idle scratch memory may remember

	// A goroutine costs about as much as copying one or two samples: fewer rows than these are not
	// worth one.
	rowsPerThread = 32
	rowsPerTurn   = 16
)

// NewStoredReader makes a reader of the tensor called name; an unknown one is errs.NotFound.
func NewStoredReader(source Source, name string) (*StoredReader, error) {
	col, err := source.Column(name)
	if err != nil {
		return nil, err
	}
	r := &StoredReader{col: col, source: source, remote: source.Remote()}
	r.workers.New = func() *chunk.Worker {
		w := source.NewWorker()
		w.PreferMapped()
		return w
	}
	r.scratch.New = func() *scratch { return &scratch{worker: r.workers.New()} }
	return r, nil
}

// Sizes writes the stored bytes of rows into sizes, -1 for a hole.
func (r *StoredReader) Sizes(ctx context.Context, rows, sizes []int64) error {
	s, err := r.borrow()
	if err != nil {
		return err
	}
	defer r.giveBack(s)
	if err := r.resolve(ctx, s, rows); err != nil {
		return err
	}
	for i := range s.refs {
		sizes[i] = storedSize(&s.refs[i])
	}
	return nil
}

// One copies the stored bytes of one row to dst if they fit, and returns their number in any case,
// -1 for a hole.
func (r *StoredReader) One(ctx context.Context, row int64, dst []byte) (int64, error) {
	s, err := r.borrow()
	if err != nil {
		return 0, err
	}
	defer r.giveBack(s)
	if !s.found || len(s.rows) != 1 || s.rows[0] != row {
		s.rows = append(s.rows[:0], row)
		s.found = false
		if err := r.find(ctx, s); err != nil {
			return 0, err
		}
	}
	n := storedSize(&s.refs[0])
	if n < 1 || n > int64(len(dst)) {
		return n, nil
	}
	if r.remote {
		return n, r.copyParallel(ctx, 1, s.refs, [][]byte{dst[:n]})
	}
	if err := r.col.Stored(ctx, &s.refs[0], dst[:n], s.worker); err != nil {
		return 0, r.failed(ctx, &s.refs[0], err)
	}
	return n, nil
}

// Read copies the stored bytes of rows to dst. len(dst[i]) must be the size from Sizes, 0 for a
// hole. Many rows are shared out over threads. After an error the content of dst is undefined.
func (r *StoredReader) Read(ctx context.Context, rows []int64, dst [][]byte) error {
	s, err := r.borrow()
	if err != nil {
		return err
	}
	defer r.giveBack(s)
	if err := r.resolve(ctx, s, rows); err != nil {
		return err
	}
	for i := range s.refs {
		if want := max(storedSize(&s.refs[i]), 0); int64(len(dst[i])) != want {
			return errs.Op("read tensor", r.col.Name()).New(errs.Invalid, "room for row %d is %d bytes, want %d", rows[i], len(dst[i]), want)
		}
	}
	threads := min(task.Cores(), len(rows)/rowsPerThread)
	if threads < 2 && !r.remote {
		return r.copyRange(ctx, s.worker, s.refs, dst)
	}
	return r.copyParallel(ctx, threads, s.refs, dst)
}

// copyParallel copies samples on several threads. Over a network it requests all of them at once.
func (r *StoredReader) copyParallel(ctx context.Context, threads int, refs []chunk.Ref, dst [][]byte) error {
	turn := func(k int) (from, to int) { return k * rowsPerTurn, min((k+1)*rowsPerTurn, len(refs)) }
	j := read.Jobs{Count: (len(refs) + rowsPerTurn - 1) / rowsPerTurn, Threads: threads, Run: func(ctx context.Context, k int, w *chunk.Worker) error {
		from, to := turn(k)
		return r.copyRange(ctx, w, refs[from:to], dst[from:to])
	}}
	if r.remote {
		j.Spans = func(k int, out []chunk.Span) []chunk.Span {
			from, to := turn(k)
			for i := from; i < to; i++ {
				out = refs[i].Spans(out)
			}
			return out
		}
	}
	err := j.Do(ctx, &r.workers)
	if err == nil && ctx.Err() != nil {
		err = errs.Cause(ctx, "read tensor")
	}
	return err
}

// Close frees the scratch memory; calls after it are errs.Closed.
func (r *StoredReader) Close() {
	r.scratch.Close()
	r.workers.Close()
}

func (r *StoredReader) borrow() (*scratch, error) {
	if r.scratch.Closed() {
		return nil, errs.Op("read tensor", r.col.Name()).New(errs.Closed, "the reader is closed")
	}
	return r.scratch.Borrow(), nil
}

func (r *StoredReader) giveBack(s *scratch) {
	if cap(s.refs) > cachedRows {
		s.rows, s.refs, s.found = nil, nil, false
	}
	r.scratch.Return(s)
}

// resolve finds rows, unless the last call on s did.
func (r *StoredReader) resolve(ctx context.Context, s *scratch, rows []int64) error {
	if s.found && slices.Equal(s.rows, rows) {
		return nil
	}
	s.rows = append(s.rows[:0], rows...)
	s.found = false
	return r.find(ctx, s)
}

func (r *StoredReader) find(ctx context.Context, s *scratch) error {
	n := r.source.Len()
	for _, row := range s.rows {
		if row < 0 || row >= n {
			return errs.Op("read tensor", r.col.Name()).New(errs.Range, "row %d is outside [0, %d)", row, n)
		}
	}
	if r.remote && len(s.rows) > 1 {
		warm(ctx, []read.Access{r.col.Access()}, s.rows)
	}
	s.refs = slices.Grow(s.refs[:0], len(s.rows))[:len(s.rows)]
	if err := r.col.Resolve(ctx, s.rows, s.refs); err != nil {
		return errs.Wrap(errs.Storage, "read tensor", r.col.Name(), err)
	}
	s.found = true
	return nil
}

func (r *StoredReader) copyRange(ctx context.Context, w *chunk.Worker, refs []chunk.Ref, dst [][]byte) error {
	for i := range refs {
		if len(dst[i]) > 0 {
			if err := r.col.Stored(ctx, &refs[i], dst[i], w); err != nil {
				return r.failed(ctx, &refs[i], err)
			}
		}
	}
	return nil
}

// failed returns the error of a sample, with its row and the file of that.
func (r *StoredReader) failed(ctx context.Context, ref *chunk.Ref, err error) error {
	access := r.col.Access()
	return access.NameFile(ctx, rowError(r.col.Name(), ref.Row, err))
}

// storedSize returns the number of stored bytes of a sample, -1 for a hole.
func storedSize(ref *chunk.Ref) int64 {
	if ref.Hole() {
		return -1
	}
	return ref.Stored
}
