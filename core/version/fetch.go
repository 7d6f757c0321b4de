package version

import (
	"context"

	"deeplake/core/storage"
)

// fetch reads the object under key and gives it to decode; either's error comes as it is. What came over a network and
// cannot be decoded is dropped from all caches and asked for once more: the bit may have fallen over on the way.
func fetch(ctx context.Context, store storage.Provider, key string, decode func(data []byte) error) error {
	data, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	if err = decode(data); err == nil || !storage.Remote(store) {
		return err
	}
	storage.Forget(store, key)
	if data, err = store.Get(ctx, key); err != nil {
		return err
	}
	return decode(data)
}

// fetched is fetch for an object that the dataset cannot be without; op is in errors.
func fetched[T any](ctx context.Context, store storage.Provider, op, key string, decode func(data []byte) (T, error)) (T, error) {
	var v T
	err := fetch(ctx, store, key, func(data []byte) (err error) {
		v, err = decode(data)
		return err
	})
	if err != nil {
		return v, missing(err, op, key)
	}
	return v, nil
}
