// Package ingest owns the importers that make a dataset from files elsewhere, and the Job that runs
// one in the background. It writes through core/dataset like any other caller, and knows nothing of
// the format.
//
// An import is one pass over the listing of a storage.Source. It compares names, in byte order,
// with the origins of the dataset's rows (origin.go, known.go, match.go). Workers fetch new and
// changed objects in parallel (fetch.go, tar.go). Rows are written in listing order (write.go). The
// first usable row creates or replaces the dataset (usable.go): a source without one changes none.
// Memory does not grow with the number of objects, except for the first names of a report.
package ingest
