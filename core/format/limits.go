package format

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
	MaxForeignLead   = 64      // bytes in front of a block of another format
)
