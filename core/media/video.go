// Package media describes encoded video: where the packets of a track lie in its file, when their
// frames are shown, and which packets a decoder needs for given frames. It reads no files and
// decodes nothing: containers such as core/media/mp4 make a Video, core/media/ffmpeg decodes its
// packets.
package media

import "math"

// Limits of a Video, checked before memory is allocated for it.
const (
	MaxFrames     = 1 << 24 // 38 hours at 120 frames a second
	MaxSetupBytes = 1 << 16 // parameter sets
	MaxSide       = 1 << 15 // pixels of width or height
	MaxTicks      = 1 << 32 // ticks a second
	MaxTime       = 1 << 48 // ticks from the start
	MaxFile       = 1 << 40 // bytes of a file
	MaxPacket     = 1 << 28 // bytes of a packet
)

// Video is one track of pictures of a file. With it, frames are read and decoded without the tables
// of the file.
type Video struct {
	// Codec is h264, hevc, av1, vp8, vp9, mpeg4 or mjpeg.
	Codec string
	// Setup are bytes for the decoder before the first packet: the content of the boxes avcC, hvcC
	// and av1C, or CodecPrivate of Matroska; empty where packets suffice.
	Setup  []byte
	Width  int // of the encoded pictures, in pixels
	Height int
	// Turns are quarter turns clockwise, from 0 to 3, between decoded and shown pictures.
	Turns int
	Color Color
	// Ticks is the number of units of time a second.
	Ticks int64
	// End is the time at which the last frame is no longer shown, in ticks.
	End int64
	// Packets are those of the track, in the order of decoding.
	Packets []Packet
}

// Color says how numbers stand for colors, by the numbers of ITU-T H.273. The container states it;
// zero where it does not. The stream may state it too.
type Color struct {
	Primaries, Transfer, Matrix uint8
	Full                        bool // numbers of 0 to 255, not 16 to 235
}

// Packet is one encoded frame.
type Packet struct {
	Offset int64 // in the file
	Bytes  int64 // at least 1
	Time   int64 // at which the frame is shown, in ticks from the start of the edited track
	Key    bool  // decoding may begin here
	// Hidden: other frames need it, but it is not shown. The edit list cuts it, or the stream says
	// so.
	Hidden bool
}

// Size returns the sides of the frames as they are shown.
func (v *Video) Size() (height, width int) {
	if v.Turns%2 == 1 {
		return v.Width, v.Height
	}
	return v.Height, v.Width
}

// Seconds returns a time in seconds.
func (v *Video) Seconds(ticks int64) float64 { return float64(ticks) / float64(v.Ticks) }

// TickAt returns the tick that is nearest to a time in seconds.
func (v *Video) TickAt(seconds float64) int64 {
	return int64(math.Round(min(max(seconds*float64(v.Ticks), -MaxTime), MaxTime)))
}
