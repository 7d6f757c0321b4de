// Package slab owns reusable memory that lives outside the Go heap: a Ring hands out Slabs, each a
// mapping, shared unless the ring is local, with a reference count that C code may drop without
// entering Go. It gives the memory no meaning and starts nothing.
//
// Why not the Go heap: reused pages take 5 to 8 times the bandwidth of fresh ones, arrays handed to
// Python must outlive any Go object, and a fork must not copy them on write.
package slab

// Stats are the figures of a ring.
type Stats struct {
	Bytes     int64 `json:"bytes"`      // mapped now, held and free
	PeakBytes int64 `json:"peak_bytes"` // most that was ever mapped
	Budget    int64 `json:"budget"`     // bytes that stay mapped when nothing is held
	Slabs     int64 `json:"slabs"`      // mapped now
	FreeSlabs int64 `json:"free_slabs"` // of these, waiting for reuse
	Created   int64 `json:"created"`    // mapped since the start
	Reused    int64 `json:"reused"`     // handed out again without mapping
	// mapped beyond the budget because consumers hold the others
	Grown int64 `json:"grown"`
}
