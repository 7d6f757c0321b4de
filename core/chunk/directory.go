package chunk

import (
	"context"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// ReadDirectory reads the encoded directory at the end of a chunk object of size bytes, whose head
// must be want: another chunk in its place is errs.Corrupt. A damaged directory from a remote store
// is read once more.
func ReadDirectory(ctx context.Context, store storage.Provider, key string, size int64, want format.ChunkHead) ([]byte, error) {
	raw, err := readDirectory(ctx, store, key, size, want)
	if errs.Is(err, errs.Corrupt) && storage.Remote(store) {
		storage.Forget(store, key)
		return readDirectory(ctx, store, key, size, want)
	}
	return raw, err
}

func readDirectory(ctx context.Context, store storage.Provider, key string, size int64, want format.ChunkHead) ([]byte, error) {
	return directoryOf(key, size, want, func(dst []byte, off int64) error { return missing(key, store.ReadAt(ctx, key, dst, off)) })
}

// directoryOf reads the directory by reads of parts of the chunk.
func directoryOf(key string, size int64, want format.ChunkHead, readAt func(dst []byte, off int64) error) ([]byte, error) {
	if size < format.ChunkHeadBytes+format.ChunkTrailerBytes {
		return nil, errs.Op("read chunk", key).New(errs.Corrupt, "it has %d bytes, too few for a chunk", size)
	}
	start := make([]byte, format.ChunkHeadBytes)
	if err := readAt(start, 0); err != nil {
		return nil, err
	}
	switch head, err := format.DecodeChunkHead(start); {
	case err != nil:
		return nil, errs.Wrap(errs.Corrupt, "read chunk", key, err)
	case head != want:
		return nil, errs.Op("read chunk", key).New(errs.Corrupt, "it says that it is chunk %d of session %s and tensor %s, want tensor %s: another one is in its place", head.Ordinal, head.Session, head.Tensor, want.Tensor)
	}
	last := make([]byte, format.ChunkTrailerBytes)
	if err := readAt(last, size-int64(len(last))); err != nil {
		return nil, err
	}
	t, err := format.DecodeTrailer(last, size)
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read chunk", key, err)
	}
	stored := make([]byte, t.Stored)
	if err := readAt(stored, t.Offset); err != nil {
		return nil, err
	}
	raw, err := t.RawDirectory(stored)
	return raw, errs.Wrap(errs.Corrupt, "read chunk", key, err)
}
