package storage

import "context"

// Mapper is implemented by providers whose objects can be looked at without being copied.
type Mapper interface {
	// Map shows a whole object. Missing: errs.NotFound. Objects that cannot be shown, and systems
	// that cannot, are errs.Unsupported: ReadAt may work all the same.
	Map(ctx context.Context, key string) (*Mapping, error)
}

// Mapping is an object as it lies in memory. It may be used in parallel and outlives its Provider.
type Mapping struct {
	// Data is the object, not to be written to. It is valid only while the Mapping is held: a
	// caller that keeps a part of it keeps the Mapping too. If another process truncated the
	// object, which none does, the cut part must not be touched.
	Data []byte
	// Ready brings a part of Data into memory. An error, which is that of the disk, says that it
	// must not be touched; nil: all of it lies there.
	Ready func(off, n int64) error
}

// PageCache is implemented by providers whose objects lie in the page cache of the system. Its
// methods are advice: they change when bytes are read from the disk, and never which.
type PageCache interface {
	// CacheBytes estimates how many bytes of objects find place in the cache.
	CacheBytes() int64
	// Resident reports whether the byte of an object at off is in the cache.
	Resident(key string, off int64) bool
	// ReadAhead begins to read bytes into the cache. It may wait while the disk is busy.
	ReadAhead(key string, off, n int64)
	// DropPages removes bytes from the cache.
	DropPages(key string, off, n int64)
}
