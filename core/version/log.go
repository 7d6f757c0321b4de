package version

import (
	"context"

	"deeplake/core/format"
)

// LogFrom returns at most limit commits that s comes from, s first, as Log does; limit <= 0 means
// all.
func (r *Repo) LogFrom(ctx context.Context, s *Snapshot, limit int) ([]*format.Record, error) {
	return r.line(ctx, s.Record, limit)
}
