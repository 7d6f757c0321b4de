package loader

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// Source is a view of one committed version, as the loader needs it: it does not change while a
// loader uses it. All methods may be called in parallel.
type Source interface {
	// Len is the number of rows.
	Len() int64
	// Names lists the tensors, in the order in which a batch shows them.
	Names() []string
	// Column finds a tensor by name; an unknown one is errs.NotFound.
	Column(name string) (Column, error)
	// StoredBytes is the size of all rows in all tensors, as stored. It reads index pages at most
	// and may estimate, but must depend on the version and the rows of the view alone: the shuffled
	// order is computed from it.
	StoredBytes(ctx context.Context) (int64, error)
	// NewWorker makes the scratch memory and sample decoders of one goroutine. The loader closes
	// it.
	NewWorker() *chunk.Worker
}

// Column is one tensor of a view. All methods may be called in parallel, those that take a Worker
// with distinct ones. A row below is a position in the view, 0 <= row < Len. Errors need not name
// tensor and row: the loader adds them.
type Column interface {
	Name() string
	// DType is the element type that Decode delivers.
	DType() tensor.DType
	// Sequence reports whether a row is a list of items.
	Sequence() bool
	// Encoded reports whether samples are files (JPEG, PNG, WebP) that cost far more to decode than
	// to copy.
	Encoded() bool
	// Resolve finds rows and fills refs, len(refs) == len(rows); rows are in any order and may
	// repeat. It reads index pages, never samples. Ref.Row is the dataset row, also of a hole.
	// After an error refs is undefined.
	Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error
	// Items splits a sequence: it fills items, len(items) == ref.Items, with one Ref each (Items ==
	// 1, Shape set where items are arrays) that Decode and Stored accept. Called only where
	// Sequence() is true.
	Items(ctx context.Context, ref *chunk.Ref, items []chunk.Ref) error
	// Decode reads, checks and decodes the sample of ref into dst, len(dst) == ref.Size. The loader
	// calls it in chunk and item order within a run of small samples, so a Worker that remembers
	// its last block need not read it again. After an error dst is undefined. ref is never a hole.
	Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error
	// Stored copies the sample as it is stored (the JPEG file, the raw array) into dst, len(dst) ==
	// ref.Stored.
	Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error
}

// RunColumn is what a Column also is where several samples at once cost less to decode than one by
// one.
type RunColumn interface {
	// DecodeRun decodes refs[i], none of them a hole, into dst[i] as Decode would, and calls failed
	// for those that could not be read; the others are decoded.
	DecodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error))
}

// PrefetchColumn is what a Column also is where reading ahead in large pieces pays.
type PrefetchColumn interface {
	// Prefetch says which bytes reading runs of rows takes, each run being the first row and the
	// one behind the last. It reads index pages, and leaves them where Resolve finds them. What
	// cannot be found is left out and the first error returned.
	Prefetch(ctx context.Context, runs [][2]int64) ([]chunk.Span, error)
	// StoredBytes estimates the size of all rows, as stored.
	StoredBytes() int64
}

// remoteSource is implemented by a Source that may lie behind a network.
type remoteSource interface {
	// Remote reports whether reads are requests over a network.
	Remote() bool
	// Traffic is what the store has done since it was opened.
	Traffic() storage.Stats
}

// remote reports whether bytes of src are to be fetched ahead.
func remote(src Source) bool {
	d, ok := src.(remoteSource)
	return ok && d.Remote()
}

// View is a Source whose columns have a type of their own. It spares the room that implements it
// from naming Column.
type View[C Column] interface {
	Len() int64
	Names() []string
	Column(name string) (C, error)
	StoredBytes(ctx context.Context) (int64, error)
	NewWorker() *chunk.Worker
}

// SourceOf makes a Source of v.
func SourceOf[C Column](v View[C]) Source { return source[C]{v} }

// source narrows the columns of a View to the interface.
type source[C Column] struct{ View[C] }

func (s source[C]) Remote() bool {
	d, ok := s.View.(remoteSource)
	return ok && d.Remote()
}

func (s source[C]) Traffic() storage.Stats {
	if d, ok := s.View.(remoteSource); ok {
		return d.Traffic()
	}
	return storage.Stats{}
}

func (s source[C]) Identity() (dataset, commit, selection string, err error) {
	return identityOf(s.View)
}

func (s source[C]) Column(name string) (Column, error) {
	c, err := s.View.Column(name)
	if err != nil {
		return nil, err
	}
	return c, nil
}
