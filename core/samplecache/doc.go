// Package samplecache keeps decoded samples between epochs: in memory (Memory), or in a directory
// that processes share (Disk). A cache fills up to a limit and then evicts nothing: for repeated
// passes over all rows, eviction would only lower the hit rate.
//
// The key of a sample is the identity of its chunk: its dataset, its place, and the chunk, which
// never changes. Therefore the package knows neither versions nor datasets. It decodes nothing. A
// failed store or load only costs decoding a sample again.
package samplecache

import (
	"deeplake/core/chunk"
	"deeplake/core/errs"
)

// Cache keeps samples. All methods may be called in parallel, but for Close, which comes last.
type Cache interface {
	// Load fills dst, len(dst) == r.Size, if the sample is cached.
	Load(r *chunk.Ref, dst []byte) bool
	// Store may take a copy of the decoded sample.
	Store(r *chunk.Ref, data []byte)
	// Has says whether Load is likely to find the sample, so that it need not be fetched.
	Has(r *chunk.Ref) bool
	Stats() Stats
	Close()
}

var (
	_ Cache = (*Memory)(nil)
	_ Cache = (*Disk)(nil)
)

// Options choose the cache, its size and its directory.
type Options struct {
	Bytes int64  `json:"bytes"` // at most; 0: nothing
	Dir   string `json:"dir"`   // shared by all runs that name it; "": in memory, until Close
}

// Open makes the cache that o asks for, nil if it asks for none. A directory that cannot be used is
// errs.Storage.
func Open(o Options) (Cache, error) {
	switch {
	case o.Bytes < 0:
		return nil, errs.New(errs.Invalid, "cache of %d bytes, want at least 0", o.Bytes)
	case o.Bytes == 0 && o.Dir != "":
		return nil, errs.New(errs.Invalid, "cache in %q: want the bytes that it may take", o.Dir)
	case o.Bytes == 0:
		return nil, nil
	case o.Dir != "":
		d, err := OpenDisk(o.Dir, o.Bytes)
		if err != nil {
			return nil, err // not a Cache that holds no Disk
		}
		return d, nil
	}
	return NewMemory(o.Bytes), nil
}

// Stats are the figures of a cache.
type Stats struct {
	Hits   int64 `json:"hits"`   // samples found
	Misses int64 `json:"misses"` // samples not found
	Stored int64 `json:"kept"`   // samples added
	Bytes  int64 `json:"bytes"`  // of samples in memory, or of files, those of other runs too
	Limit  int64 `json:"limit"`
	// files that could not be read or written, or were damaged
	Faults int64  `json:"faults"`
	Fault  string `json:"fault,omitempty"` // the first of them
}

// fits reports whether a sample can be cached: it is whole, and a single item of its chunk.
func fits(r *chunk.Ref) bool {
	return r.Chunk != nil && r.Tiles == nil && r.Items == 1 && r.Size > 0 && !r.Orientation.Turned() && r.Item < r.Chunk.Index.Items()
}
