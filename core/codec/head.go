package codec

// HeadCodec is implemented by SampleCodecs that find the shape at the beginning of a file, so that
// a linked file need not be read whole.
type HeadCodec interface {
	// Head is Header of a file of which data is the beginning. more means that data ends too early
	// to tell. It says nothing about the rest of the file: a damaged one is found when it is
	// decoded.
	Head(data []byte, want Channels) (h Header, more bool, err error)
}
