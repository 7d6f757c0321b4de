// Package v3 presents datasets of Deep Lake 3 as datasets of this format, read-only.
//
// It owns the bytes of that format: the tree of commits, the index files of tensors and the header
// of chunks. A Store has the objects that a dataset of this format would have: records, pages of
// the chunk map, names of branches and saved views. A read of an object makes it, so that commits
// which no reader opens are not loaded. Chunks are opened by Store.OpenChunk: where the
// samples lie as this format has them, they are read from the object where it is; others are
// converted in memory.
//
// It writes nothing, and it knows nothing of views, queries and loaders. Files of Deep Lake 3 have
// no checksums: counts and sizes that contradict each other are errors, a flipped bit within a
// sample is not found.
package v3
