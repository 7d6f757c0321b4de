package storagetest

import (
	"bytes"
	"context"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Certain makes the answers of PutIfAbsent certain, as callers who must know do: it reads back what
// was to be written. Around a provider whose answers can be lost it lets the whole suite hold.
func Certain(p storage.Provider) storage.Provider {
	return certain{p}
}

type certain struct{ storage.Provider }

// Unwrap returns the provider whose answers are made certain.
func (c certain) Unwrap() storage.Provider { return c.Provider }

// Create streams where the inner provider does.
func (c certain) Create(ctx context.Context, key string) (storage.Stream, error) {
	return storage.Create(ctx, c.Provider, key)
}

// PutIfAbsent returns errs.Exists only if the key holds other data.
func (c certain) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	err := c.Provider.PutIfAbsent(ctx, key, data)
	if err == nil || ctx.Err() != nil || !errs.Is(err, errs.Exists) && !errs.Is(err, errs.Storage) {
		return err
	}
	stands, getErr := c.Get(ctx, key)
	switch {
	case getErr != nil:
		return err
	case bytes.Equal(stands, data):
		return nil
	}
	return errs.Op("put", key).New(errs.Exists, "somebody else has")
}
