package loader

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/read"
	"deeplake/core/samplecache"
)

// cachedColumn is a column with a cache of decoded samples.
type cachedColumn struct {
	read.Column
	access read.Access // of the column
	cache  samplecache.Cache
}

// cacheAll makes the fields cache samples that take long to decode. A nil cache changes nothing.
func cacheAll(fields []field, cache samplecache.Cache) {
	for i := range fields {
		if f := &fields[i]; cache != nil && f.encoded && !f.stored && !f.access.Clips {
			f.col = cached(f.col, cache)
			f.access = f.col.Access()
			f.runs = true
		}
	}
}

func cached(c read.Column, cache samplecache.Cache) read.Column {
	return &cachedColumn{Column: c, access: c.Access(), cache: cache}
}

// Access replaces the abilities that decode, and omits the ones that bypass the cache.
func (c *cachedColumn) Access() read.Access {
	a := c.access
	a.DecodeRun, a.PackRun, a.DecodeROIs, a.GatherPlan, a.CopyRange = c.decodeRun, nil, nil, nil, nil
	if a.Prefetch != nil {
		a.Prefetch = c.prefetch
	}
	return a
}

// Decode takes the sample from the cache, or decodes and caches it. A sample whose damage was
// accepted is not cached: each epoch counts it again, and other loaders may refuse it.
func (c *cachedColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	if c.cache.Load(ref, dst) {
		return nil
	}
	if err := c.Column.Decode(ctx, ref, dst, w); err != nil {
		return err
	}
	if !w.HasAccepted(ref) {
		c.cache.Store(ref, dst)
	}
	return nil
}

// decodeRun decodes together the samples that are not cached.
func (c *cachedColumn) decodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	var missing []int
	for i, r := range refs {
		if !c.cache.Load(r, dst[i]) {
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
	c.decodeMissing(ctx, some, to, w, func(k int, err error) {
		bad[k] = true
		failed(missing[k], err)
	})
	for k, r := range some {
		if !bad[k] && !w.HasAccepted(r) {
			c.cache.Store(r, to[k])
		}
	}
}

func (c *cachedColumn) decodeMissing(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	if c.access.DecodeRun != nil {
		c.access.DecodeRun(ctx, refs, dst, w, failed)
		return
	}
	for i, r := range refs {
		if err := c.Column.Decode(ctx, r, dst[i], w); err != nil {
			failed(i, err)
		}
	}
}

// prefetchRows are resolved at once.
const prefetchRows = 4096

// prefetch returns the bytes of the rows that are not cached.
func (c *cachedColumn) prefetch(ctx context.Context, runs [][2]int64) ([]chunk.Span, error) {
	spans, err := c.access.Prefetch(ctx, runs) // brings the index pages, all at once
	if err != nil || len(spans) == 0 {
		return spans, err
	}
	var missing [][2]int64
	var rows []int64
	refs := make([]chunk.Ref, prefetchRows)
	hit := false
	for _, run := range runs {
		for from := run[0]; from < run[1]; from += prefetchRows {
			rows = rows[:0]
			for row := from; row < min(from+prefetchRows, run[1]); row++ {
				rows = append(rows, row)
			}
			if err := c.Resolve(ctx, rows, refs[:len(rows)]); err != nil {
				return spans, nil // Resolve returns it again where the rows are needed
			}
			for i, row := range rows {
				if c.cache.Has(&refs[i]) {
					hit = true
					continue
				}
				missing = extend(missing, row)
			}
		}
	}
	if !hit {
		return spans, nil
	}
	return c.access.Prefetch(ctx, missing)
}

// extend adds a row to runs that end before it or with it.
func extend(runs [][2]int64, row int64) [][2]int64 {
	if n := len(runs) - 1; n >= 0 && runs[n][1] == row {
		runs[n][1] = row + 1
		return runs
	}
	return append(runs, [2]int64{row, row + 1})
}
