// Package export owns the writing of rows of a view as files of other programs: images in folders,
// shards, tables and annotations. It reads views like any other caller, and knows nothing of the
// format of datasets. The bytes of Parquet, TFRecord, MDS and Zarr belong to their packages.
//
// The rows are divided into parts before anything is written (plan.go). Parts are written in
// parallel (run.go), each from batches of samples (rows.go), and a record in the target says that a
// part is whole: a later run of the same export goes on behind those. A format is a line of layouts
// and a file. Memory grows with the rows by eight bytes if there are splits, and by some twenty if
// rows have names (names.go).
package export
