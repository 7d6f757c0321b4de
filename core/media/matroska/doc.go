// Package matroska makes a media.Video of a file of Matroska or WebM, including live recordings,
// whose sizes are not stated.
//
// It owns the elements that name, time and place the packets of a track. It looks at no media data
// but the first byte of a frame of VP8, decodes nothing, and follows no names of other files:
// linked segments, ordered chapters and segments behind the first one are left alone.
//
// The reader is its own. It visits three dozen kinds of elements on fixed paths, and skips all
// others by their sizes. Matroska has no table of packets: Cues list some key frames alone. So
// Index reads the head of each block, from the first cluster to the end of the file.
//
// Cropping, the shape of pixels, interlacing, stereo and planes of alpha are left alone too:
// frames are the pictures that a decoder makes, turned.
//
// Files are hostile input: memory grows with the bytes of the file, not with the sizes that an
// element states. FuzzIndex tries forged ones.
package matroska

import "deeplake/core/errs"

// invalid is the error of a damaged file.
func invalid(format string, args ...any) error {
	return errs.Op("index video", "").New(errs.Invalid, format, args...)
}

// unsupported is the error of an undamaged file that this package cannot present.
func unsupported(format string, args ...any) error {
	return errs.Op("index video", "").New(errs.Unsupported, format, args...)
}
