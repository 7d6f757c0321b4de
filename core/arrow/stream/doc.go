// Package stream gives the rows of a view as record batches of Arrow.
//
// It owns the types that tensors have there, and the memory of batches: slabs, or mapped chunks of
// a local dataset, which it does not copy. It must not write, and knows no C.
package stream
