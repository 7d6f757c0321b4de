package version

import (
	"context"

	"deeplake/core/errs"
)

// Strategy says what a merge does where the two sides contradict each other.
type Strategy string

// The strategies.
const (
	OnConflictError  Strategy = "error"  // the merge fails with a ConflictError
	OnConflictOurs   Strategy = "ours"   // the branch that is merged into keeps what it has
	OnConflictTheirs Strategy = "theirs" // the commit that is merged in wins
)

// Merge takes the commit theirs, of any branch, and all that it comes from into this branch, as one commit on top of the
// newest one. done is false, and the snapshot the head, where the branch has it all already.
func (r *Repo) Merge(ctx context.Context, theirs *Snapshot, on Strategy, message, author string) (s *Snapshot, done bool, err error) {
	return nil, false, errs.New(errs.Unsupported, "merge: is being written")
}
