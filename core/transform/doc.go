// Package transform owns native transforms between the decoder and the batch: crops, resizing,
// flips, padding, colour, normalization and layout. spec.go is the user's form; trace.go resolves
// it for one image; job.go finds the region that is needed and computes the result; annotate.go
// transforms boxes, points and masks alike. The package must not touch datasets, chunks or codecs.
//
// Every draw is a function of (seed, epoch, row) and the name of the image, by a counter-based
// generator. Threads, ranks and batches cannot change it. Resizing is that of Pillow: two passes of
// 22-bit fixed-point weights, rounded to 8 bits in between. Rows come first if the image becomes
// wider and lower, else columns. The C code and the Go code (for builds without cgo) give the same
// bytes.
package transform
