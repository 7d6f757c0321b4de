package chunk

import (
	"context"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// ReadDirectory reads the encoded directory at the end of a chunk object of size bytes. What is damaged after a way over a
// network is read once more.
func ReadDirectory(ctx context.Context, store storage.Provider, key string, size int64) ([]byte, error) {
	raw, err := readDirectory(ctx, store, key, size)
	if errs.Is(err, errs.Corrupt) && storage.Remote(store) {
		storage.Forget(store, key)
		return readDirectory(ctx, store, key, size)
	}
	return raw, err
}

func readDirectory(ctx context.Context, store storage.Provider, key string, size int64) ([]byte, error) {
	if size < format.ChunkHeadBytes+format.ChunkTrailerBytes {
		return nil, errs.New(errs.Corrupt, "read chunk %q: it has %d bytes, too few for a chunk", key, size)
	}
	last := make([]byte, format.ChunkTrailerBytes)
	if err := store.ReadAt(ctx, key, last, size-int64(len(last))); err != nil {
		return nil, missing(key, err)
	}
	t, err := format.DecodeTrailer(last, size)
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read chunk", key, err)
	}
	stored := make([]byte, t.Stored)
	if err := store.ReadAt(ctx, key, stored, t.Offset); err != nil {
		return nil, missing(key, err)
	}
	raw, err := t.RawDirectory(stored)
	return raw, errs.Wrap(errs.Corrupt, "read chunk", key, err)
}
