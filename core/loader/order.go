package loader

import (
	"context"

	"deeplake/core/order"
)

// newEpochOrder chooses the order of a source.
func newEpochOrder(ctx context.Context, src Source, o *Options) (*order.EpochOrder, error) {
	choice := order.Options{Shuffle: o.Shuffle, Seed: o.Seed, ShuffleBytes: o.ShuffleBytes, Weights: o.Weights, Length: o.Length, Distinct: o.Distinct}
	if m, ok := src.(*Mix); ok {
		parts := make([]order.Part, len(m.parts))
		for i, p := range m.parts {
			rowBytes, err := bytesOfRow(ctx, p.Source, o.Shuffle)
			if err != nil {
				return nil, m.named(i, err)
			}
			parts[i] = order.Part{Rows: p.Source.Len(), RowBytes: rowBytes}
		}
		return order.NewMixed(choice, m.policy, parts)
	}
	rowBytes, err := bytesOfRow(ctx, src, o.Shuffle)
	if err != nil {
		return nil, err
	}
	return order.New(choice, src.Len(), rowBytes)
}

// bytesOfRow returns the stored size of a row on average, if the order depends on it.
func bytesOfRow(ctx context.Context, src Source, kind string) (int64, error) {
	rows := src.Len()
	if kind != order.Window || rows == 0 {
		return 0, nil
	}
	stored, err := src.StoredBytes(ctx)
	return (stored + rows - 1) / rows, err
}
