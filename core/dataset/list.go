package dataset

import (
	"context"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/version"
)

// List gives the names of the datasets directly below uri, in byte order. It asks the store for the
// first object behind each name, and reads no more of it.
func List(ctx context.Context, env *Env, uri string, o storage.Options) ([]string, error) {
	const op = "list datasets of"
	store, err := env.Stores.Open(ctx, uri, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	names := []string{}
	for after := ""; ; {
		name := ""
		err := store.List(ctx, "", after, func(o storage.Object) bool {
			first, _, below := strings.Cut(o.Key, "/")
			if below { // else it is an object beside the datasets
				name = first
			}
			return !below
		})
		if err != nil {
			return nil, errs.Wrap(errs.Storage, op, uri, err)
		}
		if name == "" {
			return names, nil
		}
		found, err := version.Exists(ctx, inside{store, name + "/"})
		if err != nil {
			return nil, errs.Wrap(errs.Storage, op, uri, err)
		}
		if found {
			names = append(names, name)
		}
		after = name + "0" // "0" follows "/", so that all below the name is behind us
	}
}

// inside is the part of a store below a prefix, for reading.
type inside struct {
	storage.Provider
	prefix string
}

// Get returns the object below the prefix.
func (p inside) Get(ctx context.Context, key string) ([]byte, error) {
	return p.Provider.Get(ctx, p.prefix+key)
}
