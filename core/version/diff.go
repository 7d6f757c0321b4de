package version

import (
	"context"

	"deeplake/core/errs"
	"deeplake/core/format"
)

// RowSet is a set of rows, as the user counts them in one commit: deleted rows are left out.
type RowSet struct {
	Count  int64             `json:"count"`
	Ranges []format.RowRange `json:"ranges"` // rising, disjoint, none empty
}

// Changes of a tensor as a whole.
const (
	TensorCreated = "created"
	TensorDropped = "dropped"
	TensorChanged = "changed"
)

// TensorDiff is what became of one tensor.
type TensorDiff struct {
	Name    string   `json:"name"`   // in b; in a where it was dropped
	Change  string   `json:"change"` // TensorCreated, TensorDropped or TensorChanged
	OldName string   `json:"old_name,omitempty"`
	Schema  []string `json:"schema"`  // what else of its schema differs: "dtype", "shape", "class_names", ...
	Added   RowSet   `json:"added"`   // rows of b that a has not, and that have a value in the tensor
	Updated RowSet   `json:"updated"` // rows of b that a has too, with another value
	Deleted RowSet   `json:"deleted"` // rows of a that b has not, and that had a value in the tensor
}

// Diff is what leads from commit a to commit b.
type Diff struct {
	A, B    Committed
	Base    Committed    // the newest commit that both come from: one of the two where the other comes from it
	Added   RowSet       // rows of b
	Deleted RowSet       // rows of a
	Info    bool         // the info of the dataset differs
	Tensors []TensorDiff // those that differ, in order of creation in b, then dropped ones
}

// Empty reports whether nothing differs.
func (d *Diff) Empty() bool {
	return d.Added.Count == 0 && d.Deleted.Count == 0 && !d.Info && len(d.Tensors) == 0
}

// Diff says what leads from a to b, which may lie on any branches, from records and map pages alone: no sample is read.
func (r *Repo) Diff(ctx context.Context, a, b *Snapshot) (*Diff, error) {
	return nil, errs.New(errs.Unsupported, "diff: is being written")
}
