// Package loader owns the way from a view to batches: the order of an epoch (cipher, shuffle;
// weights, mix and mixOrder; epoch order) and its cut into ranks (ranks, state), the plan of a
// batch and its layout in one slab (plan, layout), what the order comes to next (prefetchSchedule;
// fetch tells it to core/prefetch, which brings it over a network), the decode threads (epoch,
// work; augment: native transforms; kept: what was decoded before), the order of delivery, and the
// figures about all of it (stats, meter, trace). It declares what it needs of a view (Source,
// Column) and of a device (Stager).
//
// It does not know versions or Python, and of storage the counters only: bytes are read through
// chunk. It never holds a decoded sample anywhere but in the slab of its batch and in a
// core/samplecache cache.
package loader
