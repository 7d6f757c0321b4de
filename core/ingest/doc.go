// Package ingest owns the importers that make a dataset of what lies elsewhere, one file per kind of source, and the Job
// that runs one in the background. It writes through core/dataset like any other caller and knows nothing of the format.
package ingest
