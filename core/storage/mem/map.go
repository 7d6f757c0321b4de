package mem

import (
	"context"

	"deeplake/core/storage"
)

var _ storage.Mapper = (*Provider)(nil)

// Map returns the stored bytes of an object. They outlive its deletion.
func (p *Provider) Map(ctx context.Context, key string) (*storage.Mapping, error) {
	data, err := p.lookup(ctx, "map", key)
	if err != nil {
		return nil, err
	}
	return &storage.Mapping{Data: data}, nil
}
