//go:build !cgo || !linux

package ffmpeg

import (
	"deeplake/core/errs"
	"deeplake/core/media"
)

// Library is never made here.
type Library struct{}

// Decoder is never made here.
type Decoder struct{}

func missing() error {
	return errs.OfMachine(errs.Op("find FFmpeg", "").New(errs.Unsupported, "this build decodes no video: it needs Linux and cgo"))
}

// Load says that this build has no FFmpeg.
func Load([]string) (*Library, error) { return nil, missing() }

// Open fails.
func (*Library) Open(*media.Video, int) (*Decoder, error) { return nil, missing() }

// Threads is 0.
func (*Decoder) Threads() int { return 0 }

// Send fails.
func (*Decoder) Send([]byte, int64) error { return missing() }

// Receive fails.
func (*Decoder) Receive(*Frame) (bool, error) { return false, missing() }

// Drain fails.
func (*Decoder) Drain() error { return missing() }

// Flush fails.
func (*Decoder) Flush() error { return missing() }

// Close does nothing.
func (*Decoder) Close() {}
