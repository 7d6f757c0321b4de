package media

import (
	"deeplake/core/errs"
)

// Codecs lists the codecs that a Video may have.
func Codecs() []string {
	return []string{"h264", "hevc", "av1", "vp8", "vp9", "mpeg4", "mjpeg"}
}

// Check verifies that a video is within the limits of this package. It does not know the size of
// the file, so packets may still end behind it. Decoders take videos that pass Check.
func (v *Video) Check() error {
	bad := func(format string, args ...any) error { return errs.New(errs.Invalid, format, args...) }
	known := false
	for _, c := range Codecs() {
		known = known || c == v.Codec
	}
	switch {
	case !known:
		return errs.New(errs.Unsupported, "a video of codec %q, want one of %v; a newer version of this library may read it", v.Codec, Codecs())
	case len(v.Setup) > MaxSetupBytes:
		return bad("the setup of the decoder has %d bytes, want at most %d", len(v.Setup), MaxSetupBytes)
	case v.Width < 1 || v.Width > MaxSide || v.Height < 1 || v.Height > MaxSide:
		return bad("pictures of %d x %d pixels, want 1 to %d", v.Width, v.Height, MaxSide)
	case v.Turns < 0 || v.Turns > 3:
		return bad("pictures are turned %d times, want 0 to 3", v.Turns)
	case v.Ticks < 1 || v.Ticks > MaxTicks:
		return bad("%d ticks a second, want 1 to %d", v.Ticks, int64(MaxTicks))
	case v.End < 0 || v.End > MaxTime:
		return bad("the last frame ends at %d, want 0 to %d", v.End, int64(MaxTime))
	case len(v.Packets) > MaxFrames:
		return bad("%d frames, want at most %d", len(v.Packets), MaxFrames)
	}
	for i := range v.Packets {
		p := &v.Packets[i]
		if p.Bytes < 1 || p.Bytes > MaxPacket || p.Offset < 0 || p.Offset > MaxFile-p.Bytes {
			return bad("packet %d is %d bytes at %d of the file, want 1 to %d bytes within %d", i, p.Bytes, p.Offset, MaxPacket, int64(MaxFile))
		}
		if p.Time < -MaxTime || p.Time > MaxTime {
			return bad("packet %d is shown at %d, want -%d to %d", i, p.Time, int64(MaxTime), int64(MaxTime))
		}
	}
	return nil
}
