// Package episodes fills a dataset with the episodes of a LeRobot dataset: a row for each.
//
// It owns the metadata of LeRobot 2.x and 3.x, the checks of files against them, the tensors that
// features make, the position of an interrupted run, and the report. It appends through
// core/dataset like any other caller. It must not know the bytes of Parquet and of videos, which
// are core/parquet's and core/media's, and it decodes nothing.
//
// Sets are damaged in practice, so each episode is held against its files: the rows of its frames,
// and the times of its pictures. One that fails is left out, and the report says why. Files are
// read below the root of the source alone: metadata name them by templates of known fields.
//
// Metadata are hostile input. Sizes are compared with bounds before memory is allocated. Rows of
// data files are read in batches, an episode at a time is put together, and videos are read by the
// bytes of their tables and of the part that is copied.
package episodes
