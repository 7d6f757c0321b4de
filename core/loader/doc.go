// Package loader owns the way from a view to batches: the order of an epoch (cipher, shuffle), the plan of a batch and
// its layout in one slab (plan, layout), the decode threads (epoch, work), the order of delivery, and the figures about
// all of it (stats). It declares what it needs of a view (Source, Column) and of a device (Stager).
//
// It does not know storage, versions or Python, and it never holds a sample anywhere but in the slab of its batch.
package loader
