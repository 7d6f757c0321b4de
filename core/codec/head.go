package codec

// HeadCodec is what a SampleCodec also is where the beginning of a file tells its shape, so that a
// file that stays where it is need not be read whole.
type HeadCodec interface {
	// Head is Header of a file of which data is the beginning. more means that data ends too early
	// to tell. It says nothing about the rest of the file: a damaged one is found when it is
	// decoded.
	Head(data []byte, want Channels) (h Header, more bool, err error)
}
