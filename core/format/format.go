// Package format owns every byte of a dataset: keys, frames, commit records, chunk-map pages and
// chunks. It encodes values to bytes and decodes bytes to values. It does no I/O, starts no
// goroutine and decides nothing. FORMAT.md beside it is the specification; the golden files under
// testdata show it byte by byte.
//
// Every decoder validates before it allocates: counts against the remaining bytes, sizes against
// the limits in this file. Damaged bytes are errs.Corrupt. An unknown version, feature, kind,
// column or flag is errs.Unsupported.
package format

import (
	"crypto/rand"
	"encoding/hex"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Version is the format version of a dataset: of tsf.json, records and frames.
const Version = 2

// chunkVersion is the version of chunks.
const chunkVersion = 1

// Sizes of fixed structures, in bytes.
const (
	FrameHeadBytes    = 40
	FrameSaltAt       = 24 // the salt is the end of the head
	ChunkHeadBytes    = 64
	ChunkTrailerBytes = 32
)

// Caps of decoders and encoders.
const (
	// a stored commit record: larger conditional PUTs lose their answer on some stores
	MaxRecordBytes  = 256 << 10
	MaxRecordRaw    = 4 << 20
	MaxPageRaw      = 4 << 20  // a leaf or inner page
	MaxSideRaw      = 64 << 20 // a side page
	MaxBlobRaw      = 1 << 30  // a bitmap, schema or transaction summary
	MaxSideSlots    = 1 << 20  // directories in a side page; also the most tiles of a sample
	MaxDirectoryRaw = 64 << 20
	// a compressed block, before compression; a larger one is stored uncompressed
	MaxBlockRaw     = 1 << 31
	MaxPageEntries  = 1024    // lines of a leaf or inner page; writers split at this number
	MaxPieces       = 1 << 18 // pieces of chunks in a leaf page
	MaxHeight       = 8
	MaxChunkItems   = 1 << 26
	MaxObjectBytes  = 1 << 40
	MaxRows         = 1 << 56
	DefaultChunk    = 8 << 20  // target size of a chunk
	DefaultChunkMax = 16 << 20 // a sample larger than this is tiled
	MinChunkBytes   = 4 << 10
	MaxChunkBytes   = 1 << 30
	BlockSmall      = 16 << 10 // a block of samples smaller than 4 KiB, uncompressed
	BlockSingle     = 4 << 10  // samples from this size on have a block of their own
	BlockCompressed = 64 << 10 // a block under lz4 or zstd
	// writers start a new side page beyond this many bytes of directories
	SideTarget   = 512 << 10
	InlineSchema = 64 << 10 // a larger schema goes into an object of its own
	InlineOps    = 64 << 10 // larger transaction summaries go into an object of their own
	// columns that are larger as JSON go into a page of their own
	InlineColumns    = 128 << 10
	InlineRaw        = 1 << 20 // a schema or summary that is larger before compression does too
	MaxTensors       = 1 << 20 // that a writer creates; a reader takes what fits the caps
	MaxTensorNameLen = 255
	MaxURLBytes      = 8 << 10 // of a linked object
	MaxTagBytes      = 1 << 10
	MaxLinkBytes     = 4 << 20 // URLs and tags of a chunk together
	MaxLinkHeadBytes = 8 << 20 // in front of the bytes of a linked object
	MaxForeignLead   = 64      // bytes in front of a block of another format
)

// UUID names repositories, branches, commits, pages, sessions, appends and tensors. In keys and
// JSON it is 32 lower-case hexadecimal digits.
type UUID [16]byte

// Root points at a tree of map pages. The zero value is the empty tree.
type Root struct {
	Page   UUID `json:"page"`
	Height int  `json:"height"` // 0: Page is a leaf
}

// Entry is one line of a leaf page: rows [Row, Row+Rows) are items First, First+1, ... of one
// chunk. In the tree of row identities Session is the append's uuid, First the ordinal within it,
// and every other field is zero.
type Entry struct {
	Row     int64
	Rows    int64
	First   int64
	Session UUID
	Ordinal int64
	Bytes   int64 // size of the chunk object (of all tiles together)
	Side    UUID  // side page that repeats the chunk's directory; zero: none
	Slot    int64 // index within the side page
	// 0: an ordinary chunk; else Rows is 1 and the row is chunks Ordinal .. Ordinal+Tiles-1
	Tiles int64
	Stats Stats
}

// Stats bounds the values of an entry, so that a query can skip its chunk unread.
type Stats struct {
	// Min and Max are set: every item is a scalar of an integer, bool or float dtype without NaN
	HasRange bool
	Min, Max uint64
	// bounds of every axis, nil when items have no shape or differ in the number of axes
	MinShape, MaxShape tensor.Shape
}

// Leaf is a leaf page: entries in order of Row, without overlap; rows between them are holes.
type Leaf struct {
	Entries []Entry
}

// Child is one line of an inner page; it covers the rows from First to the next child's First.
type Child struct {
	First   int64
	Page    UUID
	Entries int64 // leaf entries below
}

// Inner is an inner page. The children of height 1 are leaves.
type Inner struct {
	Height   int
	Children []Child
}

// Directory says where the items of a chunk lie. It is stored at the end of the chunk and repeated
// in a side page.
type Directory struct {
	DType       tensor.DType
	SampleCodec codec.ID
	BlockCodec  codec.ID
	Items       int64
	Shapes      []ShapeRun // covers Items; nil for string, json and bytes
	Sizes       []int64    // stored bytes of each item before block compression; nil: FixedSize
	FixedSize   int64      // bytes of every item; -1: product of its shape and the element size
	PerBlock    int64      // items in every block but the last; 0: BlockItems
	BlockItems  []int64
	BlockBytes  []int64 // stored bytes of each block; nil: the sum of its items (BlockCodec None)
	BlockCRC    []uint32
	RowItems    []int64  // sequence chunks: items of each row; nil: one item a row
	Tile        *TileRef // tile chunks
	Links       *Links   // linked chunks, which have no sizes and no blocks; FixedSize is -1
	Foreign     *Foreign // the samples are of another format; only in memory

	index *Index // set by DecodeDirectory
}

// Foreign marks samples that another program wrote, and says where their blocks lie. Such blocks
// have no checksums, and EncodeDirectory refuses their directory: no object of this format has one.
type Foreign struct {
	Base int64 // where the first block begins in the object, its Lead included
	Lead int64 // bytes in front of each block that are no part of it
}

// ShapeRun is a shape shared by Count items in a row.
type ShapeRun struct {
	Count int64
	Shape tensor.Shape
}

// TileRef places a tile in its sample.
type TileRef struct {
	Sample tensor.Shape // shape of the whole sample
	Tile   tensor.Shape // shape of a tile that is not at an edge
	Index  int64        // C order over the grid of tiles
}

// ChunkHead opens a chunk object and identifies it, so that one under a wrong key is
// noticed.
type ChunkHead struct {
	Session UUID
	Ordinal int64
	Tensor  UUID
}

// NewUUID returns 16 random bytes.
func NewUUID() UUID {
	var u UUID
	rand.Read(u[:]) // crypto/rand.Read does not fail: it ends the process instead
	return u
}

// ParseUUID reads 32 lower-case hexadecimal digits; anything else is errs.Invalid.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != 2*len(u) {
		return UUID{}, errs.New(errs.Invalid, "uuid %q has %d characters, want 32 lower-case hexadecimal digits", clip(s), len(s))
	}
	for i := range len(s) {
		v, ok := hexDigit(s[i])
		if !ok {
			return UUID{}, errs.New(errs.Invalid, "uuid %q: character %d is not a lower-case hexadecimal digit", s, i)
		}
		u[i/2] = u[i/2]<<4 | v
	}
	return u, nil
}

// String is the 32 digits that ParseUUID reads.
func (u UUID) String() string { return hex.EncodeToString(u[:]) }

// IsZero reports whether u is the zero value, which names nothing.
func (u UUID) IsZero() bool { return u == UUID{} }

// MarshalText makes a UUID a string, or the name of a member, in JSON.
func (u UUID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, u[:]), nil }

// UnmarshalText is ParseUUID. On error u keeps its value.
func (u *UUID) UnmarshalText(text []byte) error {
	v, err := ParseUUID(string(text))
	if err == nil {
		*u = v
	}
	return err
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// clip keeps hostile text out of error messages beyond a readable length.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
