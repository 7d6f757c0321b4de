// Package arrow reads columns of other programs by Arrow's C data interface, as the writer of a
// dataset takes them.
//
// It owns the types of Arrow and their meaning in a tensor, and checks of the memory that a
// producer describes. It must not release that memory, call a producer, or know datasets.
//
// The interface states no sizes of buffers. So the memory of a producer is its word: counts of
// buffers and children, null pointers, offsets and lengths are checked before use, sizes of buffers
// cannot be. Memory that is described wrongly is read beyond its end.
package arrow
