// Package loader owns the path from a view to batches:
//
//   - the wishes of a user, mixtures of views and states: options.go, mix.go, state.go;
//   - the plan of a batch and its layout in one slab: plan.go, layout.go;
//   - prefetching: prefetch_schedule.go finds the next bytes of the order, prefetch.go plans them
//     with core/prefetch;
//   - decode threads and delivery: epoch.go, work.go, stored.go, augment.go (native transforms),
//     sample_cache.go;
//   - batches for a device: stager.go (its interface), staging.go (their layout), staged.go;
//   - bulk reads of small samples: bulk.go; reads of given rows: read.go;
//   - figures: stats.go, meter.go, trace.go.
//
// It declares the interfaces that it needs of a view (Source, Column) and of a device (Stager).
//
// core/order says which rows come, and in which order. The package knows no versions and no Python.
// It reads bytes through chunk, and knows only the counters of storage. Decoded samples lie in the
// slab of their batch or in a core/samplecache cache, and nowhere else.
package loader
