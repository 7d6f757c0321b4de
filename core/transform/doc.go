// Package transform owns what is done to a picture between the decoder and the batch: crops,
// resizing, flips, padding, colour, normalising and layout (spec: as users write it; trace: what
// that means for one picture; job: which part of the picture is needed and how it becomes the
// result; annotate: the same for boxes, points and masks). It must not touch datasets, chunks or
// codecs.
//
// Every draw is a function of (seed, epoch, row) and the name of the picture, computed by a
// counter-based generator: threads, ranks and batches cannot change it. Resizing is that of Pillow:
// two passes of 22-bit fixed-point weights with rounding to 8 bits in between, rows first where the
// picture becomes wider and lower, else columns first. The C code and the Go code, which builds
// without cgo use, give the same bytes.
package transform
