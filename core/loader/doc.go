// Package loader owns the path from a view to batches:
//
//   - the epoch order: cipher.go, shuffle.go, weights.go, mix.go, mix_order.go, epoch_order.go;
//   - ranks and states: ranks.go, state.go, mix_state.go;
//   - the plan of a batch and its layout in one slab: plan.go, layout.go;
//   - prefetching: prefetch_schedule.go finds the next bytes of the order, prefetch.go plans them
//     with core/prefetch;
//   - decode threads and delivery: epoch.go, work.go, stored.go, augment.go (native transforms),
//     sample_cache.go;
//   - bulk reads of small samples: bulk.go, read.go;
//   - figures: stats.go, meter.go, trace.go.
//
// It declares the interfaces that it needs of a view (Source, Column) and of a device (Stager).
//
// The package knows no versions and no Python. It reads bytes through chunk, and of storage it
// knows the counters only. Decoded samples lie in the slab of their batch or in a core/samplecache
// cache, and nowhere else.
package loader
