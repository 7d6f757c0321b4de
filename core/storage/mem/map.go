package mem

import (
	"context"

	"deeplake/core/storage"
)

var _ storage.Mapper = (*Provider)(nil)

// Map shows an object where it is kept. It stays after its deletion, for whoever looks at it.
func (p *Provider) Map(ctx context.Context, key string) (*storage.Mapping, error) {
	data, err := p.lookup(ctx, "map", key)
	if err != nil {
		return nil, err
	}
	return &storage.Mapping{Data: data}, nil
}
