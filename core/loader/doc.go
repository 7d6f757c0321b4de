// Package loader owns the way from a view to batches: the order of an epoch (cipher, shuffle; weights, mix and blend; course), the plan of a batch and
// its layout in one slab (plan, layout), what is fetched ahead over a network (route: which bytes the order comes to next;
// hoard and piece: asking for them and keeping them to their last use; line: how much at once; shelf: their memory; fetch:
// all of it in an epoch or a read), the decode threads (epoch, work), the order of delivery, and the figures about all of
// it (stats). It declares what it needs of a view (Source, Column) and of a device (Stager).
//
// It does not know versions or Python, and of storage the counters only: bytes are read through chunk. It never holds a
// decoded sample anywhere but in the slab of its batch.
package loader
