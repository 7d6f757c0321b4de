package chunk

import (
	"crypto/sha256"
	"sync/atomic"

	"deeplake/core/codec"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// Chunk is one chunk object that may be read: where it lies and how it is laid out. It is immutable
// and may be used in parallel.
type Chunk struct {
	Store storage.Provider
	Key   string
	ID    ID // set by Open
	Index *format.Index
	Links LinkReader // reads the items of a linked chunk

	mapped *atomic.Pointer[mappedChunk] // made by Open; holds nil until the first request
	kept   []byte                       // the whole object, checked; nil: it is read by parts

	undecoded map[int64]Undecoded // items; see WithUndecoded
}

// ID tells chunks of all datasets apart, in every process.
type ID [sha256.Size]byte

// Ref is one sample of one tensor, found but not read, with its place and size for a batch.
// Resolving a Ref reads at most index pages, never samples.
type Ref struct {
	Row   int64  // row in the dataset, for messages
	Chunk *Chunk // nil: a hole, the row has no sample in this tensor
	Item  int64  // first item in the chunk
	Items int64  // number of items: 1, or the length of a sequence
	// decoded shape; nil for string, json, bytes and for sequences. Shared, read-only
	Shape tensor.Shape
	// bytes after decoding: of the array, the string, or all items of a sequence together
	Size     int64
	Stored   int64  // bytes as stored, before block compression
	Source   int32  // which view the row is of, where several are read as one; else 0
	Computed []byte // a sample that is stored nowhere: its bytes; then Chunk is nil
	// the tiles of an oversized sample in order, Chunk being the first; else nil
	Tiles []*Chunk
	// the part of the sample that is delivered, with its Shape and Size; nil: all of the sample
	Partial *Partial
	// how the image of Chunk is turned to have Shape, as Worker.TurnUpright finds it; 0: the form
	// in which it is read says so
	Orientation codec.Orientation
}

// Hole reports whether the row has no sample.
func (r *Ref) Hole() bool { return r.Chunk == nil && r.Computed == nil }
