// Package prefetch reads bytes of objects before they are needed, and holds them until their last
// use.
//
// The caller plans windows of a pass and says when batches have ended. prefetcher.go keeps the
// plan, request.go cuts it into requests, and link.go estimates the bandwidth and delay of the
// link, which bound the bytes in flight. buffer.go, pool.go and prefault.go own the memory.
// carryover.go passes buffers from one epoch to the next.
//
// The package knows windows and batches by number only. It knows no rows, epoch orders, codecs or
// datasets, and reads through chunk.
package prefetch
