// Package mp4 makes a media.Video of a file of MP4 or QuickTime: progressive, with the tables at
// its end, or fragmented.
//
// It owns the boxes that name, time and place the packets of a track, and the rules of edit lists.
// It reads no media data, decodes nothing, and follows no names of other files.
//
// The reader is its own. It visits two dozen kinds of boxes on fixed paths, and goes through their
// tables in place. Libraries such as mp4ff decode all boxes below moov into objects, by the counts
// that these state.
//
// Files are hostile input: memory grows with the bytes of the file, not with the counts that a box
// states. FuzzIndex tries forged ones.
package mp4

import (
	"encoding/binary"

	"deeplake/core/errs"
)

// be16 reads a number; those of boxes are big-endian.
func be16(p []byte) uint16 { return binary.BigEndian.Uint16(p) }
func be32(p []byte) uint32 { return binary.BigEndian.Uint32(p) }
func be64(p []byte) uint64 { return binary.BigEndian.Uint64(p) }

// invalid is the error of a damaged file.
func invalid(format string, args ...any) error {
	return errs.Op("index video", "").New(errs.Invalid, format, args...)
}

// unsupported is the error of an undamaged file that this package cannot present.
func unsupported(format string, args ...any) error {
	return errs.Op("index video", "").New(errs.Unsupported, format, args...)
}
