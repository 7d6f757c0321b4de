package jpeg

import (
	"encoding/binary"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

var _ codec.HeadCodec = (*Codec)(nil)

// Head is Header of a file of which data is the beginning: up to the first scan is enough.
func (*Codec) Head(data []byte, want codec.Channels) (codec.Header, bool, error) {
	if !scanReached(data) {
		return codec.Header{}, true, nil
	}
	f, err := parse(data)
	if err != nil {
		return codec.Header{}, false, err
	}
	c, err := f.channels(want)
	if err != nil {
		return codec.Header{}, false, err
	}
	return codec.Header{DType: tensor.Uint8, Shape: tensor.Shape{int64(f.height), int64(f.width), int64(c)}}, false, nil
}

// scanReached reports whether parse finds its answer in data, be it an error.
func scanReached(data []byte) bool {
	if len(data) >= 2 && (data[0] != 0xff || data[1] != mSOI) {
		return true
	}
	return !eachSegment(data, func(byte, []byte) bool { return true })
}

// eachSegment calls visit for the segments behind the start of the image, until it returns false.
// It ends with the header of the first scan and where the markers are wrong. more means that data
// ends before.
func eachSegment(data []byte, visit func(marker byte, body []byte) bool) (more bool) {
	for pos := 2; pos <= len(data); {
		marker, at := nextMarker(data, pos)
		pos = at + 2
		switch {
		case marker == 0:
			return true
		case marker == mTEM || marker >= mRST0 && marker <= mRST7:
			continue
		case marker == mSOI || marker == mEOI:
			return false
		case len(data)-pos < 2:
			return true
		}
		n := int(binary.BigEndian.Uint16(data[pos:]))
		switch {
		case n < 2:
			return false
		case len(data)-pos < n:
			return true
		case !visit(marker, data[pos+2:pos+n]) || marker == mSOS:
			return false
		}
		pos += n
	}
	return true
}
