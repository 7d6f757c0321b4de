package matroska

import (
	"context"
	"slices"

	"deeplake/core/media"
)

// track is one of the tracks of pictures.
type track struct {
	number         uint64
	video          bool
	enabled        bool
	standard       bool // is a default
	duration       uint64
	scale          float64 // of its times
	joined         bool    // of other tracks
	codec          string
	setup          []byte
	encodings      []encoding
	width, height  uint64
	projection     uint64
	yaw, pitch     float64
	roll           float64
	primaries      uint64
	transfer       uint64
	matrix, ranges uint64
}

// encoding is one of the ways in which packets were changed.
type encoding struct {
	encrypted bool
	algorithm uint64
	stripped  int // bytes
}

// addTracks chooses a track.
func (f *file) addTracks(ctx context.Context, e element) error {
	if f.track != nil {
		return nil
	}
	var chosen *track
	tracks := 0
	err := f.each(ctx, e, func(e element, body []byte) error {
		if e.id != idTrackEntry {
			return nil
		}
		t, err := newTrack(e, body)
		if err != nil {
			return err
		}
		tracks++
		if t.video && (chosen == nil || t.rank() > chosen.rank()) {
			chosen = t
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case chosen == nil && tracks == 0:
		return invalid("it has no tracks")
	case chosen == nil:
		return invalid("it has no track of pictures (tracks of other kinds: %d)", tracks)
	}
	f.track = chosen
	return chosen.check()
}

// rank orders tracks by what their writer thinks of them.
func (t *track) rank() int {
	switch {
	case !t.enabled:
		return 0
	case !t.standard:
		return 1
	}
	return 2
}

// newTrack reads an element TrackEntry.
func newTrack(entry element, p []byte) (*track, error) {
	t := &track{enabled: true, standard: true, scale: 1}
	var kind uint64
	err := entry.each(p, func(e element, body []byte) error {
		switch e.id {
		case idTrackNumber:
			return e.number(body, &t.number)
		case idTrackType:
			return e.number(body, &kind)
		case idFlagEnabled:
			return e.flag(body, &t.enabled)
		case idFlagDefault:
			return e.flag(body, &t.standard)
		case idDefaultDuration:
			return e.number(body, &t.duration)
		case idTrackScale:
			return e.float(body, &t.scale)
		case idTrackOperation:
			t.joined = true
		case idCodecID:
			t.codec = text(body[:min(len(body), 64)])
		case idCodecPrivate:
			t.setup = body
		case idEncodings:
			return t.addEncodings(e, body)
		case idVideo:
			return t.addVideo(e, body)
		}
		return nil
	})
	t.video = kind == 1
	t.setup = slices.Clone(t.setup)
	return t, err
}

// addEncodings reads the element ContentEncodings.
func (t *track) addEncodings(e element, p []byte) error {
	return e.each(p, func(e element, body []byte) error {
		if e.id != idEncoding {
			return nil
		}
		var one encoding
		err := e.each(body, func(e element, body []byte) error {
			switch e.id {
			case idType:
				return e.flag(body, &one.encrypted)
			case idEncryption:
				one.encrypted = true
			case idCompress:
				return e.each(body, func(e element, body []byte) error {
					switch e.id {
					case idAlgorithm:
						return e.number(body, &one.algorithm)
					case idSettings:
						one.stripped = len(body)
					}
					return nil
				})
			}
			return nil
		})
		t.encodings = append(t.encodings, one)
		return err
	})
}

// addVideo reads the element Video, and those for colors and the pose within it.
func (t *track) addVideo(parent element, p []byte) error {
	return parent.each(p, func(e element, body []byte) error {
		switch e.id {
		case idPixelWidth:
			return e.number(body, &t.width)
		case idPixelHeight:
			return e.number(body, &t.height)
		case idColour, idProjection:
			if parent.id == idVideo { // not deeper
				return t.addVideo(e, body)
			}
		case idMatrix:
			return e.number(body, &t.matrix)
		case idRange:
			return e.number(body, &t.ranges)
		case idTransfer:
			return e.number(body, &t.transfer)
		case idPrimaries:
			return e.number(body, &t.primaries)
		case idProjectionType:
			return e.number(body, &t.projection)
		case idYaw:
			return e.float(body, &t.yaw)
		case idPitch:
			return e.float(body, &t.pitch)
		case idRoll:
			return e.float(body, &t.roll)
		}
		return nil
	})
}

// codecs are those that media has, by their names in files.
var codecs = map[string]struct {
	name  string
	setup bool // is taken; FFmpeg's decoders of others get none
}{
	"V_MPEG4/ISO/AVC":  {"h264", true},
	"V_MPEGH/ISO/HEVC": {"hevc", true},
	"V_AV1":            {"av1", true},
	"V_VP8":            {"vp8", false},
	"V_VP9":            {"vp9", false},
	"V_MPEG4/ISO/ASP":  {"mpeg4", true},
	"V_MPEG4/ISO/SP":   {"mpeg4", true},
	"V_MPEG4/ISO/AP":   {"mpeg4", true},
	"V_MJPEG":          {"mjpeg", false},
}

// check holds the track against the limits of a Video, and takes the codec's name in it.
func (t *track) check() error {
	known, ok := codecs[t.codec]
	switch {
	case t.number == 0:
		return invalid("its track of pictures has no element %v", idTrackNumber)
	case !ok:
		return unsupported("its track of pictures has the codec %q", t.codec)
	case t.joined:
		return unsupported("its track of pictures is made of others (element %v)", idTrackOperation)
	case t.scale != 1:
		return unsupported("its track of pictures has times of their own scale, %g (element %v)", t.scale, idTrackScale)
	case t.width < 1 || t.height < 1 || t.width > media.MaxSide || t.height > media.MaxSide:
		return invalid("its pictures are %d x %d, want sides of 1 to %d", t.width, t.height, media.MaxSide)
	case len(t.setup) > media.MaxSetupBytes:
		return invalid("element %v has %d bytes, want at most %d", idCodecPrivate, len(t.setup), media.MaxSetupBytes)
	}
	for _, one := range t.encodings {
		if err := one.check(); err != nil {
			return err
		}
	}
	t.codec = known.name
	if !known.setup {
		t.setup = nil
	}
	if len(t.setup) < 4 && (t.codec == "h264" || t.codec == "hevc") {
		return invalid("its track of pictures has no element %v, without which nothing can be decoded", idCodecPrivate)
	}
	return nil
}

// check refuses packets that are not in the file as a decoder takes them.
func (e encoding) check() error {
	const remedy = "copy its packets to a file without it, as ffmpeg -c copy does"
	switch {
	case e.encrypted:
		return unsupported("its track of pictures is encrypted; give it decrypted")
	case e.algorithm == 3 && e.stripped == 0:
		return nil
	case e.algorithm == 3:
		return unsupported("the first bytes of all its packets are left out (element %v, header stripping); %s", idEncodings, remedy)
	}
	return unsupported("its packets are compressed by algorithm %d (element %v); %s", e.algorithm, idEncodings, remedy)
}

// turns returns the quarter turns clockwise, 0 if the pose is any other.
func (t *track) turns() int {
	if t.projection != 0 || t.yaw != 0 || t.pitch != 0 {
		return 0
	}
	switch t.roll { // counter-clockwise
	case 90, -270:
		return 3
	case 180, -180:
		return 2
	case -90, 270:
		return 1
	}
	return 0
}

// color returns the colors that the track states.
func (t *track) color() media.Color {
	stated := func(n uint64) uint8 {
		if n == 2 || n > 255 { // 2 says that nothing is stated
			return 0
		}
		return uint8(n)
	}
	return media.Color{Primaries: stated(t.primaries), Transfer: stated(t.transfer), Matrix: stated(t.matrix), Full: t.ranges == 2}
}
