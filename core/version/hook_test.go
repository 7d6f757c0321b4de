package version_test

import (
	"context"

	"deeplake/core/storage"
)

// hookStore calls a function before each put-if-absent.
type hookStore struct {
	storage.Provider
	before func(key string)
}

func (s *hookStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if s.before != nil {
		s.before(key)
	}
	return s.Provider.PutIfAbsent(ctx, key, data)
}
