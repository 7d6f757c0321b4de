// Package table fills a dataset with the rows of tables in files of a folder or a store.
//
// It owns the order of the files, the tensors that their columns make, the position of an
// interrupted run, and the report. It appends through core/dataset like any other caller. It must
// not know pictures in folders, which are core/ingest's, nor the bytes of a format, which is one
// line of formats and a package that reads it.
//
// Files are read in byte order of their names. The state in the dataset's info names those that are
// taken in, and the next row of the present one. So a later run goes on behind them, and takes in
// files that are new. A dataset has all rows of a batch or none.
package table
