package scan

import (
	"context"

	"deeplake/core/dataset"
	"deeplake/core/query"
)

// keepComputed makes columns of outputs that were computed. Pages never write datasets, so that
// their program is smaller without.
func keepComputed(ctx context.Context, env *dataset.Env, r *query.Result, outputs []int, fields []*field) error {
	return holdComputed(ctx, env, r, outputs, fields)
}
