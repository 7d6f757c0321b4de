// Package ingest owns the importers that make a dataset of what lies elsewhere, and the Job that
// runs one in the background. It writes through core/dataset like any other caller and knows
// nothing of the format.
//
// An import is one pass over the listing of a storage.Source: names in byte order are held against
// the names that the rows of the dataset came from (origin.go, known.go, match.go), what is new or
// has changed is fetched by many workers at once (fetch.go, tar.go), and written in the order of
// the listing (write.go). Nothing that grows with the number of objects is held, but for the first
// names of a report.
package ingest
