package version

import (
	"context"

	"deeplake/core/format"
	"deeplake/core/storage"
)

// list calls fn for the objects of a dataset below prefix, in the order of their keys, until fn
// returns false. File browsers, network disks and uploads that were broken off leave files among
// them: a file whose key is none of the format is passed over.
func list(ctx context.Context, p storage.Provider, prefix, after string, fn func(storage.Object) bool) error {
	return p.List(ctx, prefix, after, func(o storage.Object) bool {
		return !format.OurKey(o.Key) || fn(o)
	})
}
