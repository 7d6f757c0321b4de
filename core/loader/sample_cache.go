package loader

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/samplecache"
)

// cachedColumn is a column whose decoded samples are kept.
type cachedColumn struct {
	Column
	cached samplecache.Cache
	runs   RunColumn      // of the column; nil: it decodes one by one
	ahead  PrefetchColumn // of the column; nil: it is not read ahead
}

// keepAll makes the fields keep what takes long to decode; a nil cache changes nothing.
func keepAll(fields []field, cache samplecache.Cache) {
	for i := range fields {
		if f := &fields[i]; cache != nil && f.encoded && !f.stored {
			f.col = keep(f.col, cache)
			f.runs, _ = f.col.(RunColumn)
		}
	}
}

func keep(c Column, k samplecache.Cache) Column {
	kc := &cachedColumn{Column: c, cached: k}
	kc.runs, _ = c.(RunColumn)
	if kc.ahead, _ = c.(PrefetchColumn); kc.ahead == nil {
		return kc
	}
	return &cachedPrefetchColumn{cachedColumn: kc}
}

// Decode takes the sample from what is kept, or decodes and keeps it.
func (c *cachedColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	if c.cached.Load(ref, dst) {
		return nil
	}
	if err := c.Column.Decode(ctx, ref, dst, w); err != nil {
		return err
	}
	c.cached.Store(ref, dst)
	return nil
}

// DecodeRun decodes those samples together that are not kept.
func (c *cachedColumn) DecodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	var missing []int
	for i, r := range refs {
		if !c.cached.Load(r, dst[i]) {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return
	}
	some, to := make([]*chunk.Ref, len(missing)), make([][]byte, len(missing))
	for k, i := range missing {
		some[k], to[k] = refs[i], dst[i]
	}
	bad := make([]bool, len(missing))
	c.decodeRun(ctx, some, to, w, func(k int, err error) {
		bad[k] = true
		failed(missing[k], err)
	})
	for k, r := range some {
		if !bad[k] {
			c.cached.Store(r, to[k])
		}
	}
}

func (c *cachedColumn) decodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	if c.runs != nil {
		c.runs.DecodeRun(ctx, refs, dst, w, failed)
		return
	}
	for i, r := range refs {
		if err := c.Column.Decode(ctx, r, dst[i], w); err != nil {
			failed(i, err)
		}
	}
}

// cachedPrefetchColumn is keeping for a column that is read ahead: what is kept is not fetched.
type cachedPrefetchColumn struct{ *cachedColumn }

// prefetchRows are resolved at once.
const prefetchRows = 4096

// Prefetch says which bytes are needed by the rows that are not kept.
func (c *cachedPrefetchColumn) Prefetch(ctx context.Context, runs [][2]int64) ([]chunk.Span, error) {
	spans, err := c.ahead.Prefetch(ctx, runs) // brings the index pages, all at once
	if err != nil || len(spans) == 0 {
		return spans, err
	}
	var missing [][2]int64
	var rows []int64
	refs := make([]chunk.Ref, prefetchRows)
	kept := false
	for _, run := range runs {
		for from := run[0]; from < run[1]; from += prefetchRows {
			rows = rows[:0]
			for row := from; row < min(from+prefetchRows, run[1]); row++ {
				rows = append(rows, row)
			}
			if err := c.Resolve(ctx, rows, refs[:len(rows)]); err != nil {
				return spans, nil // Resolve will say so again where the rows are needed
			}
			for i, row := range rows {
				if c.cached.Has(&refs[i]) {
					kept = true
					continue
				}
				missing = extend(missing, row)
			}
		}
	}
	if !kept {
		return spans, nil
	}
	return c.ahead.Prefetch(ctx, missing)
}

// extend adds a row to runs that end before it or with it.
func extend(runs [][2]int64, row int64) [][2]int64 {
	if n := len(runs) - 1; n >= 0 && runs[n][1] == row {
		runs[n][1] = row + 1
		return runs
	}
	return append(runs, [2]int64{row, row + 1})
}

// StoredBytes estimates the size of all rows, as stored.
func (c *cachedPrefetchColumn) StoredBytes() int64 { return c.ahead.StoredBytes() }
