// Package ffmpeg decodes the packets of one track by FFmpeg's libavcodec. It finds the libraries at
// run time, in FFmpeg 4 to 9, and needs no headers to be built. It knows neither files nor
// containers: libavformat is never loaded, so nothing that FFmpeg reads can name another file.
//
// Fields of FFmpeg's structures are read at offsets that are the same in all these versions. Load
// checks them on the loaded library, and refuses other versions of libavcodec. Options set the
// rest.
//
// The standards of the codecs fix the decoded planes exactly. For a damaged packet, FFmpeg may make
// a guess.
package ffmpeg

import "deeplake/core/media"

// variable names the environment variable with the folder of other libraries.
const variable = "DEEPLAKE_FFMPEG"

// Frame is a decoded frame. Its planes are memory of FFmpeg: they are valid until the next call of
// the decoder.
type Frame struct {
	// Picture has the colors that the stream states, and those of the container where it says
	// nothing.
	media.Picture
	Mark int64 // that Send got with the packet
}
