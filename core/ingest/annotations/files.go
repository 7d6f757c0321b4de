package annotations

import (
	"context"
	"io"

	"deeplake/core/errs"
)

// maxFile bounds a file with the annotations of one picture, or with names of classes.
const maxFile = 16 << 20

// readAll reads a whole file of at most maxFile bytes.
func readAll(ctx context.Context, s Source, key string) ([]byte, error) {
	body, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, errs.New(errs.Invalid, "%s has more than %d bytes", key, maxFile)
	}
	return data, nil
}

// readHead reads the first bytes of a file, at most n.
func readHead(ctx context.Context, s Source, key string, n int64) ([]byte, error) {
	body, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(io.LimitReader(body, n))
}
