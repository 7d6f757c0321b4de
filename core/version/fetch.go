package version

import (
	"context"

	"deeplake/core/format"
	"deeplake/core/storage"
)

// fetch reads the object under key and gives it to decode; either's error comes as it is. What came
// over a network and cannot be decoded is dropped from all caches and asked for once more: the bit
// may have fallen over on the way.
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

// fetchedPage is fetched for an object under map/. From version 2 on its content is held against
// its name: an object that was damaged, cut off, or exchanged for another is refused before it is
// decoded.
func fetchedPage[T any](ctx context.Context, s *Pages, op string, name format.UUID, decode func(data []byte) (T, error)) (T, error) {
	return fetchedNamed(ctx, s, op, format.MapKey(name), name, decode)
}

// fetchedOps is fetchedPage for a transaction summary.
func fetchedOps(ctx context.Context, s *Pages, name format.UUID) ([]format.Op, error) {
	return fetchedNamed(ctx, s, "read transaction", format.TxnKey(name), name, format.DecodeOps)
}

func fetchedNamed[T any](ctx context.Context, s *Pages, op, key string, name format.UUID, decode func(data []byte) (T, error)) (T, error) {
	return fetched(ctx, s.store, op, key, func(data []byte) (v T, err error) {
		if err := format.CheckObject(s.version, name, data); err != nil {
			return v, err
		}
		return decode(data)
	})
}
