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
	if len(data) < 2 {
		return false
	}
	if data[0] != 0xff || data[1] != mSOI {
		return true
	}
	for pos := 2; ; {
		marker, at := nextMarker(data, pos)
		pos = at + 2
		switch {
		case marker == 0:
			return false
		case marker == mTEM || marker >= mRST0 && marker <= mRST7:
			continue
		case marker == mSOI || marker == mEOI:
			return true
		case len(data)-pos < 2:
			return false
		}
		n := int(binary.BigEndian.Uint16(data[pos:]))
		switch {
		case n < 2:
			return true
		case len(data)-pos < n:
			return false
		case marker == mSOS:
			return true
		}
		pos += n
	}
}
