// Package v3 presents datasets of Deep Lake 3 as datasets of this format, read-only.
//
// It owns the bytes of that format: the tree of commits, the index files of tensors and the header
// of chunks. A Store has the objects that a dataset of this format would have: records, pages of
// the chunk map, names of branches and saved views. A read of an object makes it, so that commits
// which no reader opens are not loaded. Store.OpenChunk opens chunks: samples that lie as this
// format has them are read in place; others are converted in memory. Store.Convert writes a copy
// in this format.
//
// It writes nothing to the source. It knows nothing of views, queries and loaders. Files of Deep
// Lake 3 have no checksums: counts and sizes that contradict each other are errors, and a flipped
// bit within a sample is not found.
package v3
