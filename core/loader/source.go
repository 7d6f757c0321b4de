package loader

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/read"
	"deeplake/core/storage"
)

// Source is a view of one committed version. It does not change while a loader uses it. All methods
// may be called in parallel.
type Source interface {
	// Len is the number of rows.
	Len() int64
	// Names lists the tensors, in the order in which a batch shows them.
	Names() []string
	// Column finds a tensor by name; an unknown one is errs.NotFound.
	Column(name string) (read.Column, error)
	// StoredBytes is the size of all rows in all tensors, as stored. It reads at most index pages
	// and may estimate. It must depend only on the version and the rows of the view: the shuffled
	// order is computed from it.
	StoredBytes(ctx context.Context) (int64, error)
	// NewWorker makes the scratch memory and sample decoders of one goroutine. The loader closes
	// it.
	NewWorker() *chunk.Worker
	// Remote reports whether reads are requests over a network, so that bytes are prefetched.
	Remote() bool
	// Traffic returns the counters of the store since it was opened.
	Traffic() storage.Stats
	// Identity names the dataset, the commit (empty: not committed) and the selection of rows.
	// Without one, no state can be made.
	Identity() (dataset, commit, selection string, err error)
}

// View is a Source with its own column type, so that the implementing package need not name
// read.Column.
type View[C read.Column] interface {
	Len() int64
	Names() []string
	Column(name string) (C, error)
	StoredBytes(ctx context.Context) (int64, error)
	NewWorker() *chunk.Worker
	Remote() bool
	Traffic() storage.Stats
	Identity() (dataset, commit, selection string, err error)
}

// SourceOf makes a Source of v.
func SourceOf[C read.Column](v View[C]) Source { return source[C]{v} }

// blockBytes is the aim of blocks that are read by one request each.
const blockBytes = 8 << 20

// blocksOf returns the first rows of blocks of about aim bytes, and the number of rows at the end.
// Blocks are chunks of the largest tensor: small ones are joined, large ones cut. It is nil where
// index pages do not say enough.
func blocksOf(ctx context.Context, src Source, aim int64) ([]int64, error) {
	var largest read.Access
	for i, name := range src.Names() {
		c, err := src.Column(name)
		if err != nil {
			return nil, err
		}
		if a := c.Access(); i == 0 || a.StoredBytes > largest.StoredBytes {
			largest = a
		}
	}
	if largest.Zones == nil {
		return nil, nil
	}
	zones, err := largest.Zones(ctx)
	if err != nil || len(zones) == 0 {
		return nil, err
	}
	starts := []int64{0}
	held := int64(0) // bytes behind the last start
	for _, z := range zones {
		rows := z.To - z.From
		if held > 0 && held+z.Bytes > aim*5/4 {
			starts, held = append(starts, z.From), 0
		}
		if held += z.Bytes; held < aim*3/4 {
			continue
		}
		for i, parts := int64(1), min((held+aim/2)/aim, rows); i < parts; i++ {
			starts = append(starts, z.From+rows*i/parts)
		}
		starts, held = append(starts, z.To), 0
	}
	if end := zones[len(zones)-1].To; starts[len(starts)-1] != end {
		starts = append(starts, end)
	}
	return starts, nil
}

// source narrows the columns of a View to the interface.
type source[C read.Column] struct{ View[C] }

func (s source[C]) Column(name string) (read.Column, error) {
	c, err := s.View.Column(name)
	if err != nil {
		return nil, err
	}
	return c, nil
}
