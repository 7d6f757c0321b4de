package table

import (
	"context"

	"deeplake/core/arrow/gather"
	"deeplake/core/ffcv"
)

// beton is a file of FFCV.
type beton struct{ *ffcv.File }

func openBeton(ctx context.Context, f opened) (Table, error) {
	file, err := ffcv.Open(ctx, f, f.f.size)
	if err != nil {
		return nil, err
	}
	return beton{file}, nil
}

// Read begins to read samples.
func (t beton) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	how := gather.Options{Columns: o.Columns, From: o.From, LeaveOut: o.LeaveOut, Places: o.Places}
	r, err := t.File.Read(ctx, ffcv.Options{Options: how, Parallel: o.Ahead})
	if err != nil {
		return nil, err
	}
	return &numberedRows{r, func() {}}, nil
}
