package chunkmap

import (
	"context"

	"deeplake/core/format"
	"deeplake/core/storage"
)

// Fetch reads the object under key and passes it to decode. It returns the error of either as it
// is. An object from a network that cannot be decoded is dropped from all caches and read once
// more: a bit may have flipped on the way.
func Fetch(ctx context.Context, store storage.Provider, key string, decode func(data []byte) error) error {
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

// FetchRequired is Fetch for an object that every whole dataset has. Its absence is errs.Corrupt.
// op names the operation in errors.
func FetchRequired[T any](ctx context.Context, store storage.Provider, op, key string, decode func(data []byte) (T, error)) (T, error) {
	var v T
	err := Fetch(ctx, store, key, func(data []byte) (err error) {
		v, err = decode(data)
		return err
	})
	if err != nil {
		return v, Missing(err, op, key)
	}
	return v, nil
}

// FetchPage is FetchRequired for an object under map/. It checks the content against the name, and
// refuses a damaged, truncated or exchanged object before decoding it.
func FetchPage[T any](ctx context.Context, s *Store, op string, name format.UUID, decode func(data []byte) (T, error)) (T, error) {
	return fetchedNamed(ctx, s, op, format.MapKey(name), name, decode)
}

// FetchOps is FetchPage for the operations of a commit.
func FetchOps(ctx context.Context, s *Store, name format.UUID) ([]format.Op, error) {
	return fetchedNamed(ctx, s, "read transaction", format.TxnKey(name), name, format.DecodeOps)
}

// FetchContent is FetchPage for the content of a fragment, which names it.
func FetchContent(ctx context.Context, store storage.Provider, f *format.Fragment) error {
	key := format.TxnKey(*f.Object)
	_, err := FetchRequired(ctx, store, "read fragment", key, func(data []byte) (bool, error) {
		if err := format.CheckObject(*f.Object, data); err != nil {
			return false, err
		}
		return true, f.DecodeContent(data)
	})
	return err
}

func fetchedNamed[T any](ctx context.Context, s *Store, op, key string, name format.UUID, decode func(data []byte) (T, error)) (T, error) {
	return FetchRequired(ctx, s.store, op, key, func(data []byte) (v T, err error) {
		if err := format.CheckObject(name, data); err != nil {
			return v, err
		}
		return decode(data)
	})
}
